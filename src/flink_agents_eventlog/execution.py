"""Execution trees: who ran inside whom, rebuilt from records in any order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flink_agents_eventlog import lifecycle
from flink_agents_eventlog.record import Record
from flink_agents_eventlog.run import Event, Execution, Run
from flink_agents_eventlog.run_draft import RunDraft

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from flink_agents_eventlog.finding import Finding, OnFinding

__all__ = [
    "Event",
    "Execution",
    "ExecutionForest",
    "Run",
    "execution_forest",
    "execution_sequence",
]


def execution_forest(
    records: Iterable[Record], *, on_finding: OnFinding | None = None
) -> list[Run]:
    """Rebuild the runs of a log, oldest first.

    The order of records does not matter, duplicates merge, and a missing record
    leaves all others standing: what has lost its parent stands at the root.
    """
    forest = ExecutionForest()
    for record in records:
        forest.add(record)
    runs = []
    for run, findings in forest.runs():
        runs.append(run)
        if on_finding is not None:
            for each in findings:
                on_finding(each)
    return runs


def execution_sequence(runs: Iterable[Run]) -> Iterator[Record]:
    """Write runs down as records that give the same runs again.

    >>> from flink_agents_eventlog.record import Record
    >>> record = Record(
    ...     timestamp="2026-01-01T00:00:00Z", input_run_id="run-1", event_id="1",
    ...     event_type="_input_event", event_attributes={},
    ... )
    >>> runs = execution_forest([record])
    >>> execution_forest(execution_sequence(runs)) == runs
    True
    """
    for run in runs:
        for event in run.events:
            yield _event_record(run, event)
        todo: list[tuple[str | None, Execution]]
        todo = [(None, each) for each in run.executions]
        while todo:
            parent, execution = todo.pop()
            yield from _execution_records(run, execution, parent)
            todo += [(execution.execution_id, each) for each in execution.children]


class ExecutionForest:
    """Collects records one by one; `runs` builds what is known so far."""

    def __init__(self) -> None:
        self._runs: dict[str | None, RunDraft] = {}

    def add(self, record: Record, path: str = "", line: int | None = None) -> None:
        """Take in a record; findings about it will point to `path` and `line`."""
        draft = self._runs.get(record.input_run_id)
        if draft is None:
            draft = self._runs[record.input_run_id] = RunDraft(record.input_run_id)
        draft.add(record, path, line)

    def runs(self) -> Iterator[tuple[Run, list[Finding]]]:
        """Build the runs, oldest first, each with what is wrong in it."""
        for draft in sorted(self._runs.values(), key=lambda draft: draft.age):
            yield draft.build()


def _event_record(run: Run, event: Event) -> Record:
    has_emitter = event.execution_id is not None
    return Record(
        timestamp=event.timestamp,
        input_run_id=run.input_run_id,
        business_key=run.business_key,
        agent_name=run.agent_name,
        execution_id=event.execution_id,
        action_trigger_event_id=event.action_trigger_event_id,
        entity_type=lifecycle.ACTION if has_emitter and event.action else None,
        entity_name=event.action if has_emitter else None,
        event_id=event.event_id,
        event_type=event.event_type,
        trace_id=run.trace_id,
        span_id=None if has_emitter else run.span_id,
        event_attributes=event.content,
        upstream_action_name=None if has_emitter else event.action,
    )


def _execution_records(
    run: Run, execution: Execution, parent: str | None
) -> Iterator[Record]:
    """Write the start, if there is one, and the end, if there is one."""
    moments = [(lifecycle.STARTED, execution.started_at)]
    if execution.status == lifecycle.REUSED:  # did not run: one record
        moments = []
    if execution.ended_at is not None:
        moments.append((execution.status, execution.ended_at))
    for status, timestamp in moments:
        if timestamp is None:
            continue
        is_end = status != lifecycle.STARTED
        yield Record(
            timestamp=timestamp,
            input_run_id=run.input_run_id,
            business_key=run.business_key,
            agent_name=run.agent_name,
            execution_id=execution.execution_id,
            parent_execution_id=parent,
            action_trigger_event_id=execution.action_trigger_event_id,
            entity_type=execution.entity_type,
            entity_name=execution.entity_name,
            entity_metadata=execution.entity_metadata,
            event_id=f"{execution.execution_id}-{status}",
            event_type=lifecycle.EVENT_TYPE_OF_STATUS[status],
            status=status,
            problem_category=execution.problem_category if is_end else None,
            trace_id=execution.trace_id,
            span_id=execution.span_id,
            event_attributes=_attributes(execution) if is_end else execution.content,
        )


def _attributes(execution: Execution) -> dict[str, Any]:
    error = {
        "error_type": execution.error_type,
        "error_message": execution.error_message,
        "attempts": execution.attempts or None,
    }
    known = {name: value for name, value in error.items() if value is not None}
    return execution.content | known
