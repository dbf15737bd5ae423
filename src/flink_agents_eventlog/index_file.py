"""The index of one log file: where the records of each key, Event and run stand."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from flink_agents_eventlog.finding import Finding
from flink_agents_eventlog.key_memory import key_of
from flink_agents_eventlog.log_file import Reading

if TYPE_CHECKING:
    import io
    from pathlib import Path

    from flink_agents_eventlog.log_file import Lines, Located, Watch

_VERSION: Final = 1
_SAMPLE: Final = 4096
"""Bytes at both ends of what is indexed by which a file is known again."""
_WAIT_SECONDS: Final = 30
_SCHEMA: Final = f"""
PRAGMA user_version = {_VERSION};
CREATE TABLE files (
    id INTEGER PRIMARY KEY, name TEXT UNIQUE, inode INTEGER, changed_ns INTEGER,
    size INTEGER, position INTEGER, line INTEGER, sample BLOB, findings BLOB
);
CREATE TABLE keys (
    file INTEGER, told BLOB, began INTEGER, ended INTEGER, line INTEGER,
    PRIMARY KEY (file, told, began)
) WITHOUT ROWID;
CREATE TABLE events (
    file INTEGER, told BLOB, began INTEGER, ended INTEGER, line INTEGER,
    PRIMARY KEY (file, told)
) WITHOUT ROWID;
CREATE TABLE runs (
    file INTEGER, told BLOB, began INTEGER, ended INTEGER, line INTEGER,
    PRIMARY KEY (file, told)
) WITHOUT ROWID;
"""
_TABLES: Final = ("files", "keys", "events", "runs")
# Of a key every record counts, of an Event the first, of a run the last.
_KEY: Final = "INSERT INTO keys VALUES (?, ?, ?, ?, ?)"
_EVENT: Final = "INSERT OR IGNORE INTO events VALUES (?, ?, ?, ?, ?)"
_RUN: Final = "INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?)"


class Wanted(NamedTuple):
    """Which records are looked for: those of any of these."""

    keys: frozenset[str]
    event_ids: frozenset[str] = frozenset()
    runs: frozenset[str] = frozenset()
    """How the ids of runs begin."""


def opened_index(path: Path) -> sqlite3.Connection:
    """Open an index, a new one in the place of what is none."""
    # Keys and ids are in it: for whoever may read the log, and nobody else's file.
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    os.close(os.open(path, flags, 0o600))
    try:
        return _connected(path)
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError):
            raise  # it is in use, or the disk is full
        path.unlink()
        os.close(os.open(path, flags, 0o600))
        return _connected(path)


def _connected(path: Path) -> sqlite3.Connection:
    index = sqlite3.connect(path, timeout=_WAIT_SECONDS, isolation_level=None)
    try:
        index.execute("BEGIN IMMEDIATE")  # two that read at once index once
        [version] = index.execute("PRAGMA user_version").fetchone()
        if version != _VERSION:
            for table in _TABLES:
                index.execute(f"DROP TABLE IF EXISTS {table}")
            for statement in _SCHEMA.split(";"):
                index.execute(statement)
    except BaseException:
        index.close()
        raise
    return index


class Place(NamedTuple):
    """Where a record stands, in bytes, and on which line."""

    began: int
    ended: int
    line: int


class IndexedFile:
    """What an index knows of one file."""

    def __init__(self, index: sqlite3.Connection, path: Path) -> None:
        self._index = index
        self._path = path
        self._id = 0
        self._position = 0
        self._line = 0
        self._findings: list[Finding] = []

    def update(self, watch: Watch | None) -> tuple[list[Located], list[Finding]]:
        """Index what was appended; all that the index had if the file is another.

        Returns a last record that is not ended by a newline, if there is one, and
        the findings of the file.
        """
        with self._path.open("rb") as file:
            state = os.fstat(file.fileno())
            is_known = self._is_known(file, state)
            if not is_known:
                self._forget()
            before = self._position
            file.seek(before)
            tail, late = self._read_on(file, watch)
            if not is_known or self._position > before:
                self._keep(file, state)
        self._index.execute("COMMIT")
        return tail, [*self._findings, *late]

    def _is_known(self, file: io.BufferedReader, state: os.stat_result) -> bool:
        row = self._index.execute(
            "SELECT id, inode, changed_ns, size, position, line, sample, findings"
            " FROM files WHERE name = ?",
            (self._path.name,),
        ).fetchone()
        if row is None:
            return False
        self._id, inode, changed_ns, size, position, line, sample, findings = row
        is_grown = state.st_size > size
        is_same = state.st_size == size and state.st_mtime_ns == changed_ns
        if state.st_ino != inode or not (is_grown or is_same):
            return False
        if _sample(file, position) != sample:
            return False
        self._position, self._line = position, line
        told = msgspec.json.decode(findings, type=list[Finding])
        self._findings = [replace(each, path=str(self._path)) for each in told]
        return True

    def _forget(self) -> None:
        """Begin anew with a file of which the index knows nothing true."""
        for table in _TABLES[1:]:
            statement = f"DELETE FROM {table} WHERE file = ?"  # noqa: S608  # see above
            self._index.execute(statement, (self._id,))
        self._index.execute(
            "INSERT OR REPLACE INTO files (name) VALUES (?)", (self._path.name,)
        )
        [self._id] = self._index.execute("SELECT last_insert_rowid()").fetchone()

    def _read_on(
        self, file: io.BufferedReader, watch: Watch | None
    ) -> tuple[list[Located], list[Finding]]:
        pending: list[Finding] = []
        reading = Reading(str(self._path), pending.append)
        reading.line, reading.position = self._line, self._position
        lines = _Lines(file if watch is None else watch(str(self._path), file))
        tail: list[Located] = []
        for located in reading.records(lines):
            if lines.are_whole:
                self._add(located, reading.began, reading.position)
                self._findings += pending
                pending.clear()
                self._position, self._line = reading.position, reading.line
            else:
                tail.append(located)
        reading.end()
        return tail, pending

    def _add(self, located: Located, *place: int) -> None:
        record, line = located.record, located.line
        for statement, told in (
            (_KEY, key_of(record)),
            (_EVENT, record.event_id),
            (_RUN, record.input_run_id),
        ):
            if told is not None:
                values = (self._id, _blob(told), *place, line)
                self._index.execute(statement, values)

    def _keep(self, file: io.BufferedReader, state: os.stat_result) -> None:
        self._index.execute(
            "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                self._id,
                self._path.name,
                state.st_ino,
                state.st_mtime_ns,
                state.st_size,
                self._position,
                self._line,
                _sample(file, self._position),
                msgspec.json.encode(self._findings),
            ),
        )

    def places(self, wanted: Wanted) -> list[Place]:
        """Return where the wanted records stand, in the order of the file."""
        found: set[Place] = set()
        for key in wanted.keys:
            found |= self._select("keys", "told = ?", _blob(key))
        for event_id in wanted.event_ids:
            found |= self._select("events", "told = ?", _blob(event_id))
        for run in wanted.runs:
            start = _blob(run)
            found |= self._select(
                "runs", "told >= ? AND told < ?", start, start + b"\xff"
            )
        return sorted(found)

    def _select(self, table: str, condition: str, *values: bytes) -> set[Place]:
        rows = self._index.execute(
            f"SELECT began, ended, line FROM {table}"  # noqa: S608  # all of it is ours
            f" WHERE file = ? AND {condition}",
            (self._id, *values),
        )
        return {Place(*row) for row in rows}


class _Lines:
    """Lines of a file, and whether the one read last has its end."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self.are_whole = False

    def readline(self, limit: int, /) -> bytes:
        text = self._lines.readline(limit)
        self.are_whole = text.endswith(b"\n")
        return text


def _sample(file: io.BufferedReader, position: int) -> bytes:
    """Return a digest of both ends of what stands before `position`."""
    file.seek(0)
    digest = hashlib.sha256(file.read(min(_SAMPLE, position)))
    file.seek(max(position - _SAMPLE, 0))
    digest.update(file.read(min(_SAMPLE, position)))
    return digest.digest()


def _blob(text: str) -> bytes:
    # A text of SQLite's cannot hold a lone surrogate.
    return text.encode("utf-8", "surrogatepass")
