"""What is asked of a vector store is a span, and a number in its action's record."""

import json
import threading
from contextvars import copy_context

import pytest
from flink_agents.api.agents.agent import Agent
from flink_agents.api.decorators import action
from flink_agents.api.events.context_retrieval_event import (
    ContextRetrievalRequestEvent,
    ContextRetrievalResponseEvent,
)
from flink_agents.api.events.event import Event
from flink_agents.api.resource import ResourceType
from flink_agents.api.runner_context import RunnerContext
from flink_agents.api.vector_stores.vector_store import (
    BaseVectorStore,
    Document,
    VectorStoreQuery,
)
from flink_agents.integrations.vector_stores.chroma.chroma_vector_store import (
    ChromaVectorStore,
)
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from hosting import ON_INPUT, TYPED_EVENTS, input_of, local_runner, log_lines, output
from opentelemetry.instrumentation.flink_agents import uninstrument
from probing import perform
from store_agents import with_store
from telling import ended, tracing

pytestmark = pytest.mark.memory

BOOKS = ["lamps of the world", "mugs of the world", "a history of lamps"]
CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"


def documents():
    return [
        Document(id=str(number), content=book, metadata={"shelf": 1})
        for number, book in enumerate(BOOKS)
    ]


@pytest.fixture
def using(key):
    """Run `body(store)` as an action; return what it returned."""

    def run(body, runner=None):
        seen = []

        def act(_, ctx):
            store = ctx.get_resource("library", ResourceType.VECTOR_STORE)
            seen.append(body(store))

        perform(runner or local_runner(with_store(key)), act)
        return seen[0]

    return run


def tell(spans, key):
    """Name, kind and what is said by the conventions, in the order of the starts."""
    return [
        (
            span.name,
            span.kind.name,
            {
                name: value if value != key else "KEY"
                for name, value in span.attributes.items()
                if not name.startswith("flink_agents.")
            },
        )
        for span in sorted(spans, key=lambda span: span.start_time)
        if span.name not in {"action act", "invoke_agent Stage"}
    ]


EMBEDDING = (
    "embeddings word-counts",
    "CLIENT",
    {
        "gen_ai.operation.name": "embeddings",
        "gen_ai.provider.name": "WordCountSetup",
        "gen_ai.request.model": "word-counts",
    },
)


def of_database(operation, **attributes):
    told = {
        "db.operation.name": operation,
        "db.system.name": "chroma",
        "db.collection.name": "KEY",
    }
    return f"{operation} library", "CLIENT", told | attributes


RETRIEVAL = (
    "retrieval library",
    "CLIENT",
    {
        "gen_ai.operation.name": "retrieval",
        "gen_ai.provider.name": "chroma",
        "gen_ai.data_source.id": "library",
        "gen_ai.request.top_k": 2,
    },
)


def everything(store):
    """Ask everything of a store; what it answers."""
    ids = store.add(documents())
    found = store.query(VectorStoreQuery(query_text="history of lamps", limit=2))
    got = store.get(ids)
    store.delete(ids=[ids[0]])
    return ids, [each.id for each in found.documents], len(got), len(store.get())


def test_everything_asked_of_a_store_is_a_span_and_the_answers_are_as_before(
    using, instrument, key, tmp_path
):
    before = using(everything)
    using(lambda store: store.delete(ids=["1", "2"]))
    provider, exporter = tracing()
    instrument(tracer_provider=provider)

    assert using(everything) == before == (["0", "1", "2"], ["2", "0"], 3, 2)

    assert tell(exporter.get_finished_spans(), key) == [
        of_database("add", **{"db.operation.batch.size": 3}),
        EMBEDDING,
        EMBEDDING,
        EMBEDDING,
        RETRIEVAL,
        EMBEDDING,
        of_database(
            "get", **{"db.operation.batch.size": 3, "db.response.returned_rows": 3}
        ),
        of_database("delete"),
        of_database("get", **{"db.response.returned_rows": 2}),
    ]
    lines = log_lines(tmp_path / "log")
    assert {line.get("entity_type") for line in lines} == {None, "action"}
    [act] = ended(lines, "action")
    assert act["entity_metadata"]["operations"] == {
        "add": 1,
        "embeddings": 4,
        "retrieval": 1,
        "get": 2,
        "delete": 1,
    }


@pytest.mark.skipif(
    not hasattr(BaseVectorStore, "update"), reason="stores can be updated from 0.3"
)
def test_an_update_is_a_span_too(using, instrument, key):
    provider, exporter = tracing()
    instrument(tracer_provider=provider)

    def change(store):
        store.add(documents())
        store.update(Document(id="0", content="lamps of Europe", metadata={"shelf": 2}))
        return store.get("0")[0].content

    assert using(change) == "lamps of Europe"

    assert of_database("update") in tell(exporter.get_finished_spans(), key)


