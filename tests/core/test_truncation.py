from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.samples import objects, plain
from flink_agents_eventlog import Limits, encode_plain, is_truncated, truncate

LONG = "This is a very long string that exceeds the limit"


def cut(text: str, kept: str) -> dict:
    omitted = len(text.encode("utf-16-le", "surrogatepass")) // 2
    return {
        "truncatedString": f"{kept}...",
        "omittedChars": omitted - len(kept.encode("utf-16-le")) // 2,
    }


@pytest.mark.parametrize(
    ("limits", "given_", "expected"),
    [
        ((10, 0, 0), {"content": LONG}, {"content": cut(LONG, "This is a ")}),
        (
            (0, 3, 0),
            {"items": [f"item{at}" for at in range(7)]},
            {
                "items": {
                    "truncatedList": ["item0", "item1", "item2"],
                    "omittedElements": 4,
                }
            },
        ),
        (
            (0, 0, 2),
            {"data": {"scalar": "s", "number": 42, "object": {"a": 1}, "array": ["a"]}},
            {
                "data": {
                    "truncatedObject": {"scalar": "s", "number": 42},
                    "omittedFields": 2,
                }
            },
        ),
        (
            (5, 0, 0),
            {"eventType": "a-long-type", "id": "a-long-id", "attributes": "a-long-one"},
            {
                "eventType": cut("a-long-type", "a-lon"),
                "id": cut("a-long-id", "a-lon"),
                "attributes": cut("a-long-one", "a-lon"),
            },
        ),
        # Strings inside of what collapses are cut too, and at the limit only scalars
        # leave an object an object.
        (
            (3, 0, 2),
            {"a": {"text": "long", "gone": {}}, "b": {"text": "long", "n": None}},
            {
                "a": {
                    "truncatedObject": {"text": cut("long", "lon")},
                    "omittedFields": 1,
                },
                "b": {"text": cut("long", "lon"), "n": None},
            },
        ),
        # An object in an array is as deep as a child object, an array in an array
        # one deeper.
        (
            (0, 0, 2),
            {"a": [{"n": 1, "o": {}}]},
            {"a": [{"truncatedObject": {"n": 1}, "omittedFields": 1}]},
        ),
        (
            (0, 0, 3),
            {"a": [{"o": {}}, [{"o": {}}]]},
            {"a": [{"o": {}}, [{"truncatedObject": {}, "omittedFields": 1}]]},
        ),
        (
            (0, 0, 1),
            {"n": 1, "o": {}, "a": []},
            {"truncatedObject": {"n": 1}, "omittedFields": 2},
        ),
        # What a cut array leaves out is not looked at, what it keeps is.
        (
            (3, 1, 0),
            {"a": ["long", "long"]},
            {"a": {"truncatedList": [cut("long", "lon")], "omittedElements": 1}},
        ),
    ],
)
def test_what_exceeds_a_limit_is_cut_and_marked(limits, given_, expected):
    before = copy.deepcopy(given_)

    result = truncate(given_, Limits(*limits))

    assert result == (expected, True)
    assert given_ == before


@pytest.mark.parametrize(
    ("limits", "given_"),
    [
        ((100, 10, 5), {"a": "short", "b": [1, 2], "c": {"d": {"e": None}}}),
        ((0, 0, 0), {"a": "x" * 10_000, "b": list(range(100)), "c": {"d": {"e": {}}}}),
        ((10, 10, 1), {"a": 1, "b": "short"}),
        ((10, 10, 10), None),
        ((3, 3, 3), {"a": "abc", "b": [1, 2, 3]}),
    ],
)
def test_what_is_within_the_limits_comes_back_itself(limits, given_):
    result, truncated = truncate(given_, Limits(*limits))

    assert result is given_
    assert not truncated


@pytest.mark.parametrize(
    ("text", "limit", "kept", "omitted"),
    [
        ("\U0001f600\U0001f600", 2, "\U0001f600", 2),
        ("\U0001f600\U0001f600", 3, "\U0001f600\ufffd", 1),
        ("\U0001f600", 1, "\ufffd", 1),
        ("e\u0301e\u0301", 1, "e", 3),
        ("ab\ud83dcd", 3, "ab\ufffd", 2),
        ("\ude00abc", 2, "\ufffda", 2),
    ],
)
def test_strings_are_counted_and_cut_in_utf_16_units(text, limit, kept, omitted):
    result, _ = truncate({"a": text}, Limits(limit, 0, 0))

    assert result == {"a": {"truncatedString": f"{kept}...", "omittedChars": omitted}}
    assert json.loads(encode_plain(result)) == result


def test_a_character_of_two_units_may_just_fit():
    assert not truncate({"a": "\U0001f600"}, Limits(2, 0, 0))[1]
    assert truncate({"a": "\U0001f600"}, Limits(1, 0, 0))[1]


def test_depth_is_no_matter():
    deep: dict = {"text": "long"}
    for _ in range(100_000):
        deep = {"a": [deep]}

    result, truncated = truncate(deep, Limits(3, 3, 0))

    assert truncated
    assert truncate({"a": deep}, Limits(0, 0, 2)) == (
        {"a": {"truncatedObject": {}, "omittedFields": 1}},
        True,
    )
    while "a" in result:
        (result,) = result["a"]
    assert result == {"text": cut("long", "lon")}


limits = st.builds(Limits, *[st.integers(0, 4)] * 3)


@given(objects, limits)
def test_truncation_says_whether_it_changed_anything(value, limits):
    before = copy.deepcopy(value)

    result, truncated = truncate(value, limits)

    assert value == before
    assert truncated == (result is not value)
    assert json.loads(encode_plain(result)) == result


@pytest.mark.parametrize(
    ("limits", "value"),
    [((1, 0, 0), "long"), ((0, 1, 0), [1, 2]), ((0, 0, 2), {"a": {}})],
)
def test_marks_are_recognised(limits, value):
    result, _ = truncate({"value": value}, Limits(*limits))

    assert is_truncated(result["value"])


@pytest.mark.parametrize(
    "value",
    [
        None,
        {},
        "truncatedString",
        {"truncatedString": "x"},
        {"truncatedString": 1, "omittedChars": 2},
        {"truncatedString": "x", "omittedChars": True},
        {"truncatedString": "x", "omittedFields": 2},
        {"truncatedString": "x", "omittedChars": 2, "more": 1},
    ],
)
def test_other_values_are_no_marks(value):
    assert not is_truncated(value)


@given(plain, limits)
def test_only_cut_values_are_marks(value, limits):
    result, truncated = truncate(value, limits)

    if is_truncated(result) and not is_truncated(value):
        assert truncated
