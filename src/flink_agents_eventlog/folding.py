"""The net effect of the memory operations of one action.

An action may write a path many times; its log says what was left. *Folding* turns
operations into at most one memory event for each scope and kind, the inverse of
*applying* events to rebuild memory.

>>> from flink_agents_eventlog.payload import encode_plain
>>> folding = Folding()
>>> folding.short_term.wrote("user.tier", captured("silver"))
>>> folding.short_term.wrote("user.tier", captured("gold"))
>>> folding.short_term.wrote("nullable", captured(None))
>>> [event] = folding.events()
>>> event.event_type, encode_plain(event.value)
('_short_term_write_event', b'{"user.tier":"gold","nullable":null}')
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import msgspec

from flink_agents_eventlog.payload import strict_snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SENSORY_WRITE: Final = "sensory-write"
SHORT_TERM_WRITE: Final = "short-term-write"
SENSORY_READ: Final = "sensory-read"
SHORT_TERM_READ: Final = "short-term-read"
LONG_TERM_UPDATE: Final = "long-term-update"
LONG_TERM_GET: Final = "long-term-get"
LONG_TERM_SEARCH: Final = "long-term-search"

EVENT_TYPE_OF_OPERATION: Final = {
    operation: f"_{operation.replace('-', '_')}_event"
    for operation in (
        SENSORY_WRITE,
        SHORT_TERM_WRITE,
        SENSORY_READ,
        SHORT_TERM_READ,
        LONG_TERM_UPDATE,
        LONG_TERM_GET,
        LONG_TERM_SEARCH,
    )
}
"""The seven kinds of operation, in the order in which their events are logged."""

MEMORY_EVENT_TYPES: Final = frozenset(EVENT_TYPE_OF_OPERATION.values())

_NULL: Final = msgspec.Raw(b"null")


ItemKey: TypeAlias = tuple[str, str | None]
"""A set of long-term memory and an item of it; None for the set as a whole."""


class Captured(NamedTuple):
    """A value as it was when an operation happened."""

    raw: msgspec.Raw | None
    """Its JSON; None where JSON cannot hold it or it is too large."""
    size: int | None = None
    """Its size in bytes where it is too large."""


def captured(value: object, max_bytes: int = 0) -> Captured:
    """Return `value` as it is now.

    Args:
        value: any value of the host's.
        max_bytes: a larger value is left out; 0 is no limit.

    """
    raw = strict_snapshot(value)
    if raw is None or not max_bytes or len(memoryview(raw)) <= max_bytes:
        return Captured(raw)
    return Captured(None, len(memoryview(raw)))


class Hit(NamedTuple):
    """One item that a search of long-term memory found."""

    item_id: str
    value: Any
    """Its content; in a folding as `Captured`."""
    score: float | None = None
    """How well it matches, where the store tells."""


class MemoryEvent(NamedTuple):
    """What one action did to one scope of memory, in one way."""

    event_type: str
    value: dict[str, Any]
    previous: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None
    cleared_sets: list[str] | None = None
    """Of an update of long-term memory in the native dialect: the sets deleted."""

    @property
    def is_routed(self) -> bool:
        """Whether it says something to a listener; a reader always learns from it."""
        return bool(self.value or self.cleared_sets)


@dataclass
class _Paths:
    """Paths with the last value of each."""

    values: dict[str, Captured] = field(default_factory=dict)
    previous: dict[str, Captured | None] | None = None
    moves: bool = True
    """Whether a path that is set again moves to the end."""

    def put(self, path: str, value: Captured) -> None:
        if self.moves:
            self.values.pop(path, None)
        self.values[path] = value

    def event(self, event_type: str) -> MemoryEvent:
        previous = None if self.previous is None else _held(self.previous)
        left_out = _left_out(self.values)
        return MemoryEvent(event_type, _held(self.values), previous, left_out)


def _left_out(values: Mapping[str, Captured]) -> dict[str, Any]:
    """The metadata of an event that says which of its values are not in it."""
    metadata: dict[str, Any] = {}
    unrepresentable = [path for path, value in values.items() if value == (None, None)]
    if unrepresentable:
        metadata["unrepresentable_paths"] = unrepresentable
    oversized = {
        path: value.size for path, value in values.items() if value.size is not None
    }
    if oversized:
        metadata["oversized_paths"] = oversized
    return metadata


def _held(values: Mapping[str, Captured | None]) -> dict[str, Any]:
    return {
        path: value.raw
        for path, value in values.items()
        if value is not None and value.raw is not None
    }


@dataclass
class ScopeFolding:
    """Operations on short-term or sensory memory; paths are absolute and dotted."""

    writes: _Paths = field(default_factory=_Paths)
    reads: _Paths = field(default_factory=_Paths)

    def wrote(self, path: str, value: Captured) -> None:
        """Take note that `path` was set to `value`."""
        self.writes.put(path, value)

    def made_object(self, path: str) -> None:
        """Take note that an empty object was put at `path`."""
        self.writes.put(path, Captured(_NULL))

    def had(self, path: str, value: Captured | None) -> None:
        """Take note of what was at `path` before it is written; None for nothing.

        Only what was there before the action's first write counts.
        """
        if self.writes.previous is not None:
            self.writes.previous.setdefault(path, value)

    def read(self, path: str, value: Captured) -> None:
        """Take note that `value` was found at `path`."""
        self.reads.put(path, value)


class Folding:
    """The operations of one action, folded as they happen.

    Args:
        with_previous: whether write events also say what was there before.

    """

    moves = True
    """Whether what is touched again moves to the end."""

    def __init__(self, *, with_previous: bool = False) -> None:
        self.with_previous = with_previous
        self.sensory = self._scope()
        self.short_term = self._scope()
        self._updates: dict[ItemKey, Captured] = {}
        self._gets: dict[ItemKey, Captured] = {}
        self._searches: dict[str, dict[str, list[Hit]]] = {}

    def updated(self, memory_set: str, item_id: str, value: Captured) -> None:
        """Take note that an item of a long-term memory set was added or changed."""
        self._put(self._updates, (memory_set, item_id), value)

    def deleted(self, memory_set: str, item_id: str) -> None:
        """Take note that an item of a long-term memory set was deleted."""
        self.updated(memory_set, item_id, Captured(_NULL))

    def cleared(self, memory_set: str) -> None:
        """Take note that a set was deleted: what it was told before is void."""
        for key in [key for key in self._updates if key[0] == memory_set]:
            del self._updates[key]
        self._updates[memory_set, None] = Captured(_NULL)

    def got(self, memory_set: str, item_id: str, value: Captured) -> None:
        """Take note that an item was read by id or by listing its set."""
        self._put(self._gets, (memory_set, item_id), value)

    def searched(self, memory_set: str, query: str, hits: list[Hit]) -> None:
        """Take note of what a search found, in result order."""
        self._searches.setdefault(query, {})[memory_set] = hits

    def events(self) -> Iterator[MemoryEvent]:
        """Yield at most one event for each kind, in the order of the log."""
        for operation, paths in (
            (SENSORY_WRITE, self.sensory.writes),
            (SHORT_TERM_WRITE, self.short_term.writes),
            (SENSORY_READ, self.sensory.reads),
            (SHORT_TERM_READ, self.short_term.reads),
        ):
            if paths.values:
                yield paths.event(EVENT_TYPE_OF_OPERATION[operation])
        yield from self._long_term_events()

    def _long_term_events(self) -> Iterator[MemoryEvent]:
        types = EVENT_TYPE_OF_OPERATION
        for operation, items in (
            (LONG_TERM_UPDATE, self._updates),
            (LONG_TERM_GET, self._gets),
        ):
            if items:
                yield self._items_event(types[operation], items)
        if self._searches:
            left_out = _left_out(self._found())
            found = self._searched()
            yield MemoryEvent(types[LONG_TERM_SEARCH], found, metadata=left_out)

    def _items_event(
        self, event_type: str, items: Mapping[ItemKey, Captured]
    ) -> MemoryEvent:
        return _Paths(_flat(items)).event(event_type)

    def _searched(self) -> dict[str, Any]:
        return {query: _hits(sets) for query, sets in self._searches.items()}

    def _found(self) -> dict[str, Captured]:
        """The values of all hits by their flat key."""
        return _flat(
            {
                (name, hit.item_id): hit.value
                for sets in self._searches.values()
                for name, hits in sets.items()
                for hit in hits
            }
        )

    def _scope(self) -> ScopeFolding:
        previous: dict[str, Captured | None] | None = {} if self.with_previous else None
        return ScopeFolding(
            _Paths(previous=previous, moves=self.moves), _Paths(moves=self.moves)
        )

    def _put(
        self, items: dict[ItemKey, Captured], key: ItemKey, value: Captured
    ) -> None:
        if self.moves:
            items.pop(key, None)
        items[key] = value


def _flat(items: Mapping[ItemKey, Captured]) -> dict[str, Captured]:
    return {
        name if item_id is None else f"{name}.{item_id}": value
        for (name, item_id), value in items.items()
    }


def _hits(sets: Mapping[str, list[Hit]]) -> list[dict[str, Any]]:
    """One list of all hits of a query; with their set where there are several."""
    return [
        told_hit(hit) if len(sets) == 1 else {**told_hit(hit), "set": name}
        for name, hits in sets.items()
        for hit in hits
    ]


def told_hit(hit: Hit) -> dict[str, Any]:
    """Return a hit, whose value is `Captured`, as the log has it."""
    told: dict[str, Any] = {"id": hit.item_id}
    if hit.value.raw is not None:
        told["value"] = hit.value.raw
    if hit.score is not None:
        told["score"] = hit.score
    return told