def test_a_request_for_context_is_a_retrieval_in_the_hosts_own_action(
    instrument, key, tmp_path
):
    provider, exporter = tracing()
    instrument(tracer_provider=provider)
    runner = local_runner(with_store(key, Asking))
    runner.run(key="k", value="lamps")

    assert runner.get_outputs() == [{"k": 0}]

    spans = {span.name: span for span in exporter.get_finished_spans()}
    assert (
        spans["retrieval library"].parent.span_id
        == spans["action context_retrieval_action"].context.span_id
    )
    counted = {
        line["entity_name"]: line.get("entity_metadata", {}).get("operations")
        for line in ended(log_lines(tmp_path / "log"), "action")
    }
    assert counted == {
        "ask": None,
        "context_retrieval_action": {"retrieval": 1, "embeddings": 1},
        "answer": None,
    }


ON_CONTEXT = (
    ContextRetrievalResponseEvent
    if TYPED_EVENTS
    else ContextRetrievalResponseEvent.EVENT_TYPE
)


class Asking(Agent):
    @action(ON_INPUT)
    @staticmethod
    def ask(event: Event, ctx: RunnerContext) -> None:
        ctx.send_event(
            ContextRetrievalRequestEvent(query=input_of(event), vector_store="library")
        )

    @action(ON_CONTEXT)
    @staticmethod
    def answer(event: Event, ctx: RunnerContext) -> None:
        found = event.documents if TYPED_EVENTS else event.attributes["documents"]
        ctx.send_event(output(len(found)))


def test_query_and_documents_are_on_the_span_only_if_asked_for(
    using, instrument, key, monkeypatch
):
    provider, exporter = tracing()
    monkeypatch.setenv(CAPTURE, "SPAN_ONLY")
    instrument(tracer_provider=provider)

    using(everything)

    [span] = [each for each in exporter.get_finished_spans() if "retr" in each.name]
    assert span.attributes["gen_ai.retrieval.query.text"] == "history of lamps"
    found = json.loads(span.attributes["gen_ai.retrieval.documents"])
    assert [(each["id"], each["content"]) for each in found] == [
        ("2", "a history of lamps"),
        ("0", "lamps of the world"),
    ]


def test_a_query_that_fails_raises_what_it_raised_and_its_span_says_so(
    using, instrument, key
):
    provider, exporter = tracing()
    instrument(tracer_provider=provider)

    def fail(store):
        store.embedding_model = None
        with pytest.raises(Exception) as raised:  # noqa: PT011  # the host's own
            store.query(VectorStoreQuery(query_text="lamps"))
        return raised.type.__name__

    kind = using(fail)

    [span] = [each for each in exporter.get_finished_spans() if "retr" in each.name]
    assert span.attributes["error.type"].endswith(kind)
    assert span.status.status_code.name == "ERROR"


class Shelved(ChromaVectorStore):
    """Overrides two methods and asks its base class too."""

    def query(self, query):
        return super().query(query)

    def get(self, *args, **kwargs):
        return super().get(*args, **kwargs)


def test_overrides_that_ask_their_base_class_are_one_call(using, instrument, key):
    provider, exporter = tracing()
    instrument(tracer_provider=provider)

    class Later(ChromaVectorStore):
        """Defined while we are there."""

        def query(self, query):
            return super().query(query)

        def delete(self, *args, **kwargs):
            return super().delete(*args, **kwargs)

    globals()["Later"] = Later
    for clazz in ("Shelved", "Later"):
        agent = with_store(key, clazz=f"{__name__}.{clazz}")
        using(everything, local_runner(agent))
        using(lambda store: store.delete(ids=["1", "2"]))

    names = [span.name for span in exporter.get_finished_spans()]
    assert names.count("retrieval library") == 2
    assert names.count("get library") == 4
    assert names.count("delete library") == 4


def test_queries_are_measured(using, instrument, key):
    reader = InMemoryMetricReader()
    instrument(meter_provider=MeterProvider([reader], shutdown_on_exit=False))

    using(everything)

    [points] = [
        metric.data.data_points
        for resource in reader.get_metrics_data().resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
        if metric.name == "gen_ai.client.operation.duration"
    ]
    told = {dict(point.attributes)["gen_ai.operation.name"]: point for point in points}
    assert set(told) == {"retrieval", "embeddings"}
    assert told["retrieval"].count == 1
    assert dict(told["retrieval"].attributes) == {
        "gen_ai.operation.name": "retrieval",
        "gen_ai.provider.name": "chroma",
    }


def test_operations_of_threads_are_all_counted(using, instrument, key, tmp_path):
    instrument()

    def look_up(store):
        store.add(documents())
        seekers = [
            threading.Thread(target=copy_context().run, args=(store.get, ["0"]))
            for _ in range(20)
        ]
        for each in seekers:
            each.start()
        for each in seekers:
            each.join()

    using(look_up)

    [act] = ended(log_lines(tmp_path / "log"), "action")
    assert act["entity_metadata"]["operations"] == {
        "add": 1,
        "embeddings": 3,
        "get": 20,
    }


def test_outside_a_run_nothing_is_recorded(using, instrument, key):
    held = []
    using(held.append)
    provider, exporter = tracing()
    instrument(tracer_provider=provider)

    everything(held[0])
    uninstrument()
    everything_after = using(lambda store: len(store.get()))

    assert everything_after == 2
    assert exporter.get_finished_spans() == ()
