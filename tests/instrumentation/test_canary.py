"""Content is searched for in the very bytes of everything that leaves the process."""

import pytest
from flink_agents.api.chat_message import ChatMessage, MessageRole
from flink_agents.api.decorators import action
from flink_agents.api.events.event import Event
from flink_agents.api.prompts.prompt import Prompt
from flink_agents.api.resource import ResourceType
from flink_agents.api.runner_context import RunnerContext

import mcp_agents
from chat_agents import (
    ON_ANSWER,
    Answer,
    ChatAgent,
    answer_of,
    chat_request,
    openai_setup,
    scripted,
    tool_named,
)
from exporting import signals
from hosting import ON_INPUT, TYPED_EVENTS, input_of, local_runner, output
from opentelemetry.exporter.flink_agents._guard import faults
from opentelemetry.instrumentation.flink_agents import Masking
from probing import perform
from scripted_llm import Reply

pytestmark = pytest.mark.memory

CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
ERRORS = "OTEL_PYTHON_FLINK_AGENTS_OTLP_ERROR_MESSAGES"


def canary(word):
    return f"canary-{word}-yranac"


CHAT = {"system", "input", "answer", "argument", "result", "description"}
MEMORY = {"written", "path"}
ERROR = {"error"}
EVERYTHING = CHAT | MEMORY | ERROR


def found_in(data, words):
    return {word for word in words if canary(word).encode() in data}


def echo(argument: str) -> str:
    """canary-description-yranac.

    :param argument: The argument.
    """
    assert argument == canary("argument")
    return canary("result")


class Talkative(ChatAgent):
    """Has a canary wherever content can be."""

    def __init__(self) -> None:
        system = ChatMessage(role=MessageRole.SYSTEM, content=canary("system"))
        setup = openai_setup(prompt=Prompt.from_messages([system]), tools=["echo"])
        super().__init__(setup)
        from flink_agents.api.tools.tool import Tool

        self.add_resource("echo", ResourceType.TOOL, Tool.from_callable(echo))

    @action(ON_INPUT)
    @staticmethod
    def ask(event: Event, ctx: RunnerContext) -> None:
        ctx.short_term_memory.set(canary("path"), canary("written"))
        ctx.sensory_memory.set(canary("path"), canary("written"))
        ctx.short_term_memory.get(canary("path"))
        with pytest.raises(PermissionError):
            tool_named(ctx, "refuse").call(reason=canary("error"))
        ctx.send_event(chat_request(input_of(event), schema=Answer))

    @action(ON_ANSWER)
    @staticmethod
    def reply(event: Event, ctx: RunnerContext) -> None:
        ctx.send_event(output(answer_of(event).content))


REPLIES = [
    Reply.tool_calls([("echo", {"argument": canary("argument")})]),
    # No JSON: the parser fails, with what it was given in its message.
    Reply.text(canary("answer")),
]


def run():
    with scripted(REPLIES):
        runner = local_runner(Talkative())
        with pytest.raises(Exception, match="Expecting value"):
            runner.run(key="k", value=canary("input"))


@pytest.fixture
def exported():
    with signals() as made:
        yield made


def logged(folder):
    return b"".join(path.read_bytes() for path in folder.glob("events-*.jsonl"))


def test_by_default_no_content_leaves_the_process(
    instrument, exported, monkeypatch, tmp_path
):
    monkeypatch.setenv(ERRORS, "false")
    instrument(**exported.providers)

    run()

    assert found_in(exported.raw(), EVERYTHING) == set()
    # All of it was there: what a tool is for is not part of any record.
    assert found_in(logged(tmp_path / "log"), EVERYTHING) == (
        EVERYTHING - {"system", "description"}
    )
    names = {span.name for span in exported.spans}
    assert {"chat scripted", "execute_tool echo", "execute_tool refuse"} <= names
    assert "gen_ai.client.operation.duration" in exported.metrics


def test_messages_of_errors_leave_it_unless_switched_off(instrument, exported):
    instrument(**exported.providers)

    run()

    assert found_in(exported.raw(), EVERYTHING) == {"error"}


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("SPAN_ONLY", CHAT | ERROR),
        ("EVENT_ONLY", CHAT),
        ("SPAN_AND_EVENT", CHAT | ERROR),
    ],
)
def test_with_capture_on_it_is_there(mode, words, instrument, exported, monkeypatch):
    """Arguments of a tool that refuses hold the canary of its error too."""
    monkeypatch.setenv(ERRORS, "false")
    monkeypatch.setenv(CAPTURE, mode)
    instrument(**exported.providers)

    run()

    assert found_in(exported.raw(), EVERYTHING) == words


def test_what_is_masked_leaves_it_nowhere(instrument, exported, monkeypatch, tmp_path):
    monkeypatch.setenv(CAPTURE, "SPAN_AND_EVENT")
    instrument(mask=Masking(patterns=["canary-[a-z]+-yranac"]), **exported.providers)

    run()

    assert found_in(exported.raw(), EVERYTHING) == set()
    assert found_in(logged(tmp_path / "log"), EVERYTHING) == set()


