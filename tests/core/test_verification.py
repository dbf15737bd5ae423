"""Whether snapshots follow from the writes before them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.samples import at, objects, plain, record, write
from flink_agents_eventlog import Record, decode_plain, memory_at
from flink_agents_eventlog.commands import main
from flink_agents_eventlog.log_file import Located
from flink_agents_eventlog.verification import MemoryVerification

BEGIN, WRITE = "_agent_run_begin_event", "_short_term_write_event"


def snapshot(time, value, run="run-1", **fields):
    attributes = {"key": "order-1", "value": value}
    name = f"s{time}"
    return record(
        time, name, BEGIN, event_attributes=attributes, input_run_id=run, **fields
    )


def wrote(time, value, run="run-1", **fields):
    attributes = {"key": "order-1", "value": value}
    name = f"w{time}"
    return record(
        time, name, WRITE, event_attributes=attributes, input_run_id=run, **fields
    )


def action(time, status, run="run-1", trigger="input", execution="a"):
    return record(
        time,
        f"{execution}-{status}",
        f"_execution_{status}_event",
        status=status,
        execution_id=execution,
        entity_type="action",
        entity_name="act",
        action_trigger_event_id=trigger,
        input_run_id=run,
    )


def verified(*records, path="events-a.jsonl"):
    verification = MemoryVerification()
    found = []
    for line, each in enumerate(records, 1):
        found += verification.add(Located(each, path, line))
    found += verification.end()
    return [(each.code, each.line, each.message) for each in found]


def test_a_snapshot_that_follows_is_silent():
    assert (
        verified(
            snapshot(0, {"a": 1}),
            wrote(1, {"b": {"x": 1, "y": 2}, "object": None}),
            snapshot(2, {"b": {"y": 2, "x": 1}, "a": 1}, "run-2"),
        )
        == []
    )


def test_a_snapshot_that_differs_names_key_paths_and_both_values():
    assert verified(
        snapshot(0, {"a": 1, "gone": "x" * 300}),
        wrote(1, {"b": 2}),
        snapshot(2, {"a": True, "b": 2, "new": [1]}, "run-2"),
    ) == [
        (
            "STATE_MISMATCH",
            3,
            (
                "key 'order-1', 'a': rebuilt 1, snapshot true;"
                f" 'gone': rebuilt \"{'x' * 199}..., snapshot nothing;"
                " 'new': rebuilt nothing, snapshot [1]"
            ),
        )
    ]


def test_only_ten_paths_are_named():
    [(_, _, message)] = verified(
        snapshot(0, {f"p{number}": 1 for number in range(12)}), snapshot(1, {})
    )

    assert message.endswith("'p9': rebuilt 1, snapshot nothing; and 2 more")


@pytest.mark.parametrize(
    "records",
    [
        [action(1, "failed")],
        [wrote(1, {}), action(2, "finished", trigger="w1")],
        [action(1, "started"), action(2, "started", run="run-2", execution="b")],
    ],
    ids=["failed", "triggered by a memory event", "abandoned"],
)
def test_after_writes_that_are_in_no_event_a_difference_is_told_as_that(records):
    after = snapshot(9, {"a": 2}, "run-2")

    [(code, line, _)] = verified(snapshot(0, {"a": 1}), *records, after)

    assert (code, line) == ("UNRECORDED_WRITES", len(records) + 2)


def test_what_was_cut_is_told_and_not_compared():
    cut = {"truncatedString": "ab...", "omittedChars": 9}

    assert verified(
        snapshot(0, {"a": 1, "b": 1, "c": 1}),
        wrote(1, {"a": {"inner": [cut]}}),
        wrote(2, {}, entity_metadata={"oversized_paths": {"b": 5000}}),
        wrote(3, {}, entity_metadata={"unrepresentablePaths": ["c"]}),
        snapshot(4, {"a": {"inner": ["abcdefghijk"]}, "b": 2}, "run-2"),
    ) == [
        ("TRUNCATED_VALUE", 2, "'a' is not known: its value was cut short"),
        (
            "TRUNCATED_VALUE",
            3,
            "'b' is not known: it was too large to be written",
        ),
        ("TRUNCATED_VALUE", 4, "'c' is not known: JSON cannot hold it"),
    ]


def test_repeated_records_count_once():
    log = [
        snapshot(0, {}),
        wrote(1, {"a": 1}),
        wrote(2, {"a": 2}),
        snapshot(3, {"a": 2}, "run-2"),
    ]

    for line, repeated in enumerate(log):
        for place in range(line + 1, len(log) + 1):
            assert verified(*log[:place], repeated, *log[place:]) == []
    assert verified(*log, *log) == []


def test_logs_that_were_put_together_in_any_order_are_each_their_own_history():
    older = [snapshot(0, {}), wrote(1, {"a": 1}), snapshot(2, {"a": 1}, "run-2")]
    newer = [snapshot(9, {"z": 1}, "run-3"), snapshot(10, {"z": 1}, "run-4")]

    assert verified(*older[:2], snapshot(3, {"a": 1}), *newer) != []
    assert verified(*newer, *older) == []


def test_a_missing_snapshot_is_told_once():
    assert verified(
        wrote(0, {"a": 1}), wrote(1, {"a": 2}), wrote(2, {"a": 1}, business_key="k")
    ) == [
        (
            "MISSING_SNAPSHOT",
            1,
            "no snapshot of key 'order-1' and 1 more keys before the first write",
        )
    ]


def test_rotated_files_are_one_history_and_other_files_are_others():
    verification = MemoryVerification()
    places = ["events-a.1.jsonl", "events-a.2.jsonl", "events-b.jsonl"]
    log = [snapshot(0, {}), wrote(1, {"a": 1}), snapshot(2, {"b": 1})]

    found = [
        each
        for path, each_record in zip(places, log, strict=True)
        for each in verification.add(Located(each_record, path, 1))
    ]

    assert [*found, *verification.end()] == []


strange_memory = st.builds(
    Record,
    timestamp=st.sampled_from(["", "noon", "2026-01-01T00:00:00Z", at(1), at(2)]),
    business_key=st.sampled_from([None, "order-1", "k"]),
    input_run_id=st.sampled_from([None, "run-1", "run-2"]),
    event_id=st.sampled_from("abcdef"),
    event_type=st.sampled_from(
        [BEGIN, "_agent_run_end_event", WRITE, "_sensory_write_event", "x"]
    ),
    entity_type=st.sampled_from([None, "action"]),
    status=st.sampled_from([None, "started", "failed", "?"]),
    entity_metadata=st.fixed_dictionaries(
        {}, optional={"oversized_paths": plain, "unrepresentable_paths": plain}
    ),
    event_attributes=st.fixed_dictionaries(
        {}, optional={"key": plain, "value": plain | objects}
    ),
)


@given(log=st.lists(strange_memory, max_size=8))
def test_records_of_any_content_are_taken(tmp_path_factory, log):
    path = write(tmp_path_factory.mktemp("strange") / "log", log)

    verified(*log)
    for moment in ({}, {"at": at(1)}, {"at": "1970-01-01T00:00:00Z"}):
        memory_at(path, key="order-1", **moment)
    for each in log:
        memory_at(path, key="order-1", event=each.event_id)


def test_deep_and_strange_values_are_told(tmp_path, capsys):
    deep = decode_plain(b'{"a":' * 400 + b"1" + b"}" * 400)
    log = [snapshot(0, {"a": deep, "\ud800\x1b": 1}), snapshot(1, {"a": 10**5000})]

    [(code, _, message)] = verified(*log)
    assert code == "STATE_MISMATCH"
    assert len(message) < 1_000
    for moment in ("--at", at(0)), ("--diff", at(0), "end"), ("--history", "a"):
        for form in ((), ("--json",)):
            path = write(tmp_path / "log", log)
            assert main(["state", path, "--key", "order-1", *moment, *form]) == 0
    assert "\x1b" not in capsys.readouterr().out
