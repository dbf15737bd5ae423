"""The patches of long-term memory: what the store really did, and a span for it.

`Mem0LongTermMemory` (0.3) returns ids only: what mem0 added, updated, deleted
and found is in its own answer, which is collected while the host's call runs.
`VectorStoreLongTermMemory` (0.2) acts on a vector store, whose calls are
collected in the same way, so that a compaction inside `add` stands in its order.
"""

from __future__ import annotations

import functools
from contextvars import copy_context
from types import MethodType
from typing import TYPE_CHECKING, Any

from opentelemetry.context import create_key, get_value, set_value

from flink_agents_eventlog.folding import Hit
from opentelemetry.exporter.flink_agents._guard import guarded
from opentelemetry.instrumentation.flink_agents import semconv
from opentelemetry.instrumentation.flink_agents._core import current, current_action
from opentelemetry.instrumentation.flink_agents._memory_content import MemoryContent
from opentelemetry.instrumentation.flink_agents._operation_spans import OperationSpan
from opentelemetry.instrumentation.flink_agents._patching import Patch, PatchedFunction
from opentelemetry.instrumentation.flink_agents._text import safe

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry.instrumentation.flink_agents._executions import OpenExecution
    from opentelemetry.instrumentation.flink_agents._patching import Wrapper

    Note = Callable[["_Operation", Any, Any, Any], None]

_MEM0 = "mem0"
_VECTOR_STORE = "vector_store"
_MEMORIES = (
    (
        "flink_agents.runtime.memory.mem0.mem0_long_term_memory",
        "Mem0LongTermMemory",
        _MEM0,
    ),
    (
        "flink_agents.runtime.memory.vector_store_long_term_memory",
        "VectorStoreLongTermMemory",
        _VECTOR_STORE,
    ),
)
_OPERATION = create_key("flink-agents-long-term-operation")


class _Operation(OperationSpan):
    """One call on long-term memory. Its owner is the action that entered it."""

    def __init__(self, name: str, provider: str, memory_set: str) -> None:
        self.provider = provider
        self.memory_set = memory_set
        self.recorded = 0
        self.has_hits = False
        self.is_inner = isinstance(get_value(_OPERATION), _Operation)
        action = current_action()
        self.memory = action.memory if action is not None else None
        self.content = _content_of(current())
        attributes = {
            semconv.GEN_AI_OPERATION_NAME: name,
            semconv.GEN_AI_PROVIDER_NAME: provider,
            semconv.GEN_AI_MEMORY_STORE_ID: safe(memory_set),
        }
        super().__init__(current(), name, attributes, set_value(_OPERATION, self))

    @property
    def is_observed(self) -> bool:
        """Whether anybody wants to know what it did to single records."""
        return self.memory is not None or self.content is not None

    @guarded
    def answered(self) -> None:
        """Say how many records it was about."""
        self.annotate({semconv.GEN_AI_MEMORY_RECORD_COUNT: self.recorded})
        if self.content is not None:
            self.show(self.content.attributes())

    def told(self, record_id: object, content: object, score: object = None) -> None:
        """Take note of the content of a record, if content is wanted."""
        if self.content is not None:
            self.content.record(record_id, content, score)

    def asked(self, query: object) -> None:
        """Take note of a query, if content is wanted."""
        if self.content is not None:
            self.content.asked(query)


def _content_of(around: OpenExecution | None) -> MemoryContent | None:
    if around is None or not around.run.session.content.on_spans:
        return None
    return MemoryContent(around.run.session)


class CarryingMethod(PatchedFunction):
    """A method that runs in the context of whoever asks for it.

    mem0 hands its own methods to threads that know nothing of the caller; each is
    looked up on the caller's thread.
    """

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        method = MethodType(self.__wrapped__, instance)
        return functools.partial(copy_context().run, method)


def patches() -> list[Patch]:
    """Return the patches of this file."""
    table = (
        # method, GenAI operation, what reads the answer
        ("add", "upsert_memory", _added),
        ("get", "search_memory", _got),
        ("search", "search_memory", _found),
        ("delete", "delete_memory", _deleted),
        ("delete_memory_set", "delete_memory_store", _set_deleted),
    )
    return [
        *(
            Patch(module, f"{cls}.{method}", _observed(operation, provider, note))
            for module, cls, provider in _MEMORIES
            for method, operation, note in table
        ),
        Patch("mem0.memory.main", "Memory.add", _collected(_mem0_added)),
        Patch("mem0.memory.main", "Memory.search", _collected(_mem0_found)),
        Patch("mem0.memory.main", "Memory.delete", _collected(_mem0_deleted)),
        *(
            Patch("mem0.memory.main", f"Memory.{name}", _unused, kind=CarryingMethod)
            for name in (
                "_add_to_vector_store",
                "_get_all_from_vector_store",
                "_search_vector_store",
            )
        ),
    ]


