"""A run laid out from top to bottom: what stands where in its picture.

Actions stand in the order of time, inside them what they called and then the Events
they sent. Each action names the Event that set it off, so both trees are told: who
ran inside whom, and what led to what.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from flink_agents_eventlog import lifecycle
from flink_agents_eventlog.record import timestamp_order
from flink_agents_eventlog.run import Event, Execution, Run, executions_of
from flink_agents_eventlog.style import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flink_agents_eventlog.style import Style

# Deeper levels are no longer indented.
_INDENTED_LEVELS: Final = 40
_DEEPEST: Final = 1 << 31
_OPENING: Final = (lifecycle.INPUT_EVENT, lifecycle.AGENT_RUN_BEGIN_EVENT)
_RUN_EVENTS: Final = (*_OPENING, lifecycle.AGENT_RUN_END_EVENT)


class Branches(NamedTuple):
    """The strokes of a tree."""

    middle: str
    last: str
    below_middle: str
    below_last: str
    emitted: str


_UNICODE: Final = Branches("├─ ", "└─ ", "│  ", "   ", "→ ")
_ASCII: Final = Branches("|- ", "`- ", "|  ", "   ", "> ")


class Line(NamedTuple):
    """One line of a picture: what it is about and where it stands."""

    node: Execution | Event
    strokes: str
    label: str
    depth: int
    left_out: int
    """How many nodes stand directly below it, but deeper than asked for."""


def lines(run: Run, style: Style, depth: int | None = None) -> Iterator[Line]:
    """Walk through a run as it is drawn, so many levels deep; all for None."""
    deepest = _DEEPEST if depth is None else depth
    branches = _UNICODE if style.unicode else _ASCII
    names = event_names(run)
    top, below = _arranged(run)
    todo = _siblings(top if deepest else [], "", 0)
    while todo:
        node, prefix, level, is_last = todo.pop()
        children = below.pop(id(node), [])
        is_cut = level + 1 >= deepest
        stroke = branches.last if is_last else branches.middle
        arrow = branches.emitted if level and isinstance(node, Event) else ""
        label = arrow + _label(node, names)
        yield Line(node, prefix + stroke, label, level, len(children) * is_cut)
        if not is_cut:
            indent = branches.below_last if is_last else branches.below_middle
            deeper = prefix + indent if level < _INDENTED_LEVELS else prefix
            todo += _siblings(children, deeper, level + 1)


def event_names(run: Run) -> dict[str, str]:
    """Name Events by their types, with a number where an action could mean several.

    >>> run = Run("r", events=[Event("a", "sent", "T"), Event("b", "sent", "T")])
    >>> event_names(run)
    {'a': 'sent', 'b': 'sent'}
    >>> run.executions = [Execution("x", action_trigger_event_id="b")]
    >>> event_names(run)
    {'a': 'sent #1', 'b': 'sent #2'}
    """
    triggers = {each.action_trigger_event_id for each in executions_of(run)}
    triggers |= {each.action_trigger_event_id for each in run.events}
    ids_of: dict[str, list[str]] = {}
    for event in run.events:
        ids_of.setdefault(event.event_type, []).append(event.event_id)
    names: dict[str, str] = {}
    for event_type, ids in ids_of.items():
        is_clear = len(ids) == 1 or triggers.isdisjoint(ids)
        for number, event_id in enumerate(ids, 1):
            names[event_id] = event_type if is_clear else f"{event_type} #{number}"
    return names


def _siblings(
    nodes: list[Any], prefix: str, depth: int
) -> list[tuple[Any, str, int, bool]]:
    """Lay nodes on the stack: the last below, so that the first is drawn first."""
    last = len(nodes) - 1
    return [(nodes[at], prefix, depth, at == last) for at in range(last, -1, -1)]


def _arranged(run: Run) -> tuple[list[Any], dict[int, list[Any]]]:
    """Give what stands at the top, and what stands below each execution by identity.

    An Event may name its action where the action itself is not in the log, as in the
    host's own log without tracing: there the action stands without a status.
    """
    executions = {each.execution_id: each for each in executions_of(run)}
    below = {id(each): list[Any](each.children) for each in executions.values()}
    unrecorded: dict[tuple[str | None, str], Execution] = {}
    top: list[Any] = list(run.executions)
    for event in run.events:
        emitter = executions.get(event.execution_id or "")
        if emitter is None and event.action and event.event_type not in _RUN_EVENTS:
            cause = (event.action_trigger_event_id, event.action)
            emitter = unrecorded.get(cause)
            if emitter is None:
                emitter = unrecorded[cause] = _unrecorded(event)
                top.append(emitter)
        if emitter is None:
            top.append(event)
        else:
            below.setdefault(id(emitter), []).append(event)
    return sorted(top, key=_order), below


def _unrecorded(event: Event) -> Execution:
    trigger = event.action_trigger_event_id
    return Execution(
        "",
        lifecycle.ACTION,
        event.action,
        status="",
        started_at=event.timestamp,
        action_trigger_event_id=trigger,
    )


def _order(node: Execution | Event) -> tuple[int, str]:
    if isinstance(node, Execution):
        return (0, timestamp_order(node.started_at or node.ended_at or ""))
    rank = int(node.event_type == lifecycle.AGENT_RUN_END_EVENT)
    rank -= node.event_type in _OPENING
    return (rank, timestamp_order(node.timestamp))


def _label(node: Execution | Event, names: dict[str, str]) -> str:
    if isinstance(node, Event):
        return shown(names[node.event_id])
    return f"{shown(node.entity_type or '?')} {shown(node.entity_name or '?')}"
