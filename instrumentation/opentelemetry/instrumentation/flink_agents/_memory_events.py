"""Memory, begin and end events: their records, and their way to listening actions."""

from __future__ import annotations

import time
import uuid
from typing import TYPE_CHECKING, Any

from flink_agents_eventlog import lifecycle
from flink_agents_eventlog.folding import (
    MEMORY_EVENT_TYPES,
    SENSORY_READ,
    SENSORY_WRITE,
    SHORT_TERM_READ,
    SHORT_TERM_WRITE,
)
from flink_agents_eventlog.payload import decode_plain, encode_plain
from flink_agents_eventlog.record import Record, timestamp_text
from opentelemetry.exporter.flink_agents._guard import guarded
from opentelemetry.instrumentation.flink_agents import _host, semconv
from opentelemetry.instrumentation.flink_agents._action_memory import ActionMemory
from opentelemetry.instrumentation.flink_agents._memory_objects import (
    read_patches,
    write_patches,
)
from opentelemetry.instrumentation.flink_agents._memory_settings import memory_settings
from opentelemetry.instrumentation.flink_agents._occurrences import Occurrence
from opentelemetry.instrumentation.flink_agents._snapshots import snapshot

if TYPE_CHECKING:
    from opentelemetry.exporter.flink_agents._execution import Execution
    from opentelemetry.instrumentation.flink_agents._core import ContextState, Core
    from opentelemetry.instrumentation.flink_agents._executions import OpenExecution
    from opentelemetry.instrumentation.flink_agents._runs import OpenRun
    from opentelemetry.instrumentation.flink_agents._snapshots import SnapshotTurns

_WRITES = frozenset({SENSORY_WRITE, SHORT_TERM_WRITE})
_READS = frozenset({SENSORY_READ, SHORT_TERM_READ})
EVENT_TYPES = (*sorted(MEMORY_EVENT_TYPES), lifecycle.AGENT_RUN_BEGIN_EVENT)
"""What an action can listen to."""


def action_memory(run: OpenRun, occurrence: Occurrence) -> ActionMemory | None:
    """Return what observes an action; nothing does if a memory event triggered it."""
    if run.memory is None or occurrence.event_type in MEMORY_EVENT_TYPES:
        return None
    return ActionMemory(run.memory)


def prepare(core: Core, run: OpenRun, context: Any) -> None:
    """Decide what of memory `run` observes, and patch what that needs.

    Without a log and without an action that listens, nobody would learn of it.
    """
    plan = _host.plan_of(context)
    if run.run.log is None and not _host.listens(plan, *EVENT_TYPES):
        return
    run.memory = memory_settings(run.session.settings, _host.configuration_of(context))
    operations = run.memory.operations
    if not operations.isdisjoint(_WRITES):
        core.observe("writes", write_patches)
    if not operations.isdisjoint(_READS):
        core.observe("reads", read_patches)


@guarded
def begin(
    state: ContextState, context: Any, run: OpenRun, turns: SnapshotTurns, ns: int
) -> None:
    """Write and route the begin event of `run`, if it is on."""
    if run.memory is None or not run.memory.begin:
        return
    full = turns.is_due(run.host_key, run.memory.interval)
    event_type = lifecycle.AGENT_RUN_BEGIN_EVENT
    record, attributes = _run_record(run, event_type, context, full=full, ns=ns)
    _route(state, context, run, record, attributes)
    run.append(record)


@guarded
def end(context: Any, run: OpenRun) -> None:
    """Write the end event of `run`, if it is on; it is never routed."""
    if run.memory is None or not run.memory.end:
        return
    record, _ = _run_record(
        run, lifecycle.AGENT_RUN_END_EVENT, context, full=True, ns=time.time_ns()
    )
    run.append(record)


@guarded
def emit(state: ContextState, context: Any, action: OpenExecution) -> None:
    """Add the memory events of a finished action to its records, and route them."""
    memory = action.memory
    if memory is None:
        return
    ended_ns = action.execution.ended_ns = time.time_ns()
    action.annotate(
        {
            semconv.FLINK_AGENTS_MEMORY_COUNT.format(operation.replace("-", "_")): count
            for operation, count in memory.counts.items()
        }
    )
    for event in memory.take_events():
        attributes: dict[str, Any] = {
            "key": action.run.run.business_key,
            "value": event.value,
        }
        if event.previous is not None:
            attributes["previous"] = event.previous
        if event.cleared_sets is not None:
            attributes["cleared_sets"] = event.cleared_sets
        record = _record(
            action.run, event.event_type, attributes, event.metadata, ended_ns
        )
        _belongs_to(record, action.execution)
        if event.is_routed:
            _route(state, context, action.run, record, attributes, action.execution)
        action.execution.emitted.append(record)


def _run_record(
    run: OpenRun, event_type: str, context: Any, *, full: bool, ns: int
) -> tuple[Record, dict[str, Any]]:
    attributes: dict[str, Any] = {"key": run.run.business_key}
    metadata: dict[str, Any] = {}
    if full:
        limit = run.memory.max_bytes if run.memory is not None else 0
        attributes["value"], metadata = snapshot(context.short_term_memory, limit)
        if run.memory is not None and run.memory.native:
            # There, what JSON cannot hold is just absent.
            metadata.pop("unrepresentable_paths", None)
    return _record(run, event_type, attributes, metadata, ns), attributes


@guarded
def _route(  # noqa: PLR0917  # what an occurrence is made of
    state: ContextState,
    context: Any,
    run: OpenRun,
    record: Record,
    attributes: dict[str, Any],
    emitter: Execution | None = None,
) -> None:
    """Send an event of ours to the actions that listen to its type, if there are any.

    The local runner fails on an event without listeners, and nothing of ours may
    reach an agent that did not ask for it.
    """
    plan = _host.plan_of(context)
    if not _host.listens(plan, record.event_type):
        return
    # The agent gets what is its own, masked only in what leaves it.
    received = {**attributes, "key": run.host_key}
    event = _host.typed_event(record.event_type, decode_plain(encode_plain(received)))
    record.source_event_id = str(event.id)
    occurrence = Occurrence(
        record.event_id, record.event_type, record.source_event_id, emitter
    )
    state.route(context, run, event, occurrence)


def _record(
    run: OpenRun,
    event_type: str,
    attributes: dict[str, Any],
    metadata: dict[str, Any] | None,
    ns: int,
) -> Record:
    session, identity = run.session, run.run
    return Record(
        timestamp=timestamp_text(ns),
        input_run_id=identity.input_run_id,
        business_key=identity.business_key,
        agent_name=identity.agent_name,
        entity_metadata=metadata or {},
        event_id=str(uuid.uuid4()),
        event_type=event_type,
        event_attributes=session.processor.prepared("event_attributes", attributes),
    )


def _belongs_to(record: Record, action: Execution) -> None:
    record.execution_id = action.execution_id
    record.action_trigger_event_id = action.trigger_event_id
    record.entity_type = lifecycle.ACTION
    record.entity_name = action.entity_name
