from __future__ import annotations

import gzip
import io
import json
import sys
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.samples import (
    NATIVE_LINE,
    NESTED_LINE,
    one_run,
    plain,
    record,
    write,
)
from flink_agents_eventlog import Finding, Record, encode, read_records, reader

NO_RECORD = (
    "Object is no record: no `event_attributes`, `eventAttributes` or `event` in it"
)
GOLDEN = Path(__file__).parent / "golden"


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
    (tmp_path / "a.log").write_text("another log")
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
                b"{}",
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
        Finding(*place, NO_RECORD, str(path), 6),
    ]


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
            "UNREADABLE_FILE",
            "error",
            "no events-*.jsonl or events-*.log in this folder",
            str(empty),
        ),
    ]


@pytest.mark.parametrize("keep", [5, 60])
def test_a_cut_compressed_file_is_read_as_far_as_it_goes(tmp_path, keep):
    path = tmp_path / "events-a.jsonl.gz"
    path.write_bytes(gzip.compress(encode(record(0, "a", "x")) + b"\n")[:keep])

    _, findings = read(path)

    assert [each.code for each in findings] == ["UNREADABLE_FILE"]


def log(tmp_path, *parts: bytes):
    path = tmp_path / "log"
    path.write_bytes(b"".join(parts))
    return path


def pretty(line: bytes) -> bytes:
    return msgspec.json.format(line, indent=2) + b"\n"


def ids(records):
    return [each.event_id for each in records]


def places(findings):
    return [(each.code, each.line) for each in findings]


SNAKE_LINE = encode(record(0, "s", "x"))


def test_all_dialects_are_read_from_one_file(tmp_path):
    lines = [SNAKE_LINE, NATIVE_LINE, NESTED_LINE]
    path = log(
        tmp_path, *(line + b"\r\n" for line in lines), *(pretty(line) for line in lines)
    )

    records, findings = read(path)

    assert [each.dialect for each in records] == ["snake", "native", "nested"] * 2
    assert records[:3] == records[3:]
    assert [encode(each) for each in records] == lines * 2
    assert findings == []


def test_a_record_over_several_lines_has_the_place_of_its_first(tmp_path):
    path = log(tmp_path, SNAKE_LINE, b"\n", pretty(NATIVE_LINE), b"\n", SNAKE_LINE)

    located = list(reader.read_located([path], pytest.fail))

    lines = pretty(NATIVE_LINE).count(b"\n")
    assert [(each.record.dialect, each.line) for each in located] == [
        ("snake", 1),
        ("native", 2),
        ("snake", lines + 3),
    ]


def test_reading_finds_back_after_a_broken_line_between_pretty_records(tmp_path):
    path = log(tmp_path, pretty(NATIVE_LINE), b"broken\n", pretty(NATIVE_LINE))

    records, findings = read(path)

    assert ids(records) == ["n", "n"]
    line = pretty(NATIVE_LINE).count(b"\n") + 1
    assert places(findings) == [("MALFORMED_RECORD", line)]


def test_a_pretty_record_that_broke_off_hides_none_after_it(tmp_path):
    cut = b"\n".join(pretty(NATIVE_LINE).splitlines()[:4]) + b"\n"
    path = log(tmp_path, cut, pretty(NATIVE_LINE), cut, SNAKE_LINE, b"\n", cut)

    records, findings = read(path)

    assert ids(records) == ["n", "s"]
    second = 4 + pretty(NATIVE_LINE).count(b"\n") + 1
    assert places(findings) == [
        ("MALFORMED_RECORD", 1),
        ("MALFORMED_RECORD", second),
        ("TORN_TAIL", second + 5),
    ]


def test_a_fault_in_a_pretty_record_is_told_by_its_own_line(tmp_path):
    broken = pretty(NATIVE_LINE).replace(b'"eventId":', b'"eventId" oh')
    at = broken[: broken.index(b"oh")].count(b"\n") + 1
    path = log(tmp_path, broken, SNAKE_LINE)

    records, findings = read(path)

    assert ids(records) == ["s"]
    assert places(findings) == [("MALFORMED_RECORD", at)]


@pytest.mark.parametrize(
    ("line", "json_path", "event_id"),
    [
        (SNAKE_LINE.replace(b'"x"', b"5"), "$.event_type", "s"),
        (NATIVE_LINE.replace(b'"in"', b"5"), "$.upstreamEventId", "n"),
        (NATIVE_LINE.replace(b'"n"', b"5"), "$.eventId", None),
        (
            NESTED_LINE.replace(b'"_input_event","id', b'[],"id'),
            "$.event.eventType",
            "o",
        ),
        (b'{"timestamp":"t","event":"no object"}', "$.event", None),
        (b'{"timestamp":"t","event":{"eventType":"x"}}', "$.event", None),
    ],
)
def test_a_wrong_type_is_a_finding_with_its_place(tmp_path, line, json_path, event_id):
    path = log(tmp_path, line, b"\n", SNAKE_LINE)

    records, (finding,) = read(path)

    assert ids(records) == ["s"]
    assert (finding.code, finding.line) == ("MALFORMED_RECORD", 1)
    assert (finding.json_path, finding.event_id) == (json_path, event_id)


