"""Memory at any moment: what a key's memory held, as far as a log tells."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from flink_agents_eventlog.finding import Finding, finding
from flink_agents_eventlog.folder import history_of
from flink_agents_eventlog.index import Wanted, read_wanted
from flink_agents_eventlog.key_memory import (
    KeyMemory,
    key_of,
)
from flink_agents_eventlog.masking import names_of_key
from flink_agents_eventlog.reader import files_of
from flink_agents_eventlog.record import timestamp_ns
from flink_agents_eventlog.split_history import NEVER, Written, written
from flink_agents_eventlog.writer_memory import WriterMemory

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Sequence

    from flink_agents_eventlog.log_file import Located, Watch
    from flink_agents_eventlog.record import Record

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
    paths = list(paths)
    searches = [_Search(key, point, str(next(iter(paths), ""))) for point in points]
    wanted = Wanted(
        frozenset(names_of_key(key)),
        frozenset(point.event for point in points if point.event is not None),
        frozenset(point.run for point in points if point.run is not None),
    )
    files = files_of(paths, found.append)
    for located in read_wanted(files, wanted, found.append, watch):
        for search in searches:
            search.add(located)
    answers = [search.answer() for search in searches]
    for answer in answers:
        answer.findings[:0] = found
    return answers


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
        self._histories: dict[str, WriterMemory] = {}
        self._place: Located | None = None
        self._frozen: tuple[KeyMemory, bool] | None = None
        # By position it is known late what counts: when all files wrote to memory.
        self._written: dict[str, list[Written]] = {}
        self._runs: set[str] = set()

    def add(self, located: Located) -> None:
        record = located.record
        name = history_of(located.path)
        history = self._histories.get(name) or WriterMemory()
        is_of_key = key_of(record) in self._names
        if is_of_key:  # a file without the key says nothing of it
            self._histories[name] = history
        if self._by_position:
            self._look(located, history, is_of_key=is_of_key)
            told = written(located) if is_of_key else None
            if told is not None:
                self._written.setdefault(name, []).append(told)
        if is_of_key:
            history.take(located, self._ns(record, history), self._limit)

    def _look(
        self, located: Located, history: WriterMemory, *, is_of_key: bool
    ) -> None:
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

    def _ns(self, record: Record, history: WriterMemory) -> int:
        if self._by_position:
            return 0
        try:
            return timestamp_ns(record.timestamp)
        except ValueError:  # as late as what stands before it
            return max(history.writer.age)

    def answer(self) -> MemoryAt:
        if self._by_position:
            return self._answer_by_position()
        history = max(
            self._histories.values(),
            key=lambda each: each.writer.age,
            default=WriterMemory(),
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
        history = self._histories.get(history_of(place.path)) or WriterMemory()
        memory, is_inside = self._frozen or (
            history.memory,
            history.memory.run == place.record.input_run_id,
        )
        answer = self._told(memory, place, is_inside=is_inside)
        answer.findings += self._elsewhere(memory, place)
        return answer

    def _elsewhere(self, memory: KeyMemory, place: Located) -> Iterator[Finding]:
        """Tell what other files wrote after the snapshot and up to this line."""
        since = None if memory.snapshot is None else written(memory.snapshot)
        try:
            until = timestamp_ns(place.record.timestamp)
        except ValueError:
            return
        for name, records in self._written.items():
            between = [
                each
                for each in records
                if (NEVER if since is None else since.ns) < each.ns <= until
            ]
            if between and name != history_of(place.path):
                yield max(between).finding(self._key)

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

    def _by_time_doubts(self, history: WriterMemory) -> list[Finding]:
        found = []
        for other in self._histories.values():
            last = other.writer.written_since(history.writer)
            if last is not None:
                found.append(last.finding(self._key))
        if history.memory is not history.chosen and history.last is not None:
            message = "later in the file stands an earlier snapshot; the times count"
            found.append(history.last.finding("TIME_REVERSED", message))
        return found
