"""Memory at any moment, from the command line and from Python."""

import gzip
import io
import json
import sys

import pytest

from core.samples import NATIVE_LINE, at, record, write
from core.test_verification import action, snapshot, wrote
from flink_agents_eventlog import encode, memory_at
from flink_agents_eventlog.commands import main

SENSORY = "_sensory_write_event"
LONG_TERM = (
    "long-term memory cannot be rebuilt:"
    " a log holds only changes to it and reads of it\n"
)


def sensed(milliseconds, value, run="run-1"):
    attributes = {"key": "order-1", "value": value}
    name = f"y{milliseconds}"
    return record(
        milliseconds, name, SENSORY, event_attributes=attributes, input_run_id=run
    )


LOG = [
    record(0, "input", "_input_event"),
    snapshot(0, {"tier": "silver", "gone": 1}),
    action(1, "started"),
    action(2, "finished"),
    sensed(2, {"mood": "calm"}),
    wrote(2, {"tier": "gold", "gone": None}),
    record(3, "other", "_input_event", business_key="order-2", input_run_id="other"),
    record(10, "input-2", "_input_event", input_run_id="run-2"),
    snapshot(10, {"tier": "gold", "gone": None}, "run-2"),
    action(11, "started", "run-2", "input-2", "b"),
    action(12, "finished", "run-2", "input-2", "b"),
    wrote(12, {"gone.now": [1]}, "run-2"),
]


@pytest.fixture(name="log")
def _log(tmp_path):
    return write(tmp_path / "events-a.jsonl", LOG)


def state(capsys, *arguments):
    status = main(["state", "--key", "order-1", "--json", *arguments])
    return status, json.loads(capsys.readouterr().out)


def codes(answer):
    return [each.code for each in answer.findings]


def test_the_end_of_the_log_is_told_without_a_moment(log, capsys):
    assert state(capsys, log) == (
        0,
        {
            "format": 1,
            "command": "state",
            "findings": [],
            "key": "order-1",
            "at": at(12),
            "input_run_id": "run-2",
            "short_term": {"tier": "gold", "gone.now": [1]},
            "sensory": {},
            "snapshot_event_id": "s10",
            "applied_event_ids": ["w12"],
        },
    )


def test_the_picture_says_where_it_comes_from(log, capsys):
    assert main(["state", "--key", "order-1", "--at", at(2), log]) == 0
    assert capsys.readouterr() == (
        f"key order-1  at {at(2)}  run run-1\n"
        "short-term memory\n"
        "  gone  null\n"
        '  tier  "gold"\n'
        "sensory memory\n"
        '  mood  "calm"\n'
        f"from the snapshot s0 ({log}:2) and 1 write event\n" + LONG_TERM,
        "",
    )


@pytest.mark.parametrize(
    ("moment", "short_term", "sensory"),
    [
        ({"at": at(1)}, {"tier": "silver", "gone": 1}, {}),
        ({"at": at(5)}, {"tier": "gold", "gone": None}, {}),
        ({"event": "y2"}, {"tier": "silver", "gone": 1}, {"mood": "calm"}),
        ({"event": "other"}, {"tier": "gold", "gone": None}, {}),
        ({"run": "run-1"}, {"tier": "gold", "gone": None}, {"mood": "calm"}),
        ({"run": "oth"}, {"tier": "gold", "gone": None}, {}),
        ({"run": "run-2"}, {"tier": "gold", "gone.now": [1]}, {}),
    ],
)
def test_a_moment_is_a_time_a_run_or_an_event(log, moment, short_term, sensory):
    answer = memory_at(log, key="order-1", **moment)

    assert (answer.short_term, answer.sensory, answer.findings) == (
        short_term,
        sensory,
        [],
    )


def test_a_difference_is_drawn(log, capsys):
    moments = ["--diff", "run=run-1", "end"]
    assert main(["state", log, "--key", "order-1", *moments]) == 0
    assert capsys.readouterr().out == (
        f"- key order-1  at {at(2)}  run run-1\n"
        f"+ key order-1  at {at(12)}  run run-2\n"
        "short-term memory\n"
        "- gone      null\n"
        "+ gone.now  [1]\n"
        "sensory memory\n"
        '- mood  "calm"\n' + LONG_TERM
    )
    _, told = state(capsys, log, *moments)
    assert told["changed"] == {
        "short_term": {"gone": {"from": None}, "gone.now": {"to": [1]}},
        "sensory": {"mood": {"from": "calm"}},
    }


