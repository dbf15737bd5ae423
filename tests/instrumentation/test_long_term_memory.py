"""Long-term memory on the real mem0 and the real Chroma: what the store really did."""

import json
import logging
import random
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from uuid import uuid4

import pytest
from flink_agents.api.agents.agent import Agent
from flink_agents.api.decorators import action
from flink_agents.api.events.event import Event
from flink_agents.api.runner_context import RunnerContext

from chat_agents import scripted
from hosting import ON_INPUT, brief, in_both_dialects, log_lines
from long_term_agents import (
    act,
    add,
    added,
    contents,
    echo,
    runner_with_memory,
    story,
)
from memory_agent import long_term_memory
from memory_agents import HEARD, listening, memory_lines, remembered
from memory_demo import decision, facts
from opentelemetry.instrumentation.flink_agents import _action_memory, uninstrument
from opentelemetry.instrumentation.flink_agents._flink_context import CarryingExecutor
from opentelemetry.instrumentation.flink_agents.events import (
    LongTermUpdateEvent,
    ShortTermWriteEvent,
)
from probing import CoroutineStage, perform
from providing import MemoryProvider
from scripted_llm import Reply

pytest.importorskip("mem0", reason="this version of the host has no mem0")

from flink_agents.runtime.memory.mem0.mem0_long_term_memory import Mem0LongTermMemory
from mem0.memory.main import Memory

pytestmark = [pytest.mark.memory, pytest.mark.usefixtures("quiet_mem0")]

UPDATE, GET, SEARCH = (
    "_long_term_update_event",
    "_long_term_get_event",
    "_long_term_search_event",
)
MASTER = "memory.generate-event"


class Watching(Agent):
    """Another action listens to what the first one writes, and notes it down."""

    @action(ON_INPUT)
    @staticmethod
    def act(event: Event, ctx: RunnerContext) -> None:
        ctx.short_term_memory.set("path", 1)
        add("said")(long_term_memory(ctx))

    @action(listening(ShortTermWriteEvent))
    @staticmethod
    def watch(event: Event, ctx: RunnerContext) -> None:
        long_term_memory(ctx).get_memory_set("watched").add("noticed")

    @action(listening(LongTermUpdateEvent))
    @staticmethod
    def hear(event: Event, ctx: RunnerContext) -> None:
        HEARD.append((event, ctx))


def applied(before, value, name="notes"):
    """What `before` is after a long-term update event, as a reader would have it."""
    after = dict(before)
    for path, text in value.items():
        if path == name:
            after.clear()
        elif text is None:
            after.pop(path.removeprefix(f"{name}."), None)
        else:
            after[path.removeprefix(f"{name}.")] = text
    return after


def updates(folder):
    return [value for kind, value in remembered(folder) if kind == UPDATE]


def test_what_mem0_adds_is_told_by_its_id(instrument, tmp_path, key):
    instrument()

    memory = act(added("Likes red lamps"), add("I like red lamps"), key=key)

    [(item, text)] = contents(memory).items()
    assert text == "Likes red lamps"
    [line] = memory_lines(tmp_path / "log")
    assert (line["event_type"], line["event_attributes"]) == (
        UPDATE,
        {"key": key, "value": {f"notes.{item}": text}},
    )


def test_several_items_of_one_call_are_one_event(instrument, tmp_path, key):
    instrument()
    replies = [
        facts("a", "b"),
        decision(("ADD", "0", "a"), ("ADD", "1", "b")),
        *added("c"),
    ]

    memory = act(replies, add("a and b", "c"), key=key)

    [value] = updates(tmp_path / "log")
    assert list(value.values()) == ["a", "b", "c"]
    assert applied({}, value) == contents(memory)


