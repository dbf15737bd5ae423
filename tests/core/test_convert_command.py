from __future__ import annotations

import io
import json
import stat
import sys
from pathlib import Path

import pytest

from core.samples import one_run, record, write
from flink_agents_eventlog import Conversion, encode
from flink_agents_eventlog.commands import main

GOLDEN = Path(__file__).parent / "golden" / "native_main_async.jsonl"
EMPTY_SEARCH = record(
    0, "e", "_long_term_search_event", event_attributes={"key": "k", "value": {"q": []}}
)


@pytest.fixture(name="log")
def _log(tmp_path):
    return write(tmp_path / "events-a.jsonl", one_run())


def test_a_log_is_translated_line_by_line(log, capsysbinary):
    native = Conversion("native")

    status = main(["convert", log, "--to", "native"])

    expected = [encode(native.convert(each).record) for each in one_run()]
    assert status == 0
    assert capsysbinary.readouterr() == (b"\n".join([*expected, b""]), b"")


def test_a_real_log_goes_there_and_back(tmp_path, monkeypatch, capsysbinary):
    output = tmp_path / "snake"
    main(["convert", str(GOLDEN), "--to", "snake", "-o", str(output)])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(output.read_bytes())))

    main(["convert", "-", "--to", "native"])

    assert capsysbinary.readouterr() == (GOLDEN.read_bytes(), b"")


def test_losses_are_told_once_a_kind_with_counts(tmp_path, capsys):
    log = write(tmp_path / "log", [EMPTY_SEARCH, EMPTY_SEARCH, *one_run()])

    assert main(["convert", log, "--to", "native"]) == 0

    assert capsys.readouterr().err.splitlines() == [
        (
            "lost or guessed in 2 of 10 records: "
            "the set of a long-term search, which the source does not name"
        )
    ]


def test_a_broken_line_is_left_out_and_reported(tmp_path, capsys):
    log = tmp_path / "log"
    log.write_text(f"{encode(one_run()[0]).decode()}\nbroken\n")

    status = main(["convert", str(log), "--to", "snake"])

    out, err = capsys.readouterr()
    assert status == 1
    assert out == f"{encode(one_run()[0]).decode()}\n"
    assert err.startswith(f"{log}:2: error MALFORMED_RECORD")


def test_the_output_file_is_private(log, tmp_path):
    output = tmp_path / "out" / "native.log"
    output.parent.mkdir()

    assert main(["convert", log, "--to", "native", "-o", str(output)]) == 0

    assert stat.S_IMODE(output.stat().st_mode) == 0o600
    assert output.read_bytes().count(b"\n") == len(one_run())


@pytest.mark.parametrize("to_file", [True, False])
def test_the_report_as_json_does_not_mix_with_the_product(tmp_path, capsys, to_file):
    log = write(tmp_path / "log", [EMPTY_SEARCH])
    target = ["-o", str(tmp_path / "elsewhere")] if to_file else []

    main(["convert", log, "--to", "native", "--json", *target])

    out, err = capsys.readouterr()
    assert json.loads(out if to_file else err) == {
        "format": 1,
        "command": "convert",
        "findings": [],
        "to": "native",
        "records": 1,
        "losses": {"the set of a long-term search, which the source does not name": 1},
    }
    assert (err if to_file else json.loads(out)["eventId"]) == ("" if to_file else "e")


def test_a_file_is_not_read_while_it_is_written(log, tmp_path, capsys):
    for paths in ([log], [str(tmp_path)]):
        assert main(["convert", *paths, "--to", "native", "-o", log]) == 2
        assert "would be read while it is written" in capsys.readouterr().err
    assert Path(log).read_bytes().count(b"\n") == len(one_run())


def test_an_output_that_cannot_be_written_is_a_usage_error(log, tmp_path, capsys):
    output = tmp_path / "gone" / "file"

    assert main(["convert", log, "--to", "native", "-o", str(output)]) == 2
    assert f"cannot write {output}: No such file" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["--to", "nested"]])
def test_the_dialect_has_to_be_named(log, capsys, arguments):
    assert main(["convert", log, *arguments]) == 2
    assert "--to" in capsys.readouterr().err
