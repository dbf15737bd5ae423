"""Memory at any moment: what a key's memory held, as far as a log tells."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from flink_agents_eventlog.finding import Finding, finding
from flink_agents_eventlog.folder import history_of
from flink_agents_eventlog.key_memory import (
    KeyMemory,
    is_short_term_write,
    is_snapshot,
    key_of,
    tells_short_term,
)
from flink_agents_eventlog.masking import names_of_key
from flink_agents_eventlog.reader import read_located
from flink_agents_eventlog.record import timestamp_ns, timestamp_text

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

    from flink_agents_eventlog.log_file import Located, Watch
    from flink_agents_eventlog.record import Record

_NEVER: Final = -(1 << 63)
_ALWAYS: Final = 1 << 63


@dataclass(frozen=True)
class Point:
    """A moment of a log: a time, the end of a run, or an Event; else the log's end."""

    at: str | None = None
    """RFC 3339; memory events and snapshots at that very time count."""
    run: str | None = None
    """How the id of a run begins: after its last record."""
    event: str | None = None
    """The id of an Event: after its line, by position and not by time."""


@dataclass
class MemoryAt:
    """The memory of a key at one moment, and where that comes from."""

    key: str
    at: str | None = None
    """The time asked for, else that of the last record that counts."""
    input_run_id: str | None = None
    """The run of the last record that counts."""
    short_term: dict[str, Any] = field(default_factory=dict)
    sensory: dict[str, Any] = field(default_factory=dict)
    """Empty outside a run."""
    snapshot: Located | None = None
    applied_event_ids: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    """What makes this answer incomplete or doubtful, and what could not be read."""


def memory_at(
    *paths: str | os.PathLike[str],
    key: str,
    at: str | None = None,
    run: str | None = None,
    event: str | None = None,
) -> MemoryAt:
    r"""Rebuild short-term and sensory memory of a key at a moment.

    By the rules of the EVENT_LOG format: the latest snapshot at or before the moment
    and the writes after it. Long-term memory cannot be rebuilt. Give at most one of
    `at`, `run` and `event` (see `Point`); without any it is the end of the log.

    Raises:
        LookupError: If the log has no such run or Event, or several such runs.
        ValueError: If `at` is no RFC 3339 time, or several moments are given.

    >>> from tempfile import TemporaryDirectory
    >>> log = (
    ...     '{"timestamp":"2026-01-01T00:00:01Z","business_key":"7","event_id":"s",'
    ...     '"event_type":"_agent_run_begin_event",'
    ...     '"event_attributes":{"key":"7","value":{"tier":"silver"}}}\n'
    ...     '{"timestamp":"2026-01-01T00:00:02Z","business_key":"7","event_id":"w",'
    ...     '"event_type":"_short_term_write_event",'
    ...     '"event_attributes":{"key":"7","value":{"tier":"gold"}}}\n'
    ... )
    >>> with TemporaryDirectory() as folder:
    ...     with open(f"{folder}/events-a.jsonl", "w") as file:
    ...         _ = file.write(log)
    ...     before = memory_at(folder, key="7", at="2026-01-01T00:00:01Z")
    ...     after = memory_at(folder, key="7")
    >>> before.short_term, after.short_term, after.applied_event_ids
    ({'tier': 'silver'}, {'tier': 'gold'}, ['w'])
    """
    [memory] = memories_at(paths, key, [Point(at, run, event)])
    return memory


def memories_at(
    paths: Iterable[str | os.PathLike[str]],
    key: str,
    points: Sequence[Point],
    watch: Watch | None = None,
) -> list[MemoryAt]:
    """Do as `memory_at` for several moments, in one pass through the log."""
    found: list[Finding] = []
    searches = [_Search(key, point, str(next(iter(paths), ""))) for point in points]
    for located in read_located(paths, found.append, watch):
        for search in searches:
            search.add(located)
    answers = [search.answer() for search in searches]
    for answer in answers:
        answer.findings[:0] = found
    return answers


class _History:
    """What one writer's files say of the key, read in their order."""

    def __init__(self) -> None:
        self.memory = KeyMemory()
        self.chosen = self.memory
        self.chosen_ns = _NEVER
        self.written_ns = _NEVER
        self.last: Located | None = None
        self.is_inside_run = False
        self._is_after = False
        self._seen: set[tuple[str | None, str]] = set()

    def take(self, located: Located, ns: int, limit: int) -> None:
        """Take a record of the key, unless it is later than the moment asked for."""
        record = located.record
        is_memory = tells_short_term(record)
        if is_memory and self._is_repeated(record):
            return
        if is_snapshot(record):
            self._is_after = ns > limit
        if ns >= limit and record.input_run_id == self.chosen.run:
            self.is_inside_run = record.input_run_id is not None
        if ns > limit or self._is_after:
            return
        if is_snapshot(record):
            self._turn(ns)
        if is_short_term_write(record):
            self.written_ns = max(self.written_ns, ns)
        run = self.memory.run
        self.memory.take(located)
        self.last = located
        if self.memory.run != run:
            self.is_inside_run = ns >= limit

    def _turn(self, ns: int) -> None:
        """Begin from a new snapshot, but keep the memory of a later one."""
        if ns < self.chosen_ns and self.memory is self.chosen:
            self.memory = self.memory.copied()
        elif ns >= self.chosen_ns:
            self.chosen, self.chosen_ns = self.memory, ns

    def _is_repeated(self, record: Record) -> bool:
        name = (record.input_run_id, record.event_id)
        is_repeated = name in self._seen
        self._seen.add(name)
        return is_repeated


