"""Reading one file of an Event Log, compact or pretty-printed, whole or damaged."""

from __future__ import annotations

import re
import sys
import zlib
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NamedTuple, Protocol, TypeAlias

import msgspec

from flink_agents_eventlog.finding import Finding, OnFinding, finding
from flink_agents_eventlog.payload import decode_plain
from flink_agents_eventlog.record import Record, decode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

STDIN: Final = "-"
LONGEST_RECORD: Final = 64 * 1024 * 1024
"""Bytes; what is longer is reported and stepped over, so that memory is bounded."""

_STEP: Final = 1024 * 1024
_TOO_LONG: Final = f"longer than {LONGEST_RECORD >> 20} MiB, stepped over"
_JSON_PATH: Final = re.compile(r"(.*) - at `(.+)`", re.DOTALL)
_BYTE: Final = re.compile(r"\(byte ([0-9]+)\)")
_UTF_8_MARK: Final = b"\xef\xbb\xbf"
_UTF_16_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")


class Lines(Protocol):
    """What is read of a file."""

    def readline(self, limit: int, /) -> bytes:
        """Give the next line, or as much of it as the limit; nothing at the end."""


class Located(NamedTuple):
    """A record and the line it was read from, of several the first."""

    record: Record
    path: str
    line: int

    def finding(self, code: str, message: str) -> Finding:
        """Make a finding about this record."""
        event_id = self.record.event_id
        return finding(code, message, self.path, line=self.line, event_id=event_id)


Watch: TypeAlias = "Callable[[str, Lines], Lines]"
"""Given the path and the lines of each file that is opened; what it returns is read."""


def read_file(
    path: str, on_finding: OnFinding, watch: Watch | None = None
) -> Iterator[Located]:
    """Read the records of a file or of ``-``, standard input."""
    reading = Reading(path, on_finding)
    try:
        with _opened(path) as file:
            yield from reading.records(file if watch is None else watch(path, file))
        reading.end()
    except (OSError, EOFError, zlib.error, UnicodeError) as error:
        after = f" after line {reading.line}" if reading.line else ""
        on_finding(unreadable(path, f"{reason(error)}{after}"))


@contextmanager
def _opened(path: str) -> Iterator[BinaryIO]:
    if path == STDIN:
        yield sys.stdin.buffer
    elif path.endswith(".gz"):
        import gzip  # noqa: PLC0415 - most logs are not compressed

        with gzip.open(path) as compressed:
            yield compressed  # type: ignore[misc] # it has all that is used
    else:
        with Path(path).open("rb") as file:
            yield file


