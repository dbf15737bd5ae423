"""A run from its InputEvent to its end."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from opentelemetry.trace import SpanKind, set_span_in_context

from flink_agents_eventlog.record import Record, timestamp_text
from opentelemetry.exporter.flink_agents._attributes import (
    identity,
    run_attributes,
    run_name,
)
from opentelemetry.exporter.flink_agents._execution import (
    Run,
    new_id,
    with_execution,
)
from opentelemetry.exporter.flink_agents._guard import guarded
from opentelemetry.instrumentation.flink_agents import _host, semconv
from opentelemetry.instrumentation.flink_agents._executions import (
    end_span,
    mark_failed,
    open_execution,
)
from opentelemetry.instrumentation.flink_agents._log_settings import log_settings
from opentelemetry.instrumentation.flink_agents._text import (
    deepest_cause,
    error_message,
    error_type,
    safe,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opentelemetry.context import Context
    from opentelemetry.trace import SpanContext

    from opentelemetry.exporter.flink_agents._execution import Execution
    from opentelemetry.exporter.flink_agents._files import Subtask
    from opentelemetry.instrumentation.flink_agents._executions import OpenExecution
    from opentelemetry.instrumentation.flink_agents._memory_settings import (
        MemorySettings,
    )
    from opentelemetry.instrumentation.flink_agents._occurrences import Occurrence
    from opentelemetry.instrumentation.flink_agents._providers import Session


class OpenRun:
    """One run that has begun and not ended, with its span and its open executions.

    Args:
        session: what it uses to its end.
        run: its identity.
        ambient: the context around it; its span is the parent of the run's span.
        host_key: the business key as the agent knows it; `run` has it as it may be
            written.
        incomplete: its InputEvent was not seen.
        started_ns: when it began, in epoch nanoseconds; its first record says so too.
    """

    def __init__(
        self,
        session: Session,
        run: Run,
        ambient: Context,
        *,
        host_key: str | None = None,
        incomplete: bool = False,
        started_ns: int,
    ) -> None:
        self.session = session
        self.run = run
        self.host_key = host_key
        self.incomplete = incomplete
        self.memory: MemorySettings | None = None
        """What of memory it observes; None for nothing."""
        self._open: dict[int, OpenExecution] = {}
        self._has_failed = False
        # Until the end only: its traceback leads to all that the host had in hand.
        self._error: BaseException | None = None
        self._attributes = run_attributes(run)
        self._started_ns = started_ns
        # A run inside an action is a run of its own.
        around = with_execution(None, ambient)
        self._span = session.start_span(
            run_name(run),
            around,
            kind=SpanKind.INTERNAL,
            attributes={**identity(run), **self._attributes},
            start_time=started_ns,
        )
        self._context = around
        if self._span is not None:
            self._context = set_span_in_context(self._span, around)
            run.span_context = self._span.get_span_context()

    def append(self, record: Record) -> None:
        """Write a record of this run that is no execution's."""
        self.session.processor.append(self.run, record)

    def record(self, occurrence: Occurrence, event: Any) -> Record:
        """Return the record of `occurrence`, with the attributes `event` has now."""
        emitter = occurrence.emitter
        attributes: Any = self.session.processor.snapshot(
            "event_attributes", _host.attributes_of(event)
        )
        return Record(
            timestamp=timestamp_text(occurrence.sent_ns),
            input_run_id=self.run.input_run_id,
            business_key=self.run.business_key,
            agent_name=self.run.agent_name,
            execution_id=emitter.execution_id if emitter else None,
            action_trigger_event_id=emitter.trigger_event_id if emitter else None,
            entity_type=emitter.entity_type if emitter else None,
            entity_name=emitter.entity_name if emitter else None,
            event_id=occurrence.event_id,
            source_event_id=occurrence.source_event_id,
            event_type=occurrence.event_type,
            event_attributes=attributes,
        )

    def span_ids(self) -> dict[str, str]:
        """Return the ids of the run's span as the fields of a record."""
        context = self._span.get_span_context() if self._span is not None else None
        if context is None or not context.is_valid:
            return {}
        return {
            "trace_id": f"{context.trace_id:032x}",
            "span_id": f"{context.span_id:016x}",
        }

    def open(
        self,
        execution: Execution,
        span_name: str,
        *,
        attributes: dict[str, Any],
        parent: Context | None = None,
        kind: SpanKind = SpanKind.INTERNAL,
        link: SpanContext | None = None,
    ) -> OpenExecution:
        """Start `execution`, with a span if there can be one.

        Args:
            execution: the new execution; its start is now.
            span_name: name of its span.
            attributes: what the span says beside the identity.
            parent: the context in which it starts; by default the run's own.
            kind: kind of the span.
            link: the span that caused it.
        """
        opened = open_execution(
            self,
            execution,
            span_name,
            parent=parent if parent is not None else self._context,
            kind=kind,
            attributes=attributes,
            link=link,
        )
        execution.owner = opened
        self._open[id(opened)] = opened
        return opened

    @property
    def open_executions(self) -> list[OpenExecution]:
        """What has started in this run and not ended."""
        return list(self._open.values())

    @property
    def has_failed(self) -> bool:
        """Whether an action of this run failed."""
        return self._has_failed

    def failed(self, error: BaseException) -> None:
        """Remember that an action of this run failed."""
        if not self._has_failed:
            self._has_failed = True
            self._error = error

    @guarded
    def close(self, error: BaseException | None = None) -> None:
        """End the run; what is still open in it will have no terminal record."""
        for opened in self.open_executions:
            opened.abandon()
        error, self._error = self._error or error, None
        ended_ns = time.time_ns()
        if not self.incomplete:
            self._measure(error, ended_ns - self._started_ns)
        if self._span is None:
            return
        if self.incomplete:
            self.session.add_attributes(
                self._span, {semconv.FLINK_AGENTS_EXECUTION_INCOMPLETE: True}
            )
        if error is not None:
            cause = deepest_cause(error)
            kind, message = error_type(cause), error_message(cause)
            mark_failed(self.session, self._span, kind, message)
        end_span(self._span, ended_ns)

    def _measure(self, error: BaseException | None, took: int) -> None:
        attributes = self._attributes
        if error is not None:
            kind = safe(error_type(deepest_cause(error)))
            attributes = {**attributes, semconv.ERROR_TYPE: kind}
        self.session.instruments.ended(attributes, took, self._context)

    def closed(self, opened: OpenExecution) -> None:
        """Take note that `opened` has ended."""
        self._open.pop(id(opened), None)

    def content(self, name: str, value: Any) -> Any:
        """Return `value` as it is now, encoded; None where nobody is to have it.

        Args:
            name: `input` or `output`.
            value: any value of the host's.
        """
        is_logged = self.run.log is not None and self.run.log.execution_content
        if not is_logged and not self.session.content.is_wanted:
            return None
        return self.session.processor.snapshot(f"event_attributes.{name}", value)


def new_run(
    session: Session,
    *,
    key: str | None,
    agent_name: str | None,
    configuration: Mapping[str, Any],
    subtask: Subtask | None = None,
) -> Run:
    """Return the identity of a run that begins now, its `key` as it may be written."""
    settings = session.settings
    return Run(
        input_run_id=new_id(),
        business_key=None if key is None else session.processor.masked_key(key),
        agent_name=agent_name,
        subtask=subtask,
        log=log_settings(settings, configuration),
        emit=None if session.records is None else session.records.emit,
    )
