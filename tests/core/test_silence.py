"""Who waits is told how far it is; who has left, or lost patience, hears nothing."""

from __future__ import annotations

import gzip
import io
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from core.samples import one_run, write
from feeding import COMMANDS
from flink_agents_eventlog.commands import main, progress
from flink_agents_eventlog.lifecycle import INPUT_EVENT

TEXT_COMMANDS = [each[:-1] for each in COMMANDS if "--json" not in each]
READERS = [each for each in TEXT_COMMANDS if each[0] != "follow"]
# The bar of replay is its own: it counts what was sent.
PATIENT = [each for each in READERS if each[0] not in ("convert", "replay")]


def names(commands):
    return [" ".join(each) for each in commands]


@pytest.fixture(name="log", scope="module")
def _log(tmp_path_factory):
    """More than a pipe holds."""
    runs = []
    for number in range(300):
        run = one_run()
        for each in run:
            each.input_run_id = f"run-{number}"
            each.event_id += f"-{number}"
            if each.action_trigger_event_id is not None:
                each.action_trigger_event_id += f"-{number}"
        runs += run
    return write(tmp_path_factory.mktemp("log") / "events-a.jsonl", runs)


def program(command, *args, **options):
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(
        [sys.executable, "-m", "flink_agents_eventlog", *command, *args],
        **{**streams, **options},
    )


@pytest.mark.parametrize("command", READERS, ids=names(READERS))
def test_a_reader_that_leaves_at_once_hears_nothing(log, command):
    with program(command, log, stderr=subprocess.STDOUT) as process:
        process.stdout.close()

    assert process.returncode == 0


@pytest.mark.parametrize("command", READERS, ids=names(READERS))
def test_a_terminal_that_was_closed_is_not_complained_about(log, command):
    ours, theirs = pty.openpty()
    with program(command, log, stdout=theirs) as process:
        os.close(theirs)
        os.close(ours)
        err = process.stderr.read()

    assert process.returncode == 0
    assert b"Traceback" not in err
    assert b"Errno" not in err


@pytest.mark.parametrize("command", TEXT_COMMANDS, ids=names(TEXT_COMMANDS))
def test_an_interrupt_is_silent(monkeypatch, capsys, command):
    class Interrupted(io.BytesIO):
        def readline(self, _size=-1):
            raise KeyboardInterrupt

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(Interrupted()))

    assert main([*command, "-"]) == (0 if command == ["follow"] else 130)
    assert capsys.readouterr() == ("", "")


def test_an_interrupt_of_a_real_process_is_silent(log):
    process = program(
        ["tree"],
        "-",
        stdin=subprocess.PIPE,
        # A background job ignores interrupts, and so would its children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    with process, Path(log).open("rb") as file:
        process.stdin.write(file.read())  # more than a pipe holds: it is reading
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        out, err = process.stdout.read(), process.stderr.read()

    assert (process.returncode, out, err) == (130, b"", b"")


def test_streams_that_are_closed_from_the_start_do_no_harm(log):
    closing = ["sh", "-c", 'exec "$0" "$@" <&- >&- 2>&-', sys.executable]

    done = subprocess.run([*closing, "-m", "flink_agents_eventlog", "tree", log])

    assert done.returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a full device")
def test_a_full_disk_is_told_in_a_word(log):
    with (
        Path("/dev/full").open("wb") as full,
        program(["tree"], log, stdout=full) as process,
    ):
        err = process.stderr.read()

    assert process.returncode == 2
    assert err == b"flink-agents-eventlog: [Errno 28] No space left on device\n"


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


def on_a_terminal(monkeypatch, *args, clock=None, **streams):
    """Run with a terminal on stderr and a clock on which each look takes a second."""
    terminal = Terminal()
    seconds = iter(range(1_000_000))
    with monkeypatch.context() as patch:
        patch.setattr(progress.time, "monotonic", clock or (lambda: next(seconds)))
        for name, stream in {"stderr": terminal, **streams}.items():
            patch.setattr(sys, name, terminal if stream is None else stream)
        assert main([*args]) in (0, 1)
    return terminal.getvalue()


def screens(text):
    return text.split("\r\x1b[K")


@pytest.mark.parametrize("command", PATIENT, ids=names(PATIENT))
def test_long_work_is_told_on_a_terminal_and_leaves_nothing_there(
    log, monkeypatch, capsys, command
):
    said = on_a_terminal(monkeypatch, *command, log)

    nothing, *drawn, rest = screens(said)
    assert nothing == ""
    assert "%" not in rest
    assert [each[4:7] for each in drawn] == [" [="] * len(drawn)
    shares = [int(each[: each.index("%")]) for each in drawn]
    assert shares == sorted(shares)
    assert shares[-1] > 80
    assert "\x1b[K" not in capsys.readouterr().out


def test_how_far_it_is_in_several_files_one_of_them_compressed(
    log, tmp_path, monkeypatch
):
    text = Path(log).read_bytes()
    for name in ("b", "c"):
        (tmp_path / f"events-{name}.jsonl").write_bytes(text)
    with gzip.open(tmp_path / "events-a.jsonl.gz", "wb") as file:
        file.write(text)

    said = on_a_terminal(monkeypatch, "stats", str(tmp_path))

    drawn = screens(said)[1:-1]
    shares = [int(each[: each.index("%")]) for each in drawn]
    assert shares == sorted(shares)
    assert shares[0] < 10
    assert 90 < shares[-1] <= 100


def test_of_standard_input_only_what_was_read_is_told(log, monkeypatch):
    stdin = io.TextIOWrapper(io.BytesIO(Path(log).read_bytes()))

    said = on_a_terminal(monkeypatch, "stats", "-", stdin=stdin)

    assert screens(said)[-2].endswith(" MB read")


def test_nothing_is_told_of_short_work_nor_without_a_terminal(log, monkeypatch):
    said = on_a_terminal(monkeypatch, "stats", log, clock=lambda: 0)
    assert said == ""

    stderr = io.StringIO()
    on_a_terminal(monkeypatch, "stats", log, stderr=stderr)
    assert stderr.getvalue() == ""


def test_trees_do_not_mix_with_the_bar_on_one_terminal(log, monkeypatch):
    said = on_a_terminal(monkeypatch, "tree", log, stdout=None)

    before, _, after = said.partition("OrderAgent")
    assert "% [" in before
    assert "% [" not in after
    assert before.endswith("\r\x1b[K\x1b[1m")
    assert INPUT_EVENT in after
