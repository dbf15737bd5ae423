"""From the runs of a log to their spans, with the times and ids that they had.

```
Run (invoke_agent) ◀── Execution (action) ◀── Execution (llm, parser, tool)
   ids: recorded, else derived from input_run_id and execution_id
```
"""

from __future__ import annotations

from collections import OrderedDict
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import Link, SpanKind, Status, StatusCode

from flink_agents_eventlog import lifecycle
from flink_agents_eventlog.record import timestamp_ns
from flink_agents_eventlog.run import executions_of
from flink_agents_eventlog.shapes import well_formed as safe
from opentelemetry.exporter.flink_agents import _attributes, semconv
from opentelemetry.exporter.flink_agents._content import (
    of_model,
    on_model_span,
    on_tool_span,
)
from opentelemetry.exporter.flink_agents._execution import Execution, Run
from opentelemetry.exporter.flink_agents._fitting import Room
from opentelemetry.exporter.flink_agents._replay_ids import Ids
from opentelemetry.exporter.flink_agents._replayed import RUN

if TYPE_CHECKING:
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope
    from opentelemetry.trace import SpanContext

    from flink_agents_eventlog.run import Execution as Logged
    from flink_agents_eventlog.run import Run as LoggedRun
    from opentelemetry.exporter.flink_agents._replayed import Replayed

_REMEMBERED = 65_536
"""Runs, and failed actions, to which later records may still point."""
_LATEST = 2**64
_NO_TIME = "any time: it is not sent"
_NO_IDS = "its trace and span id, which are derived"
_NEEDED = {  # of each kind of execution, by the attribute
    lifecycle.ACTION: (
        (semconv.FLINK_AGENTS_EVENT_TRIGGER_ID, "the event that triggered it"),
        (semconv.FLINK_AGENTS_EVENT_TRIGGER_TYPE, "the type of that event"),
    ),
    lifecycle.LLM: (
        (semconv.GEN_AI_PROVIDER_NAME, "its provider"),
        (semconv.GEN_AI_REQUEST_MODEL, "its model"),
        (semconv.GEN_AI_USAGE_INPUT_TOKENS, "its tokens"),
    ),
    lifecycle.PARSER: ((semconv.FLINK_AGENTS_PARSER_SCHEMA, "its schema"),),
    lifecycle.TOOL: ((semconv.GEN_AI_TOOL_CALL_ID, "the id of its call"),),
}
_NUMBERS = (*_attributes.USAGE, ("attempts", semconv.FLINK_AGENTS_LLM_ATTEMPTS))


class RunSpans:
    """Makes the spans of one run after the other.

    Args:
        replayed: where they, and what they lack, are counted.
        resource: what sends them.
        scope: the instrumentation scope that they are said to come from.
        error_messages: whether they carry the message of an error.
        content_bytes: how much content one of them carries, 0 for any; None for none.
    """

    def __init__(
        self,
        replayed: Replayed,
        resource: Resource,
        scope: InstrumentationScope,
        *,
        error_messages: bool = True,
        content_bytes: int | None = None,
    ) -> None:
        self.replayed = replayed
        self._resource = resource
        self._scope = scope
        self._error_messages = error_messages
        self._content_bytes = content_bytes
        self._sent: OrderedDict[str, SpanContext] = OrderedDict()
        self._failed: OrderedDict[str, SpanContext] = OrderedDict()

    def of(self, run: LoggedRun) -> list[ReadableSpan]:
        """Return the spans of a run: its own, then its executions as they began.

        Of a run that was met before, and goes on, there is no second span of its own.
        """
        if run.input_run_id is None:
            without = len(run.events) + sum(1 for _ in executions_of(run))
            self.replayed.lacks("record", "the run that it belongs to", without)
            return []
        return list(_OneRun(self, run, run.input_run_id).spans())

    def make(
        self,
        name: str,
        context: SpanContext,
        parent: SpanContext | None,
        span: _Times,
        **arguments: Any,
    ) -> ReadableSpan:
        """Make a span that has ended."""
        return ReadableSpan(
            safe(name),
            context,
            parent,
            self._resource,
            start_time=span.start_ns,
            end_time=span.end_ns,
            instrumentation_scope=self._scope,
            **arguments,
        )

    def status(self, failed: Logged | None, attributes: dict[str, Any]) -> Status:
        """Return the status that an error leaves, and say its type in `attributes`."""
        if failed is None:
            return Status(StatusCode.UNSET)
        if failed.error_type is not None:
            attributes[semconv.ERROR_TYPE] = safe(failed.error_type)
        description = None
        if self._error_messages:
            message = safe(failed.error_message or "")
            description = message[: _attributes.LONGEST_DESCRIPTION]
        return Status(StatusCode.ERROR, description)

    def content(self, execution: Logged, provider: str | None) -> dict[str, Any]:
        """Return what models and tools were given and gave back, if that may leave."""
        if self._content_bytes is None:
            return {}
        room = Room(self._content_bytes)
        if execution.entity_type == lifecycle.LLM:
            return on_model_span(of_model(execution.content, provider), room)
        if execution.entity_type == lifecycle.TOOL:
            return on_tool_span(execution.content, room)
        return {}

    def remembered(self, run_id: str) -> SpanContext | None:
        """Return the span of a run that was sent."""
        return self._sent.get(run_id)

    def remember(self, run_id: str, context: SpanContext) -> None:
        """Remember the span of a run."""
        _keep(self._sent, run_id, context)

    def emitter(self, execution_id: str) -> SpanContext | None:
        """Return the span of a failed action, whose events the next run may have."""
        return self._failed.get(execution_id)

    def remember_failed(self, execution_id: str, context: SpanContext) -> None:
        """Remember the span of a failed action."""
        _keep(self._failed, execution_id, context)


