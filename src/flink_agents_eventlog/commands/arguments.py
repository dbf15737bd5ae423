"""Arguments that several commands have."""

from __future__ import annotations

from argparse import ArgumentTypeError
from typing import TYPE_CHECKING

from flink_agents_eventlog.commands import CommandError
from flink_agents_eventlog.commands.output import print_findings
from flink_agents_eventlog.selection import Selection

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from flink_agents_eventlog.finding import Finding


def add_paths(parser: argparse.ArgumentParser) -> None:
    """Declare the logs to read."""
    parser.add_argument(
        "paths",
        nargs="+",
        metavar="PATH",
        help="log file (.jsonl, .gz), folder of logs, or - for standard input",
    )


def add_selection(parser: argparse.ArgumentParser) -> None:
    """Declare which of their runs to take; see `selection_of`."""
    parser.add_argument("--run", metavar="ID", help="only runs whose id begins so")
    parser.add_argument("--key", metavar="K", help="only runs of this business key")
    parser.add_argument(
        "--failed", action="store_true", help="only runs in which something failed"
    )
    parser.add_argument(
        "--entity",
        metavar="E",
        help="only runs in which it ran: a type, a name or both, such as tool:search",
    )
    parser.add_argument(
        "--since", metavar="T", help="only runs that went on at this time (RFC 3339)"
    )
    parser.add_argument(
        "--until", metavar="T", help="only runs that began by this time"
    )


def selection_of(args: argparse.Namespace) -> Selection:
    """Give the selection that the arguments ask for.

    Raises:
        CommandError: If a time is not RFC 3339.

    """
    try:
        return Selection(
            args.run, args.key, args.failed, args.entity, args.since, args.until
        )
    except ValueError as error:
        raise CommandError(str(error)) from error


def refuse_no_run(
    selection: Selection, args: argparse.Namespace, findings: Sequence[Finding]
) -> None:
    """Say that there is no such run, if it was asked for by its name.

    Raises:
        CommandError: If the selection only names runs.

    """
    if not selection.is_name:
        return
    print_findings(findings)
    of_key = f" of key {args.key!r}" if args.key is not None else ""
    wanted = f" {args.run!r}" if args.run is not None else ""
    raise CommandError(f"no run{wanted}{of_key} in {', '.join(args.paths)}")


def natural(text: str) -> int:
    """Read a number of things, for `argparse`."""
    if not text.isdecimal():
        raise ArgumentTypeError(f"not a number of things: {text!r}")
    return int(text)


def add_output(parser: argparse.ArgumentParser) -> None:
    """Declare where to write; see `output.output`."""
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="write there, not to standard output"
    )
