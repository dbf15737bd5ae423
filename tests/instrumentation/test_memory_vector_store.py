"""The long-term memory of host 0.2, on a vector store of the real Chroma."""

import json
from typing import Any

import pytest
from flink_agents.api.chat_message import ChatMessage, MessageRole
from flink_agents.api.metric_group import MetricGroup
from flink_agents.api.resource import ResourceDescriptor, ResourceType
from flink_agents.runtime.local_runner import LocalRunnerContext

from chat_agents import openai_connection, openai_setup, scripted
from hosting import brief, local_runner, log_lines
from memory_agents import memory_lines, remembered
from probing import Stage, perform
from providing import MemoryProvider
from scripted_llm import Reply
from store_agents import WordCountConnection

pytestmark = pytest.mark.memory

vector_store = pytest.importorskip(
    "flink_agents.runtime.memory.vector_store_long_term_memory",
    reason="only host 0.2 keeps long-term memory in a vector store itself",
)

UPDATE, GET, SEARCH = (
    "_long_term_update_event",
    "_long_term_get_event",
    "_long_term_search_event",
)


class NoMetrics(MetricGroup):
    """Counts nothing: all that the local runner of this host lacks."""

    def get_sub_group(self, *_: Any) -> MetricGroup:
        return self

    def get_counter(self, name: str) -> Any:
        return self

    get_meter = get_gauge = get_histogram = get_counter

    def inc(self, *_: Any) -> None:
        """Count nothing."""


@pytest.fixture(autouse=True)
def _metrics(monkeypatch):
    group = property(lambda _: NoMetrics())
    monkeypatch.setattr(LocalRunnerContext, "agent_metric_group", group)


def with_memory():
    agent = Stage()
    here = WordCountConnection.__module__
    chroma = "flink_agents.integrations.vector_stores.chroma.chroma_vector_store"
    agent.add_resource(
        "connection", ResourceType.CHAT_MODEL_CONNECTION, openai_connection()
    )
    agent.add_resource("model", ResourceType.CHAT_MODEL, openai_setup())
    agent.add_resource(
        "word_counter",
        ResourceType.EMBEDDING_MODEL_CONNECTION,
        ResourceDescriptor(clazz=f"{here}.WordCountConnection"),
    )
    agent.add_resource(
        "word_counts",
        ResourceType.EMBEDDING_MODEL,
        ResourceDescriptor(
            clazz=f"{here}.WordCountSetup", connection="word_counter", model="words"
        ),
    )
    agent.add_resource(
        "notes",
        ResourceType.VECTOR_STORE,
        ResourceDescriptor(
            clazz=f"{chroma}.ChromaVectorStore", embedding_model="word_counts"
        ),
    )
    return agent


def notes_of(ctx, *, item_type=str, capacity=100):
    memory = vector_store.VectorStoreLongTermMemory(
        ctx=ctx, vector_store="notes", job_id="job"
    )
    memory.switch_context(str(ctx.key))
    return memory.get_or_create_memory_set(
        "notes", item_type, capacity, vector_store.CompactionConfig(model="model")
    )


def act(*bodies, key, replies=(), **arguments):
    """Run each body as an action with the key's notes; return the last notes."""
    seen = []

    def acting(body):
        def in_action(_, ctx):
            seen.append(notes_of(ctx, **arguments))
            return body(seen[-1])

        return in_action

    with scripted(list(replies)):
        runner = local_runner(
            with_memory(), **{"long-term-memory.async-compaction": False}
        )
        for body in bodies:
            perform(runner, acting(body), key=key)
    return seen[-1]


def contents(notes):
    return {item.id: item.value for item in notes.get()}


def test_what_is_added_is_told_by_its_id(instrument, tmp_path, key):
    instrument()

    notes = act(
        lambda notes: notes.add(["red lamps", "blue lamps"], ids=["1", "2"]),
        key=key,
    )

    assert [line["event_attributes"] for line in memory_lines(tmp_path / "log")] == [
        {"key": key, "value": {"notes.1": "red lamps", "notes.2": "blue lamps"}}
    ]
    assert contents(notes) == {"1": "red lamps", "2": "blue lamps"}


def test_ids_that_the_memory_makes_are_told(instrument, tmp_path, key):
    instrument()

    notes = act(lambda notes: notes.add("red lamps"), key=key)

    [item] = contents(notes)
    assert remembered(tmp_path / "log") == [(UPDATE, {f"notes.{item}": "red lamps"})]


def test_what_is_read_and_found_is_told_in_its_order(instrument, tmp_path, key):
    instrument()
    texts = ["red lamps", "red", "something else"]

    def read(notes):
        notes.get(ids="1")
        notes.get(ids=["2", "3"])
        assert [item.id for item in notes.search("red lamps", limit=2)] == ["1", "2"]

    act(lambda notes: notes.add(texts, ids=["1", "2", "3"]), read, key=key)

    assert remembered(tmp_path / "log")[1:] == [
        (
            GET,
            {"notes.1": "red lamps", "notes.2": "red", "notes.3": "something else"},
        ),
        (
            SEARCH,
            # This host does not tell how well a hit matches.
            {
                "red lamps": [
                    {"id": "1", "value": "red lamps"},
                    {"id": "2", "value": "red"},
                ]
            },
        ),
    ]


