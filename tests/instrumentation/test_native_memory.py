"""Long-term memory in the native dialect, nested by set: real mem0, real Chroma."""

import json
from contextvars import copy_context
from threading import Thread
from uuid import uuid4

import pytest
from flink_agents.api.agents.agent import Agent
from flink_agents.api.decorators import action
from flink_agents.api.events.event import Event
from flink_agents.api.runner_context import RunnerContext

from chat_agents import scripted
from flink_agents_eventlog import Conversion, encode, read_records
from hosting import ON_INPUT, native_lines
from long_term_agents import (
    act,
    add,
    contents,
    echo,
    runner_with_memory,
    story,
)
from memory_agent import long_term_memory
from memory_agents import HEARD, listening
from memory_demo import decision, facts
from native_reader import warnings_of
from opentelemetry.instrumentation.flink_agents.events import LongTermUpdateEvent

pytestmark = [pytest.mark.memory, pytest.mark.usefixtures("quiet_mem0")]

UPDATE, GET, SEARCH = (
    "_long_term_update_event",
    "_long_term_get_event",
    "_long_term_search_event",
)


class Hearing(Agent):
    """Adds to a set and clears another; an action of it listens to that."""

    @action(ON_INPUT)
    @staticmethod
    def act(event: Event, ctx: RunnerContext) -> None:
        add("said")(long_term_memory(ctx))
        long_term_memory(ctx).delete_memory_set("old")

    @action(listening(LongTermUpdateEvent))
    @staticmethod
    def hear(event: Event, ctx: RunnerContext) -> None:
        HEARD.append((event, ctx))


@pytest.fixture
def told(instrument, tmp_path):
    """Give the long-term events of the native log, whole, as `(type, attributes)`."""
    instrument(dialect="native")

    def read():
        lines = native_lines(tmp_path / "log")
        assert warnings_of(lines) == []
        return [
            (line["eventType"], line["eventAttributes"])
            for line in lines
            if line["eventType"] in {UPDATE, GET, SEARCH}
        ]

    return read


def item_of(memory, text, name="notes"):
    [item] = [item for item, found in contents(memory, name).items() if found == text]
    return item


def test_what_is_added_stands_below_its_set(told, key):
    memory = act(echo, add("one", "two"), key=key)

    one, two = item_of(memory, "one"), item_of(memory, "two")
    assert told() == [
        (
            UPDATE,
            {
                "key": key,
                "value": {"notes": {one: "one", two: "two"}},
                "cleared_sets": [],
            },
        )
    ]
    assert list(told()[0][1]) == ["key", "value", "cleared_sets"]


def test_one_answer_of_the_model_adds_updates_and_deletes_below_its_set(told, key):
    replies = [
        facts("a", "b"),
        decision(("ADD", "0", "one"), ("ADD", "1", "two")),
        facts("a"),
        decision(
            ("UPDATE", "0", "changed"), ("DELETE", "1", "two"), ("ADD", "2", "new")
        ),
    ]
    with story(replies, key) as acting:
        before = contents(acting(add("both")))
        memory = acting(add("all at once"))

    [gone] = before.keys() - contents(memory).keys()
    _, (_, attributes) = told()
    assert attributes == {
        "key": key,
        "value": {"notes": {**contents(memory), gone: None}},
        "cleared_sets": [],
    }


@pytest.mark.parametrize("way", ["delete all", "delete the set"])
def test_a_cleared_set_is_named_and_what_was_said_of_it_before_is_gone(told, key, way):
    def clear(memory):
        add("a")(memory)
        add("other", to="other")(memory)
        if way == "delete all":
            memory.get_memory_set("notes").delete()
        else:
            memory.delete_memory_set("notes")
        add("b")(memory)

    memory = act(echo, clear, key=key)

    assert told() == [
        (
            UPDATE,
            {
                "key": key,
                "value": {
                    "other": contents(memory, "other"),
                    "notes": contents(memory),
                },
                "cleared_sets": ["notes"],
            },
        )
    ]


def test_clearing_alone_is_an_update_and_a_deleted_item_is_null(told, key):
    with story(echo, key) as acting:
        before = contents(acting(add("kept", "gone")))
        gone = next(item for item, text in before.items() if text == "gone")
        acting(lambda memory: memory.get_memory_set("notes").delete(ids=gone))
        acting(lambda memory: memory.delete_memory_set("notes"))

    updates = [attributes for kind, attributes in told() if kind == UPDATE]
    assert updates == [
        {"key": key, "value": {"notes": before}, "cleared_sets": []},
        {"key": key, "value": {"notes": {gone: None}}, "cleared_sets": []},
        {"key": key, "value": {}, "cleared_sets": ["notes"]},
    ]


