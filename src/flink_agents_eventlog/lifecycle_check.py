"""Do the records of an execution agree with one another, and with what they name?

Only what a tree does not show: one execution with two ends, an end before its start,
a trigger or an emitter that is not there. The order of records does not matter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from flink_agents_eventlog import lifecycle
from flink_agents_eventlog.dialect import SNAKE
from flink_agents_eventlog.finding import Finding, finding
from flink_agents_eventlog.record import timestamp_ns, timestamp_order
from flink_agents_eventlog.sameness import fingerprint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from flink_agents_eventlog.log_file import Located
    from flink_agents_eventlog.record import Record


class _Said(NamedTuple):
    """What one record of an execution says; equal ones are the same record again."""

    order: str
    timestamp: str
    status: str
    event_id: str
    dialect: str
    content: bytes


class _Seen:
    """All that was said of one execution."""

    __slots__ = ("name", "parent", "said", "trigger")

    def __init__(self) -> None:
        self.name = ""
        self.parent: str | None = None
        self.trigger: str | None = None
        self.said: dict[_Said, tuple[str, int]] = {}

    @property
    def starts(self) -> list[_Said]:
        return [each for each in self.said if each.status == lifecycle.STARTED]

    @property
    def ends(self) -> list[_Said]:
        return [each for each in self.said if each.status != lifecycle.STARTED]


class LifecycleCheck:
    """Collects the records of one run; `findings` tells what does not fit."""

    def __init__(self) -> None:
        self._executions: dict[str, _Seen] = {}
        self._emitters: dict[str, Located] = {}

    def add(self, located: Located) -> None:
        """Take in a record."""
        record, path, line = located
        execution_id = record.execution_id
        if execution_id is None:
            return
        status = lifecycle.STATUS_OF_EVENT_TYPE.get(record.event_type)
        if status is None:
            self._emitters.setdefault(execution_id, located)
            return
        seen = self._executions.setdefault(execution_id, _Seen())
        seen.name = f"{record.entity_type} {record.entity_name}"
        seen.parent = seen.parent or record.parent_execution_id
        seen.trigger = seen.trigger or record.action_trigger_event_id
        seen.said.setdefault(_said(record, status), (path, line))

    def names(self) -> Iterable[str]:
        """Give the ids of all executions that were taken in."""
        return self._executions

    def knows(self, execution_id: str) -> bool:
        """Whether a record of this execution was taken in."""
        return execution_id in self._executions

    def findings(
        self,
        is_event: Callable[[str], bool],
        is_elsewhere: Callable[[str], bool],
    ) -> Iterator[Finding]:
        """Tell what is wrong, by what ids of Events and other executions there are."""
        for seen in self._executions.values():
            yield from _conflicts(seen)
            yield from _ends_twice(seen)
            yield from _reversed(seen, self._executions.get(seen.parent or ""))
            yield from _trigger(seen, is_event)
        for execution_id, sent in self._emitters.items():
            if not self.knows(execution_id) and not is_elsewhere(execution_id):
                message = f"sent by execution {execution_id}, which is not there"
                yield sent.finding("MISSING_PARENT", message)


def _said(record: Record, status: str) -> _Said:
    order = timestamp_order(record.timestamp)
    content = fingerprint(record.event_attributes)
    return _Said(
        order, record.timestamp, status, record.event_id, record.dialect, content
    )


def _conflicts(seen: _Seen) -> Iterator[Finding]:
    """Find records of the same id that are not the same record."""
    first_of: dict[tuple[str, str], _Said] = {}
    for said in sorted(seen.said):
        first = first_of.setdefault((said.event_id, said.dialect), said)
        if (first.status, first.content) != (said.status, said.content):
            message = f"records of {said.event_id} differ in type or content"
            yield _found("EVENT_ID_CONFLICT", message, seen, said)


def _ends_twice(seen: _Seen) -> Iterator[Finding]:
    ends = sorted({(end.status, end.event_id): end for end in seen.ends}.values())
    for end in ends[1:]:
        path, line = seen.said[ends[0]]
        message = (
            f"{seen.name} is {end.status}, but was {ends[0].status} ({path}:{line})"
        )
        yield _found("TERMINAL_CONFLICT", message, seen, end)


def _reversed(seen: _Seen, parent: _Seen | None) -> Iterator[Finding]:
    started = _earliest(seen.starts)
    if started is None:
        return
    for end in seen.ends:
        if _is_before(end, started):
            message = f"{seen.name} ends before it starts"
            yield _found("TIME_REVERSED", message, seen, end)
            break
    outer = None if parent is None or parent is seen else _earliest(parent.starts)
    if parent is not None and outer is not None and _is_before(started, outer):
        message = f"{seen.name} starts before {parent.name}, in which it ran"
        yield _found("TIME_REVERSED", message, seen, started)


def _earliest(starts: Iterable[_Said]) -> _Said | None:
    return min(starts, default=None)


def _is_before(one: _Said, other: _Said) -> bool:
    if one.timestamp.endswith("Z") and other.timestamp.endswith("Z"):
        return one.order < other.order
    try:  # the texts may have different zones, or be no times at all
        return timestamp_ns(one.timestamp) < timestamp_ns(other.timestamp)
    except ValueError:
        return False


def _trigger(seen: _Seen, is_event: Callable[[str], bool]) -> Iterator[Finding]:
    said = min(seen.said)
    if not seen.name.startswith(_ACTION):
        return
    if seen.trigger is None:
        if said.dialect == SNAKE:  # native executions never name one
            message = f"{seen.name} names no Event that set it off"
            yield _found("UNLINKED_EVENT", message, seen, said)
    elif not is_event(seen.trigger):
        message = f"{seen.name} was set off by {seen.trigger}, which is not there"
        yield _found("MISSING_PARENT", message, seen, said)


_ACTION: Final = f"{lifecycle.ACTION} "


def _found(code: str, message: str, seen: _Seen, said: _Said) -> Finding:
    path, line = seen.said[said]
    return finding(code, message, path, line=line, event_id=said.event_id)
