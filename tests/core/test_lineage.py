from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from core.samples import at, lifecycle, record
from flink_agents_eventlog import (
    TraceEvent,
    TraceForest,
    convert,
    decode,
    encode,
    event_sequence,
    read_records,
    trace_forest,
)
from flink_agents_eventlog.trace import Cause

GOLDEN = Path(__file__).parent / "golden"
INPUT = "_input_event"


def forest(records):
    found = []
    built = trace_forest(records, on_finding=found.append)
    return built, [(each.code, each.event_id) for each in found]


def native(time, event_id, upstream=None, action=None, event_type="sent", **fields):
    return replace(
        record(time, event_id, event_type, **fields),
        action_trigger_event_id=upstream,
        upstream_action_name=action,
        dialect="native",
    )


def effects(built):
    return {each.event_id: each.effects for each in built.events.values()}


def branching():
    return [
        native(0, "root", event_type=INPUT),
        native(1, "child-1", "root", "branch_action"),
        native(2, "child-2", "root", "branch_action"),
        native(3, "child-3", "root", "second_action"),
        native(4, "output", "child-1", "output_action"),
    ]


def test_events_hang_below_what_led_to_them():
    assert forest(branching()) == (
        TraceForest(
            ["root"],
            {
                "root": TraceEvent(
                    "root",
                    INPUT,
                    at(0),
                    effects={
                        "branch_action": ["child-1", "child-2"],
                        "second_action": ["child-3"],
                    },
                ),
                "child-1": TraceEvent(
                    "child-1",
                    "sent",
                    at(1),
                    causes=[Cause("root", "branch_action")],
                    effects={"output_action": ["output"]},
                ),
                "child-2": TraceEvent(
                    "child-2", "sent", at(2), causes=[Cause("root", "branch_action")]
                ),
                "child-3": TraceEvent(
                    "child-3", "sent", at(3), causes=[Cause("root", "second_action")]
                ),
                "output": TraceEvent(
                    "output", "sent", at(4), causes=[Cause("child-1", "output_action")]
                ),
            },
        ),
        [],
    )


def test_snake_events_hang_below_the_trigger_of_the_action_that_sent_them():
    records = [
        record(0, "in", INPUT),
        record(0, "begin", "_agent_run_begin_event"),
        lifecycle(1, "started", "a", entity_type="action", entity_name="answer"),
        record(
            2,
            "named",
            "sent",
            execution_id="a",
            entity_type="action",
            entity_name="answer",
            action_trigger_event_id="in",
        ),
        record(3, "by id", "sent", execution_id="a", action_trigger_event_id="in"),
        record(9, "end", "_agent_run_end_event"),
    ]

    built, findings = forest(records)

    assert built.roots == ["in"]
    assert effects(built)["in"] == {
        "agent_run_begin_action": ["begin"],
        "answer": ["named", "by id"],
        "agent_run_end_action": ["end"],
    }
    assert findings == []


def test_the_begin_event_hangs_below_the_input_and_its_listeners_below_it():
    built, findings = forest(
        [
            native(0, "in", event_type=INPUT),
            native(
                0,
                "begin",
                "in",
                "agent_run_begin_action",
                event_type="_agent_run_begin_event",
            ),
            native(1, "heard", "begin", "listen"),
        ]
    )

    assert effects(built) == {
        "in": {"agent_run_begin_action": ["begin"]},
        "begin": {"listen": ["heard"]},
        "heard": {},
    }
    assert findings == []


def test_records_of_one_event_in_two_dialects_merge():
    flat = native(0, "in", event_type=INPUT)
    old = decode(
        b'{"timestamp":"%b","event":{"eventType":"_input_event","id":"in",'
        b'"attributes":{}}}' % at(0).encode()
    )

    built, findings = forest([flat, old])

    assert built.events == {"in": TraceEvent("in", INPUT, at(0), observations=2)}
    assert findings == []


def test_executions_are_no_events():
    fields = {"entity_type": "action", "entity_name": "answer"}

    built, findings = forest(
        [
            lifecycle(0, "started", "a", **fields),
            lifecycle(1, "finished", "a", **fields),
            replace(lifecycle(2, "finished", "a", **fields), status="success"),
        ]
    )

    assert built == TraceForest()
    assert findings == []


