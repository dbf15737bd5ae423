"""Which sending of an event a dispatch belongs to.

Released hosts derive event ids from content, so equal events share one. The log
gives each physical occurrence an id of its own.
"""

from __future__ import annotations

import time
import weakref
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from opentelemetry.exporter.flink_agents._execution import new_id
from opentelemetry.instrumentation.flink_agents import _host
from opentelemetry.instrumentation.flink_agents._identity import IdentityMap

if TYPE_CHECKING:
    from collections.abc import Iterable

    from opentelemetry.exporter.flink_agents._execution import Execution

_CONTENT_BASED = 3
"""UUID version of an id that is derived from content."""

_REMEMBERED_IDS = 4096


@dataclass(eq=False)
class Occurrence:
    """One sending of one event."""

    event_id: str
    event_type: str
    source_event_id: str | None = None
    emitter: Execution | None = None
    sent_ns: int = field(default_factory=time.time_ns)
    waiting: set[str] = field(default_factory=set)
    """On Flink: the listening actions that have not been called for it yet."""


class OccurrenceIds:
    """Makes occurrences; keeps the host's id the first time that it is unique."""

    def __init__(self) -> None:
        self._seen: OrderedDict[str, None] = OrderedDict()

    def occurrence(self, event: Any, emitter: Execution | None = None) -> Occurrence:
        """Return a new occurrence of `event`, sent by `emitter`."""
        text = str(event.id)
        event_type = _host.record_type(event)
        if getattr(event.id, "version", None) == _CONTENT_BASED or text in self._seen:
            return Occurrence(new_id(), event_type, text, emitter)
        self._seen[text] = None
        if len(self._seen) > _REMEMBERED_IDS:
            self._seen.popitem(last=False)
        return Occurrence(text, event_type, None, emitter)


@dataclass(eq=False)
class Dispatch:
    """An occurrence whose actions are being called one after the other."""

    occurrence: Occurrence
    event: weakref.ref[Any]
    called: set[str] = field(default_factory=set)


class LocalOccurrences:
    """Occurrences of the local runner, which queues the event objects themselves."""

    def __init__(self, ids: OccurrenceIds) -> None:
        self.dispatching: Dispatch | None = None
        self._ids = ids
        self._queued: IdentityMap[deque[Occurrence]] = IdentityMap()

    def sent(self, event: Any, occurrence: Occurrence) -> None:
        """Remember that `event` was queued as `occurrence`."""
        queue = self._queued.get(event)
        if queue is None:
            queue = deque()
            self._queued.set(event, queue)
        queue.append(occurrence)

    def dispatched(self, event: Any, action_name: str) -> Occurrence:
        """Return the occurrence of `event` for which `action_name` is called.

        The current one while its actions are called one after the other, else
        the next one of that event object.
        """
        current = self.dispatching
        if (
            current is None
            or current.event() is not event
            or action_name in current.called
        ):
            queue = self._queued.get(event)
            # Without one it was sent before we were installed.
            occurrence = queue.popleft() if queue else self._ids.occurrence(event)
            current = self.dispatching = Dispatch(occurrence, weakref.ref(event))
        current.called.add(action_name)
        return current.occurrence


class FlinkOccurrences:
    """Occurrences inside one run on Flink, where events arrive as copies.

    First in, first out for each id of the host's, counted per listening action.
    """

    def __init__(self, ids: OccurrenceIds) -> None:
        self._ids = ids
        self._queued: dict[str, deque[Occurrence]] = {}

    def sent(
        self, event: Any, occurrence: Occurrence, listeners: Iterable[str]
    ) -> None:
        """Remember that `event` goes to `listeners` as `occurrence`."""
        occurrence.waiting = set(listeners)
        if occurrence.waiting:
            self._queued.setdefault(str(event.id), deque()).append(occurrence)

    def awaits(self, event: Any, action_name: str) -> bool:
        """Whether an occurrence of `event` waits for `action_name`."""
        queue = self._queued.get(str(event.id), ())
        return any(action_name in occurrence.waiting for occurrence in queue)

    def dispatched(self, event: Any, action_name: str) -> Occurrence:
        """Return the oldest occurrence of `event` that waits for `action_name`."""
        queue = self._queued.get(str(event.id), deque())
        for occurrence in queue:
            if action_name in occurrence.waiting:
                occurrence.waiting.discard(action_name)
                if not occurrence.waiting:
                    queue.remove(occurrence)
                return occurrence
        return self._ids.occurrence(event)