def test_the_history_of_a_path_is_told(log, capsys):
    assert main(["state", log, "--key", "order-1", "--history", "gone"]) == 0
    assert capsys.readouterr().out == (
        f"{at(0)}  snapshot s0  {log}:2\n  gone  1\n"
        f"{at(2)}  write w2  {log}:6\n  gone  null\n"
        f"{at(12)}  write w12  {log}:12\n  gone.now  [1]\n"
    )
    _, told = state(capsys, log, "--history", "gone")
    assert [each["values"] for each in told["changes"]] == [
        {"gone": 1},
        {"gone": None},
        {"gone.now": [1]},
    ]


@pytest.mark.parametrize(
    ("moment", "message"),
    [
        (["--run", "x"], "no run 'x' in this log"),
        (["--run", "run"], "several runs begin with 'run': run-1, run-2"),
        (["--event", "x"], "no event 'x' in this log"),
        (["--at", "noon"], "not an RFC 3339 timestamp: 'noon'"),
    ],
)
def test_a_moment_that_is_not_there_is_a_usage_error(log, capsys, moment, message):
    assert main(["state", log, "--key", "order-1", *moment]) == 2
    assert capsys.readouterr().err == f"flink-agents-eventlog: {message} ({log})\n"


def test_a_key_without_records_is_empty_with_a_finding(log, capsys):
    assert main(["state", log, "--key", "nobody"]) == 0
    out, err = capsys.readouterr()
    assert "short-term memory: empty\n" in out
    assert "MISSING_SNAPSHOT: no snapshot of key 'nobody'" in err


def test_writes_without_a_snapshot_are_told_with_a_finding(tmp_path):
    log = write(tmp_path / "log", [wrote(0, {"a": 1})])

    answer = memory_at(log, key="order-1")

    assert (answer.short_term, codes(answer)) == ({"a": 1}, ["MISSING_SNAPSHOT"])


def test_a_key_in_several_files_is_told_from_the_latest_snapshot(tmp_path):
    write(tmp_path / "events-a.jsonl", [snapshot(0, {"a": 1}), wrote(20, {"a": 2})])
    write(tmp_path / "events-b.jsonl", [snapshot(10, {"b": 1}, "run-2")])

    before = memory_at(tmp_path, key="order-1", at=at(5))
    later = memory_at(tmp_path, key="order-1")

    assert (before.short_term, codes(before)) == ({"a": 1}, [])
    assert (later.short_term, codes(later)) == ({"b": 1}, ["SPLIT_HISTORY"])


@pytest.mark.parametrize(
    ("elsewhere", "expected"),
    [
        ([], []),
        ([wrote(5, {"b": 1}, "run-2")], []),  # before the snapshot that counts
        ([wrote(11, {"b": 1}, "run-2")], ["SPLIT_HISTORY"]),
        ([snapshot(11, {"b": 1}, "run-2")], ["SPLIT_HISTORY"]),
        ([wrote(9, {}, "run-2"), wrote(11, {}, "run-2")], ["SPLIT_HISTORY"]),
        ([wrote(13, {"b": 1}, "run-2")], []),  # after the moment
        ([record(11, "o", "_input_event", input_run_id="run-2")], []),
    ],
)
@pytest.mark.parametrize("name", ["events-0.jsonl", "events-z.jsonl"])
@pytest.mark.parametrize("moment", [{"run": "run-1"}, {"event": "w12"}])
def test_a_moment_in_one_file_is_in_doubt_if_another_was_written_too(
    tmp_path, elsewhere, expected, name, moment
):
    here = [snapshot(0, {"a": 1}), snapshot(10, {"a": 2}), wrote(12, {"a": 3})]
    write(tmp_path / "events-a.jsonl", here)
    write(tmp_path / name, [snapshot(1, {}, "run-2"), *elsewhere])

    answer = memory_at(tmp_path, key="order-1", **moment)

    assert (answer.short_term, codes(answer)) == ({"a": 3}, expected)
    assert all(each.path.endswith(name) for each in answer.findings)
    assert all(each.line == len(elsewhere) + 1 for each in answer.findings)


def test_rotated_and_compressed_files_are_one_history(tmp_path):
    lines = [encode(each) + b"\n" for each in LOG]
    (tmp_path / "events-a.1.jsonl.gz").write_bytes(gzip.compress(b"".join(lines[:3])))
    (tmp_path / "events-a.2.jsonl").write_bytes(b"".join(lines[3:11]))
    (tmp_path / "events-a.jsonl").write_bytes(lines[11])

    first = memory_at(tmp_path, key="order-1", at=at(2))
    last = memory_at(tmp_path, key="order-1")

    assert first.short_term == {"tier": "gold", "gone": None}
    assert (last.short_term, last.findings) == ({"tier": "gold", "gone.now": [1]}, [])


