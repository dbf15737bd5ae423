"""Payloads of any kind: the log says what it can, the host notices nothing."""

import json
import math
from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from hosting import log_lines, note, output
from probing import chat_model, play, tool


class Order(BaseModel):
    sku: str
    amount: float = 1.5


@dataclass
class Parcel:
    weight: int
    parts: list = field(default_factory=list)


class Unspeakable:
    """Raises at every question."""

    def __repr__(self):
        raise ValueError("no repr")

    def __str__(self):
        raise ValueError("no str")

    def __getattr__(self, name):
        raise RuntimeError(name)

    def __eq__(self, other):
        raise RuntimeError("no comparison")

    __hash__ = None


def cycle():
    found = {"name": "loop"}
    found["self"] = found
    return found


def marked(name):
    return {"unrepresentable": name}


# Each with what stands in the log.
PAYLOADS = {
    "bytes": (b"\x00\xff", "AP8="),
    "not a number": (math.nan, marked("NaN")),
    "infinite": ([math.inf, -math.inf], [marked("Infinity"), marked("-Infinity")]),
    "big integer": (2**70, 2**70),
    "bigger integer": (-(10**5000), -(10**5000)),
    "lone surrogate": ("a\ud83db", "a�b"),
    "surrogate in key": ({"\udfff": 1}, {"�": 1}),
    "both halves apart": ("\ud83d\ude00", "😀"),
    "cycle": (cycle(), {"name": "loop", "self": marked("dict")}),
    "long text": ("x" * 5_000_000, "x" * 5_000_000),
    "pydantic model": (Order(sku="LAMP"), {"sku": "LAMP", "amount": 1.5}),
    "dataclass": (Parcel(3, [b"a"]), {"weight": 3, "parts": ["YQ=="]}),
    "keys of other kinds": (
        {1: "a", None: "b", (2, 3): "c", 1.5: "d", Order: "e"},
        {"1": "a", "None": "b", "(2, 3)": "c", "1.5": "d", f"{Order}": "e"},
    ),
    "keys that become equal": (
        {1: "a", "1": "b"},
        {"unrepresentable": "dict", "items": [[1, "a"], ["1", "b"]]},
    ),
    "object that raises": (Unspeakable(), marked("Unspeakable")),
    "object that raises, deep": (
        [{"x": (Unspeakable(),)}],
        [{"x": [marked("Unspeakable")]}],
    ),
    "set": ({3, 1, 2}, [1, 2, 3]),
    "class": (Order, f"{Order.__module__}.Order"),
    "function": (marked, marked("function")),
    "nothing": (None, None),
}


def written_of_tool(tmp_path):
    """Arguments and result of the one tool call in the log."""
    lines = [
        line
        for line in log_lines(tmp_path / "log")
        if line.get("entity_type") == "tool"
    ]
    started, ended = (line["event_attributes"] for line in lines)
    return started["input"], ended.get("output")


@pytest.fixture(autouse=True)
def _integers_of_any_size():
    """Only the reading side of these tests is limited, not the log."""
    import sys

    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    yield
    sys.set_int_max_str_digits(before)


@pytest.mark.parametrize("name", PAYLOADS)
def test_a_tool_gets_and_gives_the_very_objects_and_the_log_says_them(
    instrument, tmp_path, name
):
    value, expected = PAYLOADS[name]
    instrument()
    got = []

    def body(_, __):
        def echo(*args, **kwargs):
            got.extend([*args, *kwargs.values()])
            return value

        got.append(tool(echo).call(value, option=value))

    play(body)

    assert [each is value for each in got] == [True, True, True]
    asked, answered = written_of_tool(tmp_path)
    assert asked == {"args": [expected], "option": expected}
    assert answered == expected


@pytest.mark.parametrize("name", PAYLOADS)
def test_a_chat_model_gets_and_gives_the_very_objects_and_the_log_says_them(
    instrument, tmp_path, name
):
    value, expected = PAYLOADS[name]
    instrument()
    messages, got = [value], []

    def body(_, __):
        def answer(asked):
            got.append(asked is messages and asked[0] is value)
            return value

        got.append(chat_model(answer).chat(messages) is value)

    play(body)

    assert got == [True, True]
    lines = log_lines(tmp_path / "log")
    started, ended = (line for line in lines if line.get("entity_type") == "llm")
    assert started["event_attributes"] == {"input": [expected]}
    assert ended["status"] == "finished"
    assert ended["event_attributes"].get("output") == expected


# What an event itself takes; the host refuses the rest.
SENT = {
    "big integer": (2**70, 2**70),
    "long text": ("x" * 5_000_000, "x" * 5_000_000),
    "pydantic model": (Order(sku="LAMP"), {"sku": "LAMP", "amount": 1.5}),
    "dataclass": (Parcel(3), {"weight": 3, "parts": []}),
    "not a number": (math.nan, marked("NaN")),
    "infinite": ([math.inf], [marked("Infinity")]),
    "text in bytes": (b"abc", "YWJj"),
    "keys of other kinds": ({1: "a", 2.5: "b"}, {"1": "a", "2.5": "b"}),
    "nested": ({"a": [{"b": (1, 2)}]}, {"a": [{"b": [1, 2]}]}),
}


