"""The command ``convert``."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

from flink_agents_eventlog.commands.arguments import add_output
from flink_agents_eventlog.commands.output import (
    exit_status,
    json_head,
    output,
    print_findings,
    print_lines,
    printable,
    refuse_to_read_what_is_written,
)
from flink_agents_eventlog.conversion import Conversion
from flink_agents_eventlog.dialect import NATIVE, SNAKE
from flink_agents_eventlog.payload import encode_plain
from flink_agents_eventlog.reader import read_records
from flink_agents_eventlog.record import encode

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from flink_agents_eventlog.finding import Finding


class Convert:
    """Translate a log into the other dialect, line by line.

    What the other dialect has no field for is kept as an extra field; what is lost
    or had to be guessed is said on standard error, once a kind.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the arguments."""
        parser.add_argument(
            "paths",
            nargs="+",
            metavar="PATH",
            help="log file, compressed or not, folder of logs, or - for standard input",
        )
        parser.add_argument(
            "--to", required=True, choices=[SNAKE, NATIVE], help="the dialect wanted"
        )
        add_output(parser)
        parser.add_argument(
            "--json",
            action="store_true",
            help="say findings and losses as JSON, with -o on standard output",
        )

    def run(self, args: argparse.Namespace) -> int:
        """Read, translate and write, one record at a time."""
        refuse_to_read_what_is_written(args)
        translation = _Translation(args.paths, args.to)
        with output(args.output) as file:
            print_lines(translation.lines(), file)
        if args.json:
            stream = sys.stdout if args.output else sys.stderr
            print_lines([encode_plain(translation.as_json()) + b"\n"], stream)
        else:
            translation.print_report()
        return exit_status(translation.findings)


class _Translation:
    def __init__(self, paths: list[str], to: str) -> None:
        self.findings: list[Finding] = []
        self._paths = paths
        self._to = to
        self._records = 0
        self._losses: Counter[str] = Counter()

    def lines(self) -> Iterator[bytes]:
        conversion = Conversion(self._to)
        for record in read_records(*self._paths, on_finding=self.findings.append):
            converted, losses = conversion.convert(record)
            self._records += 1
            self._losses.update(losses)
            yield encode(converted) + b"\n"

    def as_json(self) -> dict[str, Any]:
        return json_head("convert", self.findings) | {
            "to": self._to,
            "records": self._records,
            "losses": dict(self._losses),
        }

    def print_report(self) -> None:
        print_findings(self.findings)
        for loss, count in self._losses.items():
            line = f"lost or guessed in {count} of {self._records} records: {loss}"
            print(printable(line, sys.stderr), file=sys.stderr)