def test_consolidation_updates_what_is_there_instead_of_what_was_asked(
    instrument, tmp_path, key
):
    instrument()
    replies = [
        *added("Likes red lamps"),
        facts("Likes blue lamps"),
        decision(("UPDATE", "0", "Likes blue lamps")),
    ]

    memory = act(replies, add("red"), add("blue instead"), key=key)

    first, second = updates(tmp_path / "log")
    assert first.keys() == second.keys()
    assert applied(applied({}, first), second) == contents(memory)
    assert list(second.values()) == ["Likes blue lamps"]


def test_what_the_model_decides_to_delete_is_null(instrument, tmp_path, key):
    instrument()
    replies = [
        *added("Likes red lamps"),
        facts("Wants it forgotten"),
        decision(("DELETE", "0", "Likes red lamps")),
    ]

    memory = act(replies, add("red"), add("forget it"), key=key)

    first, second = updates(tmp_path / "log")
    assert second == dict.fromkeys(first)
    assert contents(memory) == {}


@pytest.mark.parametrize(
    "replies",
    [
        [facts()],
        [facts("x"), decision(("NONE", "0", "x"))],
        [facts("x"), decision(("UPDATE", "77", "of an item that is not there"))],
        [facts("x"), decision(("DELETE", "77", "of an item that is not there"))],
        [facts("x"), Reply.text("no JSON at all")],
        [Reply.text("no JSON at all")],
    ],
    ids=[
        "no facts",
        "none",
        "update nothing",
        "delete nothing",
        "garbled",
        "no answer",
    ],
)
def test_where_mem0_changes_nothing_nothing_is_told(instrument, tmp_path, key, replies):
    instrument()

    memory = act([*added("kept"), *replies], add("kept"), add("something"), key=key)

    assert [*updates(tmp_path / "log")[0].values()] == ["kept"]
    assert len(updates(tmp_path / "log")) == 1
    assert [*contents(memory).values()] == ["kept"]


def test_one_answer_may_add_update_and_delete_at_once(instrument, tmp_path, key):
    instrument()
    replies = [
        facts("a", "b"),
        decision(("ADD", "0", "one"), ("ADD", "1", "two")),
        facts("a"),
        decision(
            ("UPDATE", "0", "changed"),
            ("DELETE", "1", "gone"),
            ("ADD", "2", "three"),
            ("NONE", "0", "kept"),
        ),
    ]

    memory = act(replies, add("both"), add("all at once"), key=key)

    first, second = updates(tmp_path / "log")
    assert sorted(map(str, second.values())) == ["None", "changed", "three"]
    assert applied(applied({}, first), second) == contents(memory)


