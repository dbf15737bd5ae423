from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from core.samples import (
    ACTION_FIELDS,
    at,
    lifecycle,
    one_run,
    record,
    write,
)
from flink_agents_eventlog import Record
from flink_agents_eventlog.commands import main
from flink_agents_eventlog.lifecycle import (
    AGENT_RUN_END_EVENT,
    FINISHED,
    INPUT_EVENT,
    STARTED,
)

PICTURE = """\
OrderAgent  key order-1  run run-1  complete  1 failed
├─ _input_event
└─ action answer      finished    1.204 s  on _input_event
   ├─ llm chat_model  finished     900 ms  small  tokens 812 in, 93 out  2 attempts
   ├─ tool search     failed       1.5 ms  ValueError: no such
   └─ → _output_event
"""


@pytest.fixture(name="log")
def _log(tmp_path):
    return write(tmp_path / "events-a.jsonl", one_run())


def two_runs(tmp_path):
    other = [
        record(9000, "i2", INPUT_EVENT, input_run_id="other", business_key="order-2")
    ]
    return write(tmp_path / "two", [*one_run(), *other])


def test_a_run_is_drawn(log, capsys):
    assert main(["tree", log]) == 0
    assert capsys.readouterr() == (PICTURE, "")


@pytest.mark.usefixtures("log")
def test_a_folder_is_drawn(tmp_path, capsys):
    assert main(["tree", str(tmp_path)]) == 0
    assert capsys.readouterr().out == PICTURE


def test_events_of_no_action_stand_before_and_after(tmp_path, capsys):
    log = [
        *one_run(),
        record(1300, "end", AGENT_RUN_END_EVENT),
        record(-5, "left", "left_over", execution_id="of another run"),
        record(1250, "stray", "stray_event"),
    ]

    main(["tree", write(tmp_path / "log", log)])

    lines = capsys.readouterr().out.splitlines()
    assert [line[3:] for line in lines if line[0] in "├└"][:2] == [
        "_input_event",
        "left_over",
    ]
    assert lines[-2:] == ["├─ stray_event", "└─ _agent_run_end_event"]


def test_an_action_names_the_very_event_that_set_it_off(tmp_path, capsys):
    def action(name, time, trigger):
        fields = {"entity_type": "action", "entity_name": name}
        fields["action_trigger_event_id"] = trigger
        return [
            lifecycle(time, STARTED, name, **fields),
            lifecycle(time, FINISHED, name, **fields),
        ]

    log = [
        record(0, "input", INPUT_EVENT),
        *action("ask", 1, "input"),
        record(1, "first", "question", execution_id="ask"),
        record(2, "second", "question", execution_id="ask"),
        record(2, "note", "note", execution_id="ask"),
        record(2, "other note", "note", execution_id="ask"),
        *action("late", 3, "second"),
        *action("stray", 4, "0123456789"),
    ]

    main(["tree", write(tmp_path / "log", log)])

    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()[1:]] == [
        "├─ _input_event",
        "├─ action ask    finished     0.0 ms  on _input_event",
        "│  ├─ → question #1",
        "│  ├─ → question #2",
        "│  ├─ → note",
        "│  └─ → note",
        "├─ action late   finished     0.0 ms  on question #2",
        "└─ action stray  finished     0.0 ms  on 01234567",
    ]


