"""Patches that learn the name of an agent: its class, or what it was applied under.

`AgentPlan` holds no name. `apply("name")` resolves the name before it calls
`from_agent`, so it is kept in the context while it does.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from opentelemetry.exporter.flink_agents._guard import guarded
from opentelemetry.instrumentation.flink_agents._patching import Patch

if TYPE_CHECKING:
    from opentelemetry.instrumentation.flink_agents._core import Core

_applied_name: ContextVar[str | None] = ContextVar("applied_name", default=None)


def patches(core: Core) -> list[Patch]:
    """Return the patches of this file."""

    @guarded
    def remember(plan: Any, agent: Any) -> None:
        core.agent_names.set(plan, _applied_name.get() or type(agent).__name__)

    def from_agent(
        wrapped: Any, _: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        plan = wrapped(*args, **kwargs)
        remember(plan, args[0] if args else kwargs.get("agent"))
        return plan

    def apply(
        wrapped: Any, _: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        agent = args[1] if len(args) > 1 else kwargs.get("agent")
        token = _applied_name.set(agent if isinstance(agent, str) else None)
        try:
            return wrapped(*args, **kwargs)
        finally:
            _applied_name.reset(token)

    runtime = "flink_agents.runtime"
    return [
        Patch("flink_agents.plan.agent_plan", "AgentPlan.from_agent", from_agent),
        Patch(
            f"{runtime}.local_execution_environment", "LocalAgentBuilder.apply", apply
        ),
        Patch(
            f"{runtime}.remote_execution_environment",
            "RemoteAgentBuilder.apply",
            apply,
        ),
    ]
