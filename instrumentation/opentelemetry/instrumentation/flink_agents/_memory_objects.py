"""The patches of short-term and sensory memory, local and on Flink.

Paths are absolute. The local object knows its own; of a Flink object only the
answer to `set` tells it, so the prefix of nested ones is kept beside them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flink_agents_eventlog import folding
from opentelemetry.exporter.flink_agents._guard import guarded
from opentelemetry.instrumentation.flink_agents import _host
from opentelemetry.instrumentation.flink_agents._action_memory import (
    ActionMemory,
    observing,
)
from opentelemetry.instrumentation.flink_agents._patching import Patch, original

if TYPE_CHECKING:
    from opentelemetry.instrumentation.flink_agents._core import Core

LOCAL = ("flink_agents.runtime.local_memory_object", "LocalMemoryObject")
FLINK = ("flink_agents.runtime.flink_memory_object", "FlinkMemoryObject")

_WRITES = {True: folding.SENSORY_WRITE, False: folding.SHORT_TERM_WRITE}
_READS = {True: folding.SENSORY_READ, False: folding.SHORT_TERM_READ}
_MISSING = object()
_NESTED = "NestedObject"
"""What `get_fields` gives for an object."""


class _Node:
    """A memory object of the host, seen without being observed."""

    def __init__(self, core: Core, memory: Any) -> None:
        self.memory = memory
        self._core = core
        kind = type(memory).__name__
        self.is_local = kind == LOCAL[1]
        self.sensory = (
            getattr(memory, _host.private_name(kind, "type")).name == "SENSORY"
        )

    def path(self, relative: Any) -> str:
        """Return the absolute path of a field or of a reference."""
        relative = getattr(relative, "path", relative)
        if isinstance(relative, dict):
            relative = relative["path"]
        prefix = self.prefix
        return f"{prefix}.{relative}" if prefix else str(relative)

    @property
    def prefix(self) -> str:
        if self.is_local:
            name = _host.private_name(LOCAL[1], "prefix")
            return str(getattr(self.memory, name))
        return self._core.memory_prefixes.get(self.memory) or ""

    def get(self, name: Any) -> Any:
        return original(type(self.memory), "get")(self.memory, name)

    def remember(self, nested: Any, path: str) -> None:
        if not self.is_local:
            self._core.memory_prefixes.set(nested, path)


def is_object(value: Any) -> bool:
    """Whether a memory object returned `value` as a nested object."""
    return type(value).__name__ in {LOCAL[1], FLINK[1]}


def write_patches(core: Core) -> list[Patch]:
    """Return the patches that writes need; on Flink, `get` tells paths for them."""

    def set_(
        wrapped: Any, _: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        action = _before(core, _instance(args), _argument(args, kwargs, 1, "path"))
        reference = wrapped(*args, **kwargs)
        if action is not None:
            value = _argument(args, kwargs, 2, "value")
            _wrote(core, action, _instance(args), reference, value)
        return reference

    def new_object(
        wrapped: Any, _: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        path = _argument(args, kwargs, 1, "path")
        action = _before(core, _instance(args), path)
        nested = wrapped(*args, **kwargs)
        _made(core, action, _instance(args), path, nested)
        return nested

    patches = [
        Patch(module, f"{cls}.{name}", wrapper)
        for module, cls in (LOCAL, FLINK)
        for name, wrapper in (("set", set_), ("new_object", new_object))
    ]
    return [*patches, _get_patch(core, FLINK)]


def read_patches(core: Core) -> list[Patch]:
    """Return the patches that reads need."""

    def get_fields(
        wrapped: Any, _: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        fields = wrapped(*args, **kwargs)
        _listed(core, _instance(args), fields)
        return fields

    return [
        _get_patch(core, LOCAL),
        _get_patch(core, FLINK),
        Patch(LOCAL[0], f"{LOCAL[1]}.get_fields", get_fields),
        Patch(FLINK[0], f"{FLINK[1]}.get_fields", get_fields),
    ]


def _get_patch(core: Core, owner: tuple[str, str]) -> Patch:
    def get(wrapped: Any, _: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        value = wrapped(*args, **kwargs)
        _found(core, _instance(args), _argument(args, kwargs, 1, "path_or_ref"), value)
        return value

    module, cls = owner
    return Patch(module, f"{cls}.get", get)


@guarded
def _before(core: Core, memory: Any, path: Any) -> ActionMemory | None:
    """Return what observes a write, which has taken note of what it replaces."""
    action = observing()
    if action is not None and action.settings.previous:
        node = _Node(core, memory)
        if _WRITES[node.sensory] in action.settings.operations:
            found = node.get(path) if memory.is_exist(path) else _MISSING
            there = found is not _MISSING and not is_object(found)
            value = action.capture(found) if there else None
            action.scope(sensory=node.sensory).had(node.path(path), value)
    return action


@guarded
def _wrote(
    core: Core, action: ActionMemory, memory: Any, reference: Any, value: Any
) -> None:
    node = _Node(core, memory)
    if action.observes(_WRITES[node.sensory]):
        scope = action.scope(sensory=node.sensory)
        scope.wrote(reference.path, action.capture(value))


@guarded
def _made(
    core: Core, action: ActionMemory | None, memory: Any, path: Any, nested: Any
) -> None:
    node = _Node(core, memory)
    absolute = node.path(path)
    node.remember(nested, absolute)
    if action is not None and action.observes(_WRITES[node.sensory]):
        action.scope(sensory=node.sensory).made_object(absolute)


@guarded
def _found(core: Core, memory: Any, path: Any, value: Any) -> None:
    node = _Node(core, memory)
    if is_object(value):
        node.remember(value, node.path(path))
        return
    action = observing()
    if action is None or (value is None and not _exists(node, path)):
        return
    if action.observes(_READS[node.sensory]):
        scope = action.scope(sensory=node.sensory)
        scope.read(_absolute(node, path), action.capture(value))


@guarded
def _listed(core: Core, memory: Any, fields: Any) -> None:
    node = _Node(core, memory)
    action = observing()
    if action is None or not action.observes(_READS[node.sensory]):
        return
    scope = action.scope(sensory=node.sensory)
    for name, value in fields.items():
        if not (_says_nested(value) and is_object(node.get(name))):
            scope.read(node.path(name), action.capture(value))


def _says_nested(value: Any) -> bool:
    # Values of the user's may compare in ways of their own.
    return isinstance(value, str) and value == _NESTED


@guarded
def _instance(args: tuple[Any, ...]) -> Any:
    """Whose method is called; of a call without one the host itself complains."""
    return args[0] if args else None


@guarded
def _argument(
    args: tuple[Any, ...], kwargs: dict[str, Any], position: int, name: str
) -> Any:
    return args[position] if len(args) > position else kwargs.get(name)


def _absolute(node: _Node, path: Any) -> str:
    # A reference holds an absolute path; the local object resolves it as one.
    if node.is_local and hasattr(path, "path"):
        return str(path.path)
    return node.path(path)


def _exists(node: _Node, path: Any) -> bool:
    if node.is_local:
        store = getattr(node.memory, f"_{LOCAL[1]}__store")
        return _absolute(node, path) in store
    return bool(node.memory.is_exist(getattr(path, "path", path)))
