"""What all patches share: the providers, and state beside objects of the host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from flink_agents_eventlog import lifecycle
from opentelemetry.exporter.flink_agents._execution import execution_in
from opentelemetry.instrumentation.flink_agents import _host
from opentelemetry.instrumentation.flink_agents._flink_health import FlinkHealth
from opentelemetry.instrumentation.flink_agents._identity import IdentityMap

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry.instrumentation.flink_agents._executions import OpenExecution
    from opentelemetry.instrumentation.flink_agents._occurrences import Occurrence
    from opentelemetry.instrumentation.flink_agents._patching import Patch, Patcher
    from opentelemetry.instrumentation.flink_agents._providers import Providers
    from opentelemetry.instrumentation.flink_agents._runs import OpenRun


class ContextState(Protocol):
    """What is kept beside one runner context of the host, local or on Flink."""

    def dispatched(
        self, context: Any, event: Any, action: str
    ) -> tuple[OpenRun, Occurrence] | None:
        """Return the run and the occurrence for which `action` is called now."""

    def sent(self, context: Any, event: Any, emitter: OpenExecution | None) -> None:
        """Take note that the action `emitter` sent `event`."""

    def ending(self, action: OpenExecution, error: BaseException | None) -> None:
        """Take note that `action` is about to end by `error`, None for a return."""

    def ended(self, action: OpenExecution) -> None:
        """Take note that the records of `action` are written."""

    def route(
        self, context: Any, run: OpenRun, event: Any, occurrence: Occurrence
    ) -> None:
        """Send an event of ours to the actions that listen to it."""

    def detach(self) -> None:
        """Take out what was put into the runner context."""


class Core:
    """The state of one `instrument()`, until `uninstrument()`."""

    def __init__(self, providers: Providers, patcher: Patcher) -> None:
        self.providers = providers
        self._patcher = patcher
        self._observed: set[str] = set()
        self.meter_provider: Any = None
        self.flink_health = FlinkHealth(providers)
        self.states: IdentityMap[ContextState] = IdentityMap()
        self.agent_names: IdentityMap[str] = IdentityMap()
        """Beside agent plans."""
        self.resource_names: IdentityMap[str] = IdentityMap()
        """Beside chat models and tools."""
        self.memory_prefixes: IdentityMap[str] = IdentityMap()
        """Beside nested memory objects on Flink: their absolute path."""

    def observe(self, what: str, patches: Callable[[Core], list[Patch]]) -> None:
        """Apply patches that only some runs need, when the first of them begins.

        What no run needs is not even looked at.
        """
        if what not in self._observed:
            self._observed.add(what)
            self._patcher.add(patches(self))

    def close(self) -> None:
        """Let go of everything that is attached to objects of others."""
        for state in self.states.values():
            state.detach()
        self.providers.detach()

    def agent_name(self, plan: object) -> str:
        """Return the name of the agent that `plan` was made of."""
        return self.agent_names.get(plan) or _host.agent_class_name(plan)


def current_action() -> OpenExecution | None:
    """Return the action around the innermost execution of the current context."""
    execution = execution_in()
    while execution is not None and execution.entity_type != lifecycle.ACTION:
        execution = execution.parent
    return None if execution is None else execution.owner


def current() -> OpenExecution | None:
    """Return the innermost execution of the current context."""
    execution = execution_in()
    return None if execution is None else execution.owner
