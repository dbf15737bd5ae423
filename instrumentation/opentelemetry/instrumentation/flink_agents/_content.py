"""What of content leaves the process, and how: by default nothing.

`OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` decides, as for every
OpenTelemetry GenAI instrumentation: on spans, in the conventions' event, or both.
"""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Any

from opentelemetry.instrumentation.utils import is_instrumentation_enabled

from flink_agents_eventlog import lifecycle
from flink_agents_eventlog.payload import decode_plain
from opentelemetry.exporter.flink_agents._content import (
    captured,
    cut,
    fitted,
    of_model,
    on_model_span,
    on_tool_span,
)
from opentelemetry.exporter.flink_agents._fitting import Room
from opentelemetry.exporter.flink_agents._guard import guarded
from opentelemetry.instrumentation.flink_agents import semconv
from opentelemetry.instrumentation.flink_agents._log_events import logger_of, new_event

if TYPE_CHECKING:
    import msgspec
    from opentelemetry._logs import LoggerProvider

    from opentelemetry.instrumentation.flink_agents._completion_hook import (
        CompletionHook,
    )
    from opentelemetry.instrumentation.flink_agents._executions import OpenExecution

EMIT_EVENT = "OTEL_INSTRUMENTATION_GENAI_EMIT_EVENT"

logger = logging.getLogger(__name__)


class ContentCapture:
    """What is captured, from one `instrument()` to the next.

    Args:
        logger_provider: where events go; None for the global one.
        hook: the completion hook, if there is one.
        version: ours.
        max_bytes: how much content one span or event may carry; 0 is no limit.
    """

    def __init__(
        self,
        logger_provider: LoggerProvider | None,
        hook: CompletionHook | None,
        version: str,
        max_bytes: int,
    ) -> None:
        self.on_spans, self.in_events = captured()
        self._hook = hook
        self._max_bytes = max_bytes
        emits = _emits(default=self.in_events)
        self._logger = logger_of(logger_provider, version) if emits else None

    @property
    def is_wanted(self) -> bool:
        """Whether anything that leaves the process has content in it."""
        return self.on_spans or self.in_events or self._hook is not None

    def room(self, length: int | None) -> Room:
        """Return the room on one span whose values may have `length` characters."""
        return Room(self._max_bytes, length)

    @guarded
    def ended(self, opened: OpenExecution) -> None:
        """Tell the content of an execution whose span is about to end."""
        kind = opened.execution.entity_type
        if kind == lifecycle.LLM and (self.is_wanted or self._logger is not None):
            tell = self._completed
        elif kind == lifecycle.TOOL and self.on_spans and opened.is_recorded:
            tell = self._tool_called
        else:
            return
        if is_instrumentation_enabled():
            tell(opened)

    def _completed(self, opened: OpenExecution) -> None:
        told = _told(opened) if self.is_wanted else {}
        if self.on_spans and opened.is_recorded:
            room = self.room(opened.run.session.value_length)
            opened.show(on_model_span(told, room))
        event = self._event(opened, told)
        if self._hook is not None:
            self._hook.completed(
                inputs=told.get(semconv.GEN_AI_INPUT_MESSAGES, []),
                outputs=told.get(semconv.GEN_AI_OUTPUT_MESSAGES, []),
                system=told.get(semconv.GEN_AI_SYSTEM_INSTRUCTIONS, []),
                tools=told.get(semconv.GEN_AI_TOOL_DEFINITIONS, []),
                span=opened.span,
                log_record=event,
            )
        if self._logger is not None and event is not None:
            self._logger.emit(event)

    def _event(self, opened: OpenExecution, told: dict[str, list[Any]]) -> Any:
        if self._logger is None:
            return None
        content: dict[str, Any] = {}
        if self.in_events:
            room = self.room(None)
            fitting = fitted(told, room)
            content = {name: plain for name, (plain, _) in fitting.items()}
            content.update(cut(room))
        return new_event(
            self._logger,
            semconv.EVENT_INFERENCE_DETAILS,
            {**opened.attributes, **_error(opened), **content},
            opened.context,
        )

    def _tool_called(self, opened: OpenExecution) -> None:
        room = self.room(opened.run.session.value_length)
        execution = opened.execution
        opened.show(on_tool_span(_plain(execution.input, execution.output), room))


def _told(opened: OpenExecution) -> dict[str, list[Any]]:
    """Return the content of a model call by the attributes that hold it."""
    inference, execution = opened.inference, opened.execution
    asked, reason, tools = None, None, None
    if inference is not None:
        asked, reason, tools = inference.asked, inference.finish_reason, inference.tools
    return of_model(
        _plain(execution.input if asked is None else asked, execution.output),
        execution.metadata.get("provider"),
        finish_reason=reason,
        tools=None if tools is None else decode_plain(bytes(tools)),
    )


def _plain(asked: msgspec.Raw | None, answer: msgspec.Raw | None) -> dict[str, Any]:
    both = {"input": asked, "output": answer}
    return {
        name: decode_plain(bytes(raw)) for name, raw in both.items() if raw is not None
    }


def _error(opened: OpenExecution) -> dict[str, str]:
    kind = opened.execution.error_type
    return {} if kind is None else {semconv.ERROR_TYPE: kind}


def _emits(*, default: bool) -> bool:
    word = os.environ.get(EMIT_EVENT, "").strip().lower()
    if word in {"true", "false"}:
        return word == "true"
    if word:
        logger.warning("%s=%r is not allowed: use true or false", EMIT_EVENT, word)
    return default
