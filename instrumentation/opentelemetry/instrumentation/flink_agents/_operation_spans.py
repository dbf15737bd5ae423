"""Spans of ours that are no executions: operations on memory, embeddings.

In the log they are part of the story of the action that called them.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from opentelemetry.trace import SpanKind, set_span_in_context

from opentelemetry import context as otel_context
from opentelemetry.exporter.flink_agents._attributes import identity
from opentelemetry.exporter.flink_agents._guard import guarded
from opentelemetry.instrumentation.flink_agents import semconv
from opentelemetry.instrumentation.flink_agents._core import current_action
from opentelemetry.instrumentation.flink_agents._executions import (
    end_span,
    mark_failed,
)
from opentelemetry.instrumentation.flink_agents._text import (
    deepest_cause,
    error_message,
    error_type,
    safe,
)

if TYPE_CHECKING:
    from opentelemetry.context import Context

    from opentelemetry.instrumentation.flink_agents._executions import OpenExecution


_counting = threading.Lock()


@guarded
def count_in_action(operation: str) -> None:
    """Count an operation in what the action around it says at its end.

    It may be one of several that go on at once, on threads.
    """
    action = current_action()
    if action is not None:
        metadata = action.execution.metadata
        with _counting:
            counts = metadata.get("operations", {})
            told = {**counts, operation: counts.get(operation, 0) + 1}
            metadata["operations"] = told  # a new one: the other may be being written


class OperationSpan:
    """A client span, current while its body runs.

    Args:
        around: the execution that makes the call; without one there is no span.
        name: its name.
        attributes: what it says beside the identity of the run.
        context: where it starts.
    """

    def __init__(
        self,
        around: OpenExecution | None,
        name: str,
        attributes: dict[str, Any],
        context: Context,
    ) -> None:
        self._session = around.run.session if around is not None else None
        self._attributes = attributes
        self._started_ns = time.time_ns()
        self._span: Any = None
        self.context = context
        """With its span, once there is one."""
        self._token: Any = None
        if around is not None:
            self._span = around.run.session.start_span(
                name,
                context,
                kind=SpanKind.CLIENT,
                start_time=self._started_ns,
                attributes={**identity(around.run.run), **attributes},
            )
        if self._span is not None:
            self.context = set_span_in_context(self._span, context)

    def __enter__(self) -> None:
        self._token = otel_context.attach(self.context)

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        otel_context.detach(self._token)
        self.ended_by(error)

    @guarded
    def ended_at_once(self, error: BaseException | None) -> None:
        """End it where it began: it did not run."""
        if self._session is None or self._span is None:
            return
        if error is not None:
            cause = deepest_cause(error)
            kind, message = error_type(cause), error_message(cause)
            mark_failed(self._session, self._span, kind, message)
        end_span(self._span, self._started_ns)

    @guarded
    def annotate(self, attributes: dict[str, Any]) -> None:
        """Add attributes to what the operation says of itself."""
        self._attributes.update(attributes)
        self.show(attributes)

    @guarded
    def show(self, attributes: dict[str, Any]) -> None:
        """Add attributes to the span alone."""
        if self._span is not None and self._session is not None:
            self._session.add_attributes(self._span, attributes)

    @guarded
    def ended_by(self, error: BaseException | None, kind: str | None = None) -> None:
        """End it by `error` or a return.

        Args:
            error: what ended it; None for a return.
            kind: what the conventions call the error, where not by its type.
        """
        if self._session is None:
            return
        ended_ns = time.time_ns()
        if error is not None:
            cause = deepest_cause(error)
            kind = kind or error_type(cause)
            self._attributes[semconv.ERROR_TYPE] = safe(kind)
            if self._span is not None:
                mark_failed(self._session, self._span, kind, error_message(cause))
        took = ended_ns - self._started_ns
        self._session.instruments.ended(self._attributes, took, self.context)
        end_span(self._span, ended_ns)
