"""Spans of other instrumentations that are calls of a model or of a tool.

A user action that calls a provider's SDK directly is seen only by that
provider's own instrumentation. Its span becomes an execution, unless it lies
inside an execution of the same kind: then both describe the same call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opentelemetry.trace import StatusCode

from flink_agents_eventlog import lifecycle
from opentelemetry.exporter.flink_agents._execution import Execution, Run

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opentelemetry.sdk.trace import ReadableSpan

# GenAI semantic conventions 1.41: values of gen_ai.operation.name.
_ENTITY_TYPES = {
    "chat": lifecycle.LLM,
    "generate_content": lifecycle.LLM,
    "text_completion": lifecycle.LLM,
    "execute_tool": lifecycle.TOOL,
}
_NAMES = {
    lifecycle.LLM: ("gen_ai.request.model", "gen_ai.response.model"),
    lifecycle.TOOL: ("gen_ai.tool.name",),
}
_METADATA = {
    "gen_ai.request.model": "model",
    "gen_ai.provider.name": "provider",
    "gen_ai.tool.call.id": "tool_call_id",
}
_USAGE = {
    "gen_ai.usage.input_tokens": "input_tokens",
    "gen_ai.usage.output_tokens": "output_tokens",
}


def foreign_execution(span: ReadableSpan, parent: Execution | None) -> Execution | None:
    """Return the execution that `span` is, or None if it is none of its own.

    Args:
        span: a span of another instrumentation, open or ended.
        parent: the innermost execution around it.
    """
    attributes = span.attributes or {}
    entity_type = _ENTITY_TYPES.get(str(attributes.get("gen_ai.operation.name")))
    if entity_type is None or span.context is None:
        return None
    if parent is not None and parent.entity_type == entity_type:
        return None
    return Execution(
        run=parent.run if parent is not None else _run_of_trace(span, attributes),
        entity_type=entity_type,
        entity_name=_name(span, entity_type, attributes),
        parent=parent,
        trigger_event_id=parent.trigger_event_id if parent is not None else None,
        metadata=_described(attributes, _METADATA),
        started_ns=span.start_time or 0,
        span_context=span.context,
    )


def end_foreign(execution: Execution, span: ReadableSpan) -> None:
    """Take over from the ended `span` how its execution ended."""
    attributes = span.attributes or {}
    execution.ended_ns = span.end_time
    execution.status = lifecycle.FINISHED
    if execution.entity_type == lifecycle.LLM:
        execution.metadata.update(_described(attributes, _USAGE))
    if span.status.status_code is StatusCode.ERROR:
        execution.status = lifecycle.FAILED
        execution.problem_category = lifecycle.PROBLEM_CATEGORY_OF_ENTITY[
            execution.entity_type
        ]
        execution.error_type = str(attributes.get("error.type", "_OTHER"))
        execution.error_message = span.status.description or ""


def _run_of_trace(span: ReadableSpan, attributes: Mapping[str, object]) -> Run:
    agent = attributes.get("gen_ai.agent.name")
    return Run(
        input_run_id=f"{span.context.trace_id:032x}" if span.context else "",
        agent_name=str(agent) if agent is not None else None,
    )


def _name(
    span: ReadableSpan, entity_type: str, attributes: Mapping[str, object]
) -> str:
    for key in _NAMES[entity_type]:
        if key in attributes:
            return str(attributes[key])
    return span.name


def _described(
    attributes: Mapping[str, object], names: Mapping[str, str]
) -> dict[str, object]:
    return {name: attributes[key] for key, name in names.items() if key in attributes}
