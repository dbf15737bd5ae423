"""The values of a trace forest: `TraceForest`, `TraceEvent` and `Cause`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from flink_agents_eventlog.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterator


class Cause(NamedTuple):
    """The Event that set off an action, and the action's name."""

    event_id: str | None
    action: str | None


@dataclass(slots=True)
class TraceEvent:
    """One Event, however often the log has it."""

    event_id: str
    event_type: str
    timestamp: str
    observations: int = 1
    causes: list[Cause] = field(default_factory=list)
    effects: dict[str, list[str]] = field(default_factory=dict)
    """Ids of the Events it led to, by the action that sent them."""


@dataclass(slots=True)
class TraceForest:
    """All Events of a log by id, and the inputs that everything began with."""

    roots: list[str] = field(default_factory=list)
    events: dict[str, TraceEvent] = field(default_factory=dict)


def event_sequence(forest: TraceForest) -> Iterator[Record]:
    """Write a forest down as records that give the same forest again."""
    roots = set(forest.roots)
    for event in forest.events.values():
        causes = list(event.causes)
        if event.event_id in roots or not causes:
            causes.insert(0, Cause(None, None))
        for at in range(event.observations):
            cause = causes[at % len(causes)]
            yield Record(
                timestamp=event.timestamp,
                action_trigger_event_id=cause.event_id,
                event_id=event.event_id,
                event_type=event.event_type,
                event_attributes={},
                upstream_action_name=cause.action,
            )
