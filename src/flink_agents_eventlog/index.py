"""Where the records of a key stand in a large log: `state` need not read it all.

`.index.sqlite` beside the log files is a cache: it can be deleted at any time, is made
anew where it does not fit its files, and is done without where it cannot be kept. What
a log says comes from the log files alone.
"""

from __future__ import annotations

import io
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from flink_agents_eventlog.index_file import IndexedFile, Place, Wanted, opened_index
from flink_agents_eventlog.log_file import Located, Reading, read_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from flink_agents_eventlog.finding import Finding, OnFinding
    from flink_agents_eventlog.log_file import Watch

__all__ = ["Wanted", "read_wanted"]

NAME: Final = ".index.sqlite"
SMALLEST: Final = 16 * 1024 * 1024
"""Bytes; a smaller file is read as fast as it is looked up."""


def read_wanted(
    files: Iterable[str],
    wanted: Wanted,
    on_finding: OnFinding,
    watch: Watch | None = None,
) -> Iterator[Located]:
    """Read files in their order; of those that are indexed only what is wanted.

    Of others everything is read. Findings are those of the whole files.
    """
    for file in files:
        found = _looked_up(file, wanted, watch)
        if found is None:
            yield from read_file(file, on_finding, watch)
            continue
        places, tail, findings = found
        for finding in findings:
            on_finding(finding)
        yield from _read_at(file, places)
        yield from tail


def _looked_up(
    file: str, wanted: Wanted, watch: Watch | None
) -> tuple[list[Place], list[Located], list[Finding]] | None:
    """Return where the wanted records stand, what is not indexed yet, and findings."""
    path = Path(file)
    try:
        if file.endswith(".gz") or path.stat().st_size < SMALLEST:
            return None
        with closing(opened_index(path.with_name(NAME))) as index:
            entry = IndexedFile(index, path)
            tail, findings = entry.update(watch)
            return entry.places(wanted), tail, findings
    except (OSError, ValueError, sqlite3.OperationalError):
        return None  # read whole: that says what is wrong with the file
    except (sqlite3.Error, msgspec.MsgspecError):
        with suppress(OSError):
            path.with_name(NAME).unlink()
        return None


def _read_at(file: str, places: list[Place]) -> Iterator[Located]:
    with Path(file).open("rb") as opened:
        for began, ended, line in places:
            opened.seek(began)
            reading = Reading(file, lambda _: None)
            reading.line = line - 1
            yield from reading.records(io.BytesIO(opened.read(ended - began)))
