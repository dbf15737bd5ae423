"""Folding as the host does from 0.4 on; see `folding`.

Long-term memory is nested by set, a path keeps the place of its first operation, and
what JSON cannot hold is just absent.

>>> from flink_agents_eventlog.folding import captured
>>> from flink_agents_eventlog.payload import encode_plain
>>> folding = NativeFolding()
>>> folding.updated("people", "ada", captured("likes tea"))
>>> folding.cleared("places")
>>> [event] = folding.events()
>>> encode_plain(event.value), event.cleared_sets
(b'{"people":{"ada":"likes tea"}}', ['places'])
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flink_agents_eventlog import lifecycle
from flink_agents_eventlog.folding import Folding, MemoryEvent, told_hit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from flink_agents_eventlog.folding import Captured, ItemKey

# Ours, for what was left out on purpose: a reader must not take it for unchanged.
_KEPT_METADATA = "oversized_paths"


class NativeFolding(Folding):
    """The operations of one action, folded into the shapes of the native dialect."""

    moves = False

    def events(self) -> Iterator[MemoryEvent]:
        """Yield at most one event for each kind, none of which nothing is left."""
        for event in super().events():
            metadata = {
                name: paths
                for name, paths in (event.metadata or {}).items()
                if name == _KEPT_METADATA
            }
            if event.is_routed or metadata:
                yield event._replace(metadata=metadata)

    def _items_event(
        self, event_type: str, items: Mapping[ItemKey, Captured]
    ) -> MemoryEvent:
        event = super()._items_event(event_type, items)
        cleared = None
        if event_type == lifecycle.LONG_TERM_UPDATE_EVENT:
            cleared = [name for name, item_id in items if item_id is None]
        return event._replace(value=_nested(items), cleared_sets=cleared)

    def _searched(self) -> dict[str, Any]:
        nested: dict[str, Any] = {}
        for query, sets in self._searches.items():
            for name, hits in sets.items():
                nested.setdefault(name, {})[query] = [told_hit(hit) for hit in hits]
        return nested


def _nested(items: Mapping[ItemKey, Captured]) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for (name, item_id), value in items.items():
        if item_id is not None and value.raw is not None:
            nested.setdefault(name, {})[item_id] = value.raw
    return nested
