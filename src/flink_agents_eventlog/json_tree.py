"""Runs as the JSON form of ``tree``, piece by piece.

A log may hold more runs than memory, and a tree may be deeper than any encoder.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flink_agents_eventlog.payload import encode_plain
from flink_agents_eventlog.run import Event, Execution, Run, selected

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from flink_agents_eventlog.finding import Finding


@dataclass(frozen=True)
class JsonTree:
    """How much of a run is written."""

    depth: int | None = None
    """So many levels of executions; of those left out only the number is told."""
    select: Sequence[str] = ()
    """Fields to give as `selected`; see `run.selected`."""

    def form(self, runs: Iterable[Run], findings: list[Finding]) -> Iterator[bytes]:
        """Write the whole form; the findings come last, as they are known then."""
        yield b'{"format":1,"command":"tree","runs":['
        for at, run in enumerate(runs):
            yield b"," if at else b""
            yield from self._run(run)
        yield b'],"findings":%b}' % encode_plain([each.as_json() for each in findings])

    def _run(self, run: Run) -> Iterator[bytes]:
        always = {
            "input_run_id": run.input_run_id,
            "business_key": run.business_key,
            "agent_name": run.agent_name,
            "complete": run.complete,
        }
        where_known = {
            "started_at": run.started_at,
            "ended_at": run.ended_at,
            "trace_id": run.trace_id,
            "span_id": run.span_id,
        }
        yield encode_plain(always | _known(where_known))[:-1]
        if self.depth == 0:
            yield b',"executions":[],"executions_left_out":%d' % len(run.executions)
        else:
            yield b',"executions":['
            yield from self._executions(run.executions)
            yield b"]"
        yield b',"events":%b}' % encode_plain(
            [self._event(each) for each in run.events]
        )

    def _executions(self, executions: list[Execution]) -> Iterator[bytes]:
        level = 1
        todo: list[bytes | Execution] = _separated(executions)
        while todo:
            part = todo.pop()
            if isinstance(part, bytes):
                level -= part == _END
                yield part
                continue
            yield encode_plain(self._execution(part))[:-1]
            if level == self.depth and part.children:
                yield b',"children":[],"children_left_out":%d}' % len(part.children)
            else:
                yield b',"children":['
                todo += [_END, *_separated(part.children)]
                level += 1

    def _execution(self, execution: Execution) -> dict[str, Any]:
        always = {
            "execution_id": execution.execution_id,
            "entity_type": execution.entity_type,
            "entity_name": execution.entity_name,
            "entity_metadata": execution.entity_metadata,
            "status": execution.status,
            "started_at": execution.started_at,
        }
        where_known = {
            "ended_at": execution.ended_at,
            "duration_ms": execution.duration_ms,
            "problem_category": execution.problem_category,
            "error_type": execution.error_type,
            "error_message": execution.error_message,
            "attempts": execution.attempts or None,
            "trace_id": execution.trace_id,
            "span_id": execution.span_id,
            "selected": selected(execution, self.select) or None,
        }
        trigger = {"action_trigger_event_id": execution.action_trigger_event_id}
        return always | _known(where_known) | trigger

    def _event(self, event: Event) -> dict[str, Any]:
        always = {"event_id": event.event_id, "event_type": event.event_type}
        where_known = {
            "execution_id": event.execution_id,
            "action_trigger_event_id": event.action_trigger_event_id,
            "action": event.action,
            "selected": selected(event, self.select) or None,
        }
        return always | _known(where_known)


_END = b"]}"


def _separated(executions: list[Execution]) -> list[bytes | Execution]:
    """Lay executions on the stack, with commas between, the first on top."""
    parts: list[bytes | Execution] = []
    for execution in reversed(executions):
        parts += [execution, b","]
    return parts[:-1]


def _known(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
