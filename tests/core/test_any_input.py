"""Whatever is given to a command, it ends well: with findings, never a traceback."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.samples import NATIVE_LINE, NESTED_LINE, one_run, plain, records
from feeding import ends_well
from flink_agents_eventlog import decode_plain, encode

LINES = [NATIVE_LINE, NESTED_LINE, *map(encode, one_run())]


@settings(max_examples=25)
@given(content=st.binary(max_size=300))
def test_random_bytes(content):
    ends_well(content)


@settings(max_examples=25)
@given(values=st.lists(plain, max_size=5))
def test_random_json(values):
    ends_well(b"\n".join(json.dumps(value).encode() for value in values))


@settings(max_examples=25)
@given(log=st.lists(records, max_size=4))
def test_random_records(log):
    ends_well(b"\n".join(map(encode, log)))


@st.composite
def damaged_lines(draw):
    """Records with other values in some of their fields, at any depth of two."""
    fields = json.loads(draw(st.sampled_from(LINES)))
    for inner in (fields, *(each for each in fields.values() if type(each) is dict)):
        if inner and draw(st.booleans()):
            name = draw(st.sampled_from([*inner]))
            inner[name] = draw(plain)
    return json.dumps(fields).encode()


@settings(max_examples=25)
@given(lines=st.lists(damaged_lines(), min_size=1, max_size=4))
def test_wrong_types_in_any_field(lines):
    ends_well(b"\n".join(lines))


@settings(max_examples=25)
@given(data=st.data(), lines=st.lists(st.sampled_from(LINES), max_size=4))
def test_bytes_changed_cut_and_put_in(data, lines):
    content = bytearray(b"\n".join(lines))
    for _ in range(data.draw(st.integers(1, 4))):
        begin = data.draw(st.integers(0, len(content)))
        length = data.draw(st.integers(0, 5))
        content[begin : begin + length] = data.draw(st.binary(max_size=5))
    ends_well(bytes(content))


def record_with(value):
    return LINES[2].replace(b'"hello"', value)


@pytest.mark.parametrize(
    "content",
    [
        b"[" * 100_000,
        b"[" * 100_000 + b"]" * 100_000,
        b'{"event_attributes":' * 100_000 + b"1" + b"}" * 100_000,
        record_with(b"[" * 100_000 + b"]" * 100_000),
        record_with(b'{"a":' * 100_000 + b"1" + b"}" * 100_000),
        record_with(b"[" * 900 + b"]" * 900),
        record_with(b"9" * 20_000),
        record_with(b"-" + b"9" * 5_000),
        record_with(b"1e999999999"),
        record_with(b"NaN"),
        record_with(b'"\\ud800"'),
        record_with(b'"\xed\xa0\x80"'),
        record_with(b'"\\u0000\x00"'),
        b"\0" * 4096 + LINES[2],
        LINES[2] + b"\0" * 4096,
        b"\xef\xbb\xbf" + b"\r\n".join(LINES) + b"\r\n",
        b"\r".join(LINES),
        "\n".join(line.decode() for line in LINES).encode("utf-16"),
        b"\n" * 2_000,
        b"{\n" * 2_000,
        b"{\n}\n" * 1_000,
        b"",
    ],
    ids=lambda content: f"{content[:12]!r} {len(content)}",
)
def test_what_nobody_would_write(content):
    ends_well(content)


@pytest.mark.parametrize("value", ["5", "null", "[]", "{}", "true", "1.5", '"\\ud800"'])
def test_a_wrong_type_in_every_field_of_every_dialect(value):
    lines = []
    for line in LINES:
        fields = decode_plain(line)
        for outer in (
            fields,
            *(each for each in fields.values() if type(each) is dict),
        ):
            for name in list(outer):
                kept, outer[name] = outer[name], json.loads(value)
                lines.append(json.dumps(fields).encode())
                outer[name] = kept

    ends_well(b"\n".join(lines))


def test_memory_records_of_wrong_types():
    types = (
        "_agent_run_begin_event",
        "_short_term_write_event",
        "_sensory_write_event",
    )
    lines = [
        b'{"timestamp":"2026-01-01T00:00:00Z","business_key":"order-1","event_id":"%d",'
        b'"event_type":"%b","event_attributes":{"key":%b,"value":%b}}'
        % (number, event_type.encode(), key, value)
        for number, (event_type, key, value) in enumerate(
            (event_type, key, value)
            for event_type in types
            for key in (b'"order-1"', b"5", b"null", b"{}")
            for value in (b"5", b"null", b"[]", b'{"a":{"truncatedList":5}}', b'{"":1}')
        )
    ]

    ends_well(b"\n".join(lines))
