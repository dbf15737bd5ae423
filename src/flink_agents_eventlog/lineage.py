"""Trace trees: which Event led to which, through which action.

    _input_event ──first──▶ _chat_request_event ──chat_model_action──▶ …

An Event may have several causes, so the whole is a graph without circles. It is kept
as a flat mapping: logs can be deeper than any stack.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

from flink_agents_eventlog import lifecycle
from flink_agents_eventlog.dialect import SNAKE
from flink_agents_eventlog.finding import Finding, OnFinding, finding
from flink_agents_eventlog.record import timestamp_order
from flink_agents_eventlog.sameness import fingerprint
from flink_agents_eventlog.trace import Cause, TraceEvent, TraceForest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from flink_agents_eventlog.record import Record


def trace_forest(
    records: Iterable[Record], *, on_finding: OnFinding | None = None
) -> TraceForest:
    """Rebuild which Event led to which, whatever the dialect and order of the records.

    Events that are not linked to an input are kept and reported. Only Events of the
    very same time stand in the order of the records.
    """
    lineage = Lineage()
    for record in records:
        lineage.add(record)
    return lineage.forest(on_finding)


class _Content(NamedTuple):
    """What one observation says; equal contents are the same Event seen again."""

    order: str
    timestamp: str
    event_type: str
    fingerprint: bytes


class _Sighting(NamedTuple):
    """Where one observation says that its Event comes from.

    In the default dialect the execution may tell the action, and the run the input.
    """

    trigger: str | None
    action: str | None
    execution_id: str | None
    input_run_id: str | None


class _Place(NamedTuple):
    path: str
    line: int | None


class Lineage:
    """Collects records one by one; `forest` builds what is known so far."""

    def __init__(self) -> None:
        self._sightings: dict[str, Counter[tuple[_Content, _Sighting]]] = {}
        self._action_of: dict[str, str] = {}
        self._input_of: dict[str, tuple[str, str]] = {}
        self._place_of: dict[str, _Place] = {}
        self._reserved: list[tuple[str, str, _Place]] = []

    def add(self, record: Record, path: str = "", line: int | None = None) -> None:
        """Take in a record; findings about it will point to `path` and `line`."""
        if record.event_type in lifecycle.STATUS_OF_EVENT_TYPE:
            if _is_execution(record):
                self._note_execution(record)
                return
            place = _Place(path, line)
            self._reserved.append((record.event_id, record.event_type, place))
        content = _Content(
            timestamp_order(record.timestamp),
            record.timestamp,
            record.event_type,
            fingerprint(record.event_attributes),
        )
        sighting = _sighting(record)
        seen = self._sightings.setdefault(record.event_id, Counter())
        seen[content, sighting] += 1
        self._place_of.setdefault(record.event_id, _Place(path, line))
        run = record.input_run_id
        if record.event_type == lifecycle.INPUT_EVENT and run is not None:
            earliest = (content.order, record.event_id)
            self._input_of[run] = min(self._input_of.get(run, earliest), earliest)

    def _note_execution(self, record: Record) -> None:
        if record.entity_type == lifecycle.ACTION:
            assert record.execution_id is not None  # noqa: S101 - checked before
            assert record.entity_name is not None  # noqa: S101
            self._action_of[record.execution_id] = record.entity_name

    def knows(self, event_id: str) -> bool:
        """Whether an Event of this id was taken in."""
        return event_id in self._sightings

    def contents(self) -> Iterator[tuple[str, bytes]]:
        """Give the id of every Event, and a digest of its type and content."""
        for event_id, seen in self._sightings.items():
            first = min(content for content, _ in seen)
            yield event_id, first.event_type.encode() + first.fingerprint

    def finding(self, code: str, event_id: str, message: str) -> Finding:
        """Make a finding about an Event that was taken in."""
        path, line = self._place_of[event_id]
        return finding(code, message, path, line=line, event_id=event_id)

    def forest(
        self,
        on_finding: OnFinding | None = None,
        is_elsewhere: Callable[[str], bool] = lambda _: False,
    ) -> TraceForest:
        """Build the forest of what was taken in.

        Of causes that are `is_elsewhere`, by their ids, it is not told that they are
        missing.
        """
        found = _Findings(self._place_of, on_finding)
        for event_id, event_type, place in self._reserved:
            message = f"an Event of the type {event_type}, which is for executions"
            found.report("RESERVED_EVENT_TYPE", event_id, message, place)
        events = [self._event(event_id, found) for event_id in self._sightings]
        events.sort(key=lambda event: timestamp_order(event.timestamp))
        forest = TraceForest(events={event.event_id: event for event in events})
        for event in forest.events.values():
            _link(event, forest, found, is_elsewhere)
        _prune(forest, found)
        return forest

    def _event(self, event_id: str, found: _Findings) -> TraceEvent:
        """Merge the observations of one Event; the earliest tells what it is."""
        seen = self._sightings[event_id]
        first = min(content for content, _ in seen)
        agreeing = [
            sighting
            for content, sighting in seen
            if content.event_type == first.event_type
            and content.fingerprint == first.fingerprint
        ]
        if len(agreeing) < len(seen):
            message = f"records of {event_id} differ in type or content"
            found.report("EVENT_ID_CONFLICT", event_id, message)
        causes = {self._cause(first.event_type, each) for each in agreeing}
        return TraceEvent(
            event_id,
            first.event_type,
            first.timestamp,
            sum(seen.values()),
            sorted(causes, key=_cause_order),
        )

    def _cause(self, event_type: str, sighting: _Sighting) -> Cause:
        of_run = lifecycle.ACTION_OF_RUN_EVENT.get(event_type)
        run = sighting.input_run_id
        if of_run is not None and sighting.trigger is None and run is not None:
            _, event_id = self._input_of.get(run, ("", None))
            return Cause(event_id, of_run)
        action = sighting.action or self._action_of.get(sighting.execution_id or "")
        return Cause(sighting.trigger, action)


class _Findings:
    def __init__(self, places: dict[str, _Place], on_finding: OnFinding | None) -> None:
        self._places = places
        self._on_finding = on_finding

    def report(
        self, code: str, event_id: str, message: str, place: _Place | None = None
    ) -> None:
        if self._on_finding is not None:
            path, line = place or self._places[event_id]
            self._on_finding(finding(code, message, path, line=line, event_id=event_id))


def _is_execution(record: Record) -> bool:
    """Whether a record of a lifecycle type really is one, as the host's reader asks."""
    status = lifecycle.STATUS_OF_EVENT_TYPE[record.event_type]
    allowed = {status, lifecycle.SUCCESS} if status == lifecycle.FINISHED else {status}
    return record.status in allowed and all(
        (record.execution_id, record.entity_type, record.entity_name)
    )