def test_a_mask_that_fails_hides_everything(
    instrument, exported, monkeypatch, tmp_path
):
    monkeypatch.setattr(faults, "reraise", False)
    monkeypatch.setenv(CAPTURE, "SPAN_AND_EVENT")

    def failing(path, value):
        raise LookupError(path)

    instrument(mask=failing, **exported.providers)

    run()

    # What a mask is not asked for are the names of fields.
    assert found_in(exported.raw(), EVERYTHING) == set()
    assert found_in(logged(tmp_path / "log"), EVERYTHING) <= {"path"}


RESOURCES = {
    "llm_server": ResourceType.CHAT_MODEL_CONNECTION,
    "note_model": ResourceType.CHAT_MODEL,
    "word_counter": ResourceType.EMBEDDING_MODEL_CONNECTION,
    "word_counts": ResourceType.EMBEDDING_MODEL,
    "notes": ResourceType.VECTOR_STORE,
}
LONG_TERM = {"remembered", "query", "document", "metadata", "embedded"}


@pytest.fixture
def remembering(monkeypatch):
    """Run an action on long-term memory, a vector store and an embedding model."""
    if TYPED_EVENTS:
        pytest.skip("this version of the host has no mem0")
    from flink_agents.api.vector_stores.vector_store import Document, VectorStoreQuery

    from memory_agent import ProfileAgent, long_term_memory
    from memory_demo import decision, facts
    from probing import Stage

    for variable in ("OPENAI_API_KEY", "OPENAI_MODEL"):
        monkeypatch.delenv(variable, raising=False)

    def act(_, ctx):
        notes = long_term_memory(ctx).get_memory_set("notes")
        notes.add(canary("remembered"), {"tag": canary("metadata")})
        notes.search(canary("query"), limit=1)
        notes.delete(ids=[item.id for item in notes.get()])
        store = ctx.get_resource("notes", ResourceType.VECTOR_STORE)
        store.add([Document(content=canary("document"), metadata={"a": 1})])
        store.query(VectorStoreQuery(query_text=canary("query"), limit=1))
        embedder = ctx.get_resource("word_counts", ResourceType.EMBEDDING_MODEL)
        embedder.embed(canary("embedded"))

    said = canary("remembered")

    def start():
        with scripted([facts(said), decision(("ADD", "0", said))]):
            agent = Stage()
            for name, kind in RESOURCES.items():
                agent.add_resource(name, kind, getattr(ProfileAgent, name)())
            perform(local_runner(agent), act, key="a key of its own")

    return start


def test_by_default_nothing_of_memories_and_documents_leaves_the_process(
    instrument, exported, remembering, tmp_path
):
    instrument(**exported.providers)

    remembering()

    assert found_in(exported.raw(), LONG_TERM) == set()
    assert found_in(logged(tmp_path / "log"), LONG_TERM) >= {"remembered", "query"}
    names = {span.name for span in exported.spans}
    assert {"upsert_memory", "search_memory", "delete_memory"} <= names
    assert {"add notes", "retrieval notes"} <= names
    assert "embeddings word-counts" in names


def test_with_capture_on_queries_and_records_of_memory_are_on_spans(
    instrument, exported, remembering, monkeypatch
):
    monkeypatch.setenv(CAPTURE, "SPAN_ONLY")
    instrument(**exported.providers)

    remembering()

    said = {
        span.name: {
            name: span.attributes[name]
            for name in ("gen_ai.memory.query.text", "gen_ai.memory.records")
            if name in span.attributes
        }
        for span in exported.spans
        if span.name.endswith("_memory")
    }
    upserted, searched = said["upsert_memory"], said["search_memory"]
    assert set(upserted) == {"gen_ai.memory.records"}
    assert canary("remembered") in upserted["gen_ai.memory.records"]
    assert canary("remembered") in searched["gen_ai.memory.records"]
    searches = [
        span.attributes.get("gen_ai.memory.query.text")
        for span in exported.spans
        if span.name == "search_memory"
    ]
    assert searches == [canary("query"), None]  # the second one is a get()


@pytest.mark.parametrize("words", [set(), {"argument", "result"}])
def test_what_a_tool_of_a_server_is_told_and_answers_leaves_only_if_asked(
    instrument, exported, monkeypatch, tmp_path, words
):
    if words:
        monkeypatch.setenv(CAPTURE, "SPAN_ONLY")
    monkeypatch.setenv(ERRORS, "false")
    instrument(**exported.providers)

    def act(_, ctx):
        for name, arguments in [
            ("repeat", {"text": canary("argument")}),
            ("refuse", {"reason": canary("error")}),
        ]:
            ctx.get_resource(name, ResourceType.TOOL).call(**arguments)

    with mcp_agents.served() as (url, _), mcp_agents.equipped(url):
        perform(local_runner(mcp_agents.Equipped()), act)

    told = {"argument", "result", "error"}
    # What the tool that refuses was asked to say is an argument too.
    asked = words | {"error"} if words else words
    assert found_in(exported.raw(), told) == asked
    assert found_in(logged(tmp_path / "log"), told) == told