def test_dots_in_the_name_of_a_set_mean_nothing(told, key):
    memory = act(echo, add("a", to="a"), add("dotted", to="a.b"), key=key)

    assert [attributes["value"] for _, attributes in told()] == [
        {"a": contents(memory, "a")},
        {"a.b": contents(memory, "a.b")},
    ]


def test_reads_and_searches_stand_below_the_set_that_was_asked(told, key):
    def ask(memory):
        for name in ("books", "notes"):
            memory.get_memory_set(name).get()
        for name in ("notes", "books", "empty"):
            memory.get_memory_set(name).search("lamps", limit=1)
        memory.get_memory_set("notes").search("red", limit=2)

    memory = act(echo, add("lamps", to="books"), add("lamps", "red"), ask, key=key)

    (_, got), (_, searched) = told()[-2:]
    assert got == {
        "key": key,
        "value": {"books": contents(memory, "books"), "notes": contents(memory)},
    }
    scores = [
        hit.pop("score")
        for queries in searched["value"].values()
        for hits in queries.values()
        for hit in hits
    ]
    assert all(isinstance(score, float) for score in scores)
    lamps = {"id": item_of(memory, "lamps"), "value": "lamps"}
    red = {"id": item_of(memory, "red"), "value": "red"}
    of_books = {"id": item_of(memory, "lamps", "books"), "value": "lamps"}
    assert searched == {
        "key": key,
        "value": {
            "notes": {"lamps": [lamps], "red": [red, lamps]},
            "books": {"lamps": [of_books]},
            "empty": {"lamps": []},
        },
    }


def test_who_listens_hears_which_sets_were_cleared(told, key):
    HEARD.clear()

    with scripted(echo):
        runner_with_memory(Hearing).run(key=key, value="x")

    [(_, attributes)] = told()
    [(event, _)] = HEARD
    assert attributes["cleared_sets"] == ["old"]
    assert (event.value, event.cleared_sets) == (attributes["value"], ["old"])


def test_of_a_failed_action_nothing_is_told_and_nothing_is_left_to_the_next(told, key):
    def failing(memory):
        add("lost")(memory)
        memory.delete_memory_set("notes")
        raise ValueError("boom")

    with story(echo, key) as acting:
        with pytest.raises(ValueError, match="boom"):
            acting(failing)
        memory = acting(add("kept", to="other"))

    assert [attributes["value"] for _, attributes in told()] == [
        {"other": contents(memory, "other")}
    ]


def test_the_log_of_long_term_memory_comes_back_from_the_other_dialect(
    instrument, tmp_path, key
):
    instrument(dialect="native")

    def everything(memory):
        add("a", to="old")(memory)
        memory.delete_memory_set("old")
        add("b", "c")(memory)
        memory.get_memory_set("notes").get()
        for name in ("notes", "old"):
            memory.get_memory_set(name).search("b", limit=2)

    act(echo, everything, key=key)

    there, back = Conversion("snake"), Conversion("native")
    lines, lost = [], []
    for record in read_records(tmp_path / "log"):
        snake, losses = there.convert(record)
        lost += losses
        lines.append(json.loads(encode(back.convert(snake).record)))
    expected = native_lines(tmp_path / "log")
    [searched] = [line for line in expected if line["eventType"] == SEARCH]
    del searched["eventAttributes"]["value"]["old"]
    assert lines == expected
    assert lost == ["the set of a long-term search without hits"]


def test_two_interleaved_actions_of_one_key_do_not_mix(told, key):
    with story(echo, key) as acting:

        def outer(memory):
            add("of the outer")(memory)
            acting(add("of the inner", to="inner"))
            raise ValueError("boom")

        with pytest.raises(ValueError, match="boom"):
            acting(outer)
        memory = acting(lambda _: None)

    assert [attributes["value"] for _, attributes in told()] == [
        {"inner": contents(memory, "inner")}
    ]


def test_threads_of_an_action_lose_nothing_and_an_empty_key_is_a_key(told):
    name = f"set-{uuid4()}"

    def body(memory):
        def note(number):
            for each in range(5):
                add(f"note {number} {each}", to=name)(memory)

        threads = [
            Thread(target=copy_context().run, args=(note, number)) for number in (1, 2)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    memory = act(echo, body, key="")

    assert told() == [
        (
            UPDATE,
            {"key": "", "value": {name: contents(memory, name)}, "cleared_sets": []},
        )
    ]
    assert len(contents(memory, name)) == 10
