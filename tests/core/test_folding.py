"""What is left of an action's operations on memory: CASES B and C as pure functions."""

import math
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flink_agents_eventlog.folding import (
    EVENT_TYPE_OF_OPERATION,
    MEMORY_EVENT_TYPES,
    Folding,
    Hit,
    captured,
)
from flink_agents_eventlog.payload import decode_plain, encode_plain

CYCLE = []
CYCLE.append(CYCLE)


class Unserialisable:
    def __init__(self):
        self.anything = {1, object()}


def plain(part):
    return decode_plain(encode_plain(part))


def told(folding):
    """The events of a folding as `(type, value)`."""
    return [(event.event_type, plain(event.value)) for event in folding.events()]


def written(*entries, max_bytes=0):
    """The one short-term write event of an action that sets these paths."""
    folding = Folding()
    for path, value in entries:
        folding.short_term.wrote(path, captured(value, max_bytes))
    [event] = folding.events()
    return event


def hits(*found):
    return [Hit(item_id, captured(value), score) for item_id, value, score in found]


def test_an_action_that_did_nothing_has_no_events():
    assert told(Folding()) == []


def test_the_last_value_of_a_path_wins_and_null_is_a_value():
    event = written(("user.tier", "silver"), ("user.tier", "gold"), ("nullable", None))

    assert event.event_type == "_short_term_write_event"
    assert plain(event.value) == {"user.tier": "gold", "nullable": None}


def test_entries_stand_in_the_order_of_the_last_operation_on_each_path():
    event = written(("a", 1), ("b", 2), ("a", 3), ("c", 4), ("b", 5))

    assert list(plain(event.value).items()) == [("a", 3), ("c", 4), ("b", 5)]


def test_a_map_is_one_entry_whose_value_is_the_map():
    assert plain(written(("user", {"tier": {"name": "gold"}})).value) == {
        "user": {"tier": {"name": "gold"}}
    }


def test_a_new_object_is_null_and_what_is_set_in_it_follows():
    folding = Folding()
    folding.short_term.made_object("empty")
    folding.short_term.wrote("user.tier", captured("gold"))
    folding.short_term.read("user.tier", captured("gold"))

    assert told(folding) == [
        ("_short_term_write_event", {"empty": None, "user.tier": "gold"}),
        ("_short_term_read_event", {"user.tier": "gold"}),
    ]


@pytest.mark.parametrize(
    "value",
    [
        math.nan,
        math.inf,
        -math.inf,
        [1, {"deep": math.nan}],
        CYCLE,
        object(),
        Unserialisable(),
        {1: "a", "1": "b"},
    ],
    ids=["nan", "inf", "-inf", "nested", "cycle", "object", "instance", "collision"],
)
def test_a_last_value_that_json_cannot_hold_is_named_and_left_out(value):
    event = written(("bad", 1), ("bad", value), ("good", "v"))

    assert plain(event.value) == {"good": "v"}
    assert event.metadata == {"unrepresentable_paths": ["bad"]}
    assert event.is_routed


def test_a_representable_value_after_an_unrepresentable_one_counts():
    event = written(("path", math.nan), ("path", 1))

    assert (plain(event.value), event.metadata) == ({"path": 1}, {})


