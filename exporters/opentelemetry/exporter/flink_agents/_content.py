"""Content as spans have it where that is asked for: of models and of tools.

`OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` decides, as for every
OpenTelemetry GenAI instrumentation; by default there is none.
"""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Any

from flink_agents_eventlog.shapes import well_formed as safe
from opentelemetry.exporter.flink_agents import semconv
from opentelemetry.exporter.flink_agents._messages import (
    input_messages,
    output_messages,
    split_system,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opentelemetry.exporter.flink_agents._fitting import Room

CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
MOST_BYTES = 256 * 2**10
"""How much content one span or event carries by default."""
_MODES = {  # name: on spans, in events
    "NO_CONTENT": (False, False),
    "SPAN_ONLY": (True, False),
    "EVENT_ONLY": (False, True),
    "SPAN_AND_EVENT": (True, True),
}

logger = logging.getLogger(__name__)


def captured() -> tuple[bool, bool]:
    """Return whether spans have content, and whether events have."""
    name = os.environ.get(CAPTURE, "").strip().upper() or "NO_CONTENT"
    if name not in _MODES:
        logger.warning(
            "%s=%r is not allowed: use %s; no content is captured",
            CAPTURE,
            os.environ[CAPTURE],
            ", ".join(_MODES),
        )
    return _MODES.get(name, _MODES["NO_CONTENT"])


def of_model(
    content: Mapping[str, Any],
    provider: str | None,
    *,
    finish_reason: str | None = None,
    tools: list[Any] | None = None,
) -> dict[str, list[Any]]:
    """Return the content of a model call by the attributes that hold it.

    Args:
        content: plain `input` and `output`, as far as there is one.
        provider: some take system messages apart from the conversation.
        finish_reason: why the model stopped, if that is known.
        tools: what it may call, in the shape of the conventions.
    """
    told: dict[str, list[Any]] = {}
    messages = input_messages(content["input"]) if "input" in content else []
    if provider == semconv.PROVIDER_ANTHROPIC:
        system, messages = split_system(messages)
        told[semconv.GEN_AI_SYSTEM_INSTRUCTIONS] = system
    told[semconv.GEN_AI_INPUT_MESSAGES] = messages
    if "output" in content:
        answer = output_messages(content["output"], finish_reason)
        told[semconv.GEN_AI_OUTPUT_MESSAGES] = answer
    told[semconv.GEN_AI_TOOL_DEFINITIONS] = tools or []
    return {name: items for name, items in told.items() if items}


def fitted(told: dict[str, list[Any]], room: Room) -> dict[str, tuple[Any, str]]:
    """Return what there is room for: the input, which grows most, comes last."""
    found = {}
    for name in (
        semconv.GEN_AI_OUTPUT_MESSAGES,
        semconv.GEN_AI_SYSTEM_INSTRUCTIONS,
        semconv.GEN_AI_TOOL_DEFINITIONS,
        semconv.GEN_AI_INPUT_MESSAGES,
    ):
        share = 1 if name == semconv.GEN_AI_INPUT_MESSAGES else 0.5
        fitting = room.json(told[name], share=share) if name in told else None
        if fitting is not None:
            found[name] = fitting
    return found


def on_model_span(told: dict[str, list[Any]], room: Room) -> dict[str, Any]:
    """Return the content of a model call as attributes of its span."""
    texts = {name: text for name, (_, text) in fitted(told, room).items()}
    return {**texts, **cut(room)}


def on_tool_span(content: Mapping[str, Any], room: Room) -> dict[str, Any]:
    """Return arguments and result of a tool as attributes of its span."""
    told: dict[str, Any] = {}
    for attribute, name, share in (
        (semconv.GEN_AI_TOOL_CALL_RESULT, "output", 0.5),
        (semconv.GEN_AI_TOOL_CALL_ARGUMENTS, "input", 1),
    ):
        if name not in content:
            continue
        value = content[name]
        if isinstance(value, str):
            told[attribute] = room.text(safe(value), share=share)
        elif (fitting := room.json(value, share=share)) is not None:
            told[attribute] = fitting[1]
    return {**told, **cut(room)}


def cut(room: Room) -> dict[str, bool]:
    """Return what says that something was shortened, if it was."""
    return {semconv.FLINK_AGENTS_CONTENT_TRUNCATED: True} if room.has_cut else {}
