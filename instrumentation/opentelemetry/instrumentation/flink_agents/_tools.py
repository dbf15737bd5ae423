"""The patch of tools: every class that overrides `Tool.call`, however it is called.

What a call answers (its id, its request) is known only to the built-in action
that works off a tool request. It makes its durable calls in the order of the
request: each is announced, and met again when the tool is called, on whichever
thread that is.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from flink_agents_eventlog import lifecycle
from opentelemetry.exporter.flink_agents._attributes import (
    span_name,
    start_attributes,
)
from opentelemetry.exporter.flink_agents._execution import Execution
from opentelemetry.exporter.flink_agents._guard import guarded
from opentelemetry.instrumentation.flink_agents import _host
from opentelemetry.instrumentation.flink_agents._core import current, current_action
from opentelemetry.instrumentation.flink_agents._mcp_connection import server_facts
from opentelemetry.instrumentation.flink_agents._patching import Patch

if TYPE_CHECKING:
    from opentelemetry.instrumentation.flink_agents._core import Core
    from opentelemetry.instrumentation.flink_agents._executions import OpenExecution

_SKILLS = "flink_agents.runtime.skill.skill_tools", "LoadSkillTool"
_SKILL_FILE = "SKILL.md"
"""What that tool loads if it is not told."""
_MODULE = "flink_agents.api.tools.tool"


class ToolCalls:
    """The calls of one tool request, met in its order.

    Args:
        event: the tool request event.
        event_id: id of its occurrence.
    """

    def __init__(self, event: Any, event_id: str) -> None:
        self._requested = iter(_host.tool_calls_of(event))
        self._event_id = event_id
        self._announced: deque[tuple[Any, dict[str, Any]]] = deque()

    def announce(self, tool: Any) -> None:
        """Match a durable call of `tool` with the next call of the request."""
        metadata: dict[str, Any] = {"tool_request_event_id": self._event_id}
        requested = next(self._requested, {})
        if requested.get("id") is not None:
            metadata["tool_call_id"] = str(requested["id"])
        if requested.get("original_id") is not None:
            metadata["external_id"] = str(requested["original_id"])
        self._announced.append((tool, metadata))

    def met(self, tool: Any) -> dict[str, Any]:
        """Return what was announced of the call of `tool` that starts now."""
        for announced in self._announced:
            if announced[0] is tool:
                self._announced.remove(announced)
                return announced[1]
        return {}


def open_tool(
    core: Core,
    around: OpenExecution,
    tool: Any,
    arguments: dict[str, Any] | None = None,
    *,
    status: str | None = None,
) -> OpenExecution:
    """Start an execution of `tool` inside `around`.

    Args:
        core: the shared state.
        around: the execution that calls it.
        tool: the tool.
        arguments: what it is called with; None where that is not known.
        status: `reused` if it is not going to run.
    """
    action = current_action()
    calls = action.tool_calls if action is not None else None
    metadata, attributes = _facts(core, tool, arguments)
    execution = Execution(
        run=around.run.run,
        entity_type=lifecycle.TOOL,
        entity_name=_name(core, tool),
        parent=around.execution,
        trigger_event_id=around.execution.trigger_event_id,
        metadata={"tool_type": tool.tool_type().value, **metadata},
        subject=tool,
        status=status,
    )
    if calls is not None:
        execution.metadata.update(calls.met(tool))
    if arguments is not None:
        execution.input = around.run.content("input", arguments)
    return around.open_child(
        execution,
        span_name(execution),
        attributes={**start_attributes(execution), **attributes},
    )


def patches(core: Core) -> list[Patch]:
    """Return the patch of this file."""

    @guarded
    def start(tool: Any, args: tuple[Any, ...], kwargs: Any) -> OpenExecution | None:
        around = current()
        if around is None or around.execution.subject is tool:
            return None  # outside a run, or super().call(): the same call
        arguments = {"args": list(args), **kwargs} if args else kwargs
        return open_tool(core, around, tool, arguments)

    def call(
        wrapped: Any, _: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        opened = start(args[0], args[1:], kwargs) if args else None
        if opened is None:
            return wrapped(*args, **kwargs)
        with opened:
            result = wrapped(*args, **kwargs)
            opened.returned(result)
        return result

    return [Patch(_MODULE, "Tool.call", call, overrides=True)]


def _facts(
    core: Core, tool: Any, arguments: dict[str, Any] | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return metadata and attributes that only some kinds of tools have."""
    server = getattr(tool, "mcp_server", None)
    if server is not None:
        return server_facts(core, server)
    if arguments is not None and _host.is_instance(tool, *_SKILLS):
        skill = arguments.get("name", next(iter(arguments.get("args", ())), None))
        path = arguments.get("path") or _SKILL_FILE
        return {"skill_name": str(skill), "skill_resource_path": str(path)}, {}
    return {}, {}


def _name(core: Core, tool: Any) -> str:
    known = core.resource_names.get(tool)
    if known is not None:
        return known
    metadata = tool.metadata
    return str(metadata.name) if metadata is not None else type(tool).__name__
