"""Records to test with: one small run, and strategies for any record."""

from __future__ import annotations

from itertools import count
from typing import Any

from hypothesis import strategies as st

from flink_agents_eventlog import Record, encode, timestamp_text
from flink_agents_eventlog.lifecycle import (
    ACTION,
    EVENT_TYPE_OF_STATUS,
    FAILED,
    FINISHED,
    INPUT_EVENT,
    LLM,
    OUTPUT_EVENT,
    STARTED,
    TOOL,
    TOOL_CALL_FAILED,
)

BEGIN = 1_700_000_000_000_000_000
TERMINAL = (FINISHED, FAILED)


def at(milliseconds: float) -> str:
    return timestamp_text(BEGIN + int(milliseconds * 1_000_000))


def record(milliseconds: float, event_id: str, event_type: str, **fields: Any):
    defaults = {
        "input_run_id": "run-1",
        "business_key": "order-1",
        "agent_name": "OrderAgent",
        "event_attributes": {},
    }
    return Record(
        timestamp=at(milliseconds),
        event_id=event_id,
        event_type=event_type,
        **{**defaults, **fields},
    )


def lifecycle(milliseconds: float, status: str, execution_id: str, **fields: Any):
    return record(
        milliseconds,
        f"{execution_id}-{status}",
        EVENT_TYPE_OF_STATUS[status],
        status=status,
        execution_id=execution_id,
        **fields,
    )


NATIVE_LINE = (
    b'{"timestamp":"2026-01-01T00:00:00.123456789Z","logLevel":"STANDARD",'
    b'"inputRunId":"run","businessKey":"key","agentName":"Agent","executionId":"a",'
    b'"entityType":"action","entityName":"answer","eventId":"n","eventType":"sent",'
    b'"upstreamEventId":"in","upstreamActionName":"answer","eventAttributes":{}}'
)
NESTED_LINE = (
    b'{"timestamp":"2026-01-01T00:00:00Z","logLevel":"STANDARD",'
    b'"eventType":"_input_event","event":{"eventType":"_input_event","id":"o",'
    b'"attributes":{},"type":"_input_event"}}'
)
ACTION_FIELDS = {
    "entity_type": ACTION,
    "entity_name": "answer",
    "action_trigger_event_id": "input",
}
LLM_FIELDS = {
    "parent_execution_id": "action-1",
    "action_trigger_event_id": "input",
    "entity_type": LLM,
    "entity_name": "chat_model",
}
TOOL_FIELDS = {
    "parent_execution_id": "action-1",
    "action_trigger_event_id": "input",
    "entity_type": TOOL,
    "entity_name": "search",
    "entity_metadata": {"tool_type": "function"},
}


def one_run() -> list[Record]:
    """One action with a model call and a failing tool, in the order of the log."""
    return [
        record(0, "input", INPUT_EVENT, event_attributes={"input": "hello"}),
        lifecycle(1, STARTED, "action-1", **ACTION_FIELDS),
        lifecycle(
            2, STARTED, "llm-1", **LLM_FIELDS, entity_metadata={"model": "small"}
        ),
        lifecycle(
            902,
            FINISHED,
            "llm-1",
            **LLM_FIELDS,
            entity_metadata={
                "model": "small",
                "input_tokens": 812,
                "output_tokens": 93,
                "attempts": 2,
            },
            event_attributes={
                "output": "call search",
                "attempts": [
                    {"error_type": "ReadTimeout", "wait_seconds": 1},
                    {},
                ],
            },
        ),
        lifecycle(903, STARTED, "tool-1", **TOOL_FIELDS),
        lifecycle(
            904.5,
            FAILED,
            "tool-1",
            **TOOL_FIELDS,
            problem_category=TOOL_CALL_FAILED,
            event_attributes={
                "error_type": "ValueError",
                "error_message": "no such\npage",
            },
        ),
        lifecycle(1205, FINISHED, "action-1", **ACTION_FIELDS),
        record(
            1204,
            "output",
            OUTPUT_EVENT,
            execution_id="action-1",
            **ACTION_FIELDS,
            event_attributes={"output": 42},
        ),
    ]


def write(path: Any, records: list[Record]) -> str:
    path.write_bytes(b"".join(encode(each) + b"\n" for each in records))
    return str(path)


texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=8)
optional_texts = st.none() | texts
# Any JSON that JSON can hold.
plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=2**60, max_value=2**90)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4)
    ),
    max_leaves=12,
)
objects = st.dictionaries(texts, plain, max_size=4)
unknown_fields = st.dictionaries(
    texts.filter(lambda name: name not in Record.__struct_fields__)
    | st.sampled_from(["(extra)", "extra", "(dialect)", "dialect", "eventAttributes"]),
    plain,
    max_size=3,
)
records = st.builds(
    Record,
    timestamp=texts,
    event_id=texts,
    event_type=texts,
    event_attributes=objects,
    entity_metadata=objects,
    extra=unknown_fields,
    **{
        name: optional_texts
        for name in Record.__struct_fields__
        if name
        not in {
            "timestamp",
            "event_id",
            "event_type",
            "event_attributes",
            "entity_metadata",
            "extra",
            "dialect",
        }
    },
)


@st.composite
def runs(draw: Any) -> list[Record]:
    """A complete run of any shape, every record with a time of its own."""
    clock = count()
    log = [record(next(clock), "input", INPUT_EVENT)]
    size = draw(st.integers(0, 6))
    parents = [draw(st.integers(-1, index - 1)) for index in range(size)]
    for index, parent in enumerate(parents):
        fields = {
            "entity_type": draw(st.sampled_from([ACTION, LLM, TOOL])),
            "entity_name": draw(texts),
            "parent_execution_id": None if parent < 0 else f"x{parent}",
        }
        log += [
            lifecycle(next(clock), STARTED, f"x{index}", **fields),
            lifecycle(
                next(clock), draw(st.sampled_from(TERMINAL)), f"x{index}", **fields
            ),
            record(next(clock), f"e{index}", "sent", execution_id=f"x{index}"),
        ]
    return log
