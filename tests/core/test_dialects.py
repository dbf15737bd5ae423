from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.samples import (
    NATIVE_LINE,
    NESTED_LINE,
    objects,
    optional_texts,
    plain,
    records,
    texts,
)
from flink_agents_eventlog import Record, decode, encode, snapshot

GOLDEN = sorted((Path(__file__).parent / "golden").glob("*.jsonl"))


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_real_native_logs_are_written_back_byte_for_byte(path):
    lines = path.read_bytes().splitlines()

    read = [decode(line) for line in lines]

    assert {each.dialect for each in read} == {"native"}
    assert [encode(each) for each in read] == lines


def test_a_native_line_has_the_fields_of_a_record():
    assert decode(NATIVE_LINE) == Record(
        timestamp="2026-01-01T00:00:00.123456789Z",
        log_level="STANDARD",
        input_run_id="run",
        business_key="key",
        agent_name="Agent",
        execution_id="a",
        entity_type="action",
        entity_name="answer",
        event_id="n",
        event_type="sent",
        action_trigger_event_id="in",
        upstream_action_name="answer",
        event_attributes={},
        dialect="native",
    )


def test_a_failed_execution_in_the_order_of_the_native_dialect():
    record = Record(
        timestamp="t",
        log_level="STANDARD",
        input_run_id="run",
        business_key="key",
        agent_name="Agent",
        execution_id="tool-1",
        parent_execution_id="action-1",
        entity_type="tool",
        entity_name="search",
        entity_metadata={"mcpServer": "demo-server"},
        event_id="e",
        event_type="_execution_failed_event",
        status="failed",
        problem_category="model_output_parse_error",
        event_attributes={"errorType": "builtins.ValueError"},
        dialect="native",
    )

    assert encode(record).decode() == (
        '{"timestamp":"t","logLevel":"STANDARD","inputRunId":"run",'
        '"businessKey":"key","agentName":"Agent","executionId":"tool-1",'
        '"parentExecutionId":"action-1","entityType":"tool","entityName":"search",'
        '"entityMetadata":{"mcpServer":"demo-server"},"eventId":"e",'
        '"eventType":"_execution_failed_event","status":"failed",'
        '"problemCategory":"model_output_parse_error",'
        '"eventAttributes":{"errorType":"builtins.ValueError"}}'
    )


def test_an_input_without_context_has_only_four_fields():
    line = (
        b'{"timestamp":"2026-01-01T00:00:00Z","eventId":"i",'
        b'"eventType":"_input_event","eventAttributes":{"input":1}}'
    )

    assert decode(line) == Record(
        timestamp="2026-01-01T00:00:00Z",
        event_id="i",
        event_type="_input_event",
        event_attributes={"input": 1},
        dialect="native",
    )
    assert encode(decode(line)) == line


def test_attributes_called_like_fields_stay_attributes():
    attributes = {"status": "paid", "problemCategory": "none", "upstreamEventId": 1}
    line = encode(
        Record(
            timestamp="t",
            event_id="e",
            event_type="paid",
            event_attributes=attributes,
            dialect="native",
        )
    )

    read = decode(line)

    assert (read.status, read.problem_category) == (None, None)
    assert read.action_trigger_event_id is None
    assert read.event_attributes == attributes


def test_the_fields_of_the_slf4j_log_keep_their_place():
    line = NATIVE_LINE.replace(
        b'"inputRunId"', b'"jobId":"j","taskName":"t","subtaskId":0,"inputRunId"'
    )

    read = decode(line)

    assert read.extra == {"jobId": "j", "taskName": "t", "subtaskId": 0}
    assert encode(read) == line


@pytest.mark.parametrize("line", [NATIVE_LINE, NESTED_LINE])
def test_unknown_fields_survive(line):
    newer = line[:-1] + b',"severity":5,"(extra)":{"b":2},"dialect":"x"}'

    read = decode(newer)

    assert encode(read) == newer


def test_a_line_may_not_say_its_dialect():
    line = (
        b'{"timestamp":"t","event_id":"e","event_type":"x","event_attributes":{},'
        b'"(dialect)":"native","(extra)":{}}'
    )

    read = decode(line)

    assert read.dialect == "snake"
    assert read.extra == {"(dialect)": "native", "(extra)": {}}
    assert encode(read) == line


