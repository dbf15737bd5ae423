"""Execution trees: who ran inside whom, rebuilt from records in any order."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import msgspec

from flink_agents_eventlog import lifecycle
from flink_agents_eventlog.conversion import convert
from flink_agents_eventlog.dialect import NATIVE, SNAKE
from flink_agents_eventlog.finding import Finding, OnFinding, finding
from flink_agents_eventlog.record import timestamp_ns, timestamp_order
from flink_agents_eventlog.run import Event, Execution, Run

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from flink_agents_eventlog.record import Record

__all__ = ["Event", "Execution", "ExecutionForest", "Run", "execution_forest"]


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


class ExecutionForest:
    """Collects records one by one; `runs` builds what is known so far."""

    def __init__(self) -> None:
        self._runs: dict[str | None, _RunDraft] = {}

    def add(self, record: Record, path: str = "", line: int | None = None) -> None:
        """Take in a record; findings about it will point to `path` and `line`."""
        draft = self._runs.get(record.input_run_id)
        if draft is None:
            draft = self._runs[record.input_run_id] = _RunDraft(record.input_run_id)
        draft.add(record, path, line)

    def runs(self) -> Iterator[tuple[Run, list[Finding]]]:
        """Build the runs, oldest first, each with what is wrong in it."""
        for draft in sorted(self._runs.values(), key=lambda draft: draft.opened):
            yield draft.build()


# Events stand in order of time, but these stand first and last.
_FIRST: Final = {lifecycle.INPUT_EVENT: -2, lifecycle.AGENT_RUN_BEGIN_EVENT: -1}
_LAST: Final = {lifecycle.AGENT_RUN_END_EVENT: 1}
_EVENT_RANK: Final = {**_FIRST, **_LAST}


class _RunDraft:
    def __init__(self, input_run_id: str | None) -> None:
        # The input dates the run; Events left over from another may be older.
        self.opened: tuple[bool, str] = (True, "~")
        self._run = Run(input_run_id)
        self._events: dict[str, Event] = {}
        self._executions: dict[str, _ExecutionDraft] = {}
        self._findings: list[Finding] = []

    def add(self, record: Record, path: str, line: int | None) -> None:
        run = self._run
        run.business_key = run.business_key or record.business_key
        run.agent_name = run.agent_name or record.agent_name
        is_input = record.event_type == lifecycle.INPUT_EVENT
        self.opened = min(
            self.opened, (not is_input, timestamp_order(record.timestamp))
        )
        status = lifecycle.STATUS_OF_EVENT_TYPE.get(record.event_type)
        if status is None:
            self._add_event(record)
        elif record.execution_id is None:
            message = f"{record.event_type} without an execution_id"
            event_id = record.event_id
            self._findings.append(
                finding(
                    "RESERVED_EVENT_TYPE", message, path, line=line, event_id=event_id
                )
            )
        else:
            self._draft(record.execution_id, path, line).add(record, status)

    def _add_event(self, record: Record) -> None:
        event = Event(
            record.event_id,
            record.event_type,
            record.timestamp,
            record.execution_id,
            record.action_trigger_event_id,
        )
        self._events.setdefault(event.event_id, event)

    def _draft(self, execution_id: str, path: str, line: int | None) -> _ExecutionDraft:
        draft = self._executions.get(execution_id)
        if draft is None:
            draft = _ExecutionDraft(execution_id, path, line)
            self._executions[execution_id] = draft
        return draft

    def build(self) -> tuple[Run, list[Finding]]:
        drafts = sorted(self._executions.values(), key=lambda draft: draft.began)
        built = {draft.execution_id: draft.build() for draft in drafts}
        cut = _cuts({draft.execution_id: draft.parent for draft in drafts})
        roots: list[Execution] = []
        findings = list(self._findings)
        for draft in drafts:
            is_cut = draft.execution_id in cut
            parent = None if is_cut else built.get(draft.parent or "")
            siblings = roots if parent is None else parent.children
            siblings.append(built[draft.execution_id])
            findings += draft.findings(has_parent=parent is not None, is_cut=is_cut)
        events = sorted(self._events.values(), key=_event_order)
        _tell_triggers(events, built)
        complete = _is_complete(events, built.values())
        run = replace(self._run, complete=complete, executions=roots, events=events)
        return run, findings


def _tell_triggers(events: list[Event], built: dict[str, Execution]) -> None:
    """Take the trigger of an action from its Events: native executions name none."""
    for event in events:
        emitter = built.get(event.execution_id or "")
        if emitter is not None and emitter.action_trigger_event_id is None:
            emitter.action_trigger_event_id = event.action_trigger_event_id


def _event_order(event: Event) -> tuple[int, str]:
    rank = _EVENT_RANK.get(event.event_type, 0)
    return (rank, timestamp_order(event.timestamp))


def _is_complete(events: list[Event], executions: Iterable[Execution]) -> bool:
    has_input = any(event.event_type == lifecycle.INPUT_EVENT for event in events)
    return has_input and all(
        execution.status != lifecycle.STARTED
        and execution.entity_metadata.get("incomplete") is not True
        for execution in executions
    )


def _cuts(parents: dict[str, str | None]) -> set[str]:
    """One execution of every circle of parents: there the circle is cut open."""
    cut: set[str] = set()
    done: set[str | None] = set()
    for execution_id in parents:
        way: dict[str, None] = {}
        at: str | None = execution_id
        while at is not None and at in parents and at not in done:
            if at in way:
                steps = list(way)
                cut.add(min(steps[steps.index(at) :]))
                break
            way[at] = None
            at = parents[at]
        done.update(way)
    return cut


class _ExecutionDraft:
    def __init__(self, execution_id: str, path: str, line: int | None) -> None:
        self.execution_id = execution_id
        self._path = path
        self._line = line
        self._started: Record | None = None
        self._terminal: Record | None = None
        self._status = lifecycle.STARTED

    @property
    def _either(self) -> Record:
        record = self._started or self._terminal
        assert record is not None  # noqa: S101 - a draft begins with a record
        return record

    @property
    def began(self) -> str:
        return timestamp_order(self._either.timestamp)

    @property
    def parent(self) -> str | None:
        return self._either.parent_execution_id

    def add(self, record: Record, status: str) -> None:
        """Keep the first start and the last end, whatever comes in between."""
        if status == lifecycle.STARTED:
            if self._started is None or _place(record) < _place(self._started):
                self._started = _without_content(record)
        elif self._terminal is None or _place(record) > _place(self._terminal):
            self._terminal = _without_content(record)
            self._status = status

    def build(self) -> Execution:
        record = self._either
        execution = Execution(
            self.execution_id,
            record.entity_type,
            record.entity_name,
            dict(record.entity_metadata),
            self._status,
            action_trigger_event_id=record.action_trigger_event_id,
        )
        if self._started is not None:
            execution.started_at = self._started.timestamp
        if self._terminal is not None:
            self._end(execution, self._terminal)
        return execution

    def _end(self, execution: Execution, terminal: Record) -> None:
        if self._status == lifecycle.REUSED:  # did not run: one record, no time
            execution.started_at = execution.started_at or terminal.timestamp
        execution.ended_at = terminal.timestamp
        execution.duration_ms = duration_ms(execution.started_at, execution.ended_at)
        execution.entity_metadata.update(terminal.entity_metadata)
        execution.problem_category = terminal.problem_category
        attributes = terminal.event_attributes
        execution.error_type = _text(attributes.get("error_type"))
        execution.error_message = _text(attributes.get("error_message"))
        attempts = attributes.get("attempts")
        execution.attempts = attempts if isinstance(attempts, list) else []

    def findings(self, *, has_parent: bool, is_cut: bool) -> Iterator[Finding]:
        name = f"{self._either.entity_type} {self._either.entity_name}"
        if is_cut:
            yield self._finding("CYCLE_DETECTED", f"{name} runs inside itself")
        elif self.parent is not None and not has_parent:
            yield self._finding(
                "MISSING_PARENT", f"{name} ran inside {self.parent}, which is not there"
            )
        if self._terminal is None:
            yield self._finding("MISSING_END", f"{name} has no terminal record")
        elif self._started is None and self._status != lifecycle.REUSED:
            yield self._finding("MISSING_START", f"{name} has no started record")

    def _finding(self, code: str, message: str) -> Finding:
        event_id = self._either.event_id
        return finding(code, message, self._path, line=self._line, event_id=event_id)


_KEPT: Final = ("error_type", "error_message", "errorType", "errorMessage", "attempts")


def _place(record: Record) -> tuple[str, str, str]:
    order = timestamp_order(record.timestamp)
    return (order, record.event_type, record.event_id)


def _without_content(record: Record) -> Record:
    """Keep a record in our own words and without its payload, which may be large."""
    attributes = record.event_attributes
    small = {name: attributes[name] for name in _KEPT if name in attributes}
    record = msgspec.structs.replace(record, event_attributes=small)
    return convert(record, SNAKE).record if record.dialect == NATIVE else record


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def duration_ms(started_at: str | None, ended_at: str) -> float | None:
    """Give the milliseconds between two timestamps, None where they do not tell."""
    if started_at is None:
        return None
    try:
        return round((timestamp_ns(ended_at) - timestamp_ns(started_at)) / 1e6, 3)
    except ValueError:
        return None
