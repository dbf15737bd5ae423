"""Patches of the Flink runner context: runs of many keys that interleave on one thread.

There is one context for each subtask; the host switches its key before each
action. Nobody says that a run ends: what it still has to dispatch is counted.
"""

from __future__ import annotations

import weakref
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

import wrapt
from msgspec.structs import replace

from opentelemetry import context as otel_context
from opentelemetry.exporter.flink_agents._guard import guarded
from opentelemetry.instrumentation.flink_agents import (
    _flink_identity,
    _host,
    _memory_events,
)
from opentelemetry.instrumentation.flink_agents._agents import configured_name
from opentelemetry.instrumentation.flink_agents._core import current_action
from opentelemetry.instrumentation.flink_agents._occurrences import (
    FlinkOccurrences,
    OccurrenceIds,
)
from opentelemetry.instrumentation.flink_agents._patching import Patch, original
from opentelemetry.instrumentation.flink_agents._runs import OpenRun, new_run
from opentelemetry.instrumentation.flink_agents._snapshots import SnapshotTurns

if TYPE_CHECKING:
    from opentelemetry.exporter.flink_agents._files import Subtask
    from opentelemetry.instrumentation.flink_agents._core import Core
    from opentelemetry.instrumentation.flink_agents._executions import OpenExecution
    from opentelemetry.instrumentation.flink_agents._occurrences import Occurrence

_MODULE = "flink_agents.runtime.flink_runner_context"


class CarryingExecutor(wrapt.ObjectProxy):  # type: ignore[type-arg,unused-ignore]
    """The host's thread pool, whose tasks see the context of whoever submits them."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Submit `fn`, unchanged, to run in a copy of the current context."""
        return self.__wrapped__.submit(copy_context().run, fn, *args, **kwargs)


class FlinkRun(OpenRun):
    """A run that ends when nothing of it is left to dispatch."""

    key: Any = None
    input_id: str | None = None
    """The host's id of its InputEvent."""
    occurrences: FlinkOccurrences
    pending = 0
    """Calls of actions that are still to come or have not ended."""

    def continues_with(self, event: Any, action: str) -> bool:
        """Whether calling `action` for `event` belongs to this run.

        Runs of one key follow one another: another input, or the same action for
        an equal input once more, begins the next one.
        """
        if not _host.is_input_event(event):
            return True
        return str(event.id) == self.input_id and self.occurrences.awaits(event, action)


