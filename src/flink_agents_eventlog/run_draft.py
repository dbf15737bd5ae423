"""One run while its records come in, in any order."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from flink_agents_eventlog import lifecycle
from flink_agents_eventlog.execution_draft import ExecutionDraft, kept
from flink_agents_eventlog.finding import Finding, finding
from flink_agents_eventlog.record import timestamp_order
from flink_agents_eventlog.run import Event, Execution, Run

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from flink_agents_eventlog.record import Record

_LATER: Final = (True, "~")
# Events stand in order of time, but these stand first and last.
_FIRST: Final = {lifecycle.INPUT_EVENT: -2, lifecycle.AGENT_RUN_BEGIN_EVENT: -1}
_LAST: Final = {lifecycle.AGENT_RUN_END_EVENT: 1}
_EVENT_RANK: Final = {**_FIRST, **_LAST}


class RunDraft:
    """Collects the records of one run, in any order; `build` gives what is known."""

    def __init__(self, input_run_id: str | None, *, keep: Collection[str] = ()) -> None:
        # The input dates the run; Events left over from another may be older.
        self._opened: tuple[bool, str] = _LATER
        self._ended = ""
        self._span_of: tuple[bool, bool, str] = (True, *_LATER)
        self._keep = keep
        self._run = Run(input_run_id)
        self._events: dict[str, Event] = {}
        self._executions: dict[str, ExecutionDraft] = {}
        self._open: set[str] = set()
        self._findings: list[Finding] = []

    def add(self, record: Record, path: str, line: int | None) -> None:
        """Take in a record; findings about it will point to `path` and `line`."""
        self._identify(record)
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
            draft = self._draft(record.execution_id, path, line)
            draft.add(record, status)
            if draft.is_open:
                self._open.add(draft.execution_id)
            else:
                self._open.discard(draft.execution_id)

    @property
    def age(self) -> tuple[bool, str, str]:
        """Sorts runs as they began, those without their input last."""
        return (*self._opened, self._run.input_run_id or "")

    @property
    def is_open(self) -> bool:
        """Whether something in it has started and not ended."""
        return bool(self._open)

    def _identify(self, record: Record) -> None:
        """Take from a record what it says of the run as a whole."""
        run = self._run
        run.business_key = run.business_key or record.business_key
        run.agent_name = run.agent_name or record.agent_name
        run.trace_id = run.trace_id or record.trace_id
        order = timestamp_order(record.timestamp)
        opened = (record.event_type != lifecycle.INPUT_EVENT, order)
        if opened < self._opened:
            self._opened, run.started_at = opened, record.timestamp
        if order >= self._ended:
            self._ended, run.ended_at = order, record.timestamp
        if record.span_id is not None and record.execution_id is None:
            span_of = (False, *opened)
            if span_of < self._span_of:
                self._span_of, run.span_id = span_of, record.span_id

    def _add_event(self, record: Record) -> None:
        event = Event(
            record.event_id,
            record.event_type,
            record.timestamp,
            record.execution_id,
            record.action_trigger_event_id,
            record.upstream_action_name or _action(record),
            kept(record.event_attributes, self._keep),
        )
        self._events.setdefault(event.event_id, event)

    def _draft(self, execution_id: str, path: str, line: int | None) -> ExecutionDraft:
        draft = self._executions.get(execution_id)
        if draft is None:
            draft = ExecutionDraft(execution_id, path, line, self._keep)
            self._executions[execution_id] = draft
        return draft

    def build(self) -> tuple[Run, list[Finding]]:
        """Build the run, and tell what is wrong in it."""
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


def _action(record: Record) -> str | None:
    return record.entity_name if record.entity_type == lifecycle.ACTION else None


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