def test_actions_that_events_name_are_drawn_where_nothing_says_that_they_ran(
    tmp_path, capsys
):
    def native(time, event_id, upstream=None, action=None, event_type="sent"):
        return Record(
            timestamp=at(time),
            event_id=event_id,
            event_type=event_type,
            action_trigger_event_id=upstream,
            upstream_action_name=action,
            event_attributes={},
            dialect="native",
        )

    log = [
        native(0, "root", event_type=INPUT_EVENT),
        native(0, "begin", "root", "agent_run_begin_action", "_agent_run_begin_event"),
        native(1, "child-1", "root", "branch_action", "child"),
        native(2, "child-2", "root", "branch_action", "child"),
        native(3, "child-3", "root", "second_action", "child"),
        native(4, "output", "child-1", "output_action", "output"),
        native(5, "heard", "begin", "listen"),
    ]

    assert main(["tree", write(tmp_path / "log", log)]) == 0

    drawn = capsys.readouterr().out.splitlines()
    assert [" ".join(line.split()) for line in drawn] == [
        "unknown agent run - complete",
        "├─ _input_event",
        "├─ _agent_run_begin_event",
        "├─ action branch_action on _input_event",
        "│ ├─ → child #1",
        "│ └─ → child #2",
        "├─ action second_action on _input_event",
        "│ └─ → child #3",
        "├─ action output_action on child #1",
        "│ └─ → output",
        "└─ action listen on _agent_run_begin_event",
        "└─ → sent",
    ]


@pytest.mark.parametrize(
    ("depth", "expected"),
    [
        ("0", PICTURE.splitlines()[:1]),
        (
            "1",
            [
                PICTURE.splitlines()[0],
                "├─ _input_event",
                "└─ action answer  finished    1.204 s  on _input_event  (3 inside)",
            ],
        ),
        ("2", PICTURE.splitlines()),
    ],
)
def test_a_tree_is_drawn_so_many_levels_deep(log, capsys, depth, expected):
    assert main(["tree", log, "--depth", depth]) == 0
    assert capsys.readouterr().out.splitlines() == expected


@pytest.mark.parametrize(
    ("depth", "left_out"),
    [("0", {"executions_left_out": 1}), ("1", {"children_left_out": 2}), ("2", {})],
)
def test_what_a_depth_leaves_out_is_counted_in_json(log, capsys, depth, left_out):
    assert main(["tree", log, "--json", "--depth", depth]) == 0

    (run,) = json.loads(capsys.readouterr().out)["runs"]
    nodes = [run, *run["executions"]]
    assert {
        name: value
        for node in nodes
        for name, value in node.items()
        if name.endswith("left_out")
    } == left_out
    assert sum(len(each["children"]) for each in run["executions"]) == (
        2 if depth == "2" else 0
    )


SELECT = ["--select", "execution_id", "--select", "input", "--select", "model"]
SELECT += ["--select", "attempts.0.error_type", "--select", "nothing"]


