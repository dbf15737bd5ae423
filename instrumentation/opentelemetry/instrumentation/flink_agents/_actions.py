"""The patch of actions, plain functions and coroutines, wherever they run.

Both runners call an action through `PythonFunction.__call__(event, context)`.
"""

from __future__ import annotations

import inspect
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

from flink_agents_eventlog import lifecycle
from opentelemetry import context as otel_context
from opentelemetry.exporter.flink_agents._attributes import (
    action_attributes,
    span_name,
)
from opentelemetry.exporter.flink_agents._execution import Execution
from opentelemetry.exporter.flink_agents._guard import guarded
from opentelemetry.instrumentation.flink_agents import _host, _memory_events
from opentelemetry.instrumentation.flink_agents._coroutines import driven
from opentelemetry.instrumentation.flink_agents._patching import Patch
from opentelemetry.instrumentation.flink_agents._tools import ToolCalls

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextvars import Context

    from opentelemetry.instrumentation.flink_agents._core import ContextState
    from opentelemetry.instrumentation.flink_agents._executions import OpenExecution


class _Action:
    """One call of an action, from its start to its end."""

    def __init__(self, state: ContextState, runner: Any, opened: OpenExecution) -> None:
        self.opened = opened
        self._state = state
        self._runner = runner
        # Of its own, so that what an action sets is not seen by the next one on
        # the same thread, which may serve another key.
        self.context: Context = copy_context()
        self.context.run(otel_context.attach, opened.context)

    def __enter__(self) -> None:
        return

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if error is not None:
            self.ended(error)

    @guarded
    def ended(self, error: BaseException | None) -> None:
        """Write how it ended; its events follow, unless it failed."""
        if self.opened.execution.closed:
            return  # abandoned when its run ended
        self._state.ending(self.opened, error)
        if error is None:
            _memory_events.emit(self._state, self._runner, self.opened)
        elif self.opened.memory is not None:
            self.opened.memory.discard()
        if error is not None and not isinstance(error, GeneratorExit):
            self.opened.run.failed(error)
        self.opened.ended_by(error)
        self._state.ended(self.opened)


def patches(state_of: Callable[[Any], ContextState | None]) -> list[Patch]:
    """Return the patch of this file.

    Args:
        state_of: returns what is kept beside a runner context, if it is known.
    """

    @guarded
    def start(args: tuple[Any, ...]) -> _Action | None:
        _, event, context = args
        state = state_of(context)
        if state is None or not _host.is_event(event):
            return None
        name = _host.action_name_of(context)
        found = state.dispatched(context, event, name)
        if found is None:
            return None
        run, occurrence = found
        execution = Execution(
            run=run.run,
            entity_type=lifecycle.ACTION,
            entity_name=name,
            trigger_event_id=occurrence.event_id,
        )
        if run.incomplete:
            execution.metadata["incomplete"] = True
        emitter = occurrence.emitter
        opened = run.open(
            execution,
            span_name(execution),
            attributes=action_attributes(occurrence.event_id, occurrence.event_type),
            link=emitter.span_context if emitter is not None else None,
        )
        if name == _host.TOOL_CALL_ACTION:
            opened.tool_calls = ToolCalls(event, occurrence.event_id)
        opened.memory = _memory_events.action_memory(run, occurrence)
        return _Action(state, context, opened)

    def call(
        wrapped: Any, _: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        # A tool's function is called here too, with keyword arguments.
        action = start(args) if len(args) == 3 and not kwargs else None  # noqa: PLR2004
        if action is None:
            return wrapped(*args, **kwargs)
        with action:
            result = action.context.run(wrapped, *args)
        if inspect.iscoroutine(result):
            return driven(result, action.context, action.ended)
        action.ended(None)
        return result

    return [Patch("flink_agents.plan.function", "PythonFunction.__call__", call)]