class _Times(NamedTuple):
    start_ns: int
    end_ns: int
    is_whole: bool


class _OneRun:
    def __init__(self, spans: RunSpans, run: LoggedRun, run_id: str) -> None:
        self._spans = spans
        self._logged = run
        self._run = Run(
            input_run_id=safe(run_id),
            business_key=run.business_key,
            agent_name=run.agent_name,
        )
        self._ids = Ids(run_id, run.trace_id)
        self._times = {
            each.execution_id: _times(each.started_at, each.ended_at)
            for each in executions_of(run)
        }
        self._executions = sorted(executions_of(run), key=self._began)
        self._contexts = {
            each.execution_id: self._ids.of_execution(each) for each in self._executions
        }
        self._events = {event.event_id: event for event in run.events}
        self._root = spans.remembered(run_id)

    def spans(self) -> list[ReadableSpan]:
        made = []
        if self._root is None and self._has_span():
            own = self._own_span()
            made += [] if own is None else [own]
        parents = {
            child.execution_id: self._contexts[each.execution_id]
            for each in self._executions
            for child in each.children
        }
        for each in self._executions:
            span = self._span(each, parents.get(each.execution_id, self._root))
            made += [] if span is None else [span]
        return made

    def _began(self, execution: Logged) -> tuple[int, str]:
        times = self._times[execution.execution_id]
        return (0 if times is None else times.start_ns, execution.execution_id)

    def _has_span(self) -> bool:
        """Whether there was a run: the log of other instrumentations has none."""
        return any(
            event.event_type == lifecycle.INPUT_EVENT for event in self._logged.events
        ) or any(
            each.entity_type == lifecycle.ACTION for each in self._logged.executions
        )

    def _own_span(self) -> ReadableSpan | None:
        run = self._logged
        times = _times(run.started_at, run.ended_at)
        if times is None:
            self._spans.replayed.lacks(RUN, _NO_TIME)
            return None
        self._root = self._ids.of_run(run.span_id)
        self._spans.remember(self._ids.run_id, self._root)
        attributes = {
            **_attributes.identity(self._run),
            **_attributes.run_attributes(self._run),
        }
        self._count(RUN, run.span_id, attributes, is_whole=run.complete)
        status = self._spans.status(_first_failed(run.executions), attributes)
        return self._spans.make(
            _attributes.run_name(self._run),
            self._root,
            None,
            times,
            kind=SpanKind.INTERNAL,
            attributes=attributes,
            status=status,
        )

    def _span(self, logged: Logged, parent: SpanContext | None) -> ReadableSpan | None:
        times = self._times[logged.execution_id]
        if times is None:
            self._spans.replayed.lacks(_kind(logged), _NO_TIME)
            return None
        context = self._contexts[logged.execution_id]
        execution = _execution(self._run, logged)
        attributes = {
            **_attributes.identity(self._run, execution),
            **_attributes.start_attributes(execution),
            **_end_attributes(logged),
            **self._trigger(logged),
            **self._spans.content(logged, execution.metadata.get("provider")),
        }
        kind = _kind(logged)
        self._count(kind, logged.span_id, attributes, is_whole=times.is_whole)
        status = self._spans.status(_if_failed(logged), attributes)
        if _is_failed_action(logged):
            self._spans.remember_failed(logged.execution_id, context)
        return self._spans.make(
            _attributes.span_name(execution),
            context,
            parent,
            times,
            kind=_attributes.span_kind(execution),
            attributes=attributes,
            links=self._links(logged),
            status=status,
        )

    def _count(
        self,
        kind: str,
        span_id: str | None,
        attributes: dict[str, Any],
        *,
        is_whole: bool,
    ) -> None:
        replayed = self._spans.replayed
        replayed.spans[kind] += 1
        for attribute, what in _NEEDED.get(kind, ()):
            if attribute not in attributes:
                replayed.lacks(kind, what)
        if not self._ids.are_recorded(span_id):
            replayed.lacks(kind, _NO_IDS)
        if not is_whole:
            replayed.incomplete += 1
            attributes[semconv.FLINK_AGENTS_EXECUTION_INCOMPLETE] = True

    def _trigger(self, logged: Logged) -> dict[str, Any]:
        event_id = logged.action_trigger_event_id
        if logged.entity_type != lifecycle.ACTION or event_id is None:
            return {}
        event = self._events.get(event_id)
        event_type = None if event is None else event.event_type
        return _attributes.action_attributes(safe(event_id), event_type)

    def _links(self, logged: Logged) -> tuple[Link, ...]:
        """The action that sent the event that triggered this one."""
        event = self._events.get(logged.action_trigger_event_id or "")
        if logged.entity_type != lifecycle.ACTION or event is None:
            return ()
        emitter = event.execution_id or ""
        context = self._contexts.get(emitter) or self._spans.emitter(emitter)
        return () if context is None else (Link(context),)