def test_wrong_types_in_every_field_are_findings(tmp_path):
    lines = []
    for whole in (SNAKE_LINE, NATIVE_LINE, NESTED_LINE):
        fields = json.loads(whole)
        for name, wrong in [(name, wrong) for name in fields for wrong in (5, [], "")]:
            if type(wrong) is not type(fields[name]):
                lines.append(json.dumps({**fields, name: wrong}))
    path = log(tmp_path, "\n".join([*lines, ""]).encode())

    records, findings = read(path)

    # Only what the nested form calls unknown may be of any type.
    assert {each.dialect for each in records} <= {"nested"}
    assert len(records) + len(findings) == len(lines)


def test_nul_bytes_hide_no_record(tmp_path):
    path = log(tmp_path, b"\0" * 50, SNAKE_LINE, b"\n", b"\0\0\n", NATIVE_LINE, b"\n")

    records, findings = read(path)

    assert ids(records) == ["s", "n"]
    assert places(findings) == [("MALFORMED_RECORD", 1), ("MALFORMED_RECORD", 2)]


@pytest.mark.parametrize("ending", [b"", b"\n"])
def test_what_is_too_long_is_stepped_over(tmp_path, monkeypatch, ending):
    monkeypatch.setattr("flink_agents_eventlog.log_file.LONGEST_RECORD", 1000)
    long = encode(record(0, "l", "x", event_attributes={"a": "long" * 1000}))
    path = log(tmp_path, SNAKE_LINE, b"\n", long, b"\n", pretty(long), long, ending)

    records, findings = read(path)

    assert ids(records) == ["s"]
    assert {each.code for each in findings} == {"MALFORMED_RECORD"}
    assert "stepped over" in findings[0].message
    assert findings[0].line == 2


def test_deep_nesting_is_a_finding(tmp_path):
    deep = b"[" * 100_000 + b"]" * 100_000
    line = SNAKE_LINE.replace(b"{}", b'{"a":' + deep + b"}")
    path = log(tmp_path, line, b"\n", deep, b"\n", SNAKE_LINE)

    records, findings = read(path)

    assert ids(records) == ["s"]
    assert places(findings) == [("MALFORMED_RECORD", 1), ("MALFORMED_RECORD", 2)]


@pytest.mark.parametrize("line", [SNAKE_LINE, NATIVE_LINE, NESTED_LINE])
def test_lone_surrogates_and_huge_integers_are_read(tmp_path, line):
    odd = b'{"text":"\\ud83d","number":1' + b"0" * 5000 + b"}"
    path = log(tmp_path, line.replace(b"{}", odd), b"\n")

    (read_back,), findings = read(path)

    assert read_back.event_attributes == {"text": "\ufffd", "number": 10**5000}
    assert findings == []


def test_a_file_in_utf_16_is_unreadable_and_others_are_read(tmp_path):
    wide = tmp_path / "wide"
    wide.write_text(SNAKE_LINE.decode(), encoding="utf-16")
    path = log(tmp_path, SNAKE_LINE)

    records, findings = read(wide, path)

    assert ids(records) == ["s"]
    assert places(findings) == [("UNREADABLE_FILE", None)]


def test_bytes_that_are_no_text_spoil_only_their_line(tmp_path):
    path = log(
        tmp_path,
        b"\xff\xfa\n",
        SNAKE_LINE.replace(b'"x"', b'"\xff"'),
        b"\n",
        SNAKE_LINE,
    )

    records, findings = read(path)

    assert ids(records) == ["s"]
    assert places(findings) == [("MALFORMED_RECORD", 1), ("MALFORMED_RECORD", 2)]


def test_the_files_of_a_folder_are_read_in_the_order_of_writing(tmp_path):
    names = [
        "events-a.log.1",
        "events-a.log.2",
        "events-a.log",
        "events-a.1.jsonl",
        "events-a.2.jsonl.gz",
        "events-a.jsonl",
        "events-a-otel.1.log",
        "events-a-otel.log",
        "events-b.log",
    ]
    for name in reversed(names):
        line = encode(record(0, name, "x"))
        (tmp_path / name).write_bytes(
            gzip.compress(line) if name.endswith("gz") else line
        )

    records, findings = read(tmp_path)

    assert ids(records) == names
    assert findings == []


