"""The command ``tree``."""

from __future__ import annotations

import sys
from contextlib import closing
from typing import TYPE_CHECKING

from flink_agents_eventlog.commands.arguments import (
    add_paths,
    add_selection,
    natural,
)
from flink_agents_eventlog.commands.chosen import chosen_runs
from flink_agents_eventlog.commands.output import (
    exit_status,
    print_findings,
    print_json,
    printable,
    style_of,
)
from flink_agents_eventlog.commands.progress import Progress
from flink_agents_eventlog.drawing import Drawing
from flink_agents_eventlog.json_tree import JsonTree

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from flink_agents_eventlog.finding import Finding
    from flink_agents_eventlog.run import Run


class Tree:
    """Show who ran inside whom: run, actions, model and tool calls, Events between."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the arguments."""
        add_paths(parser)
        add_selection(parser)
        parser.add_argument(
            "--depth",
            metavar="N",
            type=natural,
            help="only so many levels below a run: 0 lists runs, 1 has their actions",
        )
        parser.add_argument(
            "--select",
            metavar="FIELD",
            action="append",
            default=[],
            help="show this too where it is known, as often as you like: a field of the"
            " JSON form, of metadata or of attributes, such as output.result",
        )
        parser.add_argument("--json", action="store_true", help="print JSON")

    def run(self, args: argparse.Namespace) -> int:
        """Read, build and print, run by run."""
        findings: list[Finding] = []
        keep = {name.partition(".")[0] for name in args.select}
        with closing(Progress(args.paths)) as progress:
            runs = chosen_runs(args, findings, progress, keep=keep)
            progress.close_for_terminal()
            if args.json:
                form = JsonTree(args.depth, args.select).form(runs, findings)
                print_json(form)
            else:
                drawing = Drawing(style_of(sys.stdout), args.depth, args.select)
                _print_trees(runs, drawing)
        if not args.json:
            print_findings(findings)
        return exit_status(findings)


def _print_trees(runs: Iterable[Run], drawing: Drawing) -> None:
    for at, run in enumerate(runs):
        if at and drawing.depth != 0:
            print()
        for line in drawing.draw(run):
            print(printable(line, sys.stdout))
