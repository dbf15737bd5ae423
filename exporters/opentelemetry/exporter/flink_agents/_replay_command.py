"""The command ``replay``."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flink_agents_eventlog.commands import BACKEND_FAILED, INSTALL, CommandError
from flink_agents_eventlog.commands.arguments import (
    add_paths,
    add_selection,
    refuse_no_run,
    selection_of,
)
from flink_agents_eventlog.commands.output import (
    exit_status,
    json_head,
    print_findings,
    print_json,
    printable,
)
from flink_agents_eventlog.payload import encode_plain
from flink_agents_eventlog.reader import STDIN, files_of
from opentelemetry.exporter.flink_agents._endpoint import endpoint
from opentelemetry.exporter.flink_agents._replay import replay
from opentelemetry.exporter.flink_agents._replay_position import PositionError
from opentelemetry.exporter.flink_agents._replayed import ABSENT, BackendError, Replayed

if TYPE_CHECKING:
    import argparse

    from flink_agents_eventlog.finding import Finding

_BAR = 30
_CHUNK = 1024 * 1024


class Replay:
    """Send a log as traces over OTLP, with the times and ids of then.

    How and where to is said by the standard variables OTEL_EXPORTER_OTLP_*,
    OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES. If the backend fails (exit status
    3), the same command goes on where it was.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the arguments."""
        add_paths(parser)
        parser.add_argument(
            "--otlp",
            nargs="?",
            const="",
            metavar="ENDPOINT",
            help="send, to this endpoint (such as http://localhost:4317, or :4318 for"
            " http/protobuf) or that of the standard variables",
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="only say what would be sent"
        )
        add_selection(parser)
        parser.add_argument(
            "--resume-from",
            metavar="FILE",
            help="keep there, and not beside the log, how far it has come",
        )
        parser.add_argument(
            "--anew",
            action="store_true",
            help="send also what was sent before the backend failed",
        )
        parser.add_argument("--json", action="store_true", help="print JSON")

    def run(self, args: argparse.Namespace) -> int:
        """Read, send and say what was sent."""
        if args.otlp is None and not args.dry_run:
            raise CommandError("say where to: --otlp [ENDPOINT], or --dry-run")
        selection = selection_of(args)
        findings: list[Finding] = []
        bar = _ProgressBar(args.paths)
        try:
            replayed = replay(
                *args.paths,
                url=args.otlp or None,
                selection=selection,
                resume_from=args.resume_from,
                anew=args.anew,
                dry_run=args.dry_run,
                on_finding=findings.append,
                on_progress=bar.show,
            )
        except ImportError as error:
            raise CommandError(f"replay needs an OTLP exporter: {INSTALL}") from error
        except (PositionError, ValueError) as error:
            raise CommandError(str(error)) from error
        except BackendError as error:
            bar.clear()
            print_findings(findings)
            message = _failure(error)
            raise CommandError(printable(message, sys.stderr), BACKEND_FAILED) from None
        finally:
            bar.clear()
        if not replayed.runs and not replayed.still_open:
            refuse_no_run(selection, args, findings)
        if args.json:
            print_json([encode_plain(_json_form(replayed, findings))])
        else:
            where = None if args.dry_run else str(endpoint(args.otlp or None))
            for line in _report(replayed, where):
                print(printable(line, sys.stdout))
            print_findings(findings)
        return exit_status(findings)


def _failure(error: BackendError) -> str:
    done = error.replayed
    taken = done.sent + done.sent_before
    how = "the same command goes on from there (--anew: from the beginning)"
    if error.position is None:
        how = "how far it came is kept only with --resume-from FILE"
    return f"{error}\n{taken:,} spans have arrived; {how}"


def _json_form(replayed: Replayed, findings: list[Finding]) -> dict[str, Any]:
    return json_head("replay", findings) | {
        "records": replayed.records,
        "runs": replayed.runs,
        "spans": dict(replayed.spans),
        "sent": replayed.sent,
        "sent_before": replayed.sent_before,
        "incomplete": replayed.incomplete,
        "still_open": replayed.still_open,
        "lacking": dict(replayed.lacking),
        "absent": ABSENT,
    }


def _report(replayed: Replayed, where: str | None) -> list[str]:
    """Say it for people; `where` is None if nothing was sent."""
    total = sum(replayed.spans.values())
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in replayed.spans.items())
    verb = "would send" if where is None else "sent"
    number = total if where is None else replayed.sent
    to = "" if where is None else f" to {where}"
    lines = [
        f"{verb} {number:,} spans of {replayed.runs:,} runs{to}: {kinds or 'none'}"
    ]
    if replayed.sent_before:
        lines.append(f"{replayed.sent_before:,} spans were sent before")
    if replayed.incomplete:
        lines.append(
            f"{replayed.incomplete:,} spans are incomplete: marked as such, and an"
            " execution without an end takes no time"
        )
    if replayed.still_open:
        lines.append(
            f"{replayed.still_open:,} runs are still being written and were left out"
        )
    kinds_of: dict[str, list[str]] = {}
    for lacking, count in replayed.lacking.items():
        kind, _, what = lacking.partition(": ")
        kinds_of.setdefault(what, []).append(f"{count:,} {kind}")
    for what, lacking_kinds in kinds_of.items():
        lines.append(f"not in the log of {', '.join(lacking_kinds)}: {what}")
    return [*lines, f"never in a log: {ABSENT}"]


class _ProgressBar:
    """How much of the log was read, on a terminal only."""

    def __init__(self, paths: list[str]) -> None:
        self._is_shown = sys.stderr.isatty()
        self._lines = _lines_in(paths) if self._is_shown else 0

    def show(self, replayed: Replayed) -> None:
        if not self._is_shown:
            return
        text = f"{replayed.records:,} records, {replayed.sent:,} spans sent"
        if self._lines:
            part = min(replayed.records / self._lines, 1)
            full = round(part * _BAR)
            bar = "#" * full + "-" * (_BAR - full)
            text = f"[{bar}] {part:4.0%}  {text}"
        sys.stderr.write(f"\r{text}\x1b[K")
        sys.stderr.flush()

    def clear(self) -> None:
        """Leave the line as it was."""
        if self._is_shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def _lines_in(paths: list[str]) -> int:
    """Count lines, much faster than they are read; 0 where they cannot be counted."""
    files = list(files_of(paths, lambda _: None))
    if any(file == STDIN or file.endswith(".gz") for file in files):
        return 0
    try:
        return sum(map(_lines, files))
    except OSError:
        return 0


def _lines(file: str) -> int:
    with Path(file).open("rb") as text:
        return sum(
            chunk.count(b"\n") for chunk in iter(partial(text.read, _CHUNK), b"")
        )
