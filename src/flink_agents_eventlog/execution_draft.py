"""One execution while its records come in, in any order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from flink_agents_eventlog import lifecycle
from flink_agents_eventlog.conversion import convert
from flink_agents_eventlog.dialect import NATIVE, SNAKE
from flink_agents_eventlog.finding import Finding, finding
from flink_agents_eventlog.record import timestamp_ns, timestamp_order
from flink_agents_eventlog.run import Execution

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from flink_agents_eventlog.record import Record

_KEPT: Final = ("error_type", "error_message", "errorType", "errorMessage", "attempts")


class ExecutionDraft:
    """Keeps of one execution what tells its start and its end."""

    def __init__(
        self,
        execution_id: str,
        path: str,
        line: int | None,
        keep: Collection[str],
    ) -> None:
        self.execution_id = execution_id
        self._keep = keep
        self._path = path
        self._line = line
        self._started: Record | None = None
        self._terminal: Record | None = None
        self._status = lifecycle.STARTED

    @property
    def _either(self) -> Record:
        record = self._started or self._terminal
        assert record is not None  # noqa: S101 - a draft begins with a record
        return record

    @property
    def is_open(self) -> bool:
        """Whether its end is not known."""
        return self._terminal is None

    @property
    def began(self) -> str:
        """A text that sorts as the times do at which executions began."""
        return timestamp_order(self._either.timestamp)

    @property
    def parent(self) -> str | None:
        """The id of the execution in which it ran."""
        return self._either.parent_execution_id

    def add(self, record: Record, status: str) -> None:
        """Keep the first start and the last end, whatever comes in between."""
        if status == lifecycle.STARTED:
            if self._started is None or _place(record) < _place(self._started):
                self._started = self._small(record)
        elif self._terminal is None or _place(record) > _place(self._terminal):
            self._terminal = self._small(record)
            self._status = status

    def _small(self, record: Record) -> Record:
        """Keep a record in our own words, without its payload, which may be large."""
        small = kept(record.event_attributes, (*_KEPT, *self._keep))
        record = msgspec.structs.replace(record, event_attributes=small)
        return convert(record, SNAKE).record if record.dialect == NATIVE else record

    def build(self) -> Execution:
        """Build what is known of it, without its children."""
        record = self._either
        execution = Execution(
            self.execution_id,
            record.entity_type,
            record.entity_name,
            dict(record.entity_metadata),
            self._status,
            action_trigger_event_id=record.action_trigger_event_id,
            trace_id=record.trace_id,
            span_id=record.span_id,
            content=self._content(),
        )
        if self._started is not None:
            execution.started_at = self._started.timestamp
        if self._terminal is not None:
            self._end(execution, self._terminal)
        return execution

    def _end(self, execution: Execution, terminal: Record) -> None:
        if self._status == lifecycle.REUSED:  # did not run: one record, no time
            execution.started_at = execution.started_at or terminal.timestamp
        execution.ended_at = terminal.timestamp
        execution.duration_ms = duration_ms(execution.started_at, execution.ended_at)
        execution.entity_metadata.update(terminal.entity_metadata)
        execution.problem_category = terminal.problem_category
        attributes = terminal.event_attributes
        execution.error_type = _text(attributes.get("error_type"))
        execution.error_message = _text(attributes.get("error_message"))
        attempts = attributes.get("attempts")
        execution.attempts = attempts if isinstance(attempts, list) else []

    def _content(self) -> dict[str, Any]:
        both = [each for each in (self._started, self._terminal) if each is not None]
        content: dict[str, Any] = {}
        for record in both:
            content |= kept(record.event_attributes, self._keep)
        return content

    def findings(self, *, has_parent: bool, is_cut: bool) -> Iterator[Finding]:
        """Tell what is wrong with it."""
        name = f"{self._either.entity_type} {self._either.entity_name}"
        if is_cut:
            yield self._finding("CYCLE_DETECTED", f"{name} runs inside itself")
        elif self.parent is not None and not has_parent:
            yield self._finding(
                "MISSING_PARENT", f"{name} ran inside {self.parent}, which is not there"
            )
        if self._terminal is None:
            yield self._finding("MISSING_END", f"{name} has no terminal record")
        elif self._started is None and self._status != lifecycle.REUSED:
            yield self._finding("MISSING_START", f"{name} has no started record")

    def _finding(self, code: str, message: str) -> Finding:
        event_id = self._either.event_id
        return finding(code, message, self._path, line=self._line, event_id=event_id)


def kept(attributes: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """Keep of attributes those of these names."""
    return {name: attributes[name] for name in names if name in attributes}


def _place(record: Record) -> tuple[str, str, str]:
    order = timestamp_order(record.timestamp)
    return (order, record.event_type, record.event_id)


def _text(value: Any) -> str | None:
    if isinstance(value, dict):  # what level STANDARD has kept of a long one
        value = value.get("truncatedString")
    return value if isinstance(value, str) else None


def duration_ms(started_at: str | None, ended_at: str) -> float | None:
    """Give the milliseconds between two timestamps, None where they do not tell."""
    if started_at is None:
        return None
    try:
        return round((timestamp_ns(ended_at) - timestamp_ns(started_at)) / 1e6, 3)
    except ValueError:
        return None
