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
from opentelemetry.exporter.flink_agents._guard import guarded
from opentelemetry.instrumentation.flink_agents import semconv
from opentelemetry.instrumentation.flink_agents._fitting import Room
from opentelemetry.instrumentation.flink_agents._log_events import logger_of, new_event
from opentelemetry.instrumentation.flink_agents._messages import (
    input_messages,
    output_messages,
    split_system,
)

if TYPE_CHECKING:
    from opentelemetry._logs import LoggerProvider

    from opentelemetry.instrumentation.flink_agents._completion_hook import (
        CompletionHook,
    )
    from opentelemetry.instrumentation.flink_agents._executions import OpenExecution

CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
EMIT_EVENT = "OTEL_INSTRUMENTATION_GENAI_EMIT_EVENT"
_MODES = {  # name: on spans, in events
    "NO_CONTENT": (False, False),
    "SPAN_ONLY": (True, False),
    "EVENT_ONLY": (False, True),
    "SPAN_AND_EVENT": (True, True),
}

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
        self.on_spans, self.in_events = _mode()
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
            fitted = _fitted(told, room)
            texts = {name: text for name, (_, text) in fitted.items()}
            opened.show({**texts, **_cut(room)})
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
            fitted = _fitted(told, room)
            content = {name: plain for name, (plain, _) in fitted.items()}
            content.update(_cut(room))
        return new_event(
            self._logger,
            semconv.EVENT_INFERENCE_DETAILS,
            {**opened.attributes, **_error(opened), **content},
            opened.context,
        )

    def _tool_called(self, opened: OpenExecution) -> None:
        room = self.room(opened.run.session.value_length)
        execution = opened.execution
        told = {}
        for name, raw in (
            (semconv.GEN_AI_TOOL_CALL_RESULT, execution.output),
            (semconv.GEN_AI_TOOL_CALL_ARGUMENTS, execution.input),
        ):
            value = None if raw is None else decode_plain(bytes(raw))
            share = 0.5 if name == semconv.GEN_AI_TOOL_CALL_RESULT else 1
            if isinstance(value, str):
                told[name] = room.text(value, share=share)
            elif raw is not None:
                fitted = room.json(value, share=share)
                told.update({} if fitted is None else {name: fitted[1]})
        opened.show({**told, **_cut(room)})


def _told(opened: OpenExecution) -> dict[str, list[Any]]:
    """Return the content of a model call by the attributes that hold it."""
    inference, execution = opened.inference, opened.execution
    raw = execution.input
    told: dict[str, list[Any]] = {}
    if inference is not None and inference.asked is not None:
        raw = inference.asked
    messages = [] if raw is None else input_messages(decode_plain(bytes(raw)))
    if inference is not None and inference.separates_system:
        system, messages = split_system(messages)
        told[semconv.GEN_AI_SYSTEM_INSTRUCTIONS] = system
    told[semconv.GEN_AI_INPUT_MESSAGES] = messages
    if execution.output is not None:
        told[semconv.GEN_AI_OUTPUT_MESSAGES] = output_messages(
            decode_plain(bytes(execution.output)),
            inference.finish_reason if inference is not None else None,
        )
    if inference is not None and inference.tools is not None:
        told[semconv.GEN_AI_TOOL_DEFINITIONS] = decode_plain(bytes(inference.tools))
    return {name: items for name, items in told.items() if items}


def _fitted(told: dict[str, list[Any]], room: Room) -> dict[str, tuple[Any, str]]:
    """Return what there is room for: the input, which grows most, comes last."""
    fitted = {}
    for name in (
        semconv.GEN_AI_OUTPUT_MESSAGES,
        semconv.GEN_AI_SYSTEM_INSTRUCTIONS,
        semconv.GEN_AI_TOOL_DEFINITIONS,
        semconv.GEN_AI_INPUT_MESSAGES,
    ):
        share = 1 if name == semconv.GEN_AI_INPUT_MESSAGES else 0.5
        found = room.json(told[name], share=share) if name in told else None
        if found is not None:
            fitted[name] = found
    return fitted


def _cut(room: Room) -> dict[str, bool]:
    return {semconv.FLINK_AGENTS_CONTENT_TRUNCATED: True} if room.has_cut else {}


def _error(opened: OpenExecution) -> dict[str, str]:
    kind = opened.execution.error_type
    return {} if kind is None else {semconv.ERROR_TYPE: kind}


def _mode() -> tuple[bool, bool]:
    name = os.environ.get(CAPTURE, "").strip().upper() or "NO_CONTENT"
    if name not in _MODES:
        logger.warning(
            "%s=%r is not allowed: use %s; no content is captured",
            CAPTURE,
            os.environ[CAPTURE],
            ", ".join(_MODES),
        )
    return _MODES.get(name, _MODES["NO_CONTENT"])


def _emits(*, default: bool) -> bool:
    word = os.environ.get(EMIT_EVENT, "").strip().lower()
    if word in {"true", "false"}:
        return word == "true"
    if word:
        logger.warning("%s=%r is not allowed: use true or false", EMIT_EVENT, word)
    return default
