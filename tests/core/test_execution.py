from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.samples import (
    ACTION_FIELDS,
    LLM_FIELDS,
    at,
    lifecycle,
    one_run,
    record,
    runs,
)
from flink_agents_eventlog import (
    Event,
    Execution,
    Run,
    decode,
    execution_forest,
    read_records,
)
from flink_agents_eventlog.lifecycle import (
    FAILED,
    FINISHED,
    INPUT_EVENT,
    REUSED,
    STARTED,
)


def forest(records):
    found = []
    built = execution_forest(records, on_finding=found.append)
    return built, [(each.code, each.event_id) for each in found]


def the_run() -> Run:
    llm = Execution(
        "llm-1",
        "llm",
        "chat_model",
        {"model": "small", "input_tokens": 812, "output_tokens": 93, "attempts": 2},
        FINISHED,
        at(2),
        at(902),
        900.0,
        action_trigger_event_id="input",
        attempts=[{"error_type": "ReadTimeout", "wait_seconds": 1}, {}],
    )
    tool = Execution(
        "tool-1",
        "tool",
        "search",
        {"tool_type": "function"},
        FAILED,
        at(903),
        at(904.5),
        1.5,
        "tool_call_failed",
        "ValueError",
        "no such\npage",
        "input",
    )
    action = Execution(
        "action-1",
        "action",
        "answer",
        {},
        FINISHED,
        at(1),
        at(1205),
        1204.0,
        action_trigger_event_id="input",
        children=[llm, tool],
    )
    return Run(
        "run-1",
        "order-1",
        "OrderAgent",
        complete=True,
        started_at=at(0),
        ended_at=at(1205),
        executions=[action],
        events=[
            Event("input", INPUT_EVENT, at(0)),
            Event("output", "_output_event", at(1204), "action-1", "input", "answer"),
        ],
    )


def test_a_run_is_rebuilt():
    assert forest(one_run()) == ([the_run()], [])


@given(st.data(), runs())
def test_the_forest_depends_neither_on_order_nor_on_duplicates(data, log):
    shuffled = data.draw(
        st.permutations(log + data.draw(st.lists(st.sampled_from(log))))
    )

    assert forest(shuffled) == forest(log)
    assert forest(log)[0][0].complete


@given(st.data(), runs())
def test_a_missing_record_leaves_the_others_standing(data, log):
    lost = data.draw(st.sampled_from(log))
    rest = [each for each in log if each is not lost]

    (run,) = forest(rest)[0] or [Run(None)]

    standing, todo = set(), list(run.executions)
    while todo:
        execution = todo.pop()
        standing.add(execution.execution_id)
        todo += execution.children
    assert standing == {each.execution_id for each in rest if each.status}
    assert {event.event_id for event in run.events} == {
        each.event_id for each in rest if not each.status
    }


def test_an_execution_without_its_start_stands_and_is_reported():
    (run,), findings = forest(
        [
            record(0, "input", INPUT_EVENT),
            lifecycle(5, FINISHED, "a", **ACTION_FIELDS),
        ]
    )

    (execution,) = run.executions
    assert findings == [("MISSING_START", "a-finished")]
    assert (execution.status, execution.started_at) == (FINISHED, None)
    assert (execution.ended_at, execution.duration_ms) == (at(5), None)


def test_an_execution_without_its_end_is_started_and_the_run_incomplete():
    (run,), findings = forest(
        [record(0, "input", INPUT_EVENT), lifecycle(1, STARTED, "a", **ACTION_FIELDS)]
    )

    (execution,) = run.executions
    assert findings == [("MISSING_END", "a-started")]
    assert (execution.status, execution.ended_at) == (STARTED, None)
    assert not run.complete


def test_an_execution_without_its_parent_stands_at_the_root():
    (run,), findings = forest(
        [
            lifecycle(1, STARTED, "llm", **LLM_FIELDS),
            lifecycle(2, FINISHED, "llm", **LLM_FIELDS),
        ]
    )

    assert findings == [("MISSING_PARENT", "llm-started")]
    assert [each.execution_id for each in run.executions] == ["llm"]


def test_a_reused_execution_is_whole_with_one_record():
    (run,), findings = forest(
        [record(0, "input", INPUT_EVENT), lifecycle(1, REUSED, "a", **ACTION_FIELDS)]
    )

    (execution,) = run.executions
    assert findings == []
    assert run.complete
    assert (execution.status, execution.duration_ms) == (REUSED, 0.0)


def test_a_run_without_its_input_is_incomplete():
    (run,), _ = forest(one_run()[1:])

    assert not run.complete


def test_an_action_marked_incomplete_makes_its_run_incomplete():
    log = one_run()
    log[1].entity_metadata = {"incomplete": True}

    (run,), _ = forest(log)

    assert not run.complete