def _observed(operation: str, provider: str, note: Note) -> Wrapper:
    """The wrapper of a method of long-term memory; `note` reads what it answered."""

    @guarded
    def start(args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Operation:
        target = args[1] if len(args) > 1 else kwargs.get("memory_set")
        target = kwargs.get("name") if target is None else target
        return _Operation(operation, provider, str(getattr(target, "name", target)))

    def wrapper(
        wrapped: Any, _: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        opened = start(args, kwargs)
        if opened is None:
            return wrapped(*args, **kwargs)
        with opened:
            result = wrapped(*args, **kwargs)
            guarded(note)(opened, result, args, kwargs)
            opened.answered()
        return result

    return wrapper


def _collected(note: Note) -> Wrapper:
    """The wrapper of a call below: `note` reads its answer for the operation above."""

    def wrapper(
        wrapped: Any, _: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        result = wrapped(*args, **kwargs)
        operation = get_value(_OPERATION)
        if isinstance(operation, _Operation) and operation.is_observed:
            guarded(note)(operation, result, args, kwargs)
        return result

    return wrapper


@guarded
def store_added(ids: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Take note that a vector store was given documents, for the operation above."""
    operation = get_value(_OPERATION)
    if isinstance(operation, _Operation) and operation.is_observed:
        _store_added(operation, ids, args, kwargs)


def is_inside() -> bool:
    """Whether the current call is a part of one on long-term memory."""
    return isinstance(get_value(_OPERATION), _Operation)


def _unused(wrapped: Any, _: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Stand in a patch whose kind does all of it."""
    return wrapped(*args, **kwargs)


def _added(operation: _Operation, ids: Any, _: Any, __: Any) -> None:
    """Count what was given where the calls below have not told what became of it."""
    if not operation.is_observed:
        operation.recorded = len(ids)


def _got(operation: _Operation, items: Any, _: Any, __: Any) -> None:
    operation.recorded = len(items)
    for item in items:
        operation.told(item.id, item.value)
    if operation.memory is None or operation.is_inner:
        return  # a compaction reads for itself, not for the action
    for item in items:
        operation.memory.got(operation.memory_set, item.id, item.value)


def _found(operation: _Operation, items: Any, args: Any, kwargs: Any) -> None:
    operation.recorded = len(items)
    query = args[2] if len(args) > 2 else kwargs["query"]  # noqa: PLR2004
    operation.asked(query)
    if operation.has_hits:
        return
    for item in items:
        operation.told(item.id, item.value)
    if operation.memory is not None:
        found = (Hit(item.id, item.value) for item in items)
        operation.memory.searched(operation.memory_set, query, found)


def _deleted(operation: _Operation, _: Any, args: Any, kwargs: Any) -> None:
    ids = args[2] if len(args) > 2 else kwargs.get("ids")  # noqa: PLR2004
    listed = [ids] if isinstance(ids, str) else ids
    operation.recorded = 0 if listed is None else len(listed)
    if operation.memory is None or (operation.provider == _MEM0 and listed is not None):
        return  # mem0 has told of each item, also of those before one that failed
    operation.memory.deleted(operation.memory_set, listed)


def _mem0_deleted(operation: _Operation, _: Any, args: Any, kwargs: Any) -> None:
    item_id = args[1] if len(args) > 1 else kwargs["memory_id"]
    if operation.memory is not None:
        operation.memory.deleted(operation.memory_set, [item_id])


def _set_deleted(operation: _Operation, _: Any, __: Any, ___: Any) -> None:
    if operation.memory is not None:
        operation.memory.deleted(operation.memory_set, None)


def _mem0_added(operation: _Operation, answer: Any, _: Any, __: Any) -> None:
    """Take over what mem0 decided: its events are ADD, UPDATE, DELETE and NONE."""
    memory = operation.memory
    for entry in answer.get("results", []):
        event = str(entry.get("event", "")).upper()
        if "id" not in entry or event not in {"ADD", "UPDATE", "DELETE"}:
            continue
        operation.told(entry["id"], entry.get("memory"))
        if memory is not None and event == "DELETE":
            memory.deleted(operation.memory_set, [entry["id"]])
        elif memory is not None:
            memory.updated(operation.memory_set, entry["id"], entry.get("memory"))
        operation.recorded += 1


def _mem0_found(operation: _Operation, answer: Any, args: Any, kwargs: Any) -> None:
    query = args[1] if len(args) > 1 else kwargs["query"]
    found = [
        Hit(entry["id"], entry.get("memory"), entry.get("score"))
        for entry in answer.get("results", [])
        if "id" in entry
    ]
    operation.has_hits = True
    for hit in found:
        operation.told(*hit[:3])
    if operation.memory is not None:
        operation.memory.searched(operation.memory_set, query, found)


def _store_added(operation: _Operation, ids: Any, args: Any, kwargs: Any) -> None:
    """Take over what a vector store was given; mem0's own stores are told by mem0."""
    if operation.provider != _VECTOR_STORE:
        return
    documents = args[1] if len(args) > 1 else kwargs["documents"]
    documents = documents if isinstance(documents, list) else [documents]
    for item_id, document in zip(ids, documents, strict=False):
        operation.told(item_id, document.content)
        if operation.memory is not None:
            operation.memory.updated(operation.memory_set, item_id, document.content)
        operation.recorded += 1