@pytest.mark.parametrize(
    "line",
    [
        NESTED_LINE,
        (
            b'{"timestamp":"t","event":{"eventType":"flink_agents.api.events.event.'
            b'InputEvent","id":"o","attributes":{},"input":{"k":1}}}'
        ),
        (
            b'{"timestamp":"t","event":{"eventType":"x","id":"o","attributes":{"a":1},'
            b'"type":"x","eventClass":"com.X","upstreamEventId":"i",'
            b'"upstreamActionName":"act"}}'
        ),
    ],
)
def test_the_old_nested_form_is_written_back_byte_for_byte(line):
    read = decode(line)

    assert read.dialect == "nested"
    assert read.event_id == "o"
    assert encode(read) == line


def test_the_old_form_of_any_order_gives_type_id_and_attributes():
    line = (
        '{"timestamp":"t","event":{"id":"e","type":"x","eventType":"x",'
        '"eventClass":"com.X","attributes":{"a":1}}}'
    )

    read = decode(line)

    assert read.event_type == "x"
    assert read.event_id == "e"
    assert read.event_attributes == {"a": 1}
    assert read.log_level is None
    assert json.loads(encode(read)) == json.loads(line)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"eventAttributes":{}}', "required field `timestamp`"),
        (b'{"eventAttributes":[]}', r"\$.eventAttributes|required field"),
        (b'{"timestamp":"t","event":5}', r"got `int` - at `\$.event`"),
        (b'{"timestamp":"t","event":{"id":"x"}}', "required field `eventType`"),
        (NATIVE_LINE.replace(b"{}", b"[]"), r"got `array` - at `\$.eventAttributes`"),
        (b'{"timestamp":"t"}', "Object is no record"),
    ],
)
def test_a_bad_line_says_where_in_the_words_of_its_dialect(line, message):
    with pytest.raises(msgspec.ValidationError, match=message):
        decode(line)


@pytest.mark.parametrize("dialect", ["native", "nested"])
def test_attributes_may_be_encoded_beforehand(dialect):
    record = Record(
        timestamp="t",
        event_id="e\ud83d",
        event_type="x",
        event_attributes=snapshot({"n": 2**70}),
        dialect=dialect,
    )

    read = decode(encode(record))

    assert (read.event_id, read.event_attributes) == ("e\ufffd", {"n": 2**70})


TAKEN = {"job_id", "event", "timestamp", "logLevel", "event_attributes"}


@st.composite
def native_records(draw):
    record = draw(records)
    record.dialect = "native"
    # In a native record these would be its own fields, or make it a snake one.
    record.extra = draw(
        st.dictionaries(
            st.sampled_from(["extra", "severity", "jobId", "taskName", "subtaskId"]),
            plain,
            max_size=3,
        )
    )
    record.extra = {
        name: record.extra[name]
        for name in ("jobId", "taskName", "subtaskId", "extra", "severity")
        if name in record.extra
    }
    return record


@st.composite
def nested_lines(draw):
    words = st.sampled_from(["type", "eventClass", "input", "extra", "(extra)"])
    more = draw(st.dictionaries(words, plain, max_size=3))
    event = {
        "eventType": draw(texts),
        "id": draw(texts),
        "attributes": draw(objects),
        **more,
    }
    level = draw(optional_texts)
    return {
        "timestamp": draw(texts),
        **({} if level is None else {"logLevel": level}),
        **draw(st.dictionaries(words, plain, max_size=2)),
        "event": event,
    }


@given(native_records())
def test_a_native_record_reads_back_as_it_was_written(written):
    line = encode(written)

    assert b"\n" not in line
    assert decode(line) == written
    assert encode(decode(line.decode())) == line


@given(nested_lines())
def test_a_nested_record_reads_back_as_it_was_written(fields):
    line = json.dumps(fields).encode()

    record = decode(line)

    assert json.loads(encode(record)) == fields
    assert list(json.loads(encode(record))["event"]) == list(fields["event"])
    assert decode(encode(record)) == record
