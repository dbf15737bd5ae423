"""What is left of an action's memory operations, as the host says it (CASES B, C)."""

import math

import pytest

from core.test_folding import hits, of_the_proposal, plain
from flink_agents_eventlog.folding import captured
from flink_agents_eventlog.native_folding import NativeFolding


def told(folding):
    """The events of a folding as `(type, value, cleared sets, metadata)`."""
    return [
        (event.event_type, plain(event.value), event.cleared_sets, event.metadata)
        for event in folding.events()
    ]


def update(value, cleared=()):
    return ("_long_term_update_event", value, list(cleared), {})


def test_the_records_of_the_host_fold_as_there():
    folding = of_the_proposal(NativeFolding())

    hit = {"id": "m1", "value": "kept", "score": 0.5}
    assert told(folding) == [
        update({"a": {"m2": "new"}, "a.b": {"m1": "kept"}}, ["a"]),
        ("_long_term_get_event", {"a.b": {"m1": "kept"}}, None, {}),
        ("_long_term_search_event", {"a.b": {"q": [hit]}}, None, {}),
    ]


def test_dots_have_no_meaning_in_long_term_memory():
    folding = NativeFolding()
    folding.updated("a.b", "m.1", captured("v"))

    assert told(folding) == [update({"a.b": {"m.1": "v"}})]


def test_a_deleted_item_is_null():
    folding = NativeFolding()
    folding.deleted("s", "i")

    assert told(folding) == [update({"s": {"i": None}})]


def test_a_set_that_is_only_cleared_is_an_update():
    folding = NativeFolding()
    folding.updated("s", "i", captured("old"))
    folding.cleared("s")

    [event] = folding.events()
    assert (event.value, event.cleared_sets, event.is_routed) == ({}, ["s"], True)


def test_a_search_without_hits_is_kept_below_its_set():
    folding = NativeFolding()
    folding.searched("s", "q", [])

    assert told(folding) == [("_long_term_search_event", {"s": {"q": []}}, None, {})]


def test_one_query_on_several_sets_stands_below_each():
    folding = NativeFolding()
    folding.searched("b", "q", hits(("1", "x", 0.9)))
    folding.searched("a", "q", hits(("2", "y", None)))

    [(_, value, _, _)] = told(folding)
    assert value == {
        "b": {"q": [{"id": "1", "value": "x", "score": 0.9}]},
        "a": {"q": [{"id": "2", "value": "y"}]},
    }


def test_a_path_keeps_the_place_of_its_first_write():
    folding = NativeFolding()
    for path, value in (("a", 1), ("b", 2), ("a", 3)):
        folding.short_term.wrote(path, captured(value))

    [event] = folding.events()
    assert list(plain(event.value).items()) == [("a", 3), ("b", 2)]


def test_what_json_cannot_hold_is_just_absent():
    folding = NativeFolding()
    folding.short_term.wrote("bad", captured(math.nan))
    folding.short_term.wrote("good", captured("v"))

    assert told(folding) == [("_short_term_write_event", {"good": "v"}, None, {})]


@pytest.mark.parametrize("scope", ["sensory", "short_term"])
def test_there_is_no_event_of_which_nothing_is_left(scope):
    folding = NativeFolding()
    getattr(folding, scope).wrote("bad", captured(math.nan))
    folding.updated("s", "i", captured(math.nan))

    assert told(folding) == []


def test_a_value_over_the_limit_is_named_all_the_same():
    folding = NativeFolding()
    folding.short_term.wrote("long", captured("x" * 100, 10))

    assert told(folding) == [
        ("_short_term_write_event", {}, None, {"oversized_paths": {"long": 102}})
    ]


def test_events_stand_in_the_order_of_the_log():
    folding = NativeFolding()
    folding.searched("s", "q", [])
    folding.got("s", "i", captured(1))
    folding.updated("s", "i", captured(1))
    folding.short_term.read("p", captured(1))
    folding.sensory.read("p", captured(1))
    folding.short_term.wrote("p", captured(1))
    folding.sensory.wrote("p", captured(1))

    assert [event.event_type for event in folding.events()] == [
        "_sensory_write_event",
        "_short_term_write_event",
        "_sensory_read_event",
        "_short_term_read_event",
        "_long_term_update_event",
        "_long_term_get_event",
        "_long_term_search_event",
    ]