def test_executions_inside_one_another_are_cut_open_at_the_same_place():
    circle = [
        lifecycle(index, status, name, parent_execution_id=parent)
        for index, (name, parent) in enumerate(
            [("a", "b"), ("b", "c"), ("c", "a"), ("d", "a")]
        )
        for status in (STARTED, FINISHED)
    ]

    expected = forest(circle)
    assert expected[1] == [("CYCLE_DETECTED", "a-started")]
    for shuffled in permutations(circle[::2]):
        (run,), findings = forest([*shuffled, *circle[1::2]])
        assert ([run], findings) == expected
        assert [each.execution_id for each in run.executions] == ["a"]


def test_a_lifecycle_record_without_execution_is_reported():
    log = [record(0, "odd", "_execution_started_event")]

    assert forest(log) == (
        [Run("run-1", "order-1", "OrderAgent", started_at=at(0), ended_at=at(0))],
        [("RESERVED_EVENT_TYPE", "odd")],
    )


def test_runs_stand_by_the_time_of_their_input():
    log = [
        record(5, "late", INPUT_EVENT, input_run_id="late"),
        record(0, "left over", "sent", input_run_id="late"),
        record(1, "early", INPUT_EVENT, input_run_id="early"),
    ]

    runs_, _ = forest(log)

    assert [run.input_run_id for run in runs_] == ["early", "late"]
    assert [event.event_id for event in runs_[1].events] == ["late", "left over"]


def test_ten_thousand_levels_need_no_recursion():
    log = [
        lifecycle(n, status, f"x{n:05}", parent_execution_id=f"x{n - 1:05}")
        for n in range(10_000)
        for status in (STARTED, FINISHED)
    ]

    (run,), findings = forest(log)

    assert findings == [("MISSING_PARENT", "x00000-started")]
    depth, execution = 0, run.executions[0]
    while execution.children:
        depth, execution = depth + 1, execution.children[0]
    assert depth == 9_999


def test_odd_timestamps_and_errors_do_no_harm():
    start, end = lifecycle(0, STARTED, "a"), lifecycle(0, FAILED, "a")
    end.timestamp = "yesterday"
    end.event_attributes = {"error_type": 5, "attempts": None}

    (run,), _ = forest([start, end])

    (execution,) = run.executions
    assert (execution.ended_at, execution.duration_ms) == ("yesterday", None)
    assert (execution.error_type, execution.attempts) == (None, [])


GOLDEN = Path(__file__).parent / "golden"
NATIVE_RUN = {
    "first": [],
    "chat_model_action": ["llm llm"],
    "tool_call_action": ["tool add", "tool boom"],
    "chat_model_action again": ["llm llm", "parser structured_output"],
    "last": [],
}


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("native_main_async", ["k0"]),
        ("native_main_two_runs_same_key", ["k0", "k1", "k0"]),
    ],
)
def test_real_native_logs_give_the_runs_they_had(name, keys):
    runs, findings = forest(read_records(GOLDEN / f"{name}.jsonl"))

    assert findings == []
    assert [each.business_key for each in runs] == keys
    for run in runs:
        assert run.complete
        assert [each.entity_name for each in run.executions] == [
            name.removesuffix(" again") for name in NATIVE_RUN
        ]
        assert [
            [f"{child.entity_type} {child.entity_name}" for child in each.children]
            for each in run.executions
        ] == list(NATIVE_RUN.values())
        assert {each.status for each in run.executions} == {FINISHED}
        types = {event.event_id: event.event_type for event in run.events}
        assert [types[each.action_trigger_event_id] for each in run.executions] == [
            INPUT_EVENT,
            "_chat_request_event",
            "_tool_request_event",
            "_tool_response_event",
            "_chat_response_event",
        ]


def test_a_native_execution_is_told_in_our_words():
    line = (
        b'{"timestamp":"%b","inputRunId":"run-1","executionId":"t",'
        b'"entityType":"tool","entityName":"search","entityMetadata":{"toolType":'
        b'"function"},"eventId":"%b","eventType":"_execution_%b_event",'
        b'"status":"%b",%b}'
    )
    failure = (
        b'"problemCategory":"tool_call_failed","eventAttributes":{"errorType":'
        b'"builtins.ValueError","errorMessage":"no"}'
    )
    begin, end = b"2026-01-01T00:00:00Z", b"2026-01-01T00:00:00.500Z"

    (run,), _ = forest(
        [
            decode(line % (end, b"2", b"failed", b"failed", failure)),
            decode(
                line % (begin, b"1", b"started", b"started", b'"eventAttributes":{}')
            ),
        ]
    )

    assert run.executions == [
        Execution(
            "t",
            "tool",
            "search",
            {"tool_type": "function"},
            FAILED,
            begin.decode(),
            end.decode(),
            500.0,
            "tool_call_failed",
            "ValueError",
            "no",
        )
    ]