def test_an_earlier_log_put_behind_a_later_one_changes_no_answer(tmp_path):
    log = write(tmp_path / "log", [*LOG[7:], *LOG[:7]])

    first = memory_at(log, key="order-1", at=at(5))
    last = memory_at(log, key="order-1")

    assert first.short_term == {"tier": "gold", "gone": None}
    assert last.short_term == {"tier": "gold", "gone.now": [1]}
    assert codes(last) == ["TIME_REVERSED"]


def test_repeating_any_record_anywhere_later_changes_no_answer(tmp_path):
    expected = memory_at(write(tmp_path / "log", LOG), key="order-1").short_term

    for at_line, repeated in enumerate(LOG):
        for place in range(at_line + 1, len(LOG) + 1):
            log = write(tmp_path / "log", [*LOG[:place], repeated, *LOG[place:]])
            assert memory_at(log, key="order-1").short_term == expected


def test_after_a_failed_action_the_answer_is_in_doubt_until_the_next_snapshot(tmp_path):
    log = [snapshot(0, {}), action(1, "failed"), snapshot(9, {"a": 1}, "run-2")]
    path = write(tmp_path / "log", log)

    assert codes(memory_at(path, key="order-1", at=at(5))) == ["UNRECORDED_WRITES"]
    assert codes(memory_at(path, key="order-1")) == []


def test_what_was_cut_is_shown_as_cut_and_told(tmp_path):
    cut = {"truncatedList": [1], "omittedElements": 9}
    log = [snapshot(0, {"a": 1, "b": 1}), wrote(1, {"a": cut})]
    large = wrote(2, {}, entity_metadata={"oversized_paths": {"b": 5000}})
    path = write(tmp_path / "log", [*log, large])
    mended = write(tmp_path / "mended", [*log, large, wrote(3, {"a": 2, "b": 2})])

    answer = memory_at(path, key="order-1")

    assert answer.short_term == {"a": cut}
    assert codes(answer) == ["TRUNCATED_VALUE", "TRUNCATED_VALUE"]
    assert memory_at(mended, key="order-1").findings == []


def test_a_map_that_the_host_cut_is_told(tmp_path):
    cut = {"truncatedObject": {"a": 2}, "omittedFields": 1}
    path = write(tmp_path / "log", [snapshot(0, {"a": 1, "b": {}}), wrote(1, cut)])

    answer = memory_at(path, key="order-1")

    assert (answer.short_term, codes(answer)) == (
        {"a": 2, "b": {}},
        ["TRUNCATED_VALUE"],
    )


def test_native_and_nested_records_are_read(tmp_path):
    native = json.loads(NATIVE_LINE) | {
        "eventType": "_agent_run_begin_event",
        "eventAttributes": {"key": "key", "value": {"a": 1}},
    }
    event = {
        "eventType": "_short_term_write_event",
        "id": "o",
        "attributes": {"key": "key", "value": {"b": 2}},
        "type": "_short_term_write_event",
    }
    nested = {
        "timestamp": "2026-01-01T00:00:01Z",
        "eventType": event["eventType"],
        "event": event,
    }
    path = tmp_path / "log"
    path.write_text(json.dumps(native, indent=2) + "\n" + json.dumps(nested) + "\n")

    answer = memory_at(path, key="key")

    assert (answer.short_term, answer.findings) == ({"a": 1, "b": 2}, [])


def test_standard_input_is_read(monkeypatch, capsys):
    lines = b"".join(encode(each) + b"\n" for each in LOG)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines)))

    assert state(capsys, "-")[1]["short_term"] == {"tier": "gold", "gone.now": [1]}


def test_a_broken_line_is_an_error_beside_the_answer(tmp_path, capsys):
    path = tmp_path / "log"
    lines = [encode(each) + b"\n" for each in LOG]
    path.write_bytes(b"".join([*lines[:2], b"{broken}\n", *lines[2:]]))

    status, told = state(capsys, str(path))

    assert (status, told["short_term"]) == (1, {"tier": "gold", "gone.now": [1]})
    assert [each["code"] for each in told["findings"]] == ["MALFORMED_RECORD"]
