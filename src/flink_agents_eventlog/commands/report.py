"""The command ``report``."""

from __future__ import annotations

import sys
from contextlib import closing
from typing import TYPE_CHECKING

from flink_agents_eventlog.checking import check_closely
from flink_agents_eventlog.commands.arguments import (
    add_output,
    add_paths,
    add_selection,
    refuse_no_run,
    selection_of,
)
from flink_agents_eventlog.commands.output import (
    checked_form,
    exit_status,
    output,
    print_findings,
    print_lines,
    refuse_to_read_what_is_written,
)
from flink_agents_eventlog.commands.progress import Progress
from flink_agents_eventlog.page import Report as _Report
from flink_agents_eventlog.page import page
from flink_agents_eventlog.payload import encode_plain
from flink_agents_eventlog.selection import Selection

if TYPE_CHECKING:
    import argparse

    from flink_agents_eventlog.run import Run


class Report:
    """Write a log as one HTML page for a person: runs, failures, memory, findings.

    The page loads nothing and runs nothing, and can be sent as it is. It holds what
    the log holds: errors and memory, but neither messages nor arguments of tools.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the arguments."""
        add_paths(parser)
        add_selection(parser)
        add_output(parser)
        parser.add_argument(
            "--json",
            action="store_true",
            help="say findings and counts as JSON, with -o on standard output",
        )

    def run(self, args: argparse.Namespace) -> int:
        """Read, build and write."""
        refuse_to_read_what_is_written(args)
        report = _report(args, selection_of(args))
        with output(args.output) as file:
            print_lines((_utf_8(part) for part in page(report)), file)
        findings = report.checked.findings
        if args.json:
            form = checked_form("report", report.checked)
            stream = sys.stdout if args.output else sys.stderr
            print_lines([encode_plain(form) + b"\n"], stream)
        else:
            print_findings(findings)
        return exit_status(findings)


def _report(args: argparse.Namespace, selection: Selection) -> _Report:
    with closing(Progress(args.paths)) as progress:
        runs: list[Run] = []
        checked, check = check_closely(args.paths, progress.watch, runs.append)
    memories = dict(check.memory.memories())
    if selection != Selection():
        runs = [each for each in runs if selection.chooses(each)]
        shown = {each.business_key for each in runs}
        memories = {key: memories[key] for key in memories if key in shown}
    if not runs:
        refuse_no_run(selection, args, checked.findings)
    return _Report(args.paths, checked, runs, memories)


def _utf_8(part: str) -> bytes:
    return part.encode("utf-8", "backslashreplace")
