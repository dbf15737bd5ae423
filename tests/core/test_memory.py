"""Applying, the inverse of folding: memory rebuilt from what its events say."""

from hypothesis import given
from hypothesis import strategies as st

from flink_agents_eventlog.memory import apply_writes, forget

PATHS = st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map(".".join)


def applied(memory, *values):
    for value in values:
        apply_writes(memory, value)
    return memory


def test_a_write_replaces_one_path_and_leaves_the_others():
    memory = {"user.tier": "silver", "count": 1}

    assert applied(memory, {"user.tier": "gold"}) == {"count": 1, "user.tier": "gold"}


def test_null_is_a_value():
    assert applied({"a": 1}, {"a": None}) == {"a": None}


def test_an_object_takes_the_place_of_a_value():
    assert applied({"user": "ada"}, {"user.name": "ada"}) == {"user.name": "ada"}


def test_a_value_takes_the_place_of_everything_below():
    memory = {"user.name": "ada", "user.address.city": "London", "username": "ada"}

    assert applied(memory, {"user": None}) == {"username": "ada", "user": None}


def test_entries_are_applied_in_their_order():
    assert applied({}, {"a": None, "a.b": 1}) == {"a.b": 1}
    assert applied({}, {"a.b": 1, "a": None}) == {"a": None}


def test_what_an_event_names_but_does_not_hold_is_forgotten():
    memory = {"a": 1, "b.c": 2, "d": 3}

    apply_writes(memory, {"e": 4}, ["a", "b"])

    assert memory == {"d": 3, "e": 4}


def test_below_a_forgotten_path_and_above_it_the_later_one_counts():
    below, above = {}, {}

    # Objects stay objects: the longer path was written last in both.
    apply_writes(below, {"a.b": 1}, ["a"])
    apply_writes(above, {"a": 1}, ["a.b"])

    assert (below, above) == ({"a.b": 1}, {})


def test_forgetting_a_path_forgets_its_ancestors_and_what_is_below():
    memory = {"a": 1, "a.b": 2, "a.b.c": 3, "a.bc": 4, "b": 5}

    forget(memory, "a.b")

    assert memory == {"a.bc": 4, "b": 5}


@given(st.lists(st.tuples(PATHS, st.integers())))
def test_one_place_holds_a_value_or_an_object_never_both(writes):
    memory = {}
    for path, value in writes:
        apply_writes(memory, {path: value})

        assert memory[path] == value
        assert not [
            (one, other)
            for one in memory
            for other in memory
            if other.startswith(f"{one}.")
        ]
