"""An execution and its span, from start to end: the lifecycle behind every wrapper.

```python
opened = run.open(execution, ...)
with opened:
    result = wrapped(*args, **kwargs)
    opened.returned(result)
return result
```
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from opentelemetry.trace import (
    Link,
    SpanKind,
    Status,
    StatusCode,
    set_span_in_context,
)

from flink_agents_eventlog import lifecycle
from opentelemetry import context as otel_context
from opentelemetry.exporter.flink_agents._attributes import (
    LONGEST_DESCRIPTION,
    identity,
)
from opentelemetry.exporter.flink_agents._execution import Execution, with_execution
from opentelemetry.exporter.flink_agents._guard import guarded
from opentelemetry.instrumentation.flink_agents import semconv
from opentelemetry.instrumentation.flink_agents._options import OTLP_ERROR_MESSAGES
from opentelemetry.instrumentation.flink_agents._text import (
    deepest_cause,
    error_message,
    error_type,
    safe,
)

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span, SpanContext

    from opentelemetry.instrumentation.flink_agents._action_memory import ActionMemory
    from opentelemetry.instrumentation.flink_agents._inference import Inference
    from opentelemetry.instrumentation.flink_agents._providers import Session
    from opentelemetry.instrumentation.flink_agents._runs import OpenRun
    from opentelemetry.instrumentation.flink_agents._tools import ToolCalls


_NOWHERE = otel_context.Context()
_RAN = (lifecycle.FINISHED, lifecycle.FAILED)


class OpenExecution:
    """An execution that has started and not ended.

    As a context manager it is the innermost execution of the current context
    while its body runs, and ends with the body: finished, failed, or abandoned
    by `GeneratorExit`.
    """

    def __init__(
        self,
        run: OpenRun,
        execution: Execution,
        span: Span | None,
        context: Context,
        attributes: dict[str, Any],
    ) -> None:
        self.run = run
        self.execution = execution
        self.context = context
        self.span = span
        self.attributes = attributes
        """What its span says beside the identity and the content."""
        self.inference: Inference | None = None
        """Of a call of a chat model."""
        self.tool_calls: ToolCalls | None = None
        """Of an action that works off a tool request."""
        self.memory: ActionMemory | None = None
        """Of an action whose memory operations become events."""
        self.failure: tuple[str, str] | None = None
        """Type and message of a failure that is told by what was returned."""
        self._token: Any = None

    @guarded
    def __enter__(self) -> None:
        self._token = otel_context.attach(self.context)

    @guarded
    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        otel_context.detach(self._token)
        self.ended_by(error)

    @property
    def has_span(self) -> bool:
        """Whether there is a span of it, if only one that says where it belongs."""
        return self.span is not None

    @property
    def is_recorded(self) -> bool:
        """Whether its span keeps what it is told: no sampler dropped it."""
        return self.span is not None and self.span.is_recording()

    def ended_by(self, error: BaseException | None) -> None:
        """End as `error` says: finished, abandoned by `GeneratorExit`, or failed."""
        if error is None:
            self.finish()
        elif isinstance(error, GeneratorExit):
            self.abandon()
        else:
            self.fail(error)

    def open_child(
        self, execution: Execution, span_name: str, **arguments: Any
    ) -> OpenExecution:
        """Start `execution` inside this one.

        Its span is a child of the current span: there may be one of the user's
        in between.
        """
        return self.run.open(
            execution, span_name, parent=otel_context.get_current(), **arguments
        )

    @guarded
    def describe(self, **metadata: Any) -> None:
        """Add to what the terminal record says of the entity."""
        self.execution.metadata.update(metadata)

    @guarded
    def annotate(self, attributes: dict[str, Any]) -> None:
        """Add attributes to what the operation says of itself."""
        self.attributes.update(attributes)
        self.show(attributes)

    @guarded
    def show(self, attributes: dict[str, Any]) -> None:
        """Add attributes to the span alone."""
        if self.span is not None and not self.execution.closed:
            self.run.session.add_attributes(self.span, attributes)

    @guarded
    def returned(self, value: Any) -> None:
        """Keep `value` as it is now as the output."""
        self.execution.output = self.run.content("output", value)

    @guarded
    def finish(self) -> None:
        """End it as finished, or failed if what it returned said so."""
        if self.failure is None:
            self._end(lifecycle.FINISHED)
        else:
            self._failed(*self.failure)

    @guarded
    def fail(self, error: BaseException, ended_ns: int | None = None) -> None:
        """End it as failed by the deepest explicit cause of `error`."""
        cause = deepest_cause(error)
        self._failed(error_type(cause), error_message(cause), ended_ns)

    @guarded
    def abandon(self) -> None:
        """End its span only: nobody will ever know how it ended."""
        self.annotate({semconv.FLINK_AGENTS_EXECUTION_INCOMPLETE: True})
        self._end(None)

    @guarded
    def reuse(self, value: Any, error: BaseException | None) -> None:
        """End it at its start: a durable call was answered from state."""
        if error is None:
            self.returned(value)
        else:
            cause = deepest_cause(error)
            self._tell(error_type(cause), error_message(cause))
        self._end(lifecycle.REUSED, self.execution.started_ns)

    def _failed(self, kind: str, message: str, ended_ns: int | None = None) -> None:
        if self.execution.closed:
            return  # abandoned when its run ended; its span takes nothing more
        self.execution.problem_category = lifecycle.PROBLEM_CATEGORY_OF_ENTITY[
            self.execution.entity_type
        ]
        self._tell(kind, message)
        self._end(lifecycle.FAILED, ended_ns)

    def _tell(self, kind: str, message: str) -> None:
        """Say what it failed by."""
        self.execution.error_type = kind
        self.execution.error_message = message
        if self.span is not None:
            mark_failed(self.run.session, self.span, kind, message)

    def _end(self, status: str | None, ended_ns: int | None = None) -> None:
        execution = self.execution
        if execution.closed:
            return
        execution.subject = None
        execution.status = status
        execution.ended_ns = ended_ns or execution.ended_ns or time.time_ns()
        if status in _RAN:
            self.run.session.content.ended(self)
            self._measure()
        end_span(self.span, execution.ended_ns)
        if not execution.closed:
            self.run.session.processor.ended(execution)
        self.run.closed(self)
        # Both lead back to here: its memory would wait for the garbage collector.
        self.span, self.context = None, _NOWHERE

    def _measure(self) -> None:
        execution, attributes = self.execution, self.attributes
        if execution.error_type is not None:
            attributes = {**attributes, semconv.ERROR_TYPE: safe(execution.error_type)}
        took = (execution.ended_ns or 0) - execution.started_ns
        self.run.session.instruments.ended(attributes, took, self.context)


def open_execution(
    run: OpenRun,
    execution: Execution,
    span_name: str,
    *,
    parent: Context,
    kind: SpanKind,
    attributes: dict[str, Any],
    link: SpanContext | None,
) -> OpenExecution:
    """Start `execution` now, with a span if there can be one; see `OpenRun.open`."""
    session = run.session
    execution.started_ns = time.time_ns()
    context = with_execution(execution, parent)
    span = session.start_span(
        span_name,
        context,
        kind=kind,
        attributes={**identity(execution.run, execution), **attributes},
        links=[Link(link)] if link is not None else None,
        start_time=execution.started_ns,
    )
    if span is not None:
        context = set_span_in_context(span, context)
        execution.span_context = span.get_span_context()
    if not execution.claimed:
        # No SDK, a disabled scope, or a processor before ours that raised.
        session.processor.started(execution)
    return OpenExecution(run, execution, span, context, attributes)


@guarded
def mark_failed(session: Session, span: Span, kind: str, message: str) -> None:
    """Say on `span` that it ended by an error of type `kind`."""
    session.add_attributes(span, {semconv.ERROR_TYPE: safe(kind)})
    description = None
    if session.settings[OTLP_ERROR_MESSAGES]:
        description = safe(
            session.processor.masked_text("event_attributes.error_message", message)
        )[:LONGEST_DESCRIPTION]
    span.set_status(Status(StatusCode.ERROR, description))


@guarded
def end_span(span: Span | None, ended_ns: int) -> None:
    """End `span`; a fault of another processor stops here."""
    if span is not None:
        span.end(ended_ns)
