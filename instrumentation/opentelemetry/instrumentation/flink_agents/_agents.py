"""Patches that learn the name of an agent: its class, or what it was applied under.

`AgentPlan` holds no name. `apply("name")` resolves the name before it calls
`from_agent`, so it is kept in the context while it does. To a Flink cluster it goes
in the agent configuration, of which the host passes on every key.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from opentelemetry.exporter.flink_agents._guard import guarded
from opentelemetry.instrumentation.flink_agents import _host
from opentelemetry.instrumentation.flink_agents._patching import Patch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opentelemetry.instrumentation.flink_agents._core import Core

_CONFIGURED_NAME = "opentelemetry.agent-name"

_applied_name: ContextVar[str | None] = ContextVar("applied_name", default=None)


class _Carried:
    """A plan that has the agent's name in its configuration while it is sent."""

    @guarded
    def __init__(self, core: Core, builder: Any) -> None:
        self._plan: Any = None
        plan = getattr(
            builder, _host.private_name("RemoteAgentBuilder", "agent_plan"), None
        )
        name = core.agent_names.get(plan)
        if plan is None or plan.config is None or name is None:
            return
        self._config = plan.config
        data = {**plan.config.conf_data, _CONFIGURED_NAME: name}
        plan.config = type(plan.config)(data)
        self._plan = plan

    def __enter__(self) -> None:
        return

    @guarded
    def __exit__(self, *_: object) -> None:
        if self._plan is not None:
            self._plan.config = self._config


def configured_name(configuration: Mapping[str, Any]) -> str | None:
    """Return the name that an instrumented client sent with the agent."""
    name = configuration.get(_CONFIGURED_NAME)
    return name if isinstance(name, str) else None


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

    def to_datastream(
        wrapped: Any, _: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        with _Carried(core, args[0]):
            return wrapped(*args, **kwargs)

    runtime = "flink_agents.runtime"
    remote = f"{runtime}.remote_execution_environment"
    return [
        Patch("flink_agents.plan.agent_plan", "AgentPlan.from_agent", from_agent),
        Patch(
            f"{runtime}.local_execution_environment", "LocalAgentBuilder.apply", apply
        ),
        Patch(remote, "RemoteAgentBuilder.apply", apply),
        Patch(remote, "RemoteAgentBuilder.to_datastream", to_datastream),
    ]
