from __future__ import annotations

import gzip
import io
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.samples import one_run, record, write
from flink_agents_eventlog import Finding, encode, read_records
from flink_agents_eventlog.reader import _read_line


def read(*paths):
    findings: list[Finding] = []
    records = list(read_records(*paths, on_finding=findings.append))
    return records, findings


def test_a_file_is_read_in_its_order(tmp_path):
    path = write(tmp_path / "any name", one_run())

    assert read(path) == (one_run(), [])


def test_a_folder_is_read_oldest_file_first(tmp_path):
    names = ["a.1", "a.2", "a.10", "a", "b"]
    for name in reversed(names):
        write(tmp_path / f"events-{name}.jsonl", [record(0, name, "x")])
    (tmp_path / "events-a.log").write_text("another log")
    (tmp_path / "notes.jsonl").write_text("no log")

    records, findings = read(tmp_path)

    assert [each.event_id for each in records] == names
    assert findings == []


def test_a_compressed_file_is_read(tmp_path):
    lines = b"".join(encode(each) + b"\n" for each in one_run())
    (tmp_path / "events-a.jsonl.gz").write_bytes(gzip.compress(lines))

    assert read(tmp_path) == (one_run(), [])


def test_standard_input_is_read(monkeypatch):
    lines = b"".join(encode(each) + b"\n" for each in one_run())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines)))

    assert read("-") == (one_run(), [])


def test_a_broken_line_is_reported_and_the_rest_is_read(tmp_path):
    first, second = (encode(record(0, name, "x")) for name in "ab")
    path = tmp_path / "log"
    path.write_bytes(
        b"\n".join(
            [
                first,
                b"?",
                b"",
                first.replace(b'"a"', b"5"),
                b"[]",
                second,
                b"",
            ]
        )
    )

    records, findings = read(path)

    assert [each.event_id for each in records] == ["a", "b"]
    place = ("MALFORMED_RECORD", "error")
    assert findings == [
        Finding(*place, "JSON is malformed: invalid character (byte 0)", str(path), 2),
        Finding(*place, "Expected `str`, got `int`", str(path), 4, "$.event_id"),
        Finding(*place, "Expected `object`, got `array`", str(path), 5),
    ]


def test_the_line_of_another_dialect_is_named(tmp_path):
    path = tmp_path / "log"
    path.write_text(
        '{"eventId":"1","eventAttributes":{}}\n{"event":{"eventType":"x"}}\n'
    )

    _, findings = read(path)

    assert [each.code for each in findings] == ["MALFORMED_RECORD"] * 2
    assert "native (camelCase) dialect" in findings[0].message
    assert "old nested form" in findings[1].message


def test_a_torn_last_line_is_an_information(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(encode(record(0, "a", "x")) + b'\n{"timest')

    records, findings = read(path)

    assert [each.event_id for each in records] == ["a"]
    assert findings == [
        Finding("TORN_TAIL", "info", "Input data was truncated", str(path), 2)
    ]


def test_a_last_line_that_only_lacks_its_newline_is_read(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(encode(record(0, "a", "x")))

    assert read(path) == ([record(0, "a", "x")], [])


def test_a_byte_order_mark_is_stepped_over(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b"\xef\xbb\xbf" + encode(record(0, "a", "x")) + b"\n")

    assert read(path) == ([record(0, "a", "x")], [])


def test_what_cannot_be_opened_is_reported_and_the_rest_is_read(tmp_path):
    missing, empty = tmp_path / "missing", tmp_path / "empty"
    empty.mkdir()
    log = write(tmp_path / "log", [record(0, "a", "x")])

    records, findings = read(missing, empty, log)

    assert [each.event_id for each in records] == ["a"]
    assert findings == [
        Finding("UNREADABLE_FILE", "error", "No such file or directory", str(missing)),
        Finding(
            "UNREADABLE_FILE", "error", "no events-*.jsonl in this folder", str(empty)
        ),
    ]


@pytest.mark.parametrize("keep", [5, 60])
def test_a_cut_compressed_file_is_read_as_far_as_it_goes(tmp_path, keep):
    path = tmp_path / "events-a.jsonl.gz"
    path.write_bytes(gzip.compress(encode(record(0, "a", "x")) + b"\n")[:keep])

    _, findings = read(path)

    assert [each.code for each in findings] == ["UNREADABLE_FILE"]


@given(st.integers(0))
def test_any_prefix_of_a_log_is_read(length):
    whole = b"".join(encode(each) + b"\n" for each in one_run())
    prefix = whole[: length % len(whole)]
    findings: list[Finding] = []
    lines = prefix.splitlines(keepends=True)

    read = [_read_line(line, "log", 1, findings.append) for line in lines]

    whole_lines = prefix.count(b"\n")
    assert read[:whole_lines] == one_run()[:whole_lines]
    assert {each.code for each in findings} <= {"TORN_TAIL"}
