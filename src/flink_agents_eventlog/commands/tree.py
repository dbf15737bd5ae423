"""The command ``tree``."""

from __future__ import annotations

import sys
from itertools import chain
from typing import TYPE_CHECKING, Any

from flink_agents_eventlog.closing import closed_runs
from flink_agents_eventlog.commands.arguments import (
    add_paths,
    add_selection,
    refuse_no_run,
    selection_of,
)
from flink_agents_eventlog.commands.output import (
    exit_status,
    print_findings,
    print_json,
    printable,
    style_of,
)
from flink_agents_eventlog.drawing import draw_run
from flink_agents_eventlog.payload import encode_plain
from flink_agents_eventlog.reader import read_located

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator

    from flink_agents_eventlog.finding import Finding
    from flink_agents_eventlog.run import Event, Execution, Run


class Tree:
    """Show who ran inside whom: run, actions, model and tool calls, Events between."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the arguments."""
        add_paths(parser)
        add_selection(parser)
        parser.add_argument("--json", action="store_true", help="print JSON")

    def run(self, args: argparse.Namespace) -> int:
        """Read, build and print, run by run."""
        selection = selection_of(args)
        findings: list[Finding] = []
        records = read_located(args.paths, findings.append)
        runs = closed_runs(records, findings.append, selection=selection)
        first = next(runs, None)
        if first is None:
            refuse_no_run(selection, args, findings)
        chosen = () if first is None else chain([first], runs)
        if args.json:
            print_json(_json_form(chosen, findings))
        else:
            _print_trees(chosen)
            print_findings(findings)
        return exit_status(findings)


def _print_trees(runs: Iterable[Run]) -> None:
    style = style_of(sys.stdout)
    for at, run in enumerate(runs):
        if at:
            print()
        for line in draw_run(run, style):
            print(printable(line, sys.stdout))


def _json_form(runs: Iterable[Run], findings: list[Finding]) -> Iterator[bytes]:
    """Write the JSON form piece by piece: a log may hold more runs than memory."""
    yield b'{"format":1,"command":"tree","runs":['
    for at, run in enumerate(runs):
        yield b"," if at else b""
        yield from _json_run(run)
    yield b'],"findings":%b}' % encode_plain([each.as_json() for each in findings])


def _json_run(run: Run) -> Iterator[bytes]:
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
    yield encode_plain(always | _known(where_known))[:-1] + b',"executions":'
    yield from _json_executions(run.executions)
    events = encode_plain([_event_fields(event) for event in run.events])
    yield b',"events":%b}' % events


def _json_executions(executions: list[Execution]) -> Iterator[bytes]:
    """Write a forest that may be deeper than any encoder."""
    yield b"["
    todo: list[bytes | Execution] = [b"]", *_separated(executions)]
    while todo:
        part = todo.pop()
        if isinstance(part, bytes):
            yield part
        else:
            yield encode_plain(_execution_fields(part))[:-1] + b',"children":['
            todo += [b"]}", *_separated(part.children)]


def _separated(executions: list[Execution]) -> list[bytes | Execution]:
    """Lay executions on the stack, with commas between, the first on top."""
    parts: list[bytes | Execution] = []
    for execution in reversed(executions):
        parts += [execution, b","]
    return parts[:-1]


def _execution_fields(execution: Execution) -> dict[str, Any]:
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
    }
    trigger = {"action_trigger_event_id": execution.action_trigger_event_id}
    return always | _known(where_known) | trigger


def _event_fields(event: Event) -> dict[str, Any]:
    always = {"event_id": event.event_id, "event_type": event.event_type}
    where_known = {
        "execution_id": event.execution_id,
        "action_trigger_event_id": event.action_trigger_event_id,
    }
    return always | _known(where_known)


def _known(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