def test_an_event_of_which_nothing_is_left_is_there_for_readers_only():
    event = written(("bad", math.nan))

    assert (event.value, event.is_routed) == ({}, False)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (b"\x01\x02", "AQI="),
        (10**400, 10**400),
        (-(2**63) - 1, -(2**63) - 1),
        ((1, (2,)), [1, [2]]),
        ({"s": {3, 1, 2}}, {"s": [1, 2, 3]}),
        ("\ud800", "\ufffd"),
        (date(2026, 1, 2), "2026-01-02"),
        (True, True),
        (1.5, 1.5),
        ({7: "seven"}, {"7": "seven"}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_everything_that_json_can_hold_is_exact(value, text):
    [kept] = plain(written(("path", value)).value).values()

    assert (kept, type(kept)) == (text, type(text))


def test_a_value_is_what_it_was_when_the_operation_happened():
    basket = ["lamp"]
    folding = Folding()
    folding.short_term.wrote("basket", captured(basket))
    basket.append("mug")

    assert told(folding) == [("_short_term_write_event", {"basket": ["lamp"]})]


def test_a_value_over_the_limit_is_named_with_its_size_and_left_out():
    event = written(("exact", "12345678"), ("over", "123456789"), max_bytes=10)

    assert plain(event.value) == {"exact": "12345678"}
    assert event.metadata == {"oversized_paths": {"over": 11}}


def test_sizes_are_bytes_of_utf_8():
    assert captured("ä" * 4, 9) == (None, 10)


def test_no_limit_is_no_limit():
    assert captured("x" * 2**20).size is None


def test_scopes_and_kinds_have_one_event_each_in_a_fixed_order():
    folding = Folding()
    folding.searched("s", "q", [])
    folding.got("s", "i", captured("v"))
    folding.updated("s", "i", captured("v"))
    for scope in (folding.short_term, folding.sensory):
        scope.read("p", captured("v"))
        scope.wrote("p", captured("v"))

    assert [event.event_type for event in folding.events()] == [
        "_sensory_write_event",
        "_short_term_write_event",
        "_sensory_read_event",
        "_short_term_read_event",
        "_long_term_update_event",
        "_long_term_get_event",
        "_long_term_search_event",
    ]
    assert {event.event_type for event in folding.events()} == MEMORY_EVENT_TYPES
    assert list(EVENT_TYPE_OF_OPERATION) == [
        "sensory-write",
        "short-term-write",
        "sensory-read",
        "short-term-read",
        "long-term-update",
        "long-term-get",
        "long-term-search",
    ]


def test_previous_values_are_those_before_the_first_write():
    folding = Folding(with_previous=True)
    scope = folding.short_term
    scope.had("tier", captured("silver"))
    scope.wrote("tier", captured("gold"))
    scope.had("tier", captured("gold"))
    scope.wrote("tier", captured("platinum"))
    scope.had("new", None)
    scope.wrote("new", captured(1))
    scope.had("was_null", captured(None))
    scope.wrote("was_null", captured(2))

    [event] = folding.events()
    assert plain(event.previous) == {"tier": "silver", "was_null": None}


def test_without_the_switch_there_is_no_map_of_previous_values():
    folding = Folding()
    folding.short_term.had("tier", captured("silver"))
    folding.short_term.wrote("tier", captured("gold"))

    [event] = folding.events()
    assert event.previous is None


def of_the_proposal(folding):
    """The first row of CASES C, into a folding of either dialect."""
    folding.updated("a", "b.m1", captured("old"))
    folding.updated("a.b", "m1", captured("kept"))
    folding.cleared("a")
    folding.updated("a", "m2", captured("new"))
    folding.got("a.b", "m1", captured("kept"))
    folding.searched("a.b", "q", hits(("m1", "kept", 0.5)))
    return folding


def test_the_records_of_the_proposal_fold_as_there():
    folding = of_the_proposal(Folding())

    update, get, search = told(folding)
    assert list(update[1].items()) == [("a.b.m1", "kept"), ("a", None), ("a.m2", "new")]
    assert get == ("_long_term_get_event", {"a.b.m1": "kept"})
    assert search == (
        "_long_term_search_event",
        {"q": [{"id": "m1", "value": "kept", "score": 0.5}]},
    )


def test_dots_in_ids_and_names_stay_as_they_are():
    folding = Folding()
    folding.updated("a.b", "m.1", captured("v"))

    assert told(folding) == [("_long_term_update_event", {"a.b.m.1": "v"})]


def test_a_deleted_item_is_null():
    folding = Folding()
    folding.updated("s", "i", captured("old"))
    folding.updated("s", "other", captured("kept"))
    folding.deleted("s", "i")

    assert list(told(folding)[0][1].items()) == [("s.other", "kept"), ("s.i", None)]


def test_clearing_a_set_purges_its_members_and_no_others():
    folding = Folding()
    folding.updated("s", "one", captured("1"))
    folding.updated("set", "two", captured("2"))
    folding.deleted("s", "three")
    folding.cleared("s")

    assert list(told(folding)[0][1].items()) == [("set.two", "2"), ("s", None)]


def test_a_set_that_is_cleared_twice_is_cleared_where_it_was_last():
    folding = Folding()
    folding.cleared("s")
    folding.updated("s", "one", captured("1"))
    folding.cleared("s")
    folding.updated("s", "two", captured("2"))

    assert list(told(folding)[0][1].items()) == [("s", None), ("s.two", "2")]


def test_an_item_that_json_cannot_hold_leaves_an_event_for_readers():
    folding = Folding()
    folding.updated("s", "i", captured(math.nan))

    [event] = folding.events()
    assert (event.value, event.is_routed) == ({}, False)
    assert event.metadata == {"unrepresentable_paths": ["s.i"]}


def test_a_search_without_hits_is_kept():
    folding = Folding()
    folding.searched("s", "q", [])

    assert told(folding) == [("_long_term_search_event", {"q": []})]


def test_one_query_on_several_sets_gives_one_list_whose_hits_name_their_set():
    folding = Folding()
    folding.searched("b", "q", hits(("1", "x", 0.9)))
    folding.searched("a", "q", hits(("2", "y", 0.8), ("3", "z", 0.1)))
    folding.searched("a", "other", hits(("2", "y", None)))

    assert told(folding)[0][1] == {
        "q": [
            {"id": "1", "value": "x", "score": 0.9, "set": "b"},
            {"id": "2", "value": "y", "score": 0.8, "set": "a"},
            {"id": "3", "value": "z", "score": 0.1, "set": "a"},
        ],
        "other": [{"id": "2", "value": "y"}],
    }


def test_of_a_hit_over_the_limit_id_and_score_remain():
    folding = Folding()
    found = [Hit("1", captured("x" * 100, 10), 0.5), Hit("2", captured("y", 10), 0.4)]
    folding.searched("s", "q", found)

    [event] = folding.events()
    assert plain(event.value) == {
        "q": [{"id": "1", "score": 0.5}, {"id": "2", "value": "y", "score": 0.4}]
    }
    assert event.metadata == {"oversized_paths": {"s.1": 102}}


@given(
    st.lists(
        st.tuples(
            st.sampled_from("abc"),
            st.one_of(st.none(), st.integers(), st.just(math.nan), st.text()),
        )
    )
)
def test_folding_is_a_map_that_remembers_the_order_of_last_operations(entries):
    expected = {}
    folding = Folding()
    for path, value in entries:
        folding.short_term.wrote(path, captured(value))
        expected.pop(path, None)
        expected[path] = value
    kept = {path: value for path, value in expected.items() if value == value}  # noqa: PLR0124  # not NaN
    left = [path for path in expected if path not in kept]

    events = list(folding.events())

    assert len(events) == bool(entries)
    for event in events:
        assert list(plain(event.value).items()) == list(kept.items())
        assert event.metadata == ({"unrepresentable_paths": left} if left else {})