def _sighting(record: Record) -> _Sighting:
    trigger, action = record.action_trigger_event_id, record.upstream_action_name
    if record.dialect != SNAKE or record.event_type == lifecycle.INPUT_EVENT:
        return _Sighting(trigger, action, None, None)
    if action is None and record.entity_type == lifecycle.ACTION:
        action = record.entity_name
    return _Sighting(trigger, action, record.execution_id, record.input_run_id)


_NO_CAUSE: Final = Cause(None, None)


def _cause_order(cause: Cause) -> tuple[str, str]:
    return (cause.event_id or "", cause.action or "")


def _link(
    event: TraceEvent,
    forest: TraceForest,
    found: _Findings,
    is_elsewhere: Callable[[str], bool],
) -> None:
    """Hang an Event below its causes, by the rules of the host's own reader."""
    if event.event_type == lifecycle.INPUT_EVENT:
        if _NO_CAUSE in event.causes:
            forest.roots.append(event.event_id)
        for cause in event.causes:
            if cause != _NO_CAUSE:
                message = f"an input that names a cause, {cause.event_id}"
                found.report("INVALID_ROOT_LINEAGE", event.event_id, message)
        event.causes = [cause for cause in event.causes if cause != _NO_CAUSE]
        return
    for cause in event.causes:
        for code, message in _faults(event, cause, forest, is_elsewhere):
            found.report(code, event.event_id, message)
        if cause.event_id in forest.events and cause.action is not None:
            effects = forest.events[cause.event_id].effects
            effects.setdefault(cause.action, []).append(event.event_id)
    event.causes = [cause for cause in event.causes if cause != _NO_CAUSE]


def _faults(
    event: TraceEvent,
    cause: Cause,
    forest: TraceForest,
    is_elsewhere: Callable[[str], bool],
) -> Iterator[tuple[str, str]]:
    if cause.event_id is None:
        yield "UNLINKED_EVENT", f"{event.event_type} names no Event that led to it"
        return
    if cause.action is None:
        yield "MISSING_ACTION_NAME", f"{event.event_type} names no action"
    if cause.event_id not in forest.events and not is_elsewhere(cause.event_id):
        message = f"{event.event_type} comes from {cause.event_id}, which is not there"
        yield "MISSING_PARENT", message


class _Edge(NamedTuple):
    action: str
    to: str


def _prune(forest: TraceForest, found: _Findings) -> None:
    """Take out of every circle the edge that closes it.

    The way through the graph depends on names only, never on the order of records,
    and is the one that the host's reader takes.
    """
    roots = set(forest.roots)
    done: set[str] = set()
    for start in [*sorted(roots), *sorted(forest.events.keys() - roots)]:
        if start in done:
            continue
        way = {start: _edges(forest, start)}
        while way:
            here, edges = next(reversed(way.items()))
            edge = next(edges, None)
            if edge is None:
                del way[here]
                done.add(here)
            elif edge.to in way:
                _cut(forest, here, edge)
                message = f"{here} led to it through {edge.action}, and it to {here}"
                found.report("CYCLE_DETECTED", edge.to, message)
            elif edge.to not in done:
                way[edge.to] = _edges(forest, edge.to)


def _edges(forest: TraceForest, event_id: str) -> Iterator[_Edge]:
    effects = forest.events[event_id].effects
    return iter(
        sorted(_Edge(action, each) for action, to in effects.items() for each in to)
    )


def _cut(forest: TraceForest, start: str, edge: _Edge) -> None:
    effects = forest.events[start].effects
    effects[edge.action].remove(edge.to)
    if not effects[edge.action]:
        del effects[edge.action]
    forest.events[edge.to].causes.remove(Cause(start, edge.action))
