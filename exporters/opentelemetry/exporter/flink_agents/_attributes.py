"""What spans say of runs and executions: made live and replayed, they say the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opentelemetry.trace import SpanKind

from flink_agents_eventlog import lifecycle
from flink_agents_eventlog.shapes import well_formed as safe
from opentelemetry.exporter.flink_agents import semconv

if TYPE_CHECKING:
    from opentelemetry.exporter.flink_agents._execution import Execution, Run

LONGEST_DESCRIPTION = 16_384
"""Characters of an error's message: a span that is too large loses its whole batch."""

USAGE = (
    ("input_tokens", semconv.GEN_AI_USAGE_INPUT_TOKENS),
    ("output_tokens", semconv.GEN_AI_USAGE_OUTPUT_TOKENS),
)
"""Name in the metadata of a model call, on its span."""


TOOL_TYPE_MCP = "mcp"
"""Of the host, in the metadata of a tool."""
_TOOL_TYPES = {
    TOOL_TYPE_MCP: semconv.TOOL_TYPE_EXTENSION,
    "model_built_in": semconv.TOOL_TYPE_EXTENSION,
}
"""What the conventions call a type of the host's, where not a function."""


def identity(run: Run, execution: Execution | None = None) -> dict[str, Any]:
    """Return the attributes that stand on every span of ours, at its start."""
    attributes: dict[str, Any] = {
        semconv.FLINK_AGENTS_INPUT_RUN_ID: run.input_run_id,
    }
    if run.business_key is not None:
        attributes[semconv.FLINK_AGENTS_BUSINESS_KEY] = safe(run.business_key)
    if run.agent_name is not None:
        attributes[semconv.FLINK_AGENTS_AGENT_NAME] = safe(run.agent_name)
    if run.subtask is not None:
        attributes[semconv.FLINK_AGENTS_JOB_ID] = run.subtask.job_id
        attributes[semconv.FLINK_AGENTS_TASK_NAME] = safe(run.subtask.task_name)
        attributes[semconv.FLINK_AGENTS_SUBTASK_INDEX] = run.subtask.index
    if execution is not None:
        attributes[semconv.FLINK_AGENTS_EXECUTION_ID] = execution.execution_id
        attributes[semconv.FLINK_AGENTS_ENTITY_TYPE] = execution.entity_type
        attributes[semconv.FLINK_AGENTS_ENTITY_NAME] = safe(execution.entity_name)
    return attributes


def run_name(run: Run) -> str:
    """Return the name of the span of a run."""
    return f"invoke_agent {run.agent_name}"


def run_attributes(run: Run) -> dict[str, Any]:
    """Return what the span of a run says beside its identity."""
    return {
        semconv.GEN_AI_OPERATION_NAME: semconv.OPERATION_INVOKE_AGENT,
        semconv.GEN_AI_AGENT_NAME: safe(run.agent_name or "unknown"),
    }


def span_name(execution: Execution) -> str:
    """Return the name of the span of an execution."""
    kind, name = execution.entity_type, execution.entity_name
    if kind == lifecycle.LLM:
        return f"chat {execution.metadata.get('model', name)}"
    return f"{_VERBS.get(kind, kind)} {name}"


_VERBS = {lifecycle.PARSER: "parse", lifecycle.TOOL: "execute_tool"}


def span_kind(execution: Execution) -> SpanKind:
    """Return the kind of the span of an execution: only models are elsewhere."""
    is_client = execution.entity_type == lifecycle.LLM
    return SpanKind.CLIENT if is_client else SpanKind.INTERNAL


def start_attributes(execution: Execution) -> dict[str, Any]:
    """Return what the span of a model or a tool says at its start, beside identity."""
    if execution.entity_type == lifecycle.LLM:
        return _of_llm(execution)
    if execution.entity_type == lifecycle.TOOL:
        return _of_tool(execution)
    return {}


def action_attributes(event_id: str, event_type: str | None) -> dict[str, Any]:
    """Return what the span of an action says of the event that triggered it."""
    attributes = {semconv.FLINK_AGENTS_EVENT_TRIGGER_ID: event_id}
    if event_type is not None:
        attributes[semconv.FLINK_AGENTS_EVENT_TRIGGER_TYPE] = safe(event_type)
    return attributes


def _of_llm(execution: Execution) -> dict[str, Any]:
    metadata = execution.metadata
    attributes = {semconv.GEN_AI_OPERATION_NAME: semconv.OPERATION_CHAT}
    if "provider" in metadata:
        attributes[semconv.GEN_AI_PROVIDER_NAME] = safe(metadata["provider"])
    if "model" in metadata:
        attributes[semconv.GEN_AI_REQUEST_MODEL] = safe(metadata["model"])
    return attributes


def _of_tool(execution: Execution) -> dict[str, Any]:
    kind = str(execution.metadata.get("tool_type"))
    attributes = {
        semconv.GEN_AI_OPERATION_NAME: semconv.OPERATION_EXECUTE_TOOL,
        semconv.GEN_AI_TOOL_NAME: safe(execution.entity_name),
        semconv.GEN_AI_TOOL_TYPE: _TOOL_TYPES.get(kind, semconv.TOOL_TYPE_FUNCTION),
    }
    if kind == TOOL_TYPE_MCP:
        attributes[semconv.MCP_METHOD_NAME] = semconv.METHOD_TOOLS_CALL
    if "tool_call_id" in execution.metadata:
        attributes[semconv.GEN_AI_TOOL_CALL_ID] = execution.metadata["tool_call_id"]
    if execution.run.agent_name is not None:
        attributes[semconv.GEN_AI_AGENT_NAME] = safe(execution.run.agent_name)
    return attributes
