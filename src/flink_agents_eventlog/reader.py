"""Reading Event Logs: files and folders to records, faults to findings."""

from __future__ import annotations

import re
import sys
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from flink_agents_eventlog.finding import Finding, OnFinding, finding
from flink_agents_eventlog.payload import decode_plain
from flink_agents_eventlog.record import Record, decode

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator

STDIN: Final = "-"

# events-x.1.jsonl is older than events-x.2.jsonl, events-x.jsonl is the newest.
_FILE_NAME: Final = re.compile(r"(events-.+?)(?:\.([0-9]+))?\.jsonl(?:\.gz)?")
_JSON_PATH: Final = re.compile(r"(.*) - at `(.+)`", re.DOTALL)
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


class Located(NamedTuple):
    """A record and the line it was read from."""

    record: Record
    path: str
    line: int


def read_records(
    *paths: str | os.PathLike[str], on_finding: OnFinding | None = None
) -> Iterator[Record]:
    """Read files, folders and ``-`` (standard input) in the order given.

    Within a folder the files of one writer come oldest first. What cannot be
    read goes to `on_finding` and everything else is still read.
    """
    for located in read_located(paths, on_finding or _ignore):
        yield located.record


def read_located(
    paths: Iterable[str | os.PathLike[str]], on_finding: OnFinding
) -> Iterator[Located]:
    """Read as `read_records` does, with the place of every record."""
    for path in paths:
        for file in _log_files(Path(path), on_finding):
            yield from _read_file(str(file), on_finding)


def _ignore(_: object) -> None:
    pass


def _log_files(path: Path, on_finding: OnFinding) -> list[Path]:
    if str(path) == STDIN or not path.is_dir():
        return [path]
    try:
        found = [file for file in path.iterdir() if _FILE_NAME.fullmatch(file.name)]
    except OSError as error:
        on_finding(_unreadable(str(path), _reason(error)))
        return []
    if not found:
        on_finding(_unreadable(str(path), "no events-*.jsonl in this folder"))
    return sorted(found, key=_age)


def _age(file: Path) -> tuple[str, bool, int, str]:
    match = _FILE_NAME.fullmatch(file.name)
    stem, number = match.groups() if match else (file.name, None)
    return (stem, number is None, int(number or 0), file.name)


def _read_file(path: str, on_finding: OnFinding) -> Iterator[Located]:
    line = 0
    try:
        with _opened(path) as lines:
            for line, text in enumerate(lines, 1):
                record = _read_line(text, path, line, on_finding)
                if record is not None:
                    yield Located(record, path, line)
    except (OSError, EOFError, zlib.error) as error:
        after = f" after line {line}" if line else ""
        on_finding(_unreadable(path, f"{_reason(error)}{after}"))


@contextmanager
def _opened(path: str) -> Iterator[Iterable[bytes]]:
    if path == STDIN:
        yield sys.stdin.buffer
    elif path.endswith(".gz"):
        import gzip  # noqa: PLC0415 - most logs are not compressed

        with gzip.open(path) as file:
            yield file
    else:
        with Path(path).open("rb") as file:
            yield file


def _read_line(
    text: bytes, path: str, line: int, on_finding: OnFinding
) -> Record | None:
    if line == 1:
        text = text.removeprefix(_BYTE_ORDER_MARK)
    if not text.strip():  # a writer starts anew after a write that failed
        return None
    try:
        return decode(text)
    except msgspec.ValidationError as error:
        message, json_path = _message_and_path(error)
        dialect = _other_dialect(text)
        code = "MALFORMED_RECORD"
        message = f"{dialect} ({message})" if dialect else message
    except msgspec.DecodeError as error:
        message, json_path = str(error), None
        code = "MALFORMED_RECORD" if text.endswith(b"\n") else "TORN_TAIL"
    on_finding(finding(code, message, path, line=line, json_path=json_path))
    return None


def _message_and_path(error: Exception) -> tuple[str, str | None]:
    match = _JSON_PATH.fullmatch(str(error))
    return (match[1], match[2]) if match else (str(error), None)


def _other_dialect(text: bytes) -> str | None:
    fields: Any = decode_plain(text)
    if not isinstance(fields, dict):
        return None
    if "eventAttributes" in fields:
        return "a record of the native (camelCase) dialect, which is not read yet"
    if isinstance(fields.get("event"), dict):
        return "a record of the old nested form, which is not read yet"
    return None


def _unreadable(path: str, message: str) -> Finding:
    return finding("UNREADABLE_FILE", message, path)


def _reason(error: Exception) -> str:
    reason = error.strerror if isinstance(error, OSError) else None
    return reason or str(error) or type(error).__name__
