"""The command ``follow``."""

from __future__ import annotations

import sys
import time
from collections import OrderedDict
from contextlib import closing
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from flink_agents_eventlog import lifecycle
from flink_agents_eventlog.commands import OK, CommandError
from flink_agents_eventlog.commands.output import (
    print_findings,
    print_json,
    printable,
    style_of,
)
from flink_agents_eventlog.execution_draft import duration_ms
from flink_agents_eventlog.growing import Growing
from flink_agents_eventlog.payload import encode_plain
from flink_agents_eventlog.reader import STDIN, read_located
from flink_agents_eventlog.record import encode
from flink_agents_eventlog.style import COLOURS, duration_text, shown
from flink_agents_eventlog.tail import Tail

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from flink_agents_eventlog.finding import Finding
    from flink_agents_eventlog.log_file import Located
    from flink_agents_eventlog.record import Record
    from flink_agents_eventlog.style import Style

_PAUSE_SECONDS: Final = 0.2
_MOST_OPEN: Final = 65_536
_RED, _DIM = "31", "2"


class Follow:
    """Show records as they are written, until Ctrl-C.

    Files may be rotated, emptied or come later. With --json each line is an object,
    {"path", "line", "record"} or {"finding"}.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the arguments."""
        parser.add_argument(
            "paths",
            nargs="+",
            metavar="PATH",
            help="log file, folder of logs, or - for standard input alone",
        )
        parser.add_argument(
            "--from-start",
            action="store_true",
            help="show first what the files hold already",
        )
        parser.add_argument("--json", action="store_true", help="print JSON Lines")

    def run(self, args: argparse.Namespace) -> int:
        """Read and print, again and again."""
        if STDIN in args.paths and len(args.paths) > 1:
            raise CommandError("standard input can only be followed alone")
        following = _Following(is_json=args.json)
        try:
            if args.paths == [STDIN]:
                for located in read_located(args.paths, following.tell):
                    following.show(located)
            else:
                _follow(args, following)
        except KeyboardInterrupt:
            pass
        following.tell_open_runs()
        return OK


def _follow(args: argparse.Namespace, following: _Following) -> None:
    tail = Tail(args.paths, following.tell, from_start=args.from_start)
    with closing(tail):
        while True:
            for located in tail.grown():
                following.show(located)
            time.sleep(_PAUSE_SECONDS)


class _Following:
    """What is printed, and what is known of the executions that are open."""

    def __init__(self, *, is_json: bool) -> None:
        self._is_json = is_json
        self._style = style_of(sys.stdout)
        self._open: OrderedDict[tuple[str | None, str], Located] = OrderedDict()

    def tell(self, finding: Finding) -> None:
        """Print a finding, in the JSON form among the records."""
        if self._is_json:
            print_json([encode_plain({"finding": finding.as_json()})])
        else:
            print_findings([finding])

    def show(self, located: Located) -> None:
        """Print a record."""
        record, path, line = located
        started = self._note(located)
        if self._is_json:
            place = b'{"path":%b,"line":%d,' % (encode_plain(path), line)
            print_json([place, b'"record":', encode(record), b"}"])
        else:
            text = "  ".join(_parts(record, started, self._style))
            print(printable(text, sys.stdout), flush=True)

    def tell_open_runs(self) -> None:
        """Tell which runs did not end, or not yet."""
        growing = Growing()
        found: dict[str | None, list[Finding]] = {}
        for (run, _), located in self._open.items():
            record = located.record
            message = f"{record.entity_type} {record.entity_name} has not ended"
            found.setdefault(run, []).append(located.finding("MISSING_END", message))
        for run, findings in found.items():
            for each in growing.open_run(run, findings):
                self.tell(each)

    def _note(self, located: Located) -> Record | None:
        """Keep what has started; give it when it ends."""
        record = located.record
        status = lifecycle.STATUS_OF_EVENT_TYPE.get(record.event_type)
        if status is None or record.execution_id is None:
            return None
        name = (record.input_run_id, record.execution_id)
        if status != lifecycle.STARTED:
            started = self._open.pop(name, None)
            return None if started is None else started.record
        small = replace(record, event_attributes={})
        self._open[name] = located._replace(record=small)
        if len(self._open) > _MOST_OPEN:
            self._open.popitem(last=False)
        return None


def _parts(record: Record, started: Record | None, style: Style) -> Iterator[str]:
    yield style.paint(shown(record.timestamp), _DIM)
    yield shown(record.business_key or "-")
    status = lifecycle.STATUS_OF_EVENT_TYPE.get(record.event_type)
    if status is None:
        yield f"  {shown(record.event_type)}"
        return
    yield f"{shown(record.entity_type or '?')} {shown(record.entity_name or '?')}"
    yield style.paint(status, COLOURS.get(status))
    if started is not None:
        took = duration_text(duration_ms(started.timestamp, record.timestamp))
        if took:
            yield took
    attributes = record.event_attributes
    error = [
        attributes.get(name) or attributes.get(native)
        for name, native in (
            ("error_type", "errorType"),
            ("error_message", "errorMessage"),
        )
    ]
    said = ": ".join(each for each in error if isinstance(each, str))
    if said:
        yield style.paint(shown(said), _RED)
