"""The patches of MCP clients, all of them methods of classes of its SDK and the host.

One call of a tool passes through up to four of them: `MCPTool.call` (a tool like any
other), `MCPServer.call_tool_async`, `ClientSession.call_tool` and the request. The
first of these that is called opens the execution; what is inside it joins.

`mcp` 2 has no `mcp.shared.session`: that SDK makes spans and carries the context by
itself, and is left alone but for the execution.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flink_agents_eventlog import lifecycle
from opentelemetry.exporter.flink_agents._attributes import (
    TOOL_TYPE_MCP,
    span_name,
    start_attributes,
)
from opentelemetry.exporter.flink_agents._execution import Execution
from opentelemetry.exporter.flink_agents._guard import guarded
from opentelemetry.instrumentation.flink_agents import (
    _host,
    _mcp_connection,
    semconv,
)
from opentelemetry.instrumentation.flink_agents._core import current
from opentelemetry.instrumentation.flink_agents._coroutines import observed
from opentelemetry.instrumentation.flink_agents._mcp_connection import (
    Connections,
    server_facts,
)
from opentelemetry.instrumentation.flink_agents._mcp_request import (
    CarryingRequest,
    McpRequest,
)
from opentelemetry.instrumentation.flink_agents._patching import Patch

if TYPE_CHECKING:
    from opentelemetry.instrumentation.flink_agents._core import Core
    from opentelemetry.instrumentation.flink_agents._executions import OpenExecution


def patches(core: Core) -> list[Patch]:
    """Return the patches of this file."""
    connections = Connections()

    def call_of_server(
        wrapped: Any, _: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        coroutine = wrapped(*args, **kwargs)
        if current() is None:
            return coroutine
        return observed(coroutine, lambda: _through_server(core, args, kwargs))

    def call_of_session(
        wrapped: Any, _: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        coroutine = wrapped(*args, **kwargs)
        if current() is None:
            return coroutine
        return observed(coroutine, lambda: _through_session(args, kwargs))

    def send_request(
        wrapped: Any, _: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        if current() is None or not args or not _is_client(args[0]):
            return wrapped(*args, **kwargs)
        request = _argument(args, kwargs, 1, "request")
        sent, named = _carrying(args, kwargs)
        coroutine = wrapped(*sent, **named)
        return observed(coroutine, lambda: _request(connections, args[0], request))

    return [
        Patch(
            "flink_agents.integrations.mcp.mcp",
            "MCPServer.call_tool_async",
            call_of_server,
        ),
        Patch("mcp.client.session", "ClientSession.call_tool", call_of_session),
        Patch("mcp.shared.session", "BaseSession.send_request", send_request),
        *_mcp_connection.patches(connections),
    ]


@guarded
def _through_server(
    core: Core, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> OpenExecution | None:
    """Open the execution of a call that an application makes of a server."""
    name = str(_argument(args, kwargs, 1, "tool_name"))
    around = current()
    if around is None or _is_call_of(around, name):
        return None
    given = {key: value for key, value in kwargs.items() if key != "tool_name"}
    arguments = given or (args[2] if len(args) > 2 else {})  # noqa: PLR2004  # as the host
    metadata, attributes = server_facts(core, args[0])
    return _open(around, name, arguments, metadata, attributes)


@guarded
def _through_session(
    args: tuple[Any, ...], kwargs: dict[str, Any]
) -> OpenExecution | None:
    """Open the execution of a call that an application makes of a session."""
    name = str(_argument(args, kwargs, 1, "name"))
    around = current()
    if around is None or _is_call_of(around, name):
        return None
    return _open(around, name, _argument(args, kwargs, 2, "arguments"))


@guarded
def _request(connections: Connections, session: Any, request: Any) -> McpRequest | None:
    around = current()
    if around is None:
        return None
    # A root model holds the request; parts of the SDK send it bare.
    request = getattr(request, "root", request)
    opened = None
    tool: OpenExecution | None = None
    if request.method == semconv.METHOD_TOOLS_CALL:
        name = str(request.params.name)
        if _is_call_of(around, name):
            tool = around
        else:
            tool = opened = _open(around, name, request.params.arguments)
    return McpRequest(connections, session, request, around, tool=tool, opened=opened)


def _is_call_of(around: OpenExecution, name: str) -> bool:
    """Whether `around` is the call of the tool `name` that goes on inside it."""
    execution = around.execution
    return (
        execution.metadata.get("tool_type") == TOOL_TYPE_MCP
        and execution.entity_name == name
    )


def _open(
    around: OpenExecution,
    name: str,
    arguments: Any,
    metadata: dict[str, Any] | None = None,
    attributes: dict[str, Any] | None = None,
) -> OpenExecution:
    execution = Execution(
        run=around.run.run,
        entity_type=lifecycle.TOOL,
        entity_name=name,
        parent=around.execution,
        trigger_event_id=around.execution.trigger_event_id,
        metadata={"tool_type": TOOL_TYPE_MCP, **(metadata or {})},
    )
    execution.input = around.run.content("input", arguments or {})
    return around.open_child(
        execution,
        span_name(execution),
        attributes={**start_attributes(execution), **(attributes or {})},
    )


def _is_client(session: Any) -> bool:
    return _host.is_instance(session, "mcp.client.session", "ClientSession")


def _argument(
    args: tuple[Any, ...], kwargs: dict[str, Any], position: int, name: str
) -> Any:
    return args[position] if len(args) > position else kwargs.get(name)


def _carrying(
    args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of a request, such that it carries the context."""
    if len(args) > 1:
        return (args[0], CarryingRequest(args[1]), *args[2:]), kwargs
    if "request" in kwargs:
        return args, {**kwargs, "request": CarryingRequest(kwargs["request"])}
    return args, kwargs
