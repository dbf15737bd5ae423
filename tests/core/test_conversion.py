from __future__ import annotations

import copy
import re
from pathlib import Path

import pytest
from hypothesis import given
from msgspec.structs import replace

from core.samples import NATIVE_LINE, one_run, record, records
from flink_agents_eventlog import (
    Conversion,
    Record,
    conversion,
    convert,
    decode,
    encode,
    execution_forest,
    long_term,
    read_records,
    snapshot,
)
from flink_agents_eventlog.conversion import UNKNOWN_ACTION, UNKNOWN_INPUT
from flink_agents_eventlog.dialect import native_error_type, snake_error_type
from flink_agents_eventlog.long_term import (
    EMPTY_SEARCH,
    EMPTY_SET,
    GUESSED_SET,
    NO_ITEM,
    ODD_SHAPE,
    SAME_KEY,
    UNKNOWN_SET,
)

GOLDEN = Path(__file__).parent / "golden"
UPDATE, GET, SEARCH = (
    f"_long_term_{operation}_event" for operation in ("update", "get", "search")
)


def to_native(each: Record) -> Record:
    converted, losses = convert(each, "native")
    assert losses == ()
    return converted


def test_an_execution_in_the_words_of_the_native_dialect():
    started, finished, failed = one_run()[2], one_run()[3], one_run()[5]

    assert to_native(started) == replace(
        started,
        action_trigger_event_id=None,
        extra={"actionTriggerEventId": "input"},
        dialect="native",
    )
    assert to_native(finished) == replace(
        finished,
        action_trigger_event_id=None,
        entity_metadata={
            "model": "small",
            "inputTokens": 812,
            "outputTokens": 93,
            "attempts": 2,
        },
        status="success",
        extra={"actionTriggerEventId": "input"},
        dialect="native",
    )
    assert to_native(failed) == replace(
        failed,
        action_trigger_event_id=None,
        entity_metadata={"toolType": "function"},
        event_attributes={
            "errorType": "builtins.ValueError",
            "errorMessage": "no such\npage",
        },
        extra={"actionTriggerEventId": "input"},
        dialect="native",
    )


def test_an_event_is_linked_to_the_action_that_sent_it():
    output = one_run()[-1]

    assert to_native(output) == replace(
        output, upstream_action_name="answer", dialect="native"
    )
    assert convert(replace(output, entity_name=None), "native").losses == (
        UNKNOWN_ACTION,
    )


def test_a_begin_event_is_linked_to_the_input_of_its_run():
    begin = record(0, "begin", "_agent_run_begin_event")
    conversion = Conversion("native")

    assert conversion.convert(begin).losses == (UNKNOWN_INPUT,)
    conversion.convert(one_run()[0])
    assert conversion.convert(begin) == (
        replace(
            begin,
            action_trigger_event_id="input",
            upstream_action_name="agent_run_begin_action",
            dialect="native",
        ),
        (),
    )


def test_an_action_that_is_not_the_entity_is_kept():
    read = decode(
        NATIVE_LINE.replace(b'Name":"answer","eventId', b'Name":"x","eventId')
    )

    converted = convert(read, "snake").record

    assert converted.upstream_action_name == "answer"
    assert decode(encode(converted)) == converted
    assert encode(convert(converted, "native").record) == encode(read)


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.jsonl")), ids=lambda p: p.stem)
def test_a_real_log_comes_back_from_the_other_dialect_as_it_was(path):
    back = Conversion("native")
    lines = []
    for each in read_records(path):
        snake, losses = convert(each, "snake")
        assert losses == ()
        native, losses = back.convert(decode(encode(snake)))
        assert losses == ()
        lines.append(encode(native))

    assert lines == path.read_bytes().splitlines()


def test_our_run_comes_back_from_the_native_dialect_as_it_was():
    there, back = Conversion("native"), Conversion("snake")

    lines = [encode(there.convert(each).record) for each in one_run()]

    assert [back.convert(decode(line)).record for line in lines] == one_run()


def test_both_dialects_have_the_same_execution_forest():
    native = [convert(each, "native").record for each in one_run()]

    assert execution_forest(native) == execution_forest(one_run())


@given(records)
def test_any_record_can_be_converted_without_being_changed(given_):
    before = copy.deepcopy(given_)

    for dialect in ("native", "snake"):
        converted, _ = convert(given_, dialect)
        assert converted.dialect == dialect
        decode(encode(converted))

    assert given_ == before


def test_attributes_may_be_encoded_beforehand():
    failed = one_run()[5]
    raw = replace(failed, event_attributes=snapshot(failed.event_attributes))

    assert to_native(raw) == to_native(failed)


@pytest.mark.parametrize(
    ("snake", "native"),
    [
        ("ValueError", "builtins.ValueError"),
        ("json.decoder.JSONDecodeError", "json.decoder.JSONDecodeError"),
        ("KeyboardInterrupt", "builtins.KeyboardInterrupt"),
        ("print", "print"),
        ("Strange", "Strange"),
    ],
)
def test_only_errors_of_python_itself_are_named_differently(snake, native):
    assert native_error_type(snake) == native
    assert snake_error_type(native) == snake


def test_what_is_no_error_of_python_keeps_its_qualification():
    assert snake_error_type("builtins.Strange") == "builtins.Strange"


