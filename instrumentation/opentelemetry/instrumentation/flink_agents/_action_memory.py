"""The memory operations of one action, until its end."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any

from flink_agents_eventlog.folding import (
    LONG_TERM_GET,
    LONG_TERM_SEARCH,
    LONG_TERM_UPDATE,
    Captured,
    Folding,
    Hit,
    MemoryEvent,
    captured,
)
from flink_agents_eventlog.native_folding import NativeFolding
from opentelemetry.instrumentation.flink_agents._core import current_action

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from opentelemetry.instrumentation.flink_agents._memory_settings import (
        MemorySettings,
    )

logger = logging.getLogger(__name__)


class ActionMemory:
    """What one action did to memory. Long-term operations may come from any thread."""

    def __init__(self, settings: MemorySettings) -> None:
        self.settings = settings
        self.counts: dict[str, int] = {}
        folding = NativeFolding if settings.native else Folding
        self._folding = folding(with_previous=settings.previous)
        self._lock = threading.Lock()
        self._ended = False

    def capture(self, value: object) -> Captured:
        """Return `value` as it is now."""
        return captured(value, self.settings.max_bytes)

    def observes(self, operation: str) -> bool:
        """Count an operation; whether it becomes an event."""
        self.counts[operation] = self.counts.get(operation, 0) + 1
        return operation in self.settings.operations

    def scope(self, *, sensory: bool) -> Any:
        """Return the folding of sensory or of short-term memory."""
        return self._folding.sensory if sensory else self._folding.short_term

    def updated(self, memory_set: str, item_id: str, text: object) -> None:
        """Take note of an item that was added or changed."""
        if LONG_TERM_UPDATE in self.settings.operations:
            value = self.capture(text)
            with self._lock:
                if self._is_open():
                    self._folding.updated(memory_set, item_id, value)

    def deleted(self, memory_set: str, item_ids: Sequence[str] | None) -> None:
        """Take note of deleted items, or of a deleted set for None."""
        if LONG_TERM_UPDATE not in self.settings.operations:
            return
        with self._lock:
            if not self._is_open():
                return
            if item_ids is None:
                self._folding.cleared(memory_set)
            for item_id in item_ids or ():
                self._folding.deleted(memory_set, item_id)

    def got(self, memory_set: str, item_id: str, value: object) -> None:
        """Take note of an item that was read."""
        if LONG_TERM_GET in self.settings.operations:
            now = self.capture(value)
            with self._lock:
                if self._is_open():
                    self._folding.got(memory_set, item_id, now)

    def searched(self, memory_set: str, query: str, found: Iterable[Hit]) -> None:
        """Take note of what a search found."""
        if LONG_TERM_SEARCH in self.settings.operations:
            now = [hit._replace(value=self.capture(hit.value)) for hit in found]
            with self._lock:
                if self._is_open():
                    self._folding.searched(memory_set, query, now)

    def take_events(self) -> list[MemoryEvent]:
        """Return the folded events and take no more operations."""
        with self._lock:
            self._ended = True
            return list(self._folding.events())

    def discard(self) -> None:
        """Forget everything: the action failed."""
        with self._lock:
            self._ended = True
            self._folding = Folding()

    def _is_open(self) -> bool:
        if self._ended:
            logger.warning(
                "An operation on long-term memory ended after its action; it is in no"
                " memory event"
            )
        return not self._ended


def observing() -> ActionMemory | None:
    """Return what takes note of the memory operations of the current action, if any."""
    action = current_action()
    return action.memory if action is not None else None
