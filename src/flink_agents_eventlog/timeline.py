"""A run in the order of time: what began when, however it is nested.

>>> from flink_agents_eventlog.run import Execution, Run
>>> begin, later, end = (f"2026-01-01T00:00:0{second}Z" for second in range(3))
>>> tool = Execution("t", "tool", "search", started_at=later, ended_at=end)
>>> action = Execution("a", "action", "answer", started_at=begin, children=[tool])
>>> run = Run("r", started_at=begin, ended_at=end, executions=[action])
>>> [(each.node.entity_name, each.depth, each.begin_ms) for each in timeline(run)]
[('answer', 0, 0.0), ('search', 1, 1000.0)]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from flink_agents_eventlog.execution_draft import duration_ms

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flink_agents_eventlog.run import Event, Execution, Run


class Moment(NamedTuple):
    """Where something begins and ends, from the beginning of its run on.

    An Event ends where it begins. None is what the log does not tell.
    """

    node: Execution | Event
    depth: int
    begin_ms: float | None
    end_ms: float | None


def timeline(run: Run) -> list[Moment]:
    """Put all executions and Events of a run in the order of time.

    What has no time comes last; of one time, what is outside comes first.
    """
    moments = [*_executions(run), *_events(run)]
    return sorted(moments, key=_order)


def length_ms(run: Run) -> float:
    """Tell how long a run took, from its input to its last record."""
    if run.ended_at is None:
        return 0.0
    return duration_ms(run.started_at, run.ended_at) or 0.0


def _executions(run: Run) -> Iterator[Moment]:
    todo = [(each, 0) for each in run.executions]
    while todo:
        execution, depth = todo.pop()
        begin = _since(run, execution.started_at)
        yield Moment(execution, depth, begin, _since(run, execution.ended_at))
        todo += [(each, depth + 1) for each in execution.children]


def _events(run: Run) -> Iterator[Moment]:
    for event in run.events:
        at = _since(run, event.timestamp)
        yield Moment(event, 0 if event.execution_id is None else 1, at, at)


def _since(run: Run, timestamp: str | None) -> float | None:
    return None if timestamp is None else duration_ms(run.started_at, timestamp)


def _order(moment: Moment) -> tuple[bool, float, int]:
    at = moment.begin_ms if moment.begin_ms is not None else moment.end_ms
    return (at is None, at or 0.0, moment.depth)