@pytest.mark.parametrize("ours", ["events-j-t-0.jsonl", "events-j-t-0-otel.log"])
def test_the_nested_log_of_the_host_is_left_out_beside_ours(tmp_path, ours):
    (tmp_path / ours).write_bytes(SNAKE_LINE)
    host = tmp_path / "events-j-t-0.log"
    host.write_bytes(NESTED_LINE)
    (tmp_path / "events-j-t-1.log").write_bytes(NESTED_LINE)

    records, findings = read(tmp_path)

    assert ids(records) == ["s", "o"]
    message = f"{ours} has the same Events and more"
    assert findings == [Finding("HOST_LOG_SKIPPED", "info", message, str(host))]


def test_the_log_of_the_host_is_read_where_it_is_named(tmp_path):
    (tmp_path / "events-j-t-0.jsonl").write_bytes(SNAKE_LINE)
    host = tmp_path / "events-j-t-0.log"
    host.write_bytes(NESTED_LINE)

    assert ids(read(host)[0]) == ["o"]
    assert ids(read(tmp_path, host)[0]) == ["s", "o"]
    assert read(tmp_path, host)[1] == []


def test_the_flat_log_of_the_host_is_no_copy_of_ours(tmp_path):
    (tmp_path / "events-j-t-0.jsonl").write_bytes(SNAKE_LINE)
    (tmp_path / "events-j-t-0.log").write_bytes(NATIVE_LINE)

    assert ids(read(tmp_path)[0]) == ["n", "s"]


def test_records_are_handed_out_while_the_file_is_read():
    class Endless(io.RawIOBase):
        def readline(self, _size=-1):
            return SNAKE_LINE + b"\n"

    endless = reader.read_records("-")
    stdin, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO())
    try:
        sys.stdin = type("Stdin", (), {"buffer": Endless()})
        assert next(endless) == next(endless)
    finally:
        sys.stdin = stdin


LOGS = [
    b"".join(encode(each) + b"\n" for each in one_run()),
    b"".join(pretty(encode(each)) for each in one_run()),
    b"\n".join((GOLDEN / "native_main_async.jsonl").read_bytes().splitlines()[:6])
    + b"\n",
]


def read_bytes(data: bytes) -> tuple[list[Record], list[Finding]]:
    stdin, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(data))
    try:
        return read("-")
    finally:
        sys.stdin = stdin


@given(st.sampled_from(LOGS), st.integers(0))
def test_any_prefix_of_a_log_is_read(whole, length):
    length %= len(whole)

    records, findings = read_bytes(whole[:length])

    assert records == read_bytes(whole)[0][: len(records)]
    assert {each.code for each in findings} <= {"TORN_TAIL"}
    assert len(findings) <= 1


@given(
    st.binary()
    | st.lists(
        st.sampled_from([b"{\n", b"}\n", b'"a":1', b"{", b"\0", b"\xef\xbb\xbf", b"\n"])
    ).map(b"".join)
)
def test_random_bytes_give_findings(data):
    records, findings = read_bytes(data)

    assert records == []
    assert all(
        each.code in ("MALFORMED_RECORD", "TORN_TAIL", "UNREADABLE_FILE")
        for each in findings
    )
    assert findings or not data.replace(b"\xef\xbb\xbf", b"").strip()


@given(
    st.lists(
        plain
        | st.dictionaries(
            st.sampled_from(
                ["event", "event_attributes", "eventAttributes", "timestamp"]
            ),
            plain,
        )
    )
)
def test_random_json_gives_one_finding_each(values):
    data = b"".join(json.dumps(each).encode() + b"\n" for each in values)

    records, findings = read_bytes(data)

    assert (len(records), len(findings)) == (0, len(values))


@settings(max_examples=300)
@given(
    st.sampled_from(LOGS),
    st.lists(st.tuples(st.integers(0), st.binary(max_size=3)), max_size=5),
)
def test_a_damaged_log_is_read_apart_from_the_damage(whole, damages):
    data = bytearray(whole)
    for place, damage in damages:
        start = place % len(data)
        data[start : start + 2] = damage

    records, findings = read_bytes(bytes(data))

    # Every newline that is put in or taken away spoils one record more.
    lost = len(read_bytes(whole)[0]) - len(records)
    assert lost <= 2 * len(damages)
    assert all(each.line for each in findings if each.code != "UNREADABLE_FILE")


@given(st.sampled_from([SNAKE_LINE, NATIVE_LINE, NESTED_LINE]), st.data())
def test_any_value_in_any_field_is_a_record_or_a_finding(line, data):
    fields = json.loads(line)
    inside = (
        fields["event"] if "event" in fields and data.draw(st.booleans()) else fields
    )
    inside[data.draw(st.sampled_from(sorted(inside)))] = data.draw(plain)

    records, findings = read_bytes(json.dumps(fields).encode())

    assert len(records) + len(findings) == 1