def test_fields_are_shown_where_they_are_known(log, capsys):
    assert main(["tree", log, *SELECT]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == '├─ _input_event  input="hello"'
    assert lines[2].endswith('on _input_event  execution_id="action-1"')
    assert lines[3].endswith(
        '2 attempts  execution_id="llm-1"  model="small"'
        '  attempts.0.error_type="ReadTimeout"'
    )
    assert lines[5] == '   └─ → _output_event  execution_id="action-1"'


def test_selected_fields_stand_whole_in_json(tmp_path, capsys):
    log = one_run()
    log[0].event_attributes = {"input": {"text": "x" * 1000}}
    path = write(tmp_path / "log", log)

    main(["tree", path, "--json", "--select", "input.text", "--select", "model"])
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    main(["tree", path, "--select", "input.text"])

    assert run["events"][0]["selected"] == {"input.text": "x" * 1000}
    assert run["executions"][0]["children"][0]["selected"] == {"model": "small"}
    assert capsys.readouterr().out.splitlines()[1].endswith("x" * 199 + "…")


def test_findings_go_to_stderr_a_line_each(tmp_path, capsys):
    path = tmp_path / "log"
    path.write_text('{"timestamp":5,"event_attributes":{}}\n')
    rest = write(tmp_path / "rest", one_run()[:2])

    status = main(["tree", str(path), rest])

    out, err = capsys.readouterr()
    assert status == 1
    assert out.splitlines()[0].endswith("incomplete")
    assert err.splitlines() == [
        f"{path}:1: error MALFORMED_RECORD: Expected `str`, got `int` (at $.timestamp)",
        f"{rest}:2: warning MISSING_END: action answer has no terminal record",
    ]


def test_the_json_form(log, capsys):
    assert main(["tree", "--json", log]) == 0

    out, err = capsys.readouterr()
    form = json.loads(out)
    (run,) = form.pop("runs")
    (action,) = run.pop("executions")
    llm, tool = action.pop("children")
    assert err == ""
    assert form == {"format": 1, "command": "tree", "findings": []}
    assert run == {
        "input_run_id": "run-1",
        "business_key": "order-1",
        "agent_name": "OrderAgent",
        "complete": True,
        "started_at": at(0),
        "ended_at": at(1205),
        "events": [
            {"event_id": "input", "event_type": "_input_event"},
            {
                "event_id": "output",
                "event_type": "_output_event",
                "execution_id": "action-1",
                "action_trigger_event_id": "input",
                "action": "answer",
            },
        ],
    }
    assert action == {
        "execution_id": "action-1",
        "entity_type": "action",
        "entity_name": "answer",
        "entity_metadata": {},
        "status": "finished",
        "started_at": "2023-11-14T22:13:20.001000Z",
        "ended_at": "2023-11-14T22:13:21.205000Z",
        "duration_ms": 1204.0,
        "action_trigger_event_id": "input",
    }
    assert llm["attempts"][0] == {"error_type": "ReadTimeout", "wait_seconds": 1}
    assert tool["error_message"] == "no such\npage"
    assert tool["children"] == []


def test_findings_stand_in_the_json_form(tmp_path, capsys):
    path = write(tmp_path / "log", one_run()[:2])

    status = main(["tree", "--json", path])

    out, err = capsys.readouterr()
    assert (status, err) == (0, "")
    assert json.loads(out)["findings"] == [
        {
            "code": "MISSING_END",
            "severity": "warning",
            "message": "action answer has no terminal record",
            "path": path,
            "line": 2,
            "event_id": "action-1-started",
        }
    ]


def test_all_runs_are_drawn_in_order(tmp_path, capsys):
    main(["tree", two_runs(tmp_path)])

    assert capsys.readouterr().out == (
        PICTURE + "\nOrderAgent  key order-2  run other  complete\n└─ _input_event\n"
    )


@pytest.mark.parametrize(
    "argv",
    [[], ["tree"], ["nothing"], ["tree", "--no"], ["tree", "--depth", "-1", "-"]],
)
def test_errors_of_use_end_with_two(argv, capsys):
    assert main(argv) == 2
    assert "usage: flink-agents-eventlog" in capsys.readouterr().err


def test_help_names_the_commands(capsys):
    assert main(["--help"]) == 0
    assert "tree" in capsys.readouterr().out


def test_a_terminal_without_box_characters_gets_ascii(log, monkeypatch):
    stdout = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stdout)

    main(["tree", log])

    ascii_picture = PICTURE.translate(str.maketrans("├└→", "|`>", "─"))
    for stroke, expected in (("| ", "|- "), ("` ", "`- ")):
        ascii_picture = ascii_picture.replace(stroke, expected)
    assert stdout.buffer.getvalue().decode() == ascii_picture


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


@pytest.mark.parametrize("no_color", ["", "1"])
def test_a_terminal_gets_colours_unless_told_otherwise(log, monkeypatch, no_color):
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setattr(sys, "stdout", Terminal())

    main(["tree", log])

    assert ("\x1b[31mfailed" in sys.stdout.getvalue()) is not no_color.isdigit()


