"""The values of an execution tree: `Run`, `Execution` and `Event`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from flink_agents_eventlog import lifecycle

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(slots=True)
class Execution:
    """One run of an action, model, parser or tool.

    Without a terminal record its status is ``started`` and it has no end. `content`
    is empty unless asked for (see `closed_runs`), then what there is of ``input`` and
    ``output``.
    """

    execution_id: str
    entity_type: str | None = None
    entity_name: str | None = None
    entity_metadata: dict[str, Any] = field(default_factory=dict)
    status: str = lifecycle.STARTED
    started_at: str | None = None
    ended_at: str | None = None
    duration_ms: float | None = None
    problem_category: str | None = None
    error_type: str | None = None
    error_message: str | None = None
    action_trigger_event_id: str | None = None
    attempts: list[Any] = field(default_factory=list)
    trace_id: str | None = None
    span_id: str | None = None
    content: dict[str, Any] = field(default_factory=dict)
    children: list[Execution] = field(default_factory=list)


@dataclass(slots=True)
class Event:
    """One business Event of a run, without its attributes."""

    event_id: str
    event_type: str
    timestamp: str
    execution_id: str | None = None
    action_trigger_event_id: str | None = None


@dataclass(slots=True)
class Run:
    """What one input set off: actions with all inside them, and Events.

    It starts with its input, if that is there, else with its earliest record, and ends
    with its latest, whether or not it is complete. `span_id` is that of the run's own
    span.
    """

    input_run_id: str | None
    business_key: str | None = None
    agent_name: str | None = None
    complete: bool = False
    started_at: str | None = None
    ended_at: str | None = None
    trace_id: str | None = None
    span_id: str | None = None
    executions: list[Execution] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)


def executions_of(run: Run) -> Iterator[Execution]:
    """Give all executions of a run, however deep they are, in no order to rely on."""
    todo = list(run.executions)
    while todo:
        execution = todo.pop()
        yield execution
        todo += execution.children
