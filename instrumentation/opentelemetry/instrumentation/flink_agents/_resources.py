"""The patch that learns under which name an agent has a chat model or a tool.

A resource does not know its own name. Here too the overrides of a class are
seen that a subclass hook could not see.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opentelemetry.exporter.flink_agents._guard import guarded
from opentelemetry.instrumentation.flink_agents import _host
from opentelemetry.instrumentation.flink_agents._patching import Patch

if TYPE_CHECKING:
    from opentelemetry.instrumentation.flink_agents._core import Core


def patches(core: Core) -> list[Patch]:
    """Return the patches of this file."""

    @guarded
    def remember(context: Any, resource: Any, name: Any) -> None:
        if core.resource_names.get(resource) is None:
            core.resource_names.set(resource, str(name))
            _remember_server(core, context, resource)

    def get_resource(
        wrapped: Any, _: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        resource = wrapped(*args, **kwargs)
        if resource is not None:
            remember(
                args[0], resource, args[1] if len(args) > 1 else kwargs.get("name")
            )
        return resource

    name = "get_resource"
    return [
        Patch(
            "flink_agents.runtime.local_runner",
            f"LocalRunnerContext.{name}",
            get_resource,
        ),
        Patch(
            "flink_agents.runtime.flink_runner_context",
            f"FlinkRunnerContext.{name}",
            get_resource,
        ),
    ]


def _remember_server(core: Core, context: Any, resource: Any) -> None:
    """Learn the name of the MCP server that a tool or a prompt lives on."""
    server = getattr(resource, "mcp_server", None)
    if server is not None and core.resource_names.get(server) is None:
        name = _host.mcp_server_name(_host.plan_of(context), server)
        if name is not None:
            core.resource_names.set(server, name)