class FlinkState:
    """What is kept beside one `FlinkRunnerContext`: there is one for each subtask."""

    def __init__(self, core: Core, context: Any) -> None:
        self.key_hash: int | None = None
        self._core = core
        self._context = weakref.ref(context)
        self._ids = OccurrenceIds()
        self._runs: dict[Any, FlinkRun] = {}
        self._turns = SnapshotTurns()
        self._subtask: Subtask | None = None
        self._closed_run: FlinkRun | None = None
        self._carry(context)

    def dispatched(
        self, context: Any, event: Any, action: str
    ) -> tuple[OpenRun, Occurrence] | None:
        """Return the run and the occurrence for which `action` is called now."""
        key: Any = self.key_hash
        if key is None:
            key = _flink_identity.key_text(context)
        run = self._runs.get(key)
        if run is not None and not run.continues_with(event, action):
            self._end(run)
            run = None
        if run is None:
            run = self._begin(context, key, event)
        return run, run.occurrences.dispatched(event, action)

    def sent(self, context: Any, event: Any, emitter: OpenExecution | None) -> None:
        """Count what `event` sets going; its record waits for the action's end."""
        if emitter is None or not isinstance(emitter.run, FlinkRun):
            return
        run = emitter.run
        occurrence = self._ids.occurrence(event, emitter.execution)
        listeners = _host.listeners(_host.plan_of(context), event)
        run.occurrences.sent(event, occurrence, listeners)
        run.pending += len(listeners)
        emitter.execution.emitted.append(run.record(occurrence, event))

    def ending(self, action: OpenExecution, error: BaseException | None) -> None:
        """Drop the events of an action that did not finish, as the host does."""
        if error is not None:
            action.execution.emitted = []

    def ended(self, action: OpenExecution) -> None:
        """End the run after its last action, or after one that fails its job."""
        run = action.run
        if isinstance(run, FlinkRun):
            run.pending -= 1
            if run.pending <= 0 or run.has_failed:
                context = self._context()
                _memory_events.end(context, run)
                self._end(run)
                self._core.flink_health.tell(context)

    def close(self) -> None:
        """End everything: the host closes the context."""
        for run in list(self._runs.values()):
            self._end(run)
        last = self._closed_run
        if last is not None:
            last.session.processor.release(last.run)
            last.session.flush()
        self.detach()

    def route(
        self, context: Any, run: OpenRun, event: Any, occurrence: Occurrence
    ) -> None:
        """Send an event of ours, as one of the action that runs now."""
        if isinstance(run, FlinkRun):
            original(type(context), "send_event")(context, event)
            listeners = _host.listeners(_host.plan_of(context), event)
            run.occurrences.sent(event, occurrence, listeners)
            run.pending += len(listeners)

    def detach(self) -> None:
        """Give the context its own executor back."""
        context = self._context()
        executor = getattr(context, "executor", None)
        if context is not None and type(executor) is CarryingExecutor:
            context.executor = executor.__wrapped__

    @guarded
    def _carry(self, context: Any) -> None:
        if context.executor is not None:
            context.executor = CarryingExecutor(context.executor)

    def _begin(self, context: Any, key: Any, event: Any) -> FlinkRun:
        complete = _host.is_input_event(event)
        session = self._core.providers.session()
        plan = _host.plan_of(context)
        if self._subtask is None:
            self._subtask = _flink_identity.subtask(context)
        text = _flink_identity.key_text(context)
        text = text if text is not None else f"hash:{key}"
        configuration = _host.configuration_of(context)
        identity = new_run(
            session,
            key=text,
            agent_name=configured_name(configuration) or self._core.agent_name(plan),
            configuration=configuration,
            subtask=self._subtask,
        )
        occurrence = self._ids.occurrence(event)
        run = FlinkRun(
            session,
            identity,
            otel_context.get_current(),
            host_key=text,
            incomplete=not complete,
            started_ns=occurrence.sent_ns,
        )
        run.key = key
        run.input_id = str(event.id) if complete else None
        run.occurrences = FlinkOccurrences(self._ids)
        listeners = _host.listeners(plan, event)
        run.pending = max(len(listeners), 1)
        run.occurrences.sent(event, occurrence, listeners)
        self._runs[key] = run
        if complete:
            run.append(replace(run.record(occurrence, event), **run.span_ids()))
        _memory_events.prepare(self._core, run, context)
        if complete:
            ns = occurrence.sent_ns
            _memory_events.begin(self, context, run, self._turns, ns)
        return run

    def _end(self, run: FlinkRun) -> None:
        if self._runs.get(run.key) is run:
            del self._runs[run.key]
        self._closed_run = run
        run.close()


def adopt(core: Core, context: Any) -> FlinkState | None:
    """Return the new state beside `context` if it is a Flink runner context.

    The first context of a process is made before the user's module, imported by
    it, can call `instrument()`: contexts are taken up when they are met.
    """
    if not _host.is_instance(context, _MODULE, "FlinkRunnerContext"):
        return None
    state = FlinkState(core, context)
    core.states.set(context, state)
    return state


def patches(core: Core) -> list[Patch]:
    """Return the patches of this file."""

    @guarded
    def switched(context: Any, key: Any) -> None:
        state = core.states.get(context) or adopt(core, context)
        if isinstance(state, FlinkState):
            state.key_hash = key

    @guarded
    def sent(context: Any, event: Any) -> None:
        state = core.states.get(context)
        if state is not None:
            state.sent(context, event, current_action())

    @guarded
    def closed(context: Any) -> None:
        state = core.states.get(context)
        if isinstance(state, FlinkState):
            state.close()
            core.states.discard(context)

    def switch(
        wrapped: Any, _: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        switched(
            args[0] if args else kwargs.get("ctx"),
            args[1] if len(args) > 1 else kwargs.get("key"),
        )
        return wrapped(*args, **kwargs)

    def send_event(
        wrapped: Any, _: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        result = wrapped(*args, **kwargs)
        sent(args[0], args[1] if len(args) > 1 else kwargs.get("event"))
        return result

    def close(
        wrapped: Any, _: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        try:
            return wrapped(*args, **kwargs)
        finally:
            closed(args[0] if args else kwargs.get("ctx"))

    return [
        Patch(_MODULE, "flink_runner_context_switch_action_context", switch),
        Patch(_MODULE, "FlinkRunnerContext.send_event", send_event),
        Patch(_MODULE, "close_flink_runner_context", close),
    ]
