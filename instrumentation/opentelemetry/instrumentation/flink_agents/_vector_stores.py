"""The patches of vector stores: a span for each call, wherever it comes from.

A query is `retrieval` of the GenAI conventions 1.41; for what else is asked of a store
they have no name, and the span is that of a database client. Inside a call on long-term
memory the store is a part of it, which has a span.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opentelemetry import context as otel_context
from opentelemetry.exporter.flink_agents._guard import guarded
from opentelemetry.instrumentation.flink_agents import _host, semconv
from opentelemetry.instrumentation.flink_agents._core import current
from opentelemetry.instrumentation.flink_agents._long_term_memory import (
    is_inside,
    store_added,
)
from opentelemetry.instrumentation.flink_agents._memory_content import MemoryContent
from opentelemetry.instrumentation.flink_agents._operation_spans import (
    OperationSpan,
    count_in_action,
)
from opentelemetry.instrumentation.flink_agents._patching import Patch
from opentelemetry.instrumentation.flink_agents._text import safe

if TYPE_CHECKING:
    from opentelemetry.instrumentation.flink_agents._core import Core
    from opentelemetry.instrumentation.flink_agents._executions import OpenExecution
    from opentelemetry.instrumentation.flink_agents._patching import Wrapper

_MODULE = "flink_agents.api.vector_stores.vector_store"
_CALL = otel_context.create_key("flink-agents-vector-store")
_QUERY = "query"
# Where a call is told what it is about, by position after the store.
_ABOUT = {"add": "documents", "update": "documents", "get": "ids", "delete": "ids"}


def patches(core: Core) -> list[Patch]:
    """Return the patches of this file."""
    return [
        Patch(
            _MODULE,
            f"BaseVectorStore.{name}",
            _observed(core, name),
            overrides=True,
        )
        for name in (_QUERY, *_ABOUT)
    ]


def _observed(core: Core, operation: str) -> Wrapper:
    def wrapper(
        wrapped: Any, _: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        call = _start(core, operation, args, kwargs)
        if call is None:
            result = wrapped(*args, **kwargs)
        else:
            with call:
                result = wrapped(*args, **kwargs)
                call.answered(result)
        if operation == "add":
            store_added(result, args, kwargs)
        return result

    return wrapper


@guarded
def _start(
    core: Core, operation: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> _Call | None:
    around = current()
    this = (args[0], operation) if args else None
    if around is None or this is None or is_inside():
        return None
    inside = otel_context.get_value(_CALL)
    if isinstance(inside, _Call) and inside.is_of(*this):
        return None  # super().query(): the same call
    if operation == _QUERY:
        query = args[1] if len(args) > 1 else kwargs["query"]
        count_in_action(semconv.OPERATION_RETRIEVAL)
        return _retrieval(core, around, args[0], query)
    count_in_action(operation)
    name = _name(core, args[0])
    attributes = _of_database(operation, args, kwargs)
    return _Call(around, f"{operation} {name}", attributes, this)


@guarded
def reused(
    core: Core, store: Any, args: Any, value: Any, error: BaseException | None
) -> None:
    """Show a query that a durable call answered from state: it took no time.

    Args:
        core: the shared state.
        store: the vector store.
        args: what its `query` would have been called with.
        value: the kept result.
        error: the kept error, where that is what was kept.
    """
    around = current()
    if around is None or not args:
        return
    call = _retrieval(core, around, store, args[0])
    call.show({semconv.FLINK_AGENTS_EXECUTION_STATUS: "reused"})
    if error is None:
        call.answered(value)
    call.ended_at_once(error)


def _retrieval(core: Core, around: OpenExecution, store: Any, query: Any) -> _Call:
    name = _name(core, store)
    attributes = {
        semconv.GEN_AI_OPERATION_NAME: semconv.OPERATION_RETRIEVAL,
        semconv.GEN_AI_PROVIDER_NAME: safe(_host.store_system_of(store)),
        semconv.GEN_AI_DATA_SOURCE_ID: safe(name),
        semconv.GEN_AI_REQUEST_TOP_K: query.limit,
    }
    call = _Call(around, f"retrieval {name}", attributes, (store, _QUERY))
    session = around.run.session
    if session.content.on_spans:
        call.content = MemoryContent(
            session,
            semconv.GEN_AI_RETRIEVAL_QUERY_TEXT,
            semconv.GEN_AI_RETRIEVAL_DOCUMENTS,
        )
        call.content.asked(query.query_text)
    return call


class _Call(OperationSpan):
    """One call of a vector store."""

    def __init__(
        self,
        around: OpenExecution,
        name: str,
        attributes: dict[str, Any],
        this: tuple[Any, str],
    ) -> None:
        self._store, self._operation = this
        self.content: MemoryContent | None = None
        context = otel_context.set_value(_CALL, self)
        super().__init__(around, name, attributes, context)

    def is_of(self, store: Any, operation: str) -> bool:
        """Whether this is `operation` of `store` already."""
        return self._store is store and self._operation == operation

    @guarded
    def answered(self, result: Any) -> None:
        """Say what was found."""
        if self._operation == "get":
            self.show({semconv.DB_RESPONSE_RETURNED_ROWS: len(result)})
        if self._operation != _QUERY or self.content is None:
            return
        for document in result.documents:
            score = getattr(document, "score", None)
            self.content.record(document.id, document.content, score)
        self.show(self.content.attributes())


def _of_database(
    operation: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[str, Any]:
    store, *given = args
    attributes: dict[str, Any] = {
        semconv.DB_OPERATION_NAME: operation,
        semconv.DB_SYSTEM_NAME: safe(_host.store_system_of(store)),
    }
    collection = given[1] if len(given) > 1 else kwargs.get("collection_name")
    collection = collection or getattr(store, "collection", None)
    if isinstance(collection, str):
        attributes[semconv.DB_COLLECTION_NAME] = safe(collection)
    about = given[0] if given else kwargs.get(_ABOUT[operation])
    if isinstance(about, list) and len(about) > 1:
        attributes[semconv.DB_OPERATION_BATCH_SIZE] = len(about)
    return attributes


def _name(core: Core, store: Any) -> str:
    return core.resource_names.get(store) or type(store).__name__
