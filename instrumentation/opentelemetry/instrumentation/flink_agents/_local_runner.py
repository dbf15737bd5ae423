"""Patches of the local runner: a run is one call of `LocalRunner.run`.

The run begins when the runner sends its InputEvent, since only then key and
input are known, and ends when `run` returns or raises. Events that a failed run
leaves in the queue are worked off by the next run of the key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace
from opentelemetry.context import create_key, get_value, set_value

from opentelemetry import context as otel_context
from opentelemetry.exporter.flink_agents._execution import with_execution
from opentelemetry.exporter.flink_agents._guard import guarded
from opentelemetry.instrumentation.flink_agents import _host, _memory_events
from opentelemetry.instrumentation.flink_agents._core import current_action
from opentelemetry.instrumentation.flink_agents._occurrences import (
    LocalOccurrences,
    OccurrenceIds,
)
from opentelemetry.instrumentation.flink_agents._patching import Patch, original
from opentelemetry.instrumentation.flink_agents._runs import OpenRun, new_run
from opentelemetry.instrumentation.flink_agents._snapshots import SnapshotTurns

if TYPE_CHECKING:
    from flink_agents_eventlog.record import Record
    from opentelemetry.instrumentation.flink_agents._core import Core
    from opentelemetry.instrumentation.flink_agents._executions import OpenExecution
    from opentelemetry.instrumentation.flink_agents._occurrences import (
        Dispatch,
        Occurrence,
    )

_MODULE = "flink_agents.runtime.local_runner"
_CALL = create_key("flink-agents-local-run")


class _Call:
    """One call of `LocalRunner.run`; its run exists once the InputEvent was sent."""

    def __init__(self) -> None:
        self.ambient = with_execution(None)
        self.state: LocalState | None = None
        self.context: Any = None
        self._token: Any = None

    @guarded
    def __enter__(self) -> None:
        self._token = otel_context.attach(set_value(_CALL, self, self.ambient))

    @guarded
    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        otel_context.detach(self._token)
        self._ended(error)

    @guarded
    def _ended(self, error: BaseException | None) -> None:
        if self.state is not None:
            self.state.end_run(self.context, error)


class LocalState:
    """What is kept beside one `LocalRunnerContext`: there is one for each key."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._ids = OccurrenceIds()
        self._occurrences = LocalOccurrences(self._ids)
        self._runs: list[tuple[OpenRun, Dispatch | None]] = []
        """Innermost last, since an action may run the same key again; each with what
        was being dispatched around it."""
        self._turns = SnapshotTurns()
        self._leftovers: list[Record] = []
        """Events that failed actions sent; the next run of the key logs them."""

    def begin_run(self, context: Any, event: Any, call: _Call) -> None:
        """Open the run that `event` begins and write its first records."""
        session = self._core.providers.session()
        plan = _host.plan_of(context)
        key = _key_text(context.key)
        run = new_run(
            session,
            key=key,
            agent_name=self._core.agent_name(plan),
            configuration=_host.configuration_of(context),
        )
        occurrence = self._ids.occurrence(event)
        opened = OpenRun(
            session,
            run,
            call.ambient,
            host_key=key,
            started_ns=occurrence.sent_ns,
        )
        self._runs.append((opened, self._occurrences.dispatching))
        call.state, call.context = self, context
        self._occurrences.sent(event, occurrence)
        record = opened.record(occurrence, event)
        opened.append(replace(record, **opened.span_ids()))
        _memory_events.prepare(self._core, opened, context)
        _memory_events.begin(self, context, opened, self._turns, occurrence.sent_ns)
        leftovers, self._leftovers = self._leftovers, []
        for leftover in leftovers:
            opened.append(replace(leftover, input_run_id=run.input_run_id))

    def end_run(self, context: Any, error: BaseException | None) -> None:
        """Close the innermost run."""
        run, self._occurrences.dispatching = self._runs.pop()
        if error is not None:
            for opened in run.open_executions:
                self.ending(opened, error)
            self._leftovers.sort(key=lambda record: record.timestamp)
        _memory_events.end(context, run)
        run.close(error)

    def dispatched(
        self, _: Any, event: Any, action: str
    ) -> tuple[OpenRun, Occurrence] | None:
        """Return the run and the occurrence for which `action` is called now."""
        if not self._runs:
            return None
        return self._runs[-1][0], self._occurrences.dispatched(event, action)

    def sent(self, _: Any, event: Any, emitter: OpenExecution | None) -> None:
        """Queue `event`; its record waits for the end of the action that sent it."""
        execution = emitter.execution if emitter else None
        occurrence = self._ids.occurrence(event, execution)
        self._occurrences.sent(event, occurrence)
        if emitter is not None:
            emitter.execution.emitted.append(emitter.run.record(occurrence, event))
        elif self._runs:
            # From a thread that knows no action: better without one than not at all.
            run = self._runs[-1][0]
            run.append(run.record(occurrence, event))

    def ending(self, action: OpenExecution, error: BaseException | None) -> None:
        """Keep the events of an action that did not finish for the next run."""
        if error is not None and not action.execution.closed:
            self._leftovers.extend(action.execution.emitted)
            action.execution.emitted = []

    def ended(self, action: OpenExecution) -> None:
        """Do nothing: the run ends with `LocalRunner.run`."""

    def route(
        self, context: Any, _: OpenRun, event: Any, occurrence: Occurrence
    ) -> None:
        """Queue an event of ours."""
        original(type(context), "send_event")(context, event)
        self._occurrences.sent(event, occurrence)

    def detach(self) -> None:
        """Do nothing: there is nothing of ours in the context."""


def patches(core: Core) -> list[Patch]:
    """Return the patches of this file."""

    @guarded
    def calling() -> _Call:
        return _Call()

    @guarded
    def sent(context: Any, event: Any) -> None:
        if not _host.is_event(event):
            return  # the host queues anything, and fails later
        state = core.states.get(context)
        if not isinstance(state, LocalState):
            state = LocalState(core)
            core.states.set(context, state)
        emitter = current_action()
        call = get_value(_CALL)
        if (
            emitter is None
            and isinstance(call, _Call)
            and call.state is None
            and _host.is_input_event(event)
        ):
            state.begin_run(context, event, call)
        else:
            state.sent(context, event, emitter)

    def run(wrapped: Any, _: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        call = calling()
        if call is None:
            return wrapped(*args, **kwargs)
        with call:
            return wrapped(*args, **kwargs)

    def send_event(
        wrapped: Any, _: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        result = wrapped(*args, **kwargs)
        sent(args[0], args[1] if len(args) > 1 else kwargs.get("event"))
        return result

    return [
        Patch(_MODULE, "LocalRunner.run", run),
        Patch(_MODULE, "LocalRunnerContext.send_event", send_event),
    ]


@guarded
def _key_text(key: object) -> str:
    return str(key)