class _Search:
    """One moment looked for while the records pass."""

    def __init__(self, key: str, point: Point, path: str) -> None:
        if sum(each is not None for each in (point.at, point.run, point.event)) > 1:
            raise ValueError("a moment is a time, a run or an event, not several")
        self._key = key
        self._names = names_of_key(key)
        self._point = point
        self._path = path
        self._limit = _ALWAYS if point.at is None else timestamp_ns(point.at)
        self._by_position = point.run is not None or point.event is not None
        self._histories: dict[str, _History] = {}
        self._place: Located | None = None
        self._frozen: tuple[KeyMemory, bool] | None = None
        self._runs: set[str] = set()

    def add(self, located: Located) -> None:
        record = located.record
        history = self._histories.setdefault(history_of(located.path), _History())
        is_of_key = key_of(record) in self._names
        if self._by_position:
            self._look(located, history, is_of_key=is_of_key)
        if is_of_key:
            history.take(located, self._ns(record, history), self._limit)

    def _look(self, located: Located, history: _History, *, is_of_key: bool) -> None:
        """Find the line asked for, and keep the memory after it."""
        record, point = located.record, self._point
        if self._is_asked_for(record):
            self._place, self._frozen = located, None
            self._runs.add(record.input_run_id or "")
            return
        place = self._place
        if place is None or history_of(place.path) != history_of(located.path):
            return
        if is_of_key and self._frozen is None:
            around = {record.input_run_id, place.record.input_run_id}
            is_inside = history.memory.run in around
            self._frozen = history.memory.copied(), is_inside
        elif is_of_key and self._frozen is not None and point.event is not None:
            memory, is_inside = self._frozen
            is_inside = is_inside or memory.run == record.input_run_id
            self._frozen = memory, is_inside

    def _is_asked_for(self, record: Record) -> bool:
        if self._point.event is not None:
            return self._place is None and record.event_id == self._point.event
        run = record.input_run_id
        return run is not None and run.startswith(self._point.run or "")

    def _ns(self, record: Record, history: _History) -> int:
        if self._by_position:
            return 0
        try:
            return timestamp_ns(record.timestamp)
        except ValueError:  # as late as what stands before it
            return max(history.written_ns, history.chosen_ns)

    def answer(self) -> MemoryAt:
        if self._by_position:
            return self._answer_by_position()
        history = max(
            self._histories.values(),
            key=lambda each: (each.chosen_ns, each.written_ns),
            default=_History(),
        )
        memory = history.chosen
        is_inside = history.is_inside_run or memory.is_open
        answer = self._told(memory, history.last, is_inside=is_inside)
        if self._point.at is not None:
            answer.at = self._point.at
        answer.findings += self._by_time_doubts(history)
        return answer

    def _answer_by_position(self) -> MemoryAt:
        place = self._place
        if place is None:
            what = f"event {self._point.event!r}"
            if self._point.run is not None:
                what = f"run {self._point.run!r}"
            raise LookupError(f"no {what} in this log")
        if self._point.run is not None and len(self._runs) > 1:
            several = ", ".join(sorted(self._runs))
            raise LookupError(f"several runs begin with {self._point.run!r}: {several}")
        history = self._histories[history_of(place.path)]
        memory, is_inside = self._frozen or (
            history.memory,
            history.memory.run == place.record.input_run_id,
        )
        return self._told(memory, place, is_inside=is_inside)

    def _told(
        self, memory: KeyMemory, last: Located | None, *, is_inside: bool
    ) -> MemoryAt:
        answer = MemoryAt(
            self._key,
            at=last.record.timestamp if last else None,
            input_run_id=memory.run,
            short_term=memory.short_term,
            sensory=memory.sensory if is_inside else {},
            snapshot=memory.snapshot,
            applied_event_ids=memory.applied,
            findings=list(memory.doubts(with_sensory=is_inside)),
        )
        if memory.snapshot is None:
            message = (
                f"no snapshot of key {self._key!r}: only what was written is known"
            )
            path, line = (last.path, last.line) if last else (self._path, None)
            answer.findings.append(
                finding("MISSING_SNAPSHOT", message, path, line=line)
            )
        return answer

    def _by_time_doubts(self, history: _History) -> list[Finding]:
        found = []
        for path, other in self._histories.items():
            if other is not history and other.written_ns > history.chosen_ns:
                when = timestamp_text(other.written_ns)
                message = f"key {self._key!r} was written here too, until {when}"
                found.append(finding("SPLIT_HISTORY", message, path))
        if history.memory is not history.chosen and history.last is not None:
            message = "later in the file stands an earlier snapshot; the times count"
            found.append(history.last.finding("TIME_REVERSED", message))
        return found