class RandomStory:
    """Random operations on one set, and a model that decides at random."""

    def __init__(self, seed):
        self.chance = random.Random(seed)

    def text(self):
        return f"text {self.chance.randrange(10**6)}"

    def reply(self, body):
        if len(body["messages"]) == 2:
            return facts(self.text())
        known = re.findall(r"'id': '(\d+)'", body["messages"][0]["content"])
        return decision(
            ("ADD", "0", self.text()),
            *((self.event(), number, self.text()) for number in sorted(set(known))),
        )

    def event(self):
        return self.chance.choice(["UPDATE", "DELETE", "NONE", "NONE"])

    def step(self, memory):
        notes = memory.get_memory_set("notes")
        for _ in range(self.chance.randrange(1, 4)):
            kind = self.chance.random()
            if kind < 0.6:
                notes.add(self.text())
            elif kind < 0.8:
                ids = sorted(item.id for item in notes.get())
                notes.delete(ids=self.chance.sample(ids, len(ids) // 2))
            elif kind < 0.85:
                notes.delete()
            else:
                notes.search("text", limit=2)


def test_a_random_story_of_the_store_can_be_told_from_its_events(
    instrument, tmp_path, key
):
    instrument()
    told = RandomStory(4)

    held, seen = {}, 0
    with story(told.reply, key) as acting:
        for _ in range(25):
            memory = acting(told.step)
            for value in updates(tmp_path / "log")[seen:]:
                held = applied(held, value)
            seen = len(updates(tmp_path / "log"))
            assert held == contents(memory)
    assert seen > 10


def test_search_tells_ids_texts_and_scores_in_the_order_of_the_result(
    instrument, tmp_path, key
):
    instrument()
    found = []

    def search(memory):
        found.extend(memory.get_memory_set("notes").search("red lamps", limit=2))

    texts = ["red lamps", "red", "something else altogether"]
    memory = act(echo, add(*texts), search, key=key)

    [hits] = dict(remembered(tmp_path / "log"))[SEARCH].values()
    assert [(hit["id"], hit["value"]) for hit in hits] == [
        (item.id, item.value) for item in found
    ]
    # Chroma's distances: the nearest first.
    scores = [hit["score"] for hit in hits]
    assert scores == sorted(scores)
    assert hits[0] | {"score": None} == {
        "id": next(
            id_ for id_, text in contents(memory).items() if text == "red lamps"
        ),
        "value": "red lamps",
        "score": None,
    }
    assert scores[0] == pytest.approx(0.0)


def test_a_search_without_hits_is_told(instrument, tmp_path, key):
    instrument()

    act([], lambda memory: memory.get_memory_set("none").search("x", limit=2), key=key)

    assert remembered(tmp_path / "log") == [(SEARCH, {"x": []})]


def test_one_query_on_two_sets_names_the_set_of_each_hit(instrument, tmp_path, key):
    instrument()

    def search(memory):
        for name in ("books", "notes"):
            memory.get_memory_set(name).search("lamps", limit=1)

    act(echo, add("lamps", to="books"), add("lamps"), search, key=key)

    [(_, value)] = remembered(tmp_path / "log")[-1:]
    assert [(hit["set"], hit["value"]) for hit in value["lamps"]] == [
        ("books", "lamps"),
        ("notes", "lamps"),
    ]


@pytest.mark.parametrize("way", ["by id", "by ids", "all"])
def test_what_is_read_is_told(instrument, tmp_path, key, way):
    instrument()

    def read(memory):
        notes = memory.get_memory_set("notes")
        ids = list(stored)
        notes.get(**{"by id": {"ids": ids[0]}, "by ids": {"ids": ids}, "all": {}}[way])

    with story(echo, key) as acting:
        stored = contents(acting(add("one", "two")))
        acting(read)

    expected = dict(list(stored.items())[:1]) if way == "by id" else stored
    assert dict(remembered(tmp_path / "log"))[GET] == {
        f"notes.{item}": text for item, text in expected.items()
    }


def test_an_item_that_is_not_there_fails_as_without_us_and_is_not_told(
    instrument, tmp_path, key
):
    instrument()

    def read(memory):
        notes = memory.get_memory_set("notes")
        with pytest.raises(AttributeError):
            notes.get(ids="missing")
        with pytest.raises(AttributeError):
            notes.delete(ids="missing")

    act([], read, key=key)

    assert remembered(tmp_path / "log") == []


def test_deleted_items_are_null(instrument, tmp_path, key):
    instrument()

    def delete(memory):
        notes = memory.get_memory_set("notes")
        one, two, _ = sorted(contents(memory), key=contents(memory).get)
        notes.delete(ids=one)
        notes.delete(ids=[two])

    with story(echo, key) as acting:
        before = contents(acting(add("a", "b", "c")))
        memory = acting(delete)

    value = updates(tmp_path / "log")[-1]
    assert list(value.values()) == [None, None]
    assert applied(before, value) == contents(memory)
    assert [*contents(memory).values()] == ["c"]


def test_of_a_deletion_that_fails_half_way_the_first_half_is_told(
    instrument, tmp_path, key
):
    instrument()

    def delete(memory):
        [item] = contents(memory)
        with pytest.raises(AttributeError):
            memory.get_memory_set("notes").delete(ids=[item, "missing"])

    memory = act(echo, add("a"), delete, key=key)

    first, second = updates(tmp_path / "log")
    assert second == dict.fromkeys(first)
    assert contents(memory) == {}


def test_of_an_addition_that_fails_half_way_the_first_half_is_told(
    instrument, tmp_path, key
):
    instrument()

    def note(memory):
        with pytest.raises(Exception, match="scripted status 400"):
            add("a", "b")(memory)

    memory = act([*added("a"), Reply.status(400)], note, key=key)

    [value] = updates(tmp_path / "log")
    assert applied({}, value) == contents(memory)
    assert [*value.values()] == ["a"]


@pytest.mark.parametrize("way", ["delete all", "delete the set"])
def test_clearing_a_set_purges_what_was_said_of_it_before(
    instrument, tmp_path, key, way
):
    instrument()

    def clear(memory):
        add("a")(memory)
        add("other", to="other")(memory)
        if way == "delete all":
            memory.get_memory_set("notes").delete()
        else:
            memory.delete_memory_set("notes")
        add("b")(memory)

    memory = act(echo, add("before"), clear, key=key)

    value = updates(tmp_path / "log")[-1]
    [other] = contents(memory, "other")
    [left] = contents(memory)
    assert list(value.items()) == [
        (f"other.{other}", "other"),
        ("notes", None),
        (f"notes.{left}", "b"),
    ]


def test_an_action_that_fails_tells_nothing_and_leaves_nothing_to_the_next(
    instrument, tmp_path, key
):
    instrument()

    def failing(memory):
        add("lost")(memory)
        memory.get_memory_set("notes").search("lost", limit=1)
        memory.get_memory_set("notes").get()
        raise ValueError("boom")

    with story(echo, key) as acting:
        with pytest.raises(ValueError, match="boom"):
            acting(failing)
        acting(add("kept", to="other"))

    assert [[*value.values()] for value in updates(tmp_path / "log")] == [["kept"]]
    assert [kind for kind, _ in remembered(tmp_path / "log")] == [UPDATE]


@in_both_dialects
def test_events_of_long_term_memory_come_last_in_a_fixed_order(
    instrument, tmp_path, key
):
    instrument()

    def body(_, ctx):
        notes = long_term_memory(ctx).get_memory_set("notes")
        notes.search("x", limit=1)
        notes.add("x")
        notes.get()
        ctx.short_term_memory.set("path", 1)
        ctx.sensory_memory.set("path", 1)

    with scripted(echo):
        perform(runner_with_memory(), body, key=key)

    assert [kind for kind, _ in remembered(tmp_path / "log")] == [
        "_sensory_write_event",
        "_short_term_write_event",
        UPDATE,
        GET,
        SEARCH,
    ]


def test_two_interleaved_actions_of_one_key_do_not_mix(instrument, tmp_path, key):
    instrument()
    with story(echo, key) as acting:

        def outer(memory):
            add("of the outer")(memory)
            acting(add("of the inner", to="inner"))
            raise ValueError("boom")

        with pytest.raises(ValueError, match="boom"):
            acting(outer)

    [value] = updates(tmp_path / "log")
    assert [*value.values()] == ["of the inner"]


@in_both_dialects
def test_who_is_woken_by_memory_tells_none_of_his_own(instrument, tmp_path, key):
    HEARD.clear()
    instrument()

    with scripted(echo):
        runner_with_memory(Watching).run(key=key, value="x")

    lines = memory_lines(tmp_path / "log")
    assert [line["entity_name"] for line in lines] == ["act", "act"]
    [(event, _)] = HEARD
    assert isinstance(event, LongTermUpdateEvent)
    assert event.value == dict(remembered(tmp_path / "log"))[UPDATE]


@in_both_dialects
@pytest.mark.parametrize("kind", ["update", "get", "search"])
def test_each_operation_has_a_switch_of_its_own(instrument, tmp_path, key, kind):
    instrument()

    def everything(memory):
        notes = memory.get_memory_set("notes")
        notes.add("x")
        notes.get()
        notes.search("x", limit=1)

    act(echo, everything, key=key, **{f"{MASTER}.long-term-{kind}": False})

    told = {each for each, _ in remembered(tmp_path / "log")}
    assert told == {UPDATE, GET, SEARCH} - {f"_long_term_{kind}_event"}


def test_what_is_switched_off_copies_nothing(instrument, key, monkeypatch):
    instrument()
    copies = []
    captured = _action_memory.captured

    def counted(value, *limit):
        copies.append(value)
        return captured(value, *limit)

    monkeypatch.setattr(_action_memory, "captured", counted)

    def everything(memory):
        notes = memory.get_memory_set("notes")
        notes.add("x")
        notes.get()
        notes.search("x", limit=1)
        notes.delete()

    act(echo, everything, key=key, **{MASTER: False})
    assert copies == []
    act(echo, everything, key=key)
    assert copies == ["x"] * 3


def test_large_items_are_named_and_left_out(instrument, tmp_path, key):
    instrument(options={f"{MASTER}.max-value-bytes": 100})
    large = "word " * 100

    def everything(memory):
        notes = memory.get_memory_set("notes")
        notes.add("x")
        notes.get()
        notes.search("word", limit=1)

    memory = act(added(large), everything, key=key)

    [item] = contents(memory)
    lines = memory_lines(tmp_path / "log")
    left_out = {"oversized_paths": {f"notes.{item}": len(large) + 2}}
    assert [line["entity_metadata"] for line in lines] == [left_out] * 3
    values = [line["event_attributes"]["value"] for line in lines]
    score = values[2]["word"][0].pop("score")
    assert isinstance(score, float)
    assert values == [{}, {}, {"word": [{"id": item}]}]


def in_threads(count, function):
    """Run `function(number)` in threads that know what they belong to."""
    threads = [
        threading.Thread(target=copy_context().run, args=(function, number))
        for number in range(count)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_two_threads_of_an_action_lose_nothing(instrument, tmp_path, key):
    instrument()

    def body(memory):
        def note(number):
            for each in range(100):
                add(f"note {number} {each}")(memory)

        in_threads(2, note)

    memory = act(echo, body, key=key)

    [value] = updates(tmp_path / "log")
    assert sorted(value.values()) == sorted(
        f"note {number} {each}" for number in range(2) for each in range(100)
    )
    stored = {item.id for item in memory.get_memory_set("notes").get(limit=1000)}
    assert {path.removeprefix("notes.") for path in value} == stored


def test_operations_on_a_pool_belong_to_the_action_that_submits_them(
    instrument, tmp_path, key
):
    instrument()

    def body(memory):
        with ThreadPoolExecutor(2) as pool:
            futures = [
                CarryingExecutor(pool).submit(add(f"note {number}"), memory)
                for number in range(4)
            ]
        assert [len(future.result()) for future in futures] == [1] * 4

    memory = act(echo, body, key=key)

    [value] = updates(tmp_path / "log")
    assert applied({}, value) == contents(memory)
    assert len(value) == 4


def test_operations_of_a_durable_call_belong_to_the_coroutine(
    instrument, tmp_path, key
):
    instrument()

    async def body(_, ctx):
        notes = long_term_memory(ctx).get_memory_set("notes")
        await ctx.durable_execute_async(notes.add, "first")
        ctx.durable_execute(notes.add, "second")

    with scripted(echo):
        perform(runner_with_memory(CoroutineStage), body, key=key)

    [value] = updates(tmp_path / "log")
    assert [*value.values()] == ["first", "second"]


def test_an_operation_that_ends_after_its_action_is_in_no_event_and_is_said(
    instrument, tmp_path, key, caplog
):
    instrument()
    action_ended = threading.Event()
    threads = []

    def reply(body):
        if "late" in json.dumps(body["messages"][-1]):
            action_ended.wait(30)
        return echo(body)

    def leave_behind(memory):
        thread = threading.Thread(target=copy_context().run, args=(add("late"), memory))
        thread.start()
        threads.append(thread)

    def wait(memory):
        action_ended.set()
        threads[0].join()
        add("in time", to="other")(memory)

    with scripted(reply), caplog.at_level(logging.WARNING, "opentelemetry"):
        runner = runner_with_memory()
        perform(runner, lambda _, ctx: leave_behind(long_term_memory(ctx)), key=key)
        perform(runner, lambda _, ctx: wait(long_term_memory(ctx)), key=key)

    assert [[*value.values()] for value in updates(tmp_path / "log")] == [["in time"]]
    [said] = [text for text in caplog.messages if "long-term" in text]
    assert said == (
        "An operation on long-term memory ended after its action; it is in no memory"
        " event"
    )


def test_a_change_of_the_context_during_an_operation_moves_nothing(
    instrument, tmp_path, key
):
    instrument()
    memories = []

    def reply(body):
        memories[0].key = "somebody else"
        return echo(body)

    def body(memory):
        memories.append(memory)
        add("mine")(memory)

    memory = act(reply, body, key=key)

    memory.key = key
    [line] = memory_lines(tmp_path / "log")
    assert line["event_attributes"]["key"] == key
    assert applied({}, line["event_attributes"]["value"]) == contents(memory)


def test_an_empty_key_is_a_key(instrument, tmp_path):
    instrument()
    name = f"set-{uuid4()}"

    act(echo, add("x", to=name), key="")

    [line] = memory_lines(tmp_path / "log")
    assert line["event_attributes"]["key"] == ""


def test_outside_of_a_run_long_term_memory_works_unobserved(instrument, tmp_path, key):
    instrument()
    memory = act([], lambda _: None, key=key)
    before = log_lines(tmp_path / "log")

    with scripted(echo):
        runner = runner_with_memory()
        memories = []
        perform(runner, lambda _, ctx: memories.append(long_term_memory(ctx)), key=key)
        before = log_lines(tmp_path / "log")
        add("outside")(memories[0])

    assert [*contents(memory).values()] == ["outside"]
    assert log_lines(tmp_path / "log") == before


def gen_ai(span):
    return {
        name: value
        for name, value in span.attributes.items()
        if name.startswith("gen_ai.")
    }


def of_memory(name, count=None):
    attributes = {
        "gen_ai.operation.name": name,
        "gen_ai.provider.name": "mem0",
        "gen_ai.memory.store.id": "notes",
    }
    return (name, attributes | {"gen_ai.memory.record.count": count})


def test_each_operation_is_a_span_by_the_conventions(instrument, key):
    provider = MemoryProvider()
    instrument(tracer_provider=provider)

    def everything(memory):
        notes = memory.get_memory_set("notes")
        ids = notes.add(["x", "y"])
        notes.get()
        notes.search("x", limit=1)
        notes.delete(ids=ids[0])
        memory.delete_memory_set("notes")

    act(echo, everything, key=key)

    spans = [
        span for span in provider.spans if span.attributes.get("gen_ai.memory.store.id")
    ]
    assert [(span.name, gen_ai(span)) for span in spans] == [
        of_memory("upsert_memory", 2),
        of_memory("search_memory", 2),
        of_memory("search_memory", 1),
        of_memory("delete_memory", 1),
        of_memory("delete_memory_store", 0),
    ]
    [act_span] = [span for span in provider.spans if span.name == "action act"]
    assert {span.parent.span_id for span in spans} == {act_span.context.span_id}
    assert {span.kind.name for span in spans} == {"CLIENT"}
    assert {span.attributes["flink_agents.business_key"] for span in spans} == {key}


def test_a_failed_operation_is_a_failed_span_and_fails_as_without_us(instrument, key):
    provider = MemoryProvider()
    instrument(tracer_provider=provider)

    def body(memory):
        with pytest.raises(AttributeError):
            memory.get_memory_set("notes").get(ids="missing")

    act([], body, key=key)

    [span] = [span for span in provider.spans if span.name == "search_memory"]
    assert span.attributes["error.type"] == "AttributeError"
    assert span.status.status_code.name == "ERROR"


def test_the_calls_that_mem0_makes_are_below_its_span_though_on_its_own_threads(
    instrument, tmp_path, key
):
    provider = MemoryProvider()
    instrument(tracer_provider=provider)
    threads = set()

    def reply(body):
        threads.update(thread.name for thread in threading.enumerate())
        return echo(body)

    def body(memory):
        memory.get_memory_set("notes").add("x")
        memory.get_memory_set("notes").search("x", limit=1)

    act(reply, body, key=key)

    assert any(name.startswith("ThreadPoolExecutor") for name in threads)
    names = {span.context.span_id: span.name for span in provider.spans}
    tree = [
        (span.name, names[span.parent.span_id])
        for span in provider.spans
        if span.parent is not None
    ]
    assert tree == [
        ("chat gpt-4o-mini", "upsert_memory"),
        ("embeddings word-counts", "upsert_memory"),
        ("chat gpt-4o-mini", "upsert_memory"),
        ("upsert_memory", "action act"),
        ("embeddings word-counts", "search_memory"),
        ("search_memory", "action act"),
        ("action act", "invoke_agent Stage"),
    ]
    assert len({span.context.trace_id for span in provider.spans}) == 1


def test_the_chat_calls_of_mem0_are_executions_of_the_action(instrument, tmp_path, key):
    instrument()

    act(echo, add("x"), key=key)

    lines = log_lines(tmp_path / "log")
    assert brief(lines) == [
        "_input_event",
        "_agent_run_begin_event",
        "action act started",
        "llm note_model started",
        "llm note_model finished",
        "llm note_model started",
        "llm note_model finished",
        "action act finished",
        UPDATE,
    ]
    started = lines[2]
    assert {line["parent_execution_id"] for line in lines[3:7]} == {
        started["execution_id"]
    }
    assert {line["action_trigger_event_id"] for line in lines[2:]} == {
        lines[0]["event_id"]
    }
    assert lines[4]["event_attributes"]["output"]["content"] == '{"facts": ["x"]}'


def test_uninstrumented_again_mem0_and_the_host_have_their_own_functions(
    instrument, key
):
    names = {
        Memory: (
            "add",
            "search",
            "delete",
            "_add_to_vector_store",
            "_get_all_from_vector_store",
            "_search_vector_store",
        ),
        Mem0LongTermMemory: ("add", "get", "search", "delete", "delete_memory_set"),
    }
    before = [vars(owner)[name] for owner in names for name in names[owner]]
    instrument()
    patched = [vars(owner)[name] for owner in names for name in names[owner]]
    uninstrument()
    after = [vars(owner)[name] for owner in names for name in names[owner]]

    assert all(now is not then for now, then in zip(patched, before, strict=True))
    assert all(now is then for now, then in zip(after, before, strict=True))


def test_results_are_the_same_with_and_without_us(instrument, key):
    def everything(memory):
        notes = memory.get_memory_set("notes")
        seen.append([len(notes.add(["x", "y"])), notes.add([])])
        seen.append([item.value for item in notes.get()])
        seen.append([item.value for item in notes.search("x", limit=1)])
        seen.append(notes.delete(ids=[]))
        seen.append(memory.delete_memory_set("notes"))

    seen = []
    act(echo, everything, key=f"{key} without")
    alone, seen = seen, []
    instrument()
    act(echo, everything, key=f"{key} with")

    assert seen == alone
    assert seen[0] == [2, []]