def test_control_characters_stay_away_from_the_terminal(tmp_path, capsys):
    log = [record(0, "i", "x\x1b[2J\ud83d", business_key="a\nb")]

    main(["tree", write(tmp_path / "log", log)])

    assert capsys.readouterr().out == (
        "OrderAgent  key a\\nb  run run-1  incomplete\n└─ x\\x1b[2J\ufffd\n"
    )


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_tree_deeper_than_any_stack_is_printed(tmp_path, capsys, form):
    log = [
        lifecycle(n, status, f"x{n}", parent_execution_id=f"x{n - 1}" if n else None)
        for n in range(3_000)
        for status in (STARTED, FINISHED)
    ]

    assert main(["tree", write(tmp_path / "log", log), *form]) == 0
    assert capsys.readouterr().out.count("finished") == 3_000


def run_program(*args):
    return subprocess.Popen(
        [sys.executable, "-m", "flink_agents_eventlog", *args],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONIOENCODING": "utf-8"},
    )


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_reader_that_leaves_early_hears_nothing(tmp_path, form):
    log = []
    for n in range(2_000):
        log += [
            lifecycle(n, s, f"x{n}", input_run_id=str(n), **ACTION_FIELDS)
            for s in (STARTED, FINISHED)
        ]
    program = run_program("tree", write(tmp_path / "log", log), *form)

    with program:
        program.stdout.read(10)
        program.stdout.close()
        err = program.stderr.read()

    assert (err, program.returncode) == (b"", 0)


def test_the_package_runs_as_a_module(log):
    with run_program("tree", log) as program:
        out, err = program.communicate()

    assert (out.decode("utf-8"), err, program.returncode) == (PICTURE, b"", 0)


GOLDEN = Path(__file__).parent / "golden"
# What one reads in these logs, line by line.
NATIVE_RUN = """\
MyAgent  key {}  run {}  complete
├─ _input_event
├─ _agent_run_begin_event
├─ action first                 finished  {:>9}  on _input_event
│  ├─ → _chat_request_event
│  ├─ → _sensory_write_event
│  └─ → _short_term_write_event
├─ action chat_model_action     finished  {:>9}  on _chat_request_event
│  ├─ llm llm                   finished  {:>9}  fake-1
│  ├─ → _tool_request_event
│  └─ → _sensory_write_event
├─ action tool_call_action      finished  {:>9}  on _tool_request_event
│  ├─ tool add                  finished  {:>9}
│  ├─ tool boom                 finished  {:>9}
│  └─ → _tool_response_event
├─ action chat_model_action     finished  {:>9}  on _tool_response_event
│  ├─ llm llm                   finished  {:>9}  fake-1
│  ├─ parser structured_output  finished  {:>9}
│  ├─ → _chat_response_event
│  └─ → _sensory_write_event
└─ action last                  finished  {:>9}  on _chat_response_event
   └─ → _output_event
"""


def native_run(key, run, milliseconds):
    return NATIVE_RUN.format(key, run, *(f"{each} ms" for each in milliseconds.split()))


def test_the_golden_log_of_one_run(capsys):
    assert main(["tree", str(GOLDEN / "native_main_async.jsonl")]) == 0
    assert capsys.readouterr() == (
        native_run("k0", "78057627", "55 36 3.7 18 3.3 2.9 22 5.1 0.9 9.6"),
        "",
    )


def test_the_golden_log_of_two_runs_of_one_key_and_one_of_another(capsys):
    third = native_run("k0", "567608fa", "8.0 6.5 0.7 6.0 0.6 0.5 11 0.6 3.5 2.4")
    # This one finds in memory what the first run of its key left there.
    third = third.replace(
        "│  └─ → _short_term_write_event\n",
        "│  ├─ → _short_term_write_event\n│  └─ → _short_term_read_event\n",
    )

    assert main(["tree", str(GOLDEN / "native_main_two_runs_same_key.jsonl")]) == 0
    assert capsys.readouterr() == (
        "\n".join(
            [
                native_run("k0", "6686e082", "20 18 2.3 5.3 0.7 0.3 7.7 0.9 0.3 4.1"),
                native_run("k1", "1ad87abb", "5.0 5.4 0.6 3.8 0.4 0.4 8.7 1.6 0.3 5.4"),
                third,
            ]
        ),
        "",
    )
