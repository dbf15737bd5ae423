"""The span processor that writes the Event Log."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec
from opentelemetry.sdk.trace import SpanProcessor

from flink_agents_eventlog import lifecycle
from flink_agents_eventlog.dialect import NATIVE, SNAKE
from flink_agents_eventlog.payload import decode_plain, encode_plain, to_plain
from opentelemetry.exporter.flink_agents import _foreign
from opentelemetry.exporter.flink_agents._execution import (
    SCOPE,
    Execution,
    LogSettings,
    Run,
    execution_in,
)
from opentelemetry.exporter.flink_agents._guard import guarded
from opentelemetry.exporter.flink_agents._lines import line
from opentelemetry.exporter.flink_agents._masking import masked, masked_key
from opentelemetry.exporter.flink_agents._records import (
    started_record,
    terminal_record,
)
from opentelemetry.exporter.flink_agents._writers import EventLogWriters, Place

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import ReadableSpan, Span
    from opentelemetry.trace import SpanContext

    from flink_agents_eventlog.dialect import Dialect
    from flink_agents_eventlog.record import Record


class EventLogSpanProcessor(SpanProcessor):
    """Writes a record when an execution starts and one when it ends.

    Executions are the spans of the Flink Agents instrumentation and, as far as
    they are sampled, spans of other instrumentations with
    `gen_ai.operation.name` (GenAI semantic conventions 1.41). Records are
    written in the calling thread, and nothing in here raises.

    Args:
        directory: folder of the log; see `event_log_directory` for the default.
        dialect: the record format, `"snake"` or `"native"`, the format of the host
            itself from 0.4 on.
        mask: called as `mask(path, scalar)` for every scalar of a record's
            payload before it is encoded; what it returns is written. If it
            fails, the value is hidden.

    Raises:
        ValueError: the dialect is none of the two.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str] | None = None,
        *,
        dialect: Dialect = SNAKE,
        mask: Callable[[str, Any], Any] | None = None,
    ) -> None:
        if dialect not in (SNAKE, NATIVE):
            raise ValueError(f"dialect={dialect!r} is none of 'snake', 'native'")
        self.dialect = dialect
        self.active = True
        """False after `uninstrument()`: a provider cannot let a processor go."""
        self.alone = True
        """Whether spans of other instrumentations outside a run of ours are executions
        too; False once our patches say what a run is."""
        self.mask = mask
        self._writers = EventLogWriters(
            None if directory is None else os.fspath(directory)
        )
        self._open: dict[int, Execution] = {}
        """By span id: the execution that the span is, or lies in."""

    @property
    def lost_records(self) -> int:
        """How many records could not be written."""
        return self._writers.lost

    @property
    def written_records(self) -> int:
        """How many records the operating system has taken."""
        return self._writers.written

    @guarded
    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Write the started record of the execution that `span` is."""
        if not self.active:
            return
        execution = execution_in(parent_context)
        if _is_ours(span):
            if execution is not None and not execution.claimed:
                execution.span_context = span.get_span_context()
                self._remember(span, execution)
                self._started(execution)
            return
        parent = self._parent(span, execution)
        foreign = self._foreign(span, parent)
        if foreign is not None:
            self._remember(span, foreign)
            self._started(foreign)
        elif parent is not None:
            self._remember(span, parent)

    @guarded
    def on_end(self, span: ReadableSpan) -> None:
        """Write the terminal record of the execution that `span` is."""
        if not self.active or span.context is None:
            return
        execution = self._open.pop(span.context.span_id, None)
        if execution is not None and execution.span_context == span.context:
            if not _is_ours(span):
                _foreign.end_foreign(execution, span)
            self._ended(execution)
        elif not _is_ours(span):
            # Perhaps an instrumentation that says what its span is only at the end.
            parent = execution or self._parent(span, execution_in())
            foreign = self._foreign(span, parent)
            if foreign is not None:
                self._started(foreign)
                _foreign.end_foreign(foreign, span)
                self._ended(foreign)

    @guarded
    def started(self, execution: Execution) -> None:
        """Write the started record of `execution`, which has no span."""
        self._started(execution)

    @guarded
    def ended(self, execution: Execution) -> None:
        """Write how `execution`, which has no span, ended."""
        self._ended(execution)

    @guarded
    def append(self, run: Run, record: Record) -> None:
        """Write a record that is not the start or the end of an execution."""
        self._append(run, record)

    def snapshot(self, path: str, value: Any) -> msgspec.Raw:
        """Return `value` as it is now, masked and encoded.

        Args:
            path: where in its record it will stand, such as `event_attributes`.
            value: any value of the host's; it is not kept.
        """
        plain = to_plain(value)
        if self.mask is not None:
            plain = masked(self.mask, path, plain)
        return msgspec.Raw(encode_plain(plain))

    def prepared(self, path: str, attributes: dict[str, Any]) -> Any:
        """Return attributes that hold raw JSON, masked where there is a mask.

        Args:
            path: where in its record they will stand.
            attributes: plain data with raw JSON in it; kept as they are.
        """
        if self.mask is None:
            return attributes
        return self.snapshot(path, decode_plain(encode_plain(attributes)))

    def masked_text(self, path: str, text: str) -> str:
        """Return `text` as it may leave the process, in the log or in a span."""
        return text if self.mask is None else str(masked(self.mask, path, text))

    def masked_key(self, key: str) -> str:
        """Return the business key as it may leave the process."""
        return key if self.mask is None else masked_key(self.mask, key)

    def release(self, run: Run) -> None:
        """Close the file of `run`, whose subtask ends."""
        if run.log is not None:
            self._writers.release(self._place(run, run.log))

    @guarded
    def shutdown(self) -> None:
        """Close the files. A record that comes later still is written."""
        self._writers.close()

    def force_flush(self, timeout_millis: int = 30000) -> bool:  # noqa: ARG002
        """True: nothing is buffered."""
        return True

    def _started(self, execution: Execution) -> None:
        execution.claimed = True
        if execution.status != lifecycle.REUSED:
            record = started_record(execution)
            self._append(execution.run, record, execution.span_context)

    def _ended(self, execution: Execution) -> None:
        """Write how `execution` ended, then what it emitted; nothing if abandoned."""
        execution.closed = True
        if execution.status is None:
            return
        run, span = execution.run, execution.span_context
        self._append(run, terminal_record(execution, execution.status), span)
        for emitted in execution.emitted:
            self._append(run, emitted, span)

    def _append(
        self, run: Run, record: Record, span: SpanContext | None = None
    ) -> None:
        settings = run.log
        if settings is None:
            return
        if record.event_type == lifecycle.INPUT_EVENT and not record.execution_id:
            run.input_event_id = record.event_id
        if self.mask is not None:
            record.event_attributes = masked(
                self.mask, "event_attributes", record.event_attributes
            )
            record.entity_metadata = masked(
                self.mask, "entity_metadata", record.entity_metadata
            )
        place = self._place(run, settings)
        if run.emit is not None:
            self._emit(run, record, span or run.span_context, settings)
        if not settings.in_files:
            return
        text = line(record, run, settings, place.dialect)
        if text is not None:
            self._writers.append(place, text, settings)

    @guarded
    def _emit(
        self, run: Run, record: Record, span: SpanContext | None, settings: LogSettings
    ) -> None:
        """Tell `record` elsewhere, on one line; the log does not depend on it."""
        assert run.emit is not None  # noqa: S101  # the caller has looked
        plain = replace(settings, pretty_print=False)
        dialect = self._place(run, settings).dialect
        run.emit(run, record, span, lambda each: line(each, run, plain, dialect))

    def _place(self, run: Run, settings: LogSettings) -> Place:
        dialect = NATIVE if self.dialect == NATIVE else settings.dialect
        return Place(settings.directory, run.subtask, dialect)

    def _remember(self, span: Span, execution: Execution) -> None:
        self._open[span.get_span_context().span_id] = execution

    def _foreign(
        self, span: ReadableSpan, parent: Execution | None
    ) -> Execution | None:
        if parent is None and not self.alone:
            return None
        return _foreign.foreign_execution(span, parent)

    def _parent(
        self, span: ReadableSpan, execution: Execution | None
    ) -> Execution | None:
        """The execution around a foreign span: a foreign one, else one of ours."""
        around = span.parent
        found = self._open.get(around.span_id) if around is not None else None
        return found if found is not None else execution


def _is_ours(span: ReadableSpan) -> bool:
    scope = span.instrumentation_scope
    return scope is not None and scope.name == SCOPE