def test_a_search_without_hits_is_told(instrument, tmp_path, key):
    instrument()

    act(lambda notes: notes.search("x", limit=1), key=key)

    assert remembered(tmp_path / "log") == [(SEARCH, {"x": []})]


def test_messages_are_told_as_what_the_store_was_given(instrument, tmp_path, key):
    instrument()
    message = ChatMessage(role=MessageRole.USER, content="hello")

    def body(notes):
        notes.add(message, ids="1")
        notes.get()
        notes.search("hello", limit=1)

    act(body, key=key, item_type=ChatMessage)

    told = dict(remembered(tmp_path / "log"))
    read = message.model_dump(mode="json")
    assert json.loads(told[UPDATE]["notes.1"]) == read
    assert told[GET] == {"notes.1": read}
    assert told[SEARCH] == {"hello": [{"id": "1", "value": read}]}


def test_deleted_items_are_null_and_a_deleted_set_purges_them(
    instrument, tmp_path, key
):
    instrument()

    def delete(notes):
        notes.ltm.delete(memory_set=notes, ids="1")
        notes.ltm.delete(memory_set=notes, ids=["2"])

    def delete_all(notes):
        notes.add("four", ids="4")
        notes.ltm.delete(memory_set=notes)
        notes.add("five", ids="5")

    def delete_set(notes):
        notes.add("six", ids="6")
        assert notes.ltm.delete_memory_set("notes") is True

    act(
        lambda notes: notes.add(["1", "2", "3"], ids=["1", "2", "3"]),
        delete,
        delete_all,
        delete_set,
        key=key,
    )

    assert [list(value.items()) for _, value in remembered(tmp_path / "log")[1:]] == [
        [("notes.1", None), ("notes.2", None)],
        [("notes", None), ("notes.5", "five")],
        [("notes", None)],
    ]


def test_a_compaction_inside_an_addition_stands_in_its_order(instrument, tmp_path, key):
    provider = MemoryProvider()
    instrument(tracer_provider=provider)
    summary = {"topic": {"summarization": "lamps of both kinds", "messages": [0, 1]}}

    notes = act(
        lambda notes: notes.add("red lamps", ids="1"),
        lambda notes: notes.add("blue lamps", ids="2"),
        key=key,
        replies=[Reply.text(json.dumps(summary))],
        capacity=2,
    )

    [(item, text)] = contents(notes).items()
    assert text == "lamps of both kinds"
    # What the compaction reads it reads for itself: no get event.
    assert [
        (kind, list(value.items())) for kind, value in remembered(tmp_path / "log")
    ] == [
        (UPDATE, [("notes.1", "red lamps")]),
        (UPDATE, [("notes.1", None), ("notes.2", None), (f"notes.{item}", text)]),
    ]
    assert [line for line in brief(log_lines(tmp_path / "log")) if "llm" in line] == [
        "llm model started",
        "llm model finished",
    ]
    names = {span.context.span_id: span.name for span in provider.spans}
    tree = [
        (span.name, names[span.parent.span_id])
        for span in provider.spans
        if span.parent is not None
    ]
    assert ("chat scripted", "upsert_memory") in tree
    assert ("delete_memory", "upsert_memory") in tree
    assert ("embeddings words", "upsert_memory") in tree


def test_a_failed_action_leaves_nothing_to_the_next(instrument, tmp_path, key):
    instrument()

    def failing(notes):
        notes.add("lost", ids="1")
        raise ValueError("boom")

    with pytest.raises(ValueError, match="boom"):
        act(failing, key=key)
    act(lambda notes: notes.add("kept", ids="2"), key=key)

    assert remembered(tmp_path / "log") == [(UPDATE, {"notes.2": "kept"})]


def test_operations_are_spans_by_the_conventions(instrument, key):
    provider = MemoryProvider()
    instrument(tracer_provider=provider)

    def body(notes):
        notes.add("red lamps", ids="1")
        notes.get()
        notes.search("red", limit=1)
        notes.ltm.delete(memory_set=notes, ids="1")
        notes.ltm.delete_memory_set("notes")

    act(body, key=key)

    told = [
        (
            span.name,
            span.attributes["gen_ai.provider.name"],
            span.attributes["gen_ai.memory.store.id"],
            span.attributes["gen_ai.memory.record.count"],
        )
        for span in provider.spans
        if "gen_ai.memory.store.id" in span.attributes
    ]
    assert told == [
        ("upsert_memory", "vector_store", "notes", 1),
        ("search_memory", "vector_store", "notes", 1),
        ("search_memory", "vector_store", "notes", 1),
        ("delete_memory", "vector_store", "notes", 1),
        ("delete_memory_store", "vector_store", "notes", 0),
    ]
