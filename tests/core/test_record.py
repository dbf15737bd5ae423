from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.samples import at, record, records
from flink_agents_eventlog import (
    Record,
    decode,
    encode,
    snapshot,
    timestamp_ns,
    timestamp_text,
)
from flink_agents_eventlog.lifecycle import FAILED, LLM, MODEL_CALL_FAILED


def full_record() -> Record:
    return Record(
        timestamp=at(0),
        input_run_id="run",
        business_key="key",
        agent_name="Agent",
        execution_id="execution",
        parent_execution_id="parent",
        action_trigger_event_id="trigger",
        entity_type=LLM,
        entity_name="model",
        entity_metadata={"model": "small"},
        event_id="event",
        source_event_id="source",
        event_type="_execution_failed_event",
        status=FAILED,
        problem_category=MODEL_CALL_FAILED,
        trace_id="0" * 32,
        span_id="0" * 16,
        event_attributes={"error_type": "ValueError"},
    )


def test_a_record_is_written_field_by_field_in_the_fixed_order():
    line = encode(full_record())

    assert line.decode() == (
        '{"timestamp":"2023-11-14T22:13:20.000000Z","input_run_id":"run",'
        '"business_key":"key","agent_name":"Agent","execution_id":"execution",'
        '"parent_execution_id":"parent","action_trigger_event_id":"trigger",'
        '"entity_type":"llm","entity_name":"model",'
        '"entity_metadata":{"model":"small"},"event_id":"event",'
        '"source_event_id":"source","event_type":"_execution_failed_event",'
        '"status":"failed","problem_category":"model_call_failed",'
        '"trace_id":"00000000000000000000000000000000",'
        '"span_id":"0000000000000000",'
        '"event_attributes":{"error_type":"ValueError"}}'
    )


def test_absent_fields_are_omitted_but_never_the_attributes():
    line = encode(
        Record(timestamp="t", event_id="e", event_type="x", event_attributes={})
    )

    assert (
        line
        == b'{"timestamp":"t","event_id":"e","event_type":"x","event_attributes":{}}'
    )


@pytest.mark.parametrize(
    "attributes",
    [
        {"input": msgspec.Raw(b'[1,"two"]')},
        {"input": snapshot([1, "two"])},
        snapshot({"input": [1, "two"]}),
    ],
)
def test_attributes_may_be_encoded_beforehand(attributes):
    line = encode(record(0, "e", "x", event_attributes=attributes))

    assert decode(line).event_attributes == {"input": [1, "two"]}


def test_encoded_attributes_stay_when_another_field_needs_care():
    attributes = {"input": snapshot({"n": 2**70})}

    line = encode(record(0, "e\ud83d", "x", event_attributes=attributes))

    assert decode(line) == record(
        0, "e\ufffd", "x", event_attributes={"input": {"n": 2**70}}
    )


@given(records)
def test_a_record_reads_back_as_it_was_written(written):
    line = encode(written)

    assert b"\n" not in line
    assert decode(line) == written
    assert decode(line.decode()) == written


@given(records)
def test_the_line_is_strict_json(written):
    def no_constant(word):
        raise AssertionError(word)

    json.loads(encode(written), parse_constant=no_constant)


@given(st.text(), st.dictionaries(st.text(), st.text()))
def test_lone_surrogates_do_not_keep_a_record_from_being_written(text, mapping):
    written = record(
        0, text, text, entity_metadata=mapping, event_attributes={"a": mapping}
    )

    encode(decode(encode(written)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\ud83d", "\ufffd"),
        ("a\ud83db", "a\ufffdb"),
        ("\ude00\ud83d", "\ufffd\ufffd"),
        ("\ud83d\ude00", "\U0001f600"),
    ],
)
def test_halves_of_a_character_become_a_mark_or_whole(text, expected):
    line = encode(record(0, "e", text, event_attributes={text: text}))

    assert decode(line) == record(
        0, "e", expected, event_attributes={expected: expected}
    )