def test_only_two_dialects_can_be_converted_to():
    with pytest.raises(ValueError, match="cannot convert to 'nested'"):
        convert(one_run()[0], "nested")


BOTH_WAYS = [
    (
        UPDATE,
        {"value": {"b": None, "a.m1": "old", "a.m2": None, "b.x": {"n": 1}}},
        {
            "value": {"a": {"m1": "old", "m2": None}, "b": {"x": {"n": 1}}},
            "cleared_sets": ["b"],
        },
    ),
    (UPDATE, {"value": {"a": None}}, {"value": {}, "cleared_sets": ["a"]}),
    (GET, {"value": {"s.i": "v"}}, {"value": {"s": {"i": "v"}}}),
    (
        SEARCH,
        {
            "value": {
                "q": [
                    {"id": "1", "value": "v", "score": 0.5, "set": "s"},
                    {"id": "2", "value": "w", "score": 0.4, "set": "t"},
                ]
            }
        },
        {
            "value": {
                "s": {"q": [{"id": "1", "value": "v", "score": 0.5}]},
                "t": {"q": [{"id": "2", "value": "w", "score": 0.4}]},
            }
        },
    ),
]


def memory(event_type, attributes, dialect="snake"):
    whole = {"key": "k", **attributes}
    return replace(record(0, "e", event_type, event_attributes=whole), dialect=dialect)


@pytest.mark.parametrize(("event_type", "snake", "native"), BOTH_WAYS)
def test_long_term_memory_has_two_shapes(event_type, snake, native):
    ours = memory(event_type, snake)
    theirs = memory(event_type, native, "native")

    assert convert(ours, "native") == (theirs, ())
    assert convert(theirs, "snake") == (ours, ())


@pytest.mark.parametrize(
    ("to", "event_type", "value", "expected", "loss"),
    [
        ("native", UPDATE, {"a.b.c": 1}, {"a": {"b.c": 1}}, GUESSED_SET),
        ("native", GET, {"a": 1}, {"a": {"": 1}}, NO_ITEM),
        ("native", SEARCH, {"q": []}, {"": {"q": []}}, UNKNOWN_SET),
        ("native", SEARCH, {"q": [{"id": 1}]}, {"": {"q": [{"id": 1}]}}, UNKNOWN_SET),
        ("native", SEARCH, {"q": 5}, {"q": 5}, ODD_SHAPE),
        ("snake", SEARCH, {"s": {"q": []}}, {"q": []}, EMPTY_SEARCH),
        ("snake", UPDATE, {"a": {}}, {}, EMPTY_SET),
        ("snake", GET, {"a": {"b.c": 1}, "a.b": {"c": 2}}, {"a.b.c": 2}, SAME_KEY),
        ("snake", UPDATE, {"a": 5}, {"a": 5}, ODD_SHAPE),
        ("snake", GET, [], [], ODD_SHAPE),
        ("native", UPDATE, None, None, ODD_SHAPE),
        (
            "snake",
            GET,
            {"truncatedObject": {}, "omittedFields": 2},
            {"truncatedObject": {}, "omittedFields": 2},
            ODD_SHAPE,
        ),
    ],
)
def test_what_the_other_shape_cannot_tell_is_a_loss(
    to, event_type, value, expected, loss
):
    dialect = "snake" if to == "native" else "native"
    event = memory(event_type, {"value": value}, dialect)

    converted, losses = convert(event, to)

    assert losses == (loss,)
    assert converted.event_attributes["value"] == expected


@pytest.mark.parametrize(
    ("line", "event_type", "attributes", "extra"),
    [
        (
            (
                b'{"timestamp":"t","event":{"eventType":"flink_agents.api.events.event.'
                b'InputEvent","id":"o","attributes":{},"input":{"k":1}}}'
            ),
            "_input_event",
            {"input": {"k": 1}},
            {"eventClass": "flink_agents.api.events.event.InputEvent"},
        ),
        (
            (
                b'{"timestamp":"t","eventType":"x","more":1,"event":{"eventType":"x",'
                b'"id":"o","attributes":{"a":1},"type":"x","eventClass":"com.X"}}'
            ),
            "x",
            {"a": 1},
            {"more": 1, "eventClass": "com.X"},
        ),
        (
            (
                b'{"timestamp":"t","event":{"eventType":"shop.Paid","id":"o",'
                b'"attributes":{},"sum":5}}'
            ),
            "shop.Paid",
            {"sum": 5},
            {},
        ),
    ],
)
@pytest.mark.parametrize("to", ["snake", "native"])
def test_the_old_nested_form_is_unfolded(line, event_type, attributes, extra, to):
    assert convert(decode(line), to) == (
        Record(
            timestamp="t",
            event_id="o",
            event_type=event_type,
            event_attributes=attributes,
            extra=extra,
            dialect=to,
        ),
        (),
    )


def test_every_loss_is_documented():
    losses = {
        value
        for module in (conversion, long_term)
        for name, value in vars(module).items()
        if name.isupper() and isinstance(value, str) and " " in value
    }
    text = (Path(__file__).parents[2] / "docs" / "native.md").read_text()
    table = text.partition("## What conversion cannot carry")[2]

    documented = re.findall(r"^\| (?:`\w+`|both) \| (.+?) \|", table, re.MULTILINE)
    assert set(documented) == losses
    assert len(losses) == 9
