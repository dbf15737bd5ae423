"""What is wrong or incomplete in a log, and how it is told."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from core.samples import (
    ACTION_FIELDS,
    LLM_FIELDS,
    NESTED_LINE,
    lifecycle,
    one_run,
    record,
    records,
    runs,
    write,
)
from flink_agents_eventlog import check_log, checking, closing, encode
from flink_agents_eventlog.commands import main
from flink_agents_eventlog.commands.check import _MEANING
from flink_agents_eventlog.finding import SEVERITY
from flink_agents_eventlog.lifecycle import FAILED, FINISHED, INPUT_EVENT, STARTED

GOLDEN = Path(__file__).parent / "golden"
BEGIN, WRITE = "_agent_run_begin_event", "_short_term_write_event"
LONG_AGO = 1_700_000_000


def old(path):
    """A file that has not grown for long."""
    os.utime(path, (LONG_AGO, LONG_AGO))
    return path


def check(path, log):
    path = old(write(path / "events-a.jsonl", log))
    return [(each.code, each.line) for each in check_log(path).findings]


def action(milliseconds, status, execution_id="action-1", **fields):
    return lifecycle(milliseconds, status, execution_id, **{**ACTION_FIELDS, **fields})


def root(**fields):
    return record(0, "input", INPUT_EVENT, **fields)


def snapshot(milliseconds, event_id, value, **fields):
    attributes = {"key": "order-1", "value": value}
    return record(milliseconds, event_id, BEGIN, event_attributes=attributes, **fields)


def wrote(milliseconds, event_id, value):
    attributes = {"key": "order-1", "value": value}
    fields = {**ACTION_FIELDS, "execution_id": "action-1"}
    return record(milliseconds, event_id, WRITE, event_attributes=attributes, **fields)


WHOLE = [root(), action(1, STARTED), action(9, FINISHED)]
CUT = {"text": {"truncatedString": "ab...", "omittedChars": 9}}
NATIVE_CYCLE = [
    replace(
        record(0, one, "sent"),
        action_trigger_event_id=other,
        upstream_action_name="act",
        dialect="native",
    )
    for one, other in (("a", "b"), ("b", "a"))
]


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        (one_run(), []),
        ([], []),
        ([*WHOLE, *WHOLE], []),
        ([root(), action(9, FINISHED)], [("MISSING_START", 2)]),
        ([root(), action(1, STARTED)], [("MISSING_END", 2)]),
        ([action(1, STARTED), action(9, FINISHED)], [("MISSING_PARENT", 1)]),
        (
            [
                root(),
                action(1, STARTED, action_trigger_event_id=None),
                action(9, FINISHED, action_trigger_event_id=None),
            ],
            [("UNLINKED_EVENT", 2)],
        ),
        (
            [
                *WHOLE,
                lifecycle(
                    2, STARTED, "llm", **{**LLM_FIELDS, "parent_execution_id": "x"}
                ),
                lifecycle(
                    3, FINISHED, "llm", **{**LLM_FIELDS, "parent_execution_id": "x"}
                ),
            ],
            [("MISSING_PARENT", 4)],
        ),
        (
            [*WHOLE, record(9, "out", "sent", execution_id="x", **ACTION_FIELDS)],
            [("MISSING_PARENT", 4)],
        ),
        ([*WHOLE, action(10, FAILED)], [("TERMINAL_CONFLICT", 4)]),
        (
            [*WHOLE, replace(action(10, FINISHED), event_id="another")],
            [("TERMINAL_CONFLICT", 4)],
        ),
        (
            [*WHOLE, action(9, FINISHED, event_attributes={"x": 1})],
            [("EVENT_ID_CONFLICT", 4)],
        ),
        (
            [root(), root(event_attributes={"input": 1}), *WHOLE[1:]],
            [("EVENT_ID_CONFLICT", 1)],
        ),
        ([root(), action(9, STARTED), action(8.9, FINISHED)], [("TIME_REVERSED", 3)]),
        (
            [
                *WHOLE,
                lifecycle(0.5, STARTED, "llm", **LLM_FIELDS),
                lifecycle(3, FINISHED, "llm", **LLM_FIELDS),
            ],
            [("TIME_REVERSED", 4)],
        ),
        (
            [
                root(),
                action(1, STARTED),
                action(2, STARTED, "b"),
                action(5000, FINISHED, "b"),
                action(3999, FINISHED),
            ],
            [("TIME_REVERSED", 5)],
        ),
        (
            [
                root(),
                action(1, STARTED),
                action(2, STARTED, "b"),
                action(5000, FINISHED, "b"),
                action(4000, FINISHED),
                action(5000, FINISHED, "b"),
                action(1, FINISHED),
            ],
            [],
        ),
        (
            [*WHOLE, record(10, "x", "_execution_failed_event")],
            [("RESERVED_EVENT_TYPE", 4), ("UNLINKED_EVENT", 4)],
        ),
        ([*WHOLE, record(10, "x", "sent")], [("UNLINKED_EVENT", 4)]),
        (
            [
                *WHOLE,
                record(10, "x", "sent", action_trigger_event_id="input"),
            ],
            [("MISSING_ACTION_NAME", 4)],
        ),
        ([root(action_trigger_event_id="x")], [("INVALID_ROOT_LINEAGE", 1)]),
        (NATIVE_CYCLE, [("CYCLE_DETECTED", 1)]),
        ([*WHOLE, wrote(9, "w", {"a": 1})], [("MISSING_SNAPSHOT", 4)]),
        (
            [
                root(),
                snapshot(0, "s", {"a": 1}),
                *WHOLE[1:],
                wrote(9, "w", {"a": 2}),
                root(event_attributes={}),
                snapshot(20, "s2", {"a": 3}),
            ],
            [("STATE_MISMATCH", 7)],
        ),
        (
            [
                root(),
                snapshot(0, "s", {"a": 1}),
                action(1, STARTED),
                action(9, FAILED),
                snapshot(20, "s2", {"a": 3}),
            ],
            [("UNRECORDED_WRITES", 5)],
        ),
        ([root(event_attributes=CUT), *WHOLE[1:]], [("TRUNCATED_VALUE", 1)]),
    ],
)
def test_each_fault_is_found_at_its_place(tmp_path, log, expected):
    assert check(tmp_path, log) == expected


@pytest.mark.parametrize("name", sorted(each.name for each in GOLDEN.iterdir()))
def test_nothing_is_wrong_with_logs_of_the_host(name):
    assert check_log(GOLDEN / name).findings == []


def test_what_was_cut_short_is_counted_for_each_file(tmp_path):
    log = [root(event_attributes=CUT), record(1, "x", "sent", event_attributes=CUT)]

    [*_, found] = check_log(write(tmp_path / "log", [log[1], log[0]])).findings

    assert (found.line, found.message) == (
        1,
        (
            "sent holds values that were cut short,"
            " and so do 1 more records of this file"
        ),
    )


@pytest.mark.parametrize("newest", ["events-a.1.jsonl", "events-a.jsonl"])
def test_what_is_still_written_is_open_and_not_broken(tmp_path, newest):
    log = [*WHOLE[:2], lifecycle(2, STARTED, "llm", **LLM_FIELDS)]
    old(write(tmp_path / "events-a.1.jsonl", log))
    write(tmp_path / "events-a.jsonl", [])
    old(tmp_path / "events-a.jsonl")
    os.utime(tmp_path / newest, (time.time(), time.time()))

    [found] = check_log(tmp_path).findings

    assert (found.code, found.line) == ("RUN_OPEN", 2)
    assert found.message == "run run-1 is still being written"


@pytest.mark.parametrize(("later", "expected"), [(5, []), (15, ["SPLIT_HISTORY"])])
def test_a_key_that_two_files_write_at_a_time_is_told(tmp_path, later, expected):
    here = [root(), snapshot(0, "s", {}), *WHOLE[1:]]
    other = {"input_run_id": "run-2"}
    there = [root(**other), snapshot(10, "t", {"a": 1}, **other)]
    old(write(tmp_path / "events-a.jsonl", [*here, wrote(later, "w", {})]))
    old(write(tmp_path / "events-b.jsonl", there))

    found = check_log(tmp_path).findings

    assert [each.code for each in found] == expected
    assert all(each.path.endswith("events-a.jsonl") for each in found)


def test_the_log_of_the_host_beside_ours_is_told(tmp_path):
    write(tmp_path / "events-j-t-0.jsonl", [root()])
    (tmp_path / "events-j-t-0.log").write_bytes(NESTED_LINE + b"\n")

    assert [each.code for each in check_log(tmp_path).findings] == ["HOST_LOG_SKIPPED"]


def test_findings_go_to_stderr_and_a_summary_to_stdout(tmp_path, capsys):
    path = tmp_path / "log"
    path.write_bytes(b"[]\n" + encode(WHOLE[0]) + b"\n" + encode(WHOLE[1]) + b"\n{")

    status = main(["check", old(str(path))])

    out, err = capsys.readouterr()
    assert status == 1
    assert out == (
        "     1  error    MALFORMED_RECORD  lines that are no records\n"
        "     1  warning  MISSING_END       executions that started but never ended\n"
        "     1  info     TORN_TAIL         files that end in the middle of a record\n"
        "2 records, 1 run, 1 file\n"
    )
    assert [line.split(": ")[:2] for line in err.splitlines()] == [
        [f"{path}:1", "error MALFORMED_RECORD"],
        [f"{path}:3", "warning MISSING_END"],
        [f"{path}:4", "info TORN_TAIL"],
    ]


def test_a_whole_log_is_said_to_be_one(tmp_path, capsys):
    assert main(["check", write(tmp_path / "log", one_run())]) == 0
    assert capsys.readouterr() == ("8 records, 1 run, 1 file: nothing is wrong\n", "")


def test_the_json_form(tmp_path, capsys):
    path = old(write(tmp_path / "log", WHOLE[:2]))

    status = main(["check", "--json", path, str(tmp_path / "none")])

    out, err = capsys.readouterr()
    assert (status, err) == (1, "")
    assert json.loads(out) == {
        "format": 1,
        "command": "check",
        "findings": [
            {
                "code": "MISSING_END",
                "severity": "warning",
                "message": "action answer has no terminal record",
                "path": path,
                "line": 2,
                "event_id": "action-1-started",
            },
            {
                "code": "UNREADABLE_FILE",
                "severity": "error",
                "message": "No such file or directory",
                "path": str(tmp_path / "none"),
            },
        ],
        "records": 2,
        "runs": 1,
        "files": 2,
    }


def test_every_code_is_explained():
    assert _MEANING.keys() == SEVERITY.keys()


def codes_of(log, folder):
    return sorted(
        (each.code, each.event_id)
        for each in check_log(old(write(folder / "log", log))).findings
        if each.code != "TIME_REVERSED"  # the order of records is what it is about
    )


@given(data=st.data(), log=runs())
def test_neither_order_nor_repetition_changes_what_is_found(
    tmp_path_factory, data, log
):
    folder = tmp_path_factory.mktemp("log")
    log = data.draw(st.lists(st.sampled_from(log), unique_by=id))
    shuffled = data.draw(st.permutations(log + log))

    assert {*codes_of(shuffled, folder)} == {*codes_of(log, folder)}


@given(log=st.lists(records, max_size=6))
def test_records_of_any_content_are_checked(tmp_path_factory, log):
    path = write(tmp_path_factory.mktemp("log") / "log", log)

    assert check_log(path).records <= len(log)


def test_times_of_other_zones_and_no_times_are_compared_as_they_can_be(tmp_path):
    started, finished = action(0, STARTED), action(9, FINISHED)
    for begin, end, expected in (
        ("2026-01-01T12:00:00+02:00", "2026-01-01T10:00:01Z", []),
        ("2026-01-01T12:00:00Z", "2026-01-01T13:00:00+02:00", ["TIME_REVERSED"]),
        ("noon", "evening", []),
    ):
        log = [
            root(),
            replace(started, timestamp=begin),
            replace(finished, timestamp=end),
        ]
        assert [code for code, _ in check(tmp_path, log)] == expected


def runs_of_one_key(size):
    """Whole runs one after the other, each closed by the next."""
    for number in range(size):
        fields = {"input_run_id": f"r{number}"}
        trigger = {"action_trigger_event_id": f"i{number}"}
        yield record(number, f"i{number}", INPUT_EVENT, **fields)
        yield action(number, STARTED, f"a{number}", **fields, **trigger)
        yield action(number, FINISHED, f"a{number}", **fields, **trigger)


def test_runs_are_checked_as_they_close_and_let_go(tmp_path, monkeypatch):
    alive, most = [], []

    class Counted(checking.RunCheck):
        def __init__(self, run):
            super().__init__(run)
            alive.append(self)
            most.append(len(alive))

        def end(self, *args):
            alive.remove(self)
            return super().end(*args)

    monkeypatch.setattr(closing, "MOST_CLOSED", 5)
    monkeypatch.setattr(checking, "RunCheck", Counted)

    checked = check_log(old(write(tmp_path / "log", list(runs_of_one_key(100)))))

    assert (checked.runs, checked.findings) == (100, [])
    assert max(most) <= 8


LEFT_OVER = [
    root(),
    action(1, STARTED),
    action(2, FAILED),
    record(10, "input-2", INPUT_EVENT, input_run_id="run-2"),
    # The action that failed had sent it; the next run of the key works it off.
    record(
        1,
        "left",
        "sent",
        input_run_id="run-2",
        execution_id="action-1",
        **ACTION_FIELDS,
    ),
    action(11, STARTED, "b", input_run_id="run-2", action_trigger_event_id="left"),
    action(12, FINISHED, "b", input_run_id="run-2", action_trigger_event_id="left"),
]


@pytest.mark.parametrize("most_closed", [0, 1_000])
def test_what_a_run_left_to_the_next_is_not_missing(tmp_path, monkeypatch, most_closed):
    monkeypatch.setattr(closing, "MOST_CLOSED", most_closed)

    assert check(tmp_path, LEFT_OVER) == []
    assert check(tmp_path, LEFT_OVER[3:]) == [
        ("MISSING_PARENT", 2),  # the trigger of the action that sent it
        ("MISSING_PARENT", 2),  # that action
    ]


@pytest.mark.parametrize("most_closed", [0, 1_000])
def test_what_goes_on_in_another_run_after_recovery_is_not_missing(
    tmp_path, monkeypatch, most_closed
):
    monkeypatch.setattr(closing, "MOST_CLOSED", most_closed)
    sent = record(9, "sent", "sent", execution_id="action-1", **ACTION_FIELDS)
    after = {"input_run_id": "run-2", "action_trigger_event_id": "sent"}
    going_on = [action(20, STARTED, "b", **after), action(21, FINISHED, "b", **after)]
    following = record(30, "next", INPUT_EVENT, input_run_id="run-3")

    assert check(tmp_path, [*WHOLE, sent, following, *going_on]) == []
    assert check(tmp_path, going_on) == [("MISSING_PARENT", 1)]


@pytest.mark.parametrize("most_closed", [0, 1_000])
def test_one_id_in_two_runs_is_one_event_or_a_conflict(
    tmp_path, monkeypatch, most_closed
):
    monkeypatch.setattr(closing, "MOST_CLOSED", most_closed)
    log = list(runs_of_one_key(3))
    same = replace(log[0], input_run_id="r2")

    assert check(tmp_path, [*log, same]) == []
    other = replace(same, event_attributes={"input": 1})
    assert check(tmp_path, [*log, other]) == [("EVENT_ID_CONFLICT", 10)]