def test_escaped_lone_surrogates_are_read():
    line = encode(record(0, "ID", "x")).replace(b"ID", rb"\ud83d and \ud83d")

    read = decode(line)

    assert read.event_id == "\ufffd and \ufffd"
    assert decode(encode(read)) == read


@pytest.mark.parametrize("bits", [62, 63, 64, 70, 20_000])
def test_integers_of_any_size_are_exact(bits):
    numbers = [2**bits - 1, 2**bits, -(2**bits)]
    written = record(0, "e", "x", event_attributes={"n": numbers})

    assert decode(encode(written)) == written


def test_integers_of_65_bits_are_exact():
    # msgspec before 0.19 wraps these: msgspec issue 701.
    written = record(0, "e", "x", event_attributes={"n": 2**64 + 10**18 + 1})

    assert decode(encode(written)) == written


def test_a_number_beyond_all_floats_is_marked():
    line = encode(record(0, "e", "x", event_attributes={"n": 0}))

    read = decode(line.replace(b'"n":0', b'"n":-1e999'))

    assert read.event_attributes == {"n": {"unrepresentable": "-Infinity"}}


def test_deep_attributes_are_cut_not_refused():
    deep: list = []
    for _ in range(100_000):
        deep = [deep]

    read = decode(encode(record(0, "e", "x", event_attributes={"a": deep})))

    assert read.event_id == "e"


def test_unknown_fields_are_kept_and_written_back_after_the_known():
    line = encode(record(0, "e", "x"))
    newer = line[:-1] + b',"severity":5,"extra":{"a":1},"(extra)":{"b":2}}'

    read = decode(newer)

    assert read.extra == {"severity": 5, "extra": {"a": 1}, "(extra)": {"b": 2}}
    assert encode(read) == newer


@pytest.mark.parametrize(
    ("line", "error", "message"),
    [
        (b"", msgspec.DecodeError, "truncated"),
        (b"no json", msgspec.DecodeError, "malformed"),
        (b'{"timestamp":NaN}', msgspec.DecodeError, "malformed"),
        (b"\xff", msgspec.DecodeError, "malformed"),
        (b"[" * 100_000, msgspec.DecodeError, "deep|truncated"),
        (b"[]", msgspec.ValidationError, "Expected `object`, got `array`"),
        (b"{}", msgspec.ValidationError, "no record: no `event_attributes`"),
        (
            b'{"event_attributes":{}}',
            msgspec.ValidationError,
            "required field `timestamp`",
        ),
        (
            b'{"timestamp":5,"event_attributes":{}}',
            msgspec.ValidationError,
            r"got `int` - at `\$.timestamp`",
        ),
        (
            b'{"timestamp":"t","event_id":"e","event_type":"x","event_attributes":[]}',
            msgspec.ValidationError,
            r"Expected `object`, got `array` - at `\$.event_attributes`",
        ),
    ],
)
def test_a_bad_line_raises_and_says_where(line, error, message):
    with pytest.raises(error, match=message) as caught:
        decode(line)

    assert type(caught.value) is error


@given(st.integers(-(10**18), 10**19))
def test_timestamps_read_back_to_the_microsecond(ns):
    text = timestamp_text(ns)

    assert timestamp_ns(text) == ns // 1000 * 1000
    assert len(text) == len("2023-11-14T22:13:20.123456Z")


def test_timestamps_are_cut_not_rounded():
    assert timestamp_text(999_999_999) == "1970-01-01T00:00:00.999999Z"


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("1970-01-01T00:00:01Z", 1_000_000_000),
        ("1970-01-01T00:00:00.5Z", 500_000_000),
        ("1970-01-01T00:00:00.000000001Z", 1),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1969-12-31T23:59:59.999999999Z", -1),
    ],
)
def test_timestamps_of_other_writers_are_understood(text, ns):
    assert timestamp_ns(text) == ns


@pytest.mark.parametrize(
    "text",
    ["", "now", "2023-11-14", "2023-11-14T22:13:20", "2023-13-14T22:13:20Z", "٢٠٢٣"],
)
def test_what_is_no_timestamp_is_refused(text):
    with pytest.raises(ValueError, match=r".+"):
        timestamp_ns(text)