@pytest.mark.parametrize(
    "fields",
    [
        {"status": None},
        {"status": "failed"},
        {"execution_id": None},
        {"entity_type": ""},
        {"entity_name": None},
    ],
)
def test_an_event_of_a_reserved_type_is_kept_and_reported(fields):
    whole = lifecycle(0, "started", "a", entity_type="action", entity_name="answer")

    built, findings = forest([replace(whole, **fields)])

    assert list(built.events) == ["a-started"]
    assert findings == [
        ("RESERVED_EVENT_TYPE", "a-started"),
        ("UNLINKED_EVENT", "a-started"),
    ]


def test_an_event_below_two_roots_is_one_event_with_two_causes():
    shared = native(2, "shared", "one", "act")

    built, findings = forest(
        [
            native(0, "one", event_type=INPUT),
            native(1, "two", event_type=INPUT),
            shared,
            replace(shared, action_trigger_event_id="two"),
            shared,
        ]
    )

    assert built.events["shared"] == TraceEvent(
        "shared", "sent", at(2), 3, [Cause("one", "act"), Cause("two", "act")]
    )
    assert effects(built)["one"] == effects(built)["two"] == {"act": ["shared"]}
    assert findings == []


@pytest.mark.parametrize(
    ("first", "second", "conflict"),
    [
        ({"a": 1}, {"a": 2}, True),
        ({"a": 1}, {"a": True}, True),
        ({"a": 0}, {"a": False}, True),
        ({"a": 1}, {"a": 1.0}, True),
        ({"a": None}, {}, True),
        ({"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"d": 3, "c": 2}, "a": 1}, False),
    ],
)
def test_one_id_with_two_contents_is_a_conflict(first, second, conflict):
    _, findings = forest(
        [
            native(0, "in", event_type=INPUT, event_attributes=first),
            native(1, "in", event_type=INPUT, event_attributes=second),
        ]
    )

    assert findings == [("EVENT_ID_CONFLICT", "in")] * conflict


def test_what_conflicts_adds_no_cause_and_what_agrees_does():
    one, two = native(0, "one", event_type=INPUT), native(1, "two", event_type=INPUT)
    event = native(2, "e", "one", "act")
    conflicting = native(3, "e", "two", "other", event_attributes={"a": 1})
    agreeing = native(4, "e", "two", "act")

    built, findings = forest([one, two, event, conflicting, conflicting, agreeing])

    assert built.events["e"] == TraceEvent(
        "e", "sent", at(2), 4, [Cause("one", "act"), Cause("two", "act")]
    )
    assert findings == [("EVENT_ID_CONFLICT", "e")]


@pytest.mark.parametrize(
    ("event", "code"),
    [
        (native(1, "e"), "UNLINKED_EVENT"),
        (native(1, "e", None, "act"), "UNLINKED_EVENT"),
        (native(1, "e", "in", None), "MISSING_ACTION_NAME"),
        (native(1, "e", "gone", "act"), "MISSING_PARENT"),
        (native(1, "e", "in", "act", event_type=INPUT), "INVALID_ROOT_LINEAGE"),
        (native(1, "e", "e", "act"), "CYCLE_DETECTED"),
    ],
)
def test_a_broken_link_is_reported_and_the_event_kept(event, code):
    built, findings = forest([native(0, "in", event_type=INPUT), event])

    assert set(built.events) == {"in", "e"}
    assert built.roots == ["in"]
    assert effects(built) == {"in": {}, "e": {}}
    assert findings == [(code, "e")]


def test_a_circle_is_cut_and_reported():
    records = [
        native(0, "in", event_type=INPUT),
        native(1, "a", "in", "enter"),
        native(2, "a", "c", "close"),
        native(3, "b", "a", "on"),
        native(4, "c", "b", "on"),
        native(5, "x", "y", "alone"),
        native(6, "y", "x", "alone"),
    ]

    built, findings = forest(records)

    assert effects(built) == {
        "in": {"enter": ["a"]},
        "a": {"on": ["b"]},
        "b": {"on": ["c"]},
        "c": {},
        "x": {"alone": ["y"]},
        "y": {},
    }
    assert built.events["a"].causes == [Cause("in", "enter")]
    assert findings == [("CYCLE_DETECTED", "a"), ("CYCLE_DETECTED", "x")]


def test_a_chain_may_be_longer_than_any_stack():
    chain = [native(0, "0", event_type=INPUT)]
    chain += [native(n, str(n), str(n - 1), "go") for n in range(1, 50_000)]

    built, findings = forest(chain)

    assert built.events["49998"].effects == {"go": ["49999"]}
    assert findings == []


TREE = {
    "_input_event": {
        "agent_run_begin_action": ["_agent_run_begin_event"],
        "first": [
            "_chat_request_event",
            "_sensory_write_event",
            "_short_term_write_event",
        ],
    },
    "_chat_request_event": {
        "chat_model_action": ["_tool_request_event", "_sensory_write_event"]
    },
    "_tool_request_event": {"tool_call_action": ["_tool_response_event"]},
    "_tool_response_event": {
        "chat_model_action": ["_chat_response_event", "_sensory_write_event"]
    },
    "_chat_response_event": {"last": ["_output_event"]},
}


def tree_of(built, root):
    """Effects by event type, for runs in which every type leads to one thing."""
    types = {event_id: event.event_type for event_id, event in built.events.items()}
    tree, todo = {}, [root]
    while todo:
        event = built.events[todo.pop()]
        if event.effects:
            tree[event.event_type] = {
                action: [types[each] for each in to]
                for action, to in event.effects.items()
            }
        todo += [each for to in event.effects.values() for each in to]
    return tree


@pytest.mark.parametrize("dialect", ["native", "snake"])
@pytest.mark.parametrize(
    ("name", "reads"),
    [
        ("native_main_async", [False]),
        ("native_main_two_runs_same_key", [False, False, True]),
    ],
)
def test_real_logs_give_the_trees_of_their_runs(name, reads, dialect):
    log = read_records(GOLDEN / f"{name}.jsonl")

    built, findings = forest([convert(each, dialect).record for each in log])

    assert findings == []
    for root, reads_before in zip(built.roots, reads, strict=True):
        expected = {name: dict(effects) for name, effects in TREE.items()}
        if reads_before:
            expected[INPUT]["first"] = [
                *TREE[INPUT]["first"],
                "_short_term_read_event",
            ]
        assert tree_of(built, root) == expected


@st.composite
def graphs(draw):
    """Events with any causes among themselves: circles, duplicates, missing parents."""
    size = draw(st.integers(0, 6))
    records = []
    for index in range(size):
        for _ in range(draw(st.integers(1, 3))):
            cause = draw(st.none() | st.integers(0, size + 1))
            records.append(
                native(
                    index,
                    f"e{index}",
                    None if cause is None else f"e{cause}",
                    draw(st.none() | st.sampled_from(["act", "other"])),
                    event_type=INPUT if index % 3 == 0 else "sent",
                    event_attributes={"n": draw(st.integers(0, 1))},
                )
            )
    return records


@given(graphs(), st.randoms())
def test_order_does_not_matter(records, random):
    shuffled = list(records)
    random.shuffle(shuffled)

    built, findings = forest(records)
    again, found_again = forest(shuffled)

    assert again == built
    assert sorted(found_again) == sorted(findings)


@given(graphs())
def test_duplicates_change_counts_only(records):
    built, findings = forest(records)
    twice, found_twice = forest([*records, *records])

    for event in built.events.values():
        event.observations *= 2
    assert twice == built
    assert sorted(set(found_twice)) == sorted(set(findings))


@given(graphs(), st.integers(0))
def test_a_missing_record_leaves_the_others_standing(records, at_):
    kept = list(records)
    if kept:
        kept.pop(at_ % len(kept))

    built, _ = forest(kept)

    assert set(built.events) == {each.event_id for each in kept}


@given(graphs())
def test_a_forest_can_be_written_down_and_rebuilt(records):
    built, _ = forest(records)

    rebuilt, _ = forest([decode(encode(each)) for each in event_sequence(built)])

    assert rebuilt == built


def test_a_sound_forest_comes_back_whole():
    built, _ = forest([*branching(), *branching()[1:]])

    assert forest(event_sequence(built)) == (built, [])
