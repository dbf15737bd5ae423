"""The memory of one key, as it follows from one record after the other.

>>> from flink_agents_eventlog.log_file import Located
>>> from flink_agents_eventlog.record import Record
>>> record = Record(
...     timestamp="2026-01-01T00:00:00Z", business_key="order-1", event_id="1",
...     event_type="_short_term_write_event",
...     event_attributes={"key": "order-1", "value": {"tier": "gold"}},
... )
>>> memory = KeyMemory()
>>> memory.take(Located(record, "events-a.jsonl", 1))
>>> memory.short_term, memory.applied
({'tier': 'gold'}, ['1'])
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from flink_agents_eventlog import lifecycle
from flink_agents_eventlog.dialect import SNAKE_METADATA
from flink_agents_eventlog.folding import (
    EVENT_TYPE_OF_OPERATION,
    MEMORY_EVENT_TYPES,
    SENSORY_WRITE,
    SHORT_TERM_WRITE,
)
from flink_agents_eventlog.memory import apply_writes, forget
from flink_agents_eventlog.truncation import holds_truncated, is_truncated

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from flink_agents_eventlog.finding import Finding
    from flink_agents_eventlog.log_file import Located
    from flink_agents_eventlog.record import Record

_SHORT_TERM: Final = EVENT_TYPE_OF_OPERATION[SHORT_TERM_WRITE]
_SENSORY: Final = EVENT_TYPE_OF_OPERATION[SENSORY_WRITE]
_SNAPSHOTS: Final = (lifecycle.AGENT_RUN_BEGIN_EVENT, lifecycle.AGENT_RUN_END_EVENT)
_ENDED: Final = (
    lifecycle.FINISHED,
    lifecycle.SUCCESS,
    lifecycle.FAILED,
    lifecycle.REUSED,
)


def key_of(record: Record) -> str | None:
    """Tell whose record it is; what has no key of its own may name one inside."""
    if record.business_key is not None:
        return record.business_key
    inner = record.event_attributes.get("key")
    is_memory = record.event_type in MEMORY_EVENT_TYPES or is_run_event(record)
    return inner if is_memory and isinstance(inner, str) else None


def is_run_event(record: Record) -> bool:
    """Whether it is a begin or end event, with a snapshot or without one."""
    return record.event_type in _SNAPSHOTS


def is_snapshot(record: Record) -> bool:
    """Whether a record holds the whole short-term memory of its key."""
    value = record.event_attributes.get("value")
    return record.event_type in _SNAPSHOTS and isinstance(value, dict)


def is_short_term_write(record: Record) -> bool:
    """Whether a record says what an action set in short-term memory."""
    return record.event_type == _SHORT_TERM


def tells_short_term(record: Record) -> bool:
    """Whether a record says what is in short-term memory: all of it, or a change."""
    return is_snapshot(record) or is_short_term_write(record)


class KeyMemory:
    """What is known of the memory of one key after the records taken so far.

    Attributes:
        short_term: paths with their values.
        sensory: the same of the run of the last record taken.
        snapshot: the record that `short_term` began from, None for none.
        applied: ids of the write events applied to it, in order.
        unrecorded: the first record since then that says that an action wrote what
            no event holds, None for none.

    """

    def __init__(self) -> None:
        self.short_term: dict[str, Any] = {}
        self.sensory: dict[str, Any] = {}
        self.run: str | None = None
        self.snapshot: Located | None = None
        self.applied: list[str] = []
        self.unrecorded: Located | None = None
        self._unknown: dict[str, Finding] = {}
        self._unknown_sensory: dict[str, Finding] = {}
        self._open: dict[str, Located] = {}
        self._memory_events: set[str] = set()

    def take(self, located: Located) -> None:
        """Take in one more record of this key."""
        record = located.record
        self._enter(record.input_run_id)
        if is_snapshot(record):
            self._begin_anew(located)
        elif record.event_type == _SHORT_TERM:
            self.applied.append(record.event_id)
            _write(located, self.short_term, self._unknown)
        elif record.event_type == _SENSORY:
            _write(located, self.sensory, self._unknown_sensory)
        elif record.entity_type == lifecycle.ACTION and record.status is not None:
            self._action(located)
        if record.event_type in MEMORY_EVENT_TYPES:
            self._memory_events.add(record.event_id)

    @property
    def is_open(self) -> bool:
        """Whether an action has begun and not yet ended."""
        return bool(self._open)

    def copied(self) -> KeyMemory:
        """Return another one that goes on by itself."""
        other = KeyMemory()
        for name, value in vars(self).items():
            is_container = isinstance(value, (dict, list, set))
            setattr(other, name, value.copy() if is_container else value)
        return other

    def doubts(self, *, with_sensory: bool = True) -> Iterator[Finding]:
        """Tell what in this answer is not known, or may not be so."""
        yield from self._unknown.values()
        if with_sensory:
            yield from self._unknown_sensory.values()
        if self.unrecorded is not None:
            message = "what this action may have written is in no event"
            yield self.unrecorded.finding("UNRECORDED_WRITES", message)

    def unknown(self, path: str) -> bool:
        """Whether the log does not tell what is at a path, above it or below it."""
        return any(
            each in ("", path)
            or path.startswith(f"{each}.")
            or each.startswith(f"{path}.")
            for each in self._unknown
        )

    def _enter(self, run: str | None) -> None:
        if run is None or run == self.run:
            return
        if self.run is not None and self._open:
            # A key runs one input after the other: these were abandoned.
            self.unrecorded = self.unrecorded or next(iter(self._open.values()))
        self.run, self.sensory, self._unknown_sensory = run, {}, {}
        self._open, self._memory_events = {}, set()

    def _begin_anew(self, located: Located) -> None:
        self.snapshot, self.applied = located, []
        self.unrecorded = None
        self.short_term, self._unknown = {}, {}
        _write(located, self.short_term, self._unknown)

    def _action(self, located: Located) -> None:
        record = located.record
        execution = record.execution_id or record.event_id
        if record.status == lifecycle.STARTED:
            self._open[execution] = located
        elif record.status in _ENDED:
            self._open.pop(execution, None)
        is_suppressed = record.action_trigger_event_id in self._memory_events
        if record.status == lifecycle.FAILED or (
            is_suppressed and record.status != lifecycle.STARTED
        ):
            self.unrecorded = self.unrecorded or located


def left_out(record: Record) -> dict[str, str]:
    """Give the paths that a memory record names without a value, and why."""
    metadata = {
        SNAKE_METADATA.get(name, name): value
        for name, value in record.entity_metadata.items()
    }
    oversized = metadata.get("oversized_paths")
    strange = metadata.get("unrepresentable_paths")
    reasons = dict.fromkeys(_texts(strange), "JSON cannot hold it")
    return reasons | dict.fromkeys(_texts(oversized), "it was too large to be written")


def _texts(paths: Any) -> Iterable[str]:
    if not isinstance(paths, (dict, list)):
        return ()
    return [path for path in paths if isinstance(path, str)]


def _write(
    located: Located, memory: dict[str, Any], unknown: dict[str, Finding]
) -> None:
    record = located.record
    value = record.event_attributes.get("value")
    reasons = left_out(record)
    if isinstance(value, dict) and is_truncated(value):
        # The host cut the map itself: what it kept are its plain values.
        unknown[""] = _truncated("", "the map of paths was cut short", located)
        value = value.get("truncatedObject")
    entries = value if isinstance(value, dict) else {}
    if value is not entries:
        unknown[""] = _truncated("", "the map of paths is not readable", located)
    apply_writes(memory, entries, reasons)
    for path in (*reasons, *entries):
        forget(unknown, path)
    for path, reason in reasons.items():
        unknown[path] = _truncated(path, reason, located)
    for path, item in entries.items():
        if holds_truncated(item):
            unknown[path] = _truncated(path, "its value was cut short", located)


def _truncated(path: str, reason: str, located: Located) -> Finding:
    what = f"{path!r} is not known" if path else "some paths are not known"
    return located.finding("TRUNCATED_VALUE", f"{what}: {reason}")
