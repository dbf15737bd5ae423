from __future__ import annotations

import base64
import collections
import dataclasses
import datetime as dt
import enum
import functools
import itertools
import json
import pathlib
import sys
import threading
import types
import uuid
from decimal import Decimal
from typing import Any, ClassVar

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.samples import plain
from flink_agents_eventlog import decode_plain, encode_plain, snapshot, to_plain

UTC = dt.timezone.utc


class Colour(enum.Enum):
    RED = "red"
    BOX = (1, 2)


class Level(enum.IntEnum):
    HIGH = 3


class Text(str):
    __slots__ = ()

    def __str__(self):
        raise AssertionError


class Address(pydantic.BaseModel):
    street: str


class Customer(pydantic.BaseModel, extra="allow"):
    name: str
    address: Address
    secret: str = pydantic.Field(default="s", exclude=True)
    at: dt.datetime
    _private: int = 5

    @pydantic.field_serializer("name")
    def shout(self, _: str):
        raise AssertionError

    @functools.cached_property
    def greeting(self):
        return f"Hi {self.name}"


@dataclasses.dataclass
class Point:
    x: int
    tags: set[str]
    unset: int = dataclasses.field(init=False)
    shared: ClassVar[int] = 7


@dataclasses.dataclass(slots=True)
class Slotted:
    x: float


class Mute:
    """Whatever it is asked, it raises."""

    def __getattribute__(self, name):
        raise RuntimeError(name)

    def __repr__(self):
        raise RuntimeError

    __str__ = __iter__ = __len__ = __bool__ = __repr__


class RaisingKey:
    def __str__(self):
        raise RuntimeError


class RaisingMapping(collections.UserDict):
    def __iter__(self):
        raise RuntimeError


def row(*values: Any, fields: list[str] | None = None):
    """A stand-in for pyflink's Row, which is known by its name."""
    kind = type("Row", (), {"__module__": "pyflink.common.types"})
    made = kind()
    made._values = values
    if fields is not None:
        made._fields = fields
    return made


FAITHFUL = [
    (b"abc", "YWJj"),
    (bytearray(b"abc"), "YWJj"),
    (memoryview(b"abcdef")[::2], "YWNl"),
    (2**70, 2**70),
    (True, True),
    (Text("text"), "text"),
    (Level.HIGH, 3),
    (Colour.RED, "red"),
    (Colour.BOX, [1, 2]),
    ((1, (2,)), [1, [2]]),
    (collections.deque([1, 2]), [1, 2]),
    ({3, 1, 2}, [1, 2, 3]),
    (frozenset({"b", "a", 10, 9}), ["a", "b", 10, 9]),
    (collections.OrderedDict(a=1), {"a": 1}),
    (types.MappingProxyType({"a": (1,)}), {"a": [1]}),
    (uuid.UUID(int=5), "00000000-0000-0000-0000-000000000005"),
    (dt.datetime(2024, 1, 2, tzinfo=UTC), "2024-01-02T00:00:00Z"),
    (dt.datetime(2024, 1, 2, 3, 4, 5, 6), "2024-01-02T03:04:05.000006"),  # noqa: DTZ001
    (dt.date(2024, 1, 2), "2024-01-02"),
    (dt.time(1, 2, 3), "01:02:03"),
    (Decimal("0.10"), "0.10"),
    (pathlib.PurePosixPath("/a/b"), "/a/b"),
    (Point, "test_payload.Point"),
    (int, "builtins.int"),
    (Slotted(1.5), {"x": 1.5}),
    (Point(1, {"b", "a"}), {"x": 1, "tags": ["a", "b"]}),
    (row(1, b"abc"), {"type": "Row", "values": [1, "YWJj"]}),
    (row(1, fields=["a"]), {"type": "Row", "values": [1], "fields": ["a"]}),
    ("\ud83d", "\ufffd"),
    ({"\ud83d": ["\ud83d"]}, {"\ufffd": ["\ufffd"]}),
    ({1: "a", None: "b", (1, 2): "c"}, {"1": "a", "None": "b", "(1, 2)": "c"}),
    ({Text("k"): 1}, {"k": 1}),
    (
        {1: "a", "1": "b"},
        {"unrepresentable": "dict", "items": [[1, "a"], ["1", "b"]]},
    ),
    (
        {"\ud800": 1} | {"\ufffd": 2},
        {"unrepresentable": "dict", "items": [["\ufffd", 1], ["\ufffd", 2]]},
    ),
]

MARKED = [
    (float("nan"), "NaN"),
    (float("inf"), "Infinity"),
    (float("-inf"), "-Infinity"),
    (object(), "object"),
    (RaisingMapping(a=1), "RaisingMapping"),
    (lambda: None, "function"),
    (range(3), "range"),
    (dt.timedelta(1), "timedelta"),
    (1j, "complex"),
]


@pytest.mark.parametrize(("value", "expected"), FAITHFUL)
def test_values_become_what_json_has_for_them(value, expected):
    expected = json.loads(
        json.dumps(expected).replace("test_payload.", f"{Point.__module__}.")
    )

    assert to_plain(value) == expected
    assert to_plain([value]) == [expected]
    assert decode_plain(encode_plain(to_plain({"a": value}))) == {"a": expected}


@pytest.mark.parametrize(("value", "name"), MARKED)
def test_what_json_cannot_hold_is_marked(value, name):
    mark = {"unrepresentable": name}

    assert to_plain(value) == mark
    assert to_plain([1, value, {"a": (value,)}]) == [1, mark, {"a": [mark]}]


def test_an_object_that_raises_at_every_touch_is_marked():
    mark = {"unrepresentable": "Mute"}

    plain_value = to_plain({"a": [Mute(), (Mute(), 1)]})

    assert plain_value == {"a": [mark, [mark, 1]]}