@pytest.mark.parametrize("name", SENT)
def test_events_arrive_as_they_were_sent_and_the_log_says_them(
    instrument, tmp_path, name
):
    value, expected = SENT[name]
    instrument()

    runner = play(lambda _, ctx: ctx.send_event(output(value)))

    assert runner.get_outputs()[0]["k"] is value
    sent = log_lines(tmp_path / "log")[-1]
    assert sent["event_type"] == "_output_event"
    assert sent["event_attributes"]["output"] == expected


@pytest.mark.parametrize("name", SENT)
def test_the_input_of_a_run_is_in_the_log_as_it_was(instrument, tmp_path, name):
    value, expected = SENT[name]
    instrument()

    play(lambda _, __: None, value=value)

    assert log_lines(tmp_path / "log")[0]["event_attributes"] == {"input": expected}


@pytest.mark.parametrize("key", ["a\ud83db", 7, None, (1, "x"), b"k", "x" * 100_000])
def test_any_key_of_a_run_is_its_business_key(instrument, tmp_path, key):
    instrument()

    play(lambda _, __: None, key=key)

    expected = str(key).replace("\ud83d", "�")
    assert {line["business_key"] for line in log_lines(tmp_path / "log")} == {expected}


def test_a_key_that_cannot_say_itself_is_left_out(instrument, tmp_path, monkeypatch):
    class Mute:
        def __str__(self):
            raise ValueError("mute")

    from opentelemetry.exporter.flink_agents._guard import faults

    monkeypatch.setattr(faults, "reraise", False)
    instrument()

    runner = play(lambda _, ctx: ctx.send_event(output("done")), key=Mute())

    assert list(runner.get_outputs()[0].values()) == ["done"]
    assert "business_key" not in log_lines(tmp_path / "log")[0]


def test_generators_are_not_consumed(instrument, tmp_path):
    def counting():
        for n in range(3):
            taken.append(n)
            yield n

    taken, got = [], []
    instrument()

    def body(_, __):
        got.append(tool(lambda given: given).call(counting()))
        assert taken == []
        got.extend(got[0])

    play(body)

    assert got[1:] == taken == [0, 1, 2]
    assert written_of_tool(tmp_path) == (
        {"args": [marked("generator")]},
        marked("generator"),
    )


def test_coroutines_and_iterators_are_not_touched(instrument, tmp_path):
    async def nobody_awaits():
        """Closed by the test itself."""

    coroutine, iterator = nobody_awaits(), iter([1, 2])
    instrument()

    play(lambda _, __: tool(lambda *_: map(str, [1])).call(coroutine, iterator))

    coroutine.close()
    assert next(iterator) == 1
    assert written_of_tool(tmp_path) == (
        {"args": [marked("coroutine"), marked("list_iterator")]},
        marked("map"),
    )


def test_the_log_says_what_was_given_not_what_became_of_it(instrument, tmp_path):
    instrument()
    given, answered = {"n": 1}, [1]

    def body(_, ctx):
        def call(argument):
            argument["n"] = 2
            return answered

        tool(call).call(given)
        answered.append(2)
        event = note(given)
        ctx.send_event(event)
        given["n"] = 3

    play_ignoring_notes(body)

    assert given == {"n": 3}
    assert written_of_tool(tmp_path) == ({"args": [{"n": 1}]}, [1])
    sent = log_lines(tmp_path / "log")[-1]
    assert sent["event_attributes"] == {"text": {"n": 2}}


def play_ignoring_notes(body):
    from contextlib import suppress

    # The host raises KeyError for an event without a listener.
    with suppress(KeyError):
        play(body)


def test_nothing_is_added_to_events_and_arguments(instrument):
    seen = []

    def body(event, ctx):
        sent = note({"a": 1})
        before = vars(sent).copy(), sent.model_dump(exclude={"id"}), sent.id
        ctx.send_event(sent)
        after = vars(sent).copy(), sent.model_dump(exclude={"id"}), sent.id
        ctx.events.remove(sent)
        seen.append((before == after, sorted(vars(event)), sorted(event.model_dump())))

    play(body)
    instrument()
    play(body)

    assert seen[0] == seen[1]
    assert seen[1][0]


NO_EVENTS = {"text": "no event", "nothing": None, "raises": Unspeakable()}


@pytest.mark.parametrize("refused", NO_EVENTS)
def test_what_is_no_event_fails_as_without_us(instrument, refused):
    def outcome():
        with pytest.raises((AttributeError, KeyError, RuntimeError)) as raised:
            play(lambda _, ctx: ctx.send_event(NO_EVENTS[refused]))
        return raised.type, raised.value.args

    bare = outcome()
    instrument()

    assert outcome() == bare


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters())
    | st.binary()
    | st.builds(Unspeakable)
    | st.builds(Order, sku=st.text()),
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text() | st.integers() | st.binary(), inner)
        | st.builds(Parcel, st.integers(), st.lists(inner))
    ),
    max_leaves=10,
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=ANYTHING)
def test_whatever_a_tool_gives_arrives_and_every_line_is_strict_json(
    instrument, tmp_path, value
):
    instrument()
    got = []

    play(lambda _, __: got.append(tool(lambda _: value).call(value)))

    assert got[0] is value
    for path in (tmp_path / "log").glob("*.jsonl"):
        for line in path.read_bytes().decode().split("\n")[:-1]:
            json.loads(line, parse_constant=pytest.fail)
        path.unlink()
