"""Records shown while they are written, in a process of its own where it has to be."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from core.samples import ACTION_FIELDS, at, lifecycle, one_run, record, write
from flink_agents_eventlog import encode
from flink_agents_eventlog.commands import main
from flink_agents_eventlog.lifecycle import STARTED

LOG = one_run()
ERROR = "ValueError: no such\\npage"


@pytest.fixture(name="program")
def _program():
    programs = []

    def start(*args):
        program = subprocess.Popen(
            [sys.executable, "-m", "flink_agents_eventlog", "follow", *args],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=os.environ | {"PYTHONIOENCODING": "utf-8"},
            # A background job ignores interrupts, and so would its children.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
        )
        programs.append(program)
        return program

    yield start
    for program in programs:
        program.kill()
        program.communicate()


def give(monkeypatch, content):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


def test_each_record_is_a_line_and_an_end_tells_how_long_it_took(monkeypatch, capsys):
    give(monkeypatch, b"".join(encode(each) + b"\n" for each in LOG))

    assert main(["follow", "-"]) == 0

    assert capsys.readouterr().out.splitlines() == [
        f"{at(0)}  order-1    _input_event",
        f"{at(1)}  order-1  action answer  started",
        f"{at(2)}  order-1  llm chat_model  started",
        f"{at(902)}  order-1  llm chat_model  finished  900 ms",
        f"{at(903)}  order-1  tool search  started",
        f"{at(904.5)}  order-1  tool search  failed  1.5 ms  {ERROR}",
        f"{at(1205)}  order-1  action answer  finished  1.204 s",
        f"{at(1204)}  order-1    _output_event",
    ]


def test_files_are_followed_through_rotation_until_an_interrupt(tmp_path, program):
    path = tmp_path / "events-a.jsonl"
    write(path, LOG[:1])
    following = program("--json", "--from-start", str(tmp_path))

    first = json.loads(following.stdout.readline())
    with path.open("ab") as file:
        file.write(encode(LOG[1])[:20])
        file.flush()
        time.sleep(0.5)
        file.write(encode(LOG[1])[20:] + b"\nbroken\n")
    second, broken = (json.loads(following.stdout.readline()) for _ in range(2))
    path.rename(tmp_path / "events-a.1.jsonl")
    write(path, LOG[2:3])
    third = json.loads(following.stdout.readline())
    following.send_signal(signal.SIGINT)
    out, err = following.communicate(timeout=30)

    assert [first, second, third] == [
        {"path": str(path), "line": line, "record": json.loads(encode(LOG[at]))}
        for at, line in ((0, 1), (1, 2), (2, 1))
    ]
    assert (broken["finding"]["code"], broken["finding"]["line"]) == (
        "MALFORMED_RECORD",
        3,
    )
    [still_open] = [json.loads(line)["finding"] for line in out.splitlines()]
    assert still_open["code"] == "RUN_OPEN"
    assert (err, following.returncode) == (b"", 0)


def test_a_reader_that_leaves_hears_nothing(tmp_path, program):
    log = [record(each, str(each), "sent") for each in range(5_000)]
    following = program("--from-start", write(tmp_path / "log", log))

    following.stdout.readline()
    following.stdout.close()
    err = following.stderr.read()

    assert (err, following.wait(timeout=30)) == (b"", 0)


@pytest.mark.parametrize(("grew", "code"), [(True, "RUN_OPEN"), (False, "MISSING_END")])
def test_what_did_not_end_is_told_at_the_end(tmp_path, monkeypatch, capsys, grew, code):
    path = write(
        tmp_path / "log",
        [lifecycle(each, STARTED, f"a{each}", **ACTION_FIELDS) for each in (1, 2)],
    )
    if not grew:
        os.utime(path, (0, 0))

    def interrupt(_seconds):
        raise KeyboardInterrupt

    monkeypatch.setattr(time, "sleep", interrupt)

    assert main(["follow", "--from-start", path]) == 0

    err = capsys.readouterr().err
    assert [line.split()[2] for line in err.splitlines()] == [f"{code}:"] * (
        1 if grew else 2
    )


def test_standard_input_is_followed_alone(capsys):
    assert main(["follow", "-", "log"]) == 2
    assert "only be followed alone" in capsys.readouterr().err


def test_control_characters_and_strange_times_stay_harmless(monkeypatch, capsys):
    execution = (
        b'{"timestamp":"%b","execution_id":"x","event_id":"%b",'
        b'"event_type":"_execution_%b_event","event_attributes":{"error_type":5}}'
    )
    lines = [
        encode(record(0, "1", "\x1b", business_key=None)).replace(b"2023", b"\\u001b"),
        execution % (b"noon", b"2", b"started"),
        execution % (b"night", b"3", b"failed"),
    ]
    give(monkeypatch, b"\n".join(lines))

    assert main(["follow", "-"]) == 0

    assert capsys.readouterr().out.splitlines() == [
        "\\x1b" + at(0)[4:] + "  -    \\x1b",
        "noon  -  ? ?  started",
        "night  -  ? ?  failed",
    ]
