"""The command ``timeline``."""

from __future__ import annotations

import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final

from flink_agents_eventlog import lifecycle
from flink_agents_eventlog.commands.arguments import add_paths, add_selection
from flink_agents_eventlog.commands.chosen import chosen_runs
from flink_agents_eventlog.commands.output import (
    exit_status,
    print_findings,
    print_json,
    printable,
    style_of,
)
from flink_agents_eventlog.commands.progress import Progress
from flink_agents_eventlog.drawing import error_text, heading
from flink_agents_eventlog.payload import encode_plain
from flink_agents_eventlog.run import Event
from flink_agents_eventlog.style import COLOURS, DIM, duration_text, shown
from flink_agents_eventlog.timeline import Moment, length_ms, timeline

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator

    from flink_agents_eventlog.finding import Finding
    from flink_agents_eventlog.run import Execution, Run
    from flink_agents_eventlog.style import Style

_BAR_WIDTH: Final = 40
_OFFSET_WIDTH: Final = 9
_INDENTED_LEVELS: Final = 20


class Timeline:
    """Show what began when and how long it took, run by run, with a bar for each.

    The first column is the time since the run began.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the arguments."""
        add_paths(parser)
        add_selection(parser)
        parser.add_argument("--json", action="store_true", help="print JSON")

    def run(self, args: argparse.Namespace) -> int:
        """Read and print, run by run."""
        findings: list[Finding] = []
        with closing(Progress(args.paths)) as progress:
            runs = chosen_runs(args, findings, progress)
            progress.close_for_terminal()
            if args.json:
                print_json(_json_form(runs, findings))
            else:
                _print(runs, style_of(sys.stdout))
        if not args.json:
            print_findings(findings)
        return exit_status(findings)


def _print(runs: Iterable[Run], style: Style) -> None:
    for at, run in enumerate(runs):
        if at:
            print()
        for line in _drawn(run, style):
            print(printable(line, sys.stdout))


def _drawn(run: Run, style: Style) -> Iterator[str]:
    length = length_ms(run)
    title = [heading(run, style), shown(run.started_at or ""), duration_text(length)]
    yield "  ".join(filter(None, title))
    for moment in timeline(run):
        node = moment.node
        offset = duration_text(moment.begin_ms).rjust(_OFFSET_WIDTH)
        indent = "  " * min(moment.depth, _INDENTED_LEVELS)
        colour = DIM if isinstance(node, Event) else COLOURS.get(node.status)
        bar = style.paint(_bar(moment, length, style), colour)
        said = (
            style.paint(shown(node.event_type), DIM) if isinstance(node, Event) else ""
        )
        if not isinstance(node, Event):
            said = "  ".join(_said(node, style))
        yield f"{offset}  {bar}  {indent}{said}".rstrip()


def _said(execution: Execution, style: Style) -> Iterator[str]:
    yield f"{shown(execution.entity_type or '?')} {shown(execution.entity_name or '?')}"
    if execution.status != lifecycle.FINISHED:
        yield style.paint(shown(execution.status), COLOURS.get(execution.status))
    if execution.duration_ms is not None:
        yield duration_text(execution.duration_ms)
    error = error_text(execution)
    if error:
        yield style.paint(error, COLOURS[lifecycle.FAILED])


def _bar(moment: Moment, length: float, style: Style) -> str:
    """Draw a bar from begin to end; what did not end goes on to the end of the run."""
    solid, broken, mark = "━╌◆" if style.unicode else "=.*"
    begin, end = moment.begin_ms, moment.end_ms
    if begin is None:
        return " " * _BAR_WIDTH
    left = _column(begin, length)
    if isinstance(moment.node, Event):
        stroke = mark
    elif end is None:
        stroke = broken * (_BAR_WIDTH - left)
    else:
        stroke = solid * (max(_column(end, length) - left, 0) + 1)
    return (" " * left + stroke).ljust(_BAR_WIDTH)


def _column(offset: float, length: float) -> int:
    column = int(offset / length * _BAR_WIDTH) if length > 0 else 0
    return min(max(column, 0), _BAR_WIDTH - 1)


def _json_form(runs: Iterable[Run], findings: list[Finding]) -> Iterator[bytes]:
    yield b'{"format":1,"command":"timeline","runs":['
    for at, run in enumerate(runs):
        fields = {
            "input_run_id": run.input_run_id,
            "business_key": run.business_key,
            "agent_name": run.agent_name,
            "complete": run.complete,
            "started_at": run.started_at,
            "duration_ms": length_ms(run),
            "moments": [_fields(moment) for moment in timeline(run)],
        }
        yield (b"," if at else b"") + encode_plain(fields)
    yield b'],"findings":%b}' % encode_plain([each.as_json() for each in findings])


def _fields(moment: Moment) -> dict[str, Any]:
    node = moment.node
    when = {"begin_ms": moment.begin_ms, "end_ms": moment.end_ms, "depth": moment.depth}
    if isinstance(node, Event):
        return when | {"event_id": node.event_id, "event_type": node.event_type}
    return when | {
        "execution_id": node.execution_id,
        "entity_type": node.entity_type,
        "entity_name": node.entity_name,
        "status": node.status,
    }