class Reading:
    """One pass through one file; `_block` is a pretty-printed record half read."""

    def __init__(self, path: str, on_finding: OnFinding) -> None:
        self.line = 0
        self.path = path
        self.began = 0
        """Where the record read last begins, in bytes."""
        self.position = 0
        """Where it ends, and reading goes on."""
        self._on_finding = on_finding
        self._block: list[bytes] = []
        self._block_size = 0
        self._first = 0
        self._first_began = 0

    def records(self, file: Lines) -> Iterator[Located]:
        """Read on until the file gives nothing more, which need not be its end."""
        path = self.path
        take = partial(file.readline, LONGEST_RECORD)
        for text in iter(take, b""):
            self.line += 1
            self.began = self.position
            self.position += len(text)
            if self._block:
                located = self._go_on(text)
                if located is not None:
                    yield located
                continue
            if len(text) == LONGEST_RECORD and not text.endswith(b"\n"):
                self._step_over(file)
                continue
            try:
                record = decode(text)
            except msgspec.DecodeError as error:
                mended = self._look_closer(text, error)
                if mended is not None:
                    yield Located(mended, path, self.line)
            else:
                yield Located(record, path, self.line)

    def end(self) -> None:
        """Tell if the end of the file came too early."""
        if self._block:
            self._report("TORN_TAIL", "the file ends inside this record", self._first)

    def _look_closer(self, text: bytes, error: Exception) -> Record | None:
        """Deal with a line that is no record by itself."""
        if self.line == 1 and text.startswith(_UTF_16_MARKS):
            raise UnicodeError("this is UTF-16, but logs are UTF-8")
        if self.line == 1 and text.startswith(_UTF_8_MARK):
            return self._again(text.removeprefix(_UTF_8_MARK))
        stripped = text.strip()
        if not stripped:  # a writer starts anew after a write that failed
            return None
        if stripped == b"{" and text.startswith(b"{"):
            self._block, self._block_size = [text], len(text)
            self._first, self._first_began = self.line, self.began
        elif text[0] == 0 and stripped.strip(b"\0"):
            # Where a machine went down, zeros may stand in front of what followed.
            self._report("MALFORMED_RECORD", "NUL bytes before a record", self.line)
            return self._again(text.lstrip(b"\0"))
        else:
            self._report_fault(text, error, self.line)
        return None

    def _again(self, text: bytes) -> Record | None:
        try:
            return decode(text)
        except msgspec.DecodeError as error:
            return self._look_closer(text, error)

    def _step_over(self, file: Lines) -> None:
        self._report("MALFORMED_RECORD", _TOO_LONG, self.line)
        for rest in iter(partial(file.readline, _STEP), b""):
            self.position += len(rest)
            if rest.endswith(b"\n"):
                return

    def _go_on(self, text: bytes) -> Located | None:
        """Take in one more line of a pretty-printed record."""
        if text.startswith(b"{"):  # a new record: the one before broke off
            message = "broken off, another record begins inside"
            self._end_block(message)
            record = self._again(text)
            return None if record is None else Located(record, self.path, self.line)
        self._block_size += len(text)
        if self._block_size <= LONGEST_RECORD:
            self._block.append(text)
        return self._end_block() if text.startswith(b"}") else None

    def _end_block(self, fault: str | None = None) -> Located | None:
        text = b"".join(self._block)
        self._block = []
        if self._block_size > LONGEST_RECORD:
            fault = _TOO_LONG
        if fault is not None:
            self._report("MALFORMED_RECORD", fault, self._first)
            return None
        try:
            record = decode(text)
        except msgspec.DecodeError as error:
            self._report_fault(text, error, self._first)
            return None
        self.began = self._first_began
        return Located(record, self.path, self._first)

    def _report_fault(self, text: bytes, error: Exception, line: int) -> None:
        match = _JSON_PATH.fullmatch(str(error))
        message, json_path = (match[1], match[2]) if match else (str(error), None)
        code, event_id = "MALFORMED_RECORD", None
        if isinstance(error, msgspec.ValidationError):
            event_id = _event_id(decode_plain(text))
        elif text.startswith(b"{") and not text.endswith(b"\n"):
            code = "TORN_TAIL"
        byte = _BYTE.search(message)
        if byte is not None:
            line += text.count(b"\n", 0, int(byte[1]))
        self._report(code, message, line, json_path, event_id)

    def _report(
        self,
        code: str,
        message: str,
        line: int,
        json_path: str | None = None,
        event_id: str | None = None,
    ) -> None:
        self._on_finding(
            finding(
                code,
                message,
                self.path,
                line=line,
                json_path=json_path,
                event_id=event_id,
            )
        )


def _event_id(fields: Any) -> str | None:
    """Find the id of an Event in what is no valid record."""
    if not isinstance(fields, dict):
        return None
    event = fields.get("event")
    nested = event.get("id") if isinstance(event, dict) else None
    for event_id in (fields.get("event_id"), fields.get("eventId"), nested):
        if isinstance(event_id, str):
            return event_id
    return None


def unreadable(path: str, message: str) -> Finding:
    """Tell that a file or folder could not be read, or no further."""
    return finding("UNREADABLE_FILE", message, path)


def reason(error: Exception) -> str:
    """Say why, without repeating the path."""
    said = error.strerror if isinstance(error, OSError) else None
    return said or str(error) or type(error).__name__
