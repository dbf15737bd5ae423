"""The command ``check``."""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING, Final

from flink_agents_eventlog.checking import Checked, check_closely
from flink_agents_eventlog.commands.arguments import add_paths
from flink_agents_eventlog.commands.output import (
    checked_form,
    exit_status,
    print_findings,
    print_json,
    style_of,
)
from flink_agents_eventlog.commands.progress import Progress
from flink_agents_eventlog.finding import ERROR, INFO, SEVERITY, WARNING
from flink_agents_eventlog.payload import encode_plain

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from flink_agents_eventlog.style import Style

_COLOURS: Final = {ERROR: "31", WARNING: "33", INFO: "36"}
_MEANING: Final = {
    "MALFORMED_RECORD": "lines that are no records",
    "UNREADABLE_FILE": "files that could not be read, or no further",
    "EVENT_ID_CONFLICT": "records of one id with different contents",
    "TERMINAL_CONFLICT": "executions that ended twice",
    "CYCLE_DETECTED": "what led to itself, or ran inside itself",
    "MISSING_START": "executions that end but never started",
    "MISSING_END": "executions that started but never ended",
    "MISSING_PARENT": "what names an Event or execution that is not there",
    "MISSING_ACTION_NAME": "Events that do not name the action that sent them",
    "MISSING_SNAPSHOT": "memory written without a snapshot before it",
    "UNLINKED_EVENT": "what names no Event that led to it",
    "RESERVED_EVENT_TYPE": "Events of a type that is for executions",
    "INVALID_ROOT_LINEAGE": "inputs that name a cause",
    "TIME_REVERSED": "times that run backwards",
    "SPLIT_HISTORY": "keys that were written in several files at a time",
    "UNRECORDED_WRITES": "memory changed by actions that failed or were not recorded",
    "STATE_MISMATCH": "snapshots that do not follow from the writes before them",
    "TORN_TAIL": "files that end in the middle of a record",
    "TRUNCATED_VALUE": "values that were cut short",
    "HOST_LOG_SKIPPED": "logs of the host beside ours of the same task",
    "RUN_OPEN": "runs that are still being written",
}


class Check:
    """Tell everything that is wrong or incomplete in a log.

    Findings go to standard error, a line each, and a summary to standard output.
    The exit status is 1 if one of them is an error. A failed execution is no finding.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the arguments."""
        add_paths(parser)
        parser.add_argument("--json", action="store_true", help="print JSON")

    def run(self, args: argparse.Namespace) -> int:
        """Read, check and print."""
        with closing(Progress(args.paths)) as progress:
            checked, _ = check_closely(args.paths, progress.watch)
        if args.json:
            print_json([encode_plain(checked_form("check", checked))])
        else:
            print_findings(checked.findings)
            for line in _summary(checked, style_of(sys.stdout)):
                print(line)
        return exit_status(checked.findings)


def _summary(checked: Checked, style: Style) -> Iterator[str]:
    counts = Counter(each.code for each in checked.findings)
    width = max(map(len, counts), default=0)
    for code, severity in SEVERITY.items():
        if code in counts:
            name = style.paint(severity.ljust(7), _COLOURS[severity])
            yield f"{counts[code]:6}  {name}  {code.ljust(width)}  {_MEANING[code]}"
    looked_at = ", ".join(
        f"{count} {word}{'' if count == 1 else 's'}"
        for count, word in (
            (checked.records, "record"),
            (checked.runs, "run"),
            (checked.files, "file"),
        )
    )
    yield looked_at if counts else f"{looked_at}: nothing is wrong"
