"""Runs in the order of time, each thing with its bar."""

from __future__ import annotations

import io
import json
import sys

from core.samples import ACTION_FIELDS, lifecycle, one_run, record, write
from flink_agents_eventlog.commands import main
from flink_agents_eventlog.lifecycle import FINISHED, INPUT_EVENT, STARTED

PICTURE = """\
OrderAgent  key order-1  run run-1  complete  1 failed  2023-11-14T22:13:20.000000Z  1.205 s
   0.0 ms  ◆                                         _input_event
   1.0 ms  ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━  action answer  1.204 s
   2.0 ms  ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━              llm chat_model  900 ms
   903 ms                               ━━             tool search  failed  1.5 ms  ValueError: no such
  1.204 s                                         ◆    _output_event
"""  # noqa: E501 - as it is drawn


def drawn(capsys, path):
    assert main(["timeline", path]) == 0
    return capsys.readouterr().out


def test_a_run_is_drawn_along_time(tmp_path, capsys):
    assert main(["timeline", write(tmp_path / "log", one_run())]) == 0
    assert capsys.readouterr() == (PICTURE, "")


def test_actions_that_ran_at_the_same_time_stand_as_they_began(tmp_path, capsys):
    log = [
        record(0, "input", INPUT_EVENT),
        lifecycle(10, STARTED, "a", **ACTION_FIELDS),
        lifecycle(20, STARTED, "b", **ACTION_FIELDS),
        record(30, "sent", "sent", execution_id="a"),
        lifecycle(40, FINISHED, "a", **ACTION_FIELDS),
        lifecycle(80, FINISHED, "b", **ACTION_FIELDS),
    ]

    assert drawn(capsys, write(tmp_path / "log", log)).splitlines()[1:] == [
        "   0.0 ms  ◆                                         _input_event",
        "    10 ms       ━━━━━━━━━━━━━━━━                     action answer  30 ms",
        "    20 ms            ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━  action answer  60 ms",
        "    30 ms                 ◆                            sent",
    ]


def test_what_did_not_end_goes_on_and_what_has_no_time_stands_last(tmp_path, capsys):
    strange = record(0, "strange", "strange")
    strange.timestamp = "!"
    log = [
        strange,
        record(0, "input", INPUT_EVENT),
        lifecycle(50, STARTED, "a", **ACTION_FIELDS),
        record(100, "late", "late"),
    ]

    assert drawn(capsys, write(tmp_path / "log", log)).splitlines()[1:] == [
        "   0.0 ms  ◆                                         _input_event",
        f"    50 ms  {'╌' * 20:>40}  action answer  started",
        "   100 ms                                         ◆  late",
        f"           {'':40}  strange",
    ]


def test_a_terminal_without_such_characters_gets_others(tmp_path, monkeypatch):
    stdout = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stdout)

    main(["timeline", write(tmp_path / "log", one_run())])

    ascii_picture = PICTURE.translate(str.maketrans("━◆", "=*"))
    assert stdout.buffer.getvalue().decode() == ascii_picture


def test_the_json_form(tmp_path, capsys):
    path = write(tmp_path / "log", one_run())

    assert main(["timeline", "--json", path]) == 0

    form = json.loads(capsys.readouterr().out)
    (run,) = form.pop("runs")
    moments = run.pop("moments")
    assert form == {"format": 1, "command": "timeline", "findings": []}
    assert run == {
        "input_run_id": "run-1",
        "business_key": "order-1",
        "agent_name": "OrderAgent",
        "complete": True,
        "started_at": "2023-11-14T22:13:20.000000Z",
        "duration_ms": 1205.0,
    }
    assert moments[0] == {
        "begin_ms": 0.0,
        "end_ms": 0.0,
        "depth": 0,
        "event_id": "input",
        "event_type": "_input_event",
    }
    assert moments[3] == {
        "begin_ms": 903.0,
        "end_ms": 904.5,
        "depth": 1,
        "execution_id": "tool-1",
        "entity_type": "tool",
        "entity_name": "search",
        "status": "failed",
    }
    assert [each["begin_ms"] for each in moments] == [0.0, 1.0, 2.0, 903.0, 1204.0]


def test_runs_can_be_chosen_and_findings_are_told(tmp_path, capsys):
    log = [*one_run()[:2], record(0, "i", INPUT_EVENT, input_run_id="other")]
    path = write(tmp_path / "log", log)

    assert main(["timeline", path]) == 0
    out, err = capsys.readouterr()
    assert out.count("OrderAgent") == 2
    assert err.startswith(f"{path}:2: warning MISSING_END")

    assert main(["timeline", path, "--run", "other"]) == 0
    out, err = capsys.readouterr()
    assert (out.count("OrderAgent"), err) == (1, "")


def test_a_tree_deeper_than_any_stack_is_drawn(tmp_path, capsys):
    log = [
        lifecycle(n, status, f"x{n}", parent_execution_id=f"x{n - 1}" if n else None)
        for n in range(3_000)
        for status in (STARTED, FINISHED)
    ]

    assert len(drawn(capsys, write(tmp_path / "log", log)).splitlines()) == 3_001
