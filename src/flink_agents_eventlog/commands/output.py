"""What commands share of saying things: JSON forms, findings, terminal."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO

from flink_agents_eventlog.commands import FOUND_ERRORS, OK, CommandError
from flink_agents_eventlog.finding import ERROR, Finding
from flink_agents_eventlog.reader import STDIN
from flink_agents_eventlog.style import Style

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Sequence

    from flink_agents_eventlog.checking import Checked

_FORMAT: Final = 1


def exit_status(findings: Iterable[Finding]) -> int:
    """Tell an error among the findings by the exit status."""
    is_bad = any(finding.severity == ERROR for finding in findings)
    return FOUND_ERRORS if is_bad else OK


def print_findings(findings: Sequence[Finding]) -> None:
    """Print findings where they do not mix with the product."""
    sys.stdout.flush()
    for finding in findings:
        print(printable(str(finding), sys.stderr), file=sys.stderr)


def json_head(command: str, findings: Iterable[Finding]) -> dict[str, Any]:
    """Give the fields with which every JSON form begins."""
    found = [finding.as_json() for finding in findings]
    return {"format": _FORMAT, "command": command, "findings": found}


def checked_form(command: str, checked: Checked) -> dict[str, Any]:
    """Give the JSON form of what was looked at and of all that is wrong with it."""
    return json_head(command, checked.findings) | {
        "records": checked.records,
        "runs": checked.runs,
        "files": checked.files,
    }


def print_json(text: Iterable[bytes]) -> None:
    """Print JSON, which is UTF-8 whatever the terminal speaks."""
    print_lines(chain(text, [b"\n"]), sys.stdout)


def print_lines(text: Iterable[bytes], stream: TextIO) -> None:
    """Print UTF-8 as it comes, whatever the stream's own encoding."""
    stream.flush()
    for part in text:
        if hasattr(stream, "buffer"):
            stream.buffer.write(part)
        else:  # somebody put a text buffer in its place
            stream.write(part.decode())
    stream.flush()


def printable(line: str, stream: TextIO) -> str:
    """Escape what the stream's encoding does not have."""
    encoding = stream.encoding or "utf-8"
    return line.encode(encoding, "backslashreplace").decode(encoding)


def style_of(stream: TextIO) -> Style:
    """Find out how a stream can be drawn on."""
    try:
        "├─└│→".encode(stream.encoding or "ascii")
    except UnicodeEncodeError:
        unicode = False
    else:
        unicode = True
    return Style(unicode, stream.isatty() and not os.environ.get("NO_COLOR"))


@contextmanager
def output(path: str | None) -> Iterator[TextIO]:
    """Open a file for its owner only, or take standard output for None."""
    if path is None:
        yield sys.stdout
        return
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    except OSError as error:
        raise CommandError(f"cannot write {path}: {error.strerror}") from error
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        yield file


def refuse_to_read_what_is_written(args: argparse.Namespace) -> None:
    """Refuse an output that is one of the inputs, or lies in a folder of them."""
    if args.output is None:
        return
    output = Path(args.output).resolve()
    for path in args.paths:
        if path != STDIN and Path(path).resolve() in (output, output.parent):
            raise CommandError(f"{args.output} would be read while it is written")