def test_a_model_is_read_field_by_field_and_not_asked():
    customer = Customer(
        name="Ann",
        address=Address(street="Main"),
        at=dt.datetime(2024, 1, 2, tzinfo=UTC),
        more={"raw": b"abc"},
    )
    assert customer.greeting == "Hi Ann"

    assert to_plain(customer) == {
        "name": "Ann",
        "address": {"street": "Main"},
        "secret": "s",
        "at": "2024-01-02T00:00:00Z",
        "more": {"raw": "YWJj"},
    }


@given(
    st.datetimes(timezones=st.none() | st.just(UTC))
    | st.times()
    | st.dates()
    | st.decimals()
    | st.uuids()
    | st.binary()
)
def test_leaves_are_written_as_pydantic_writes_them(value):
    if isinstance(value, bytes):
        expected = base64.b64encode(value).decode()
    else:
        expected = pydantic.TypeAdapter(type(value)).dump_python(value, mode="json")

    assert to_plain(value) == expected


def test_a_cycle_is_marked_where_it_closes():
    ring: list[Any] = [1]
    ring.append({"again": ring})

    assert to_plain(ring) == [1, {"again": {"unrepresentable": "list"}}]


def test_the_same_value_twice_is_no_cycle():
    shared = {"a": (1,)}

    assert to_plain([shared, shared]) == [{"a": [1]}, {"a": [1]}]


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth - 1):
        value = [value]
    return value


def test_two_hundred_levels_are_kept():
    value = nested(200)

    assert to_plain(value) is value
    assert decode_plain(encode_plain(value)) == value


@pytest.mark.parametrize("depth", [201, 1_000, 100_000])
@pytest.mark.parametrize("leaf", [[], {1}])
def test_deeper_levels_are_marked(depth, leaf):
    value = leaf
    for _ in range(depth - 1):
        value = [value]

    text = encode_plain(to_plain(value))

    mark = json.dumps(
        {
            "unrepresentable": type(value).__name__
            if depth > 201
            else type(leaf).__name__
        }
    )
    assert text.decode() == "[" * 200 + mark.replace(" ", "") + "]" * 200


def test_the_end_of_the_stack_is_no_reason_to_raise():
    value = {"a": (nested(50), {1: nested(50)})}

    def descend() -> int:
        try:
            depth = descend()
        except RecursionError:
            depth = 0
        if depth < 100:
            json.loads(encode_plain(to_plain(value)) if depth > 10 else b"1")
        return depth + 1

    assert descend() > 100


def test_generators_and_iterators_are_not_consumed():
    generator = (n for n in range(3))
    iterator = iter([1, 2])

    assert to_plain({"g": generator, "i": iterator}) == {
        "g": {"unrepresentable": "generator"},
        "i": {"unrepresentable": "list_iterator"},
    }
    assert list(generator) == [0, 1, 2]
    assert list(iterator) == [1, 2]


def test_another_thread_may_change_the_value_meanwhile():
    shared: dict[str, Any] = {str(n): [n] for n in range(200)}
    done = threading.Event()

    def change():
        for n in itertools.cycle(range(500)):
            shared[f"x{n}"] = n
            shared.pop(f"x{n * 7 % 500}", None)
            if done.is_set():
                return

    thread = threading.Thread(target=change)
    thread.start()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        plain_values = [to_plain(shared) for _ in range(500)]
    finally:
        sys.setswitchinterval(interval)
        done.set()
        thread.join()

    assert all(each["7"] == [7] for each in plain_values)


def test_a_key_that_raises_costs_only_itself():
    assert to_plain({RaisingKey(): 1, "b": 2}) == {
        "unrepresentable": "dict",
        "items": [[{"unrepresentable": "RaisingKey"}, 1], ["b", 2]],
    }


def test_colliding_keys_that_are_objects_keep_their_text():
    class Key:
        def __str__(self):
            return "k"

    assert to_plain({Key(): 1, "k": 2}) == {
        "unrepresentable": "dict",
        "items": [["k", 1], ["k", 2]],
    }


def test_what_is_plain_comes_back_without_a_copy():
    value = {"a": [1, 2.5, None, True, "é", 2**70, {"b": []}]}

    assert to_plain(value) is value


def test_five_megabytes_of_text_pass():
    text = "é" * 2_500_000

    assert decode_plain(bytes(snapshot({"t": text}))) == {"t": text}


def test_keyboard_interrupt_passes():
    class Impatient:
        def __str__(self):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        to_plain({Impatient(): 1})


@pytest.mark.parametrize("sign", [1, -1])
def test_integers_beyond_the_digit_limit_are_exact(sign):
    number = sign * 10**5000

    assert decode_plain(encode_plain([number])) == [number]


@given(plain)
def test_plain_values_read_back_as_they_were(value):
    assert decode_plain(encode_plain(to_plain(value))) == value


hashables = (
    st.none()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary()
    | st.uuids()
    | st.decimals(allow_nan=False)
    | st.datetimes()
    | st.complex_numbers()
    | st.sampled_from([Colour.RED, Level.HIGH, RaisingKey(), Point, sys])
)
anything = st.recursive(
    hashables | st.builds(Slotted, st.floats()) | st.builds(Point, st.integers()),
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner, inner)
        | st.sets(hashables)
        | st.dictionaries(hashables | st.tuples(hashables), inner)
        | st.builds(Address.model_construct, street=inner)
        | st.builds(row, inner)
    ),
    max_leaves=20,
)


@given(anything)
def test_anything_becomes_strict_json(value):
    text = encode_plain(to_plain(value))

    def no_constant(word):
        raise AssertionError(word)

    assert json.loads(text, parse_constant=no_constant) == decode_plain(text)
