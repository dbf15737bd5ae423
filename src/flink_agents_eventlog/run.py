"""The values of an execution tree: `Run`, `Execution` and `Event`."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final

from flink_agents_eventlog import lifecycle

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


@dataclass(slots=True)
class Execution:
    """One run of an action, model, parser or tool.

    Without a terminal record its status is ``started`` and it has no end. `content`
    are those attributes of its records that were asked for (see `closed_runs`), such
    as ``input`` and ``output``.
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
    """One business Event of a run, and the name of the action that sent it.

    `content` are those of its attributes that were asked for (see `closed_runs`).
    """

    event_id: str
    event_type: str
    timestamp: str
    execution_id: str | None = None
    action_trigger_event_id: str | None = None
    action: str | None = None
    content: dict[str, Any] = field(default_factory=dict)


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


def selected(node: Execution | Event, names: Iterable[str]) -> dict[str, Any]:
    """Give fields of an execution or Event by name, as far as it has them.

    A name is that of a field, of an entry of `entity_metadata` or of `content`, and
    goes deeper with dots, also into lists.

    >>> llm = Execution("x", entity_metadata={"model": "m"}, content={"input": [{}, 1]})
    >>> selected(llm, ["model", "input.1", "ended_at"])
    {'model': 'm', 'input.1': 1}
    """
    if not names:
        return {}
    own = {each.name: getattr(node, each.name) for each in fields(node)}
    own = {name: value for name, value in own.items() if name not in _STRUCTURE}
    everything = node.content | own.get("entity_metadata", {}) | own
    found = {name: _inside(everything, name) for name in names}
    return {name: value for name, value in found.items() if value is not None}


_STRUCTURE: Final = ("children", "content")


def _inside(value: Any, path: str) -> Any:
    """Follow a dotted path; None where it does not lead."""
    for step in path.split("."):
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            return None
    return value
