"""From an `Execution` to its records (EVENT_LOG format, default dialect)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flink_agents_eventlog import lifecycle
from flink_agents_eventlog.record import Record, timestamp_text
from opentelemetry.exporter.flink_agents._execution import new_id

if TYPE_CHECKING:
    from opentelemetry.exporter.flink_agents._execution import Attempt, Execution


def started_record(execution: Execution) -> Record:
    """The record of a start: identity, and the input of what is not an action."""
    attributes: dict[str, Any] = {}
    if execution.input is not None and _has_content(execution):
        attributes["input"] = execution.input
    return _record(execution, lifecycle.STARTED, execution.started_ns, attributes)


def terminal_record(execution: Execution, status: str) -> Record:
    """The record of an end: output, error and, of a repeated call, its attempts."""
    attributes: dict[str, Any] = {}
    if execution.output is not None and _has_content(execution):
        attributes["output"] = execution.output
    if execution.error_type is not None:
        attributes["error_type"] = execution.error_type
        attributes["error_message"] = execution.error_message or ""
    if len(execution.attempts) > 1:
        attributes["attempts"] = [_attempt(each) for each in execution.attempts]
    ended_ns = execution.ended_ns or execution.started_ns
    return _record(execution, status, ended_ns, attributes)


def _has_content(execution: Execution) -> bool:
    log = execution.run.log
    return log is not None and log.execution_content


def _record(
    execution: Execution, status: str, ns: int, attributes: dict[str, Any]
) -> Record:
    run = execution.run
    parent = execution.parent
    trace_id, span_id = _span_ids(execution)
    return Record(
        timestamp=timestamp_text(ns),
        input_run_id=run.input_run_id,
        business_key=run.business_key,
        agent_name=run.agent_name,
        execution_id=execution.execution_id,
        parent_execution_id=parent.execution_id if parent else None,
        action_trigger_event_id=execution.trigger_event_id,
        entity_type=execution.entity_type,
        entity_name=execution.entity_name,
        entity_metadata=execution.metadata,
        event_id=new_id(),
        event_type=lifecycle.EVENT_TYPE_OF_STATUS[status],
        status=status,
        problem_category=(
            execution.problem_category if status == lifecycle.FAILED else None
        ),
        trace_id=trace_id,
        span_id=span_id,
        event_attributes=attributes,
    )


def _span_ids(execution: Execution) -> tuple[str | None, str | None]:
    if execution.span_context is None:
        return None, None
    if execution.span_ids is None:
        span = execution.span_context
        execution.span_ids = (f"{span.trace_id:032x}", f"{span.span_id:016x}")
    return execution.span_ids


def _attempt(attempt: Attempt) -> dict[str, Any]:
    attributes: dict[str, Any] = {"started_at": timestamp_text(attempt.started_ns)}
    if attempt.ended_ns is not None:
        attributes["ended_at"] = timestamp_text(attempt.ended_ns)
    if attempt.wait_seconds is not None:
        attributes["wait_seconds"] = attempt.wait_seconds
    if attempt.error_type is not None:
        attributes["error_type"] = attempt.error_type
        attributes["error_message"] = attempt.error_message or ""
    return attributes