def _kind(logged: Logged) -> str:
    return safe(logged.entity_type or "execution")


def _execution(run: Run, logged: Logged) -> Execution:
    return Execution(
        run=run,
        entity_type=_kind(logged),
        entity_name=logged.entity_name or "unknown",
        metadata={
            name: safe(value)
            for name, value in logged.entity_metadata.items()
            if isinstance(value, str)
        },
        execution_id=safe(logged.execution_id),
    )


def _end_attributes(logged: Logged) -> dict[str, Any]:
    """Return what is known of a model call at its end, of a parser at its start."""
    attributes: dict[str, Any] = {}
    if logged.entity_type == lifecycle.PARSER:
        schema = _inside(logged.content, "input", "schema")
        if schema is not None:
            attributes[semconv.FLINK_AGENTS_PARSER_SCHEMA] = schema
    if logged.entity_type == lifecycle.LLM:
        for name, attribute in _NUMBERS:
            value = logged.entity_metadata.get(name)
            if type(value) is int and -(2**63) <= value < 2**63:
                attributes[attribute] = value
        model = _inside(logged.content, "output", "extra_args", "model_name")
        if model is not None:
            attributes[semconv.GEN_AI_RESPONSE_MODEL] = model
    return attributes


def _inside(value: Any, *names: str) -> str | None:
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return safe(value) if isinstance(value, str) else None


def _times(started_at: str | None, ended_at: str | None) -> _Times | None:
    """Return when it began and ended; where one is not known, it took no time."""
    start, end = _ns(started_at), _ns(ended_at)
    if start is None and end is None:
        return None
    is_whole = start is not None and end is not None
    start = end if start is None else start
    assert start is not None  # noqa: S101  # one of both is known
    return _Times(start, start if end is None else end, is_whole)


def _ns(timestamp: str | None) -> int | None:
    with suppress(ValueError, OverflowError):
        ns = timestamp_ns(timestamp or "")
        return ns if 0 <= ns < _LATEST else None
    return None


def _if_failed(execution: Logged) -> Logged | None:
    has_failed = execution.status == lifecycle.FAILED
    return execution if has_failed or execution.error_type is not None else None


def _is_failed_action(execution: Logged) -> bool:
    is_action = execution.entity_type == lifecycle.ACTION
    return is_action and execution.status == lifecycle.FAILED


def _first_failed(executions: list[Logged]) -> Logged | None:
    """The action by which the run failed."""
    failed = filter(_is_failed_action, executions)
    return min(failed, key=lambda each: _ns(each.ended_at) or 0, default=None)


def _keep(kept: OrderedDict[str, SpanContext], name: str, value: SpanContext) -> None:
    kept[name] = value
    if len(kept) > _REMEMBERED:
        kept.popitem(last=False)
