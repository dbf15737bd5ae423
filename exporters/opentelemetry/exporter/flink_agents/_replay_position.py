"""How far a replay has come, kept in a file until it has come to its end.

Of every run the number of its spans that the backend has taken. They are always
sent in the same order, so that a replay that breaks off goes on where it was.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_TABLE = (
    "CREATE TABLE IF NOT EXISTS taken"
    " (run TEXT PRIMARY KEY, spans INTEGER NOT NULL) WITHOUT ROWID"
)
_STDIN = "-"


class PositionError(Exception):
    """The file cannot be read or written; says which and why."""


def position_file(paths: Iterable[str], where: str) -> Path | None:
    """Return the file beside a log for the backend `where`; None if there can be none.

    That is for standard input, and in a folder in which nothing can be written.
    """
    first = next(iter(paths), _STDIN)
    if first == _STDIN:
        return None
    path = Path(first)
    folder = path if path.is_dir() else path.parent
    if not os.access(folder, os.W_OK):
        return None
    name = hashlib.sha256(where.encode("utf-8", "replace")).hexdigest()[:8]
    return folder / f".replay-{name}.sqlite"


class Position:
    """What a backend has taken.

    Args:
        path: the file; None to remember nothing.
        anew: forget what an earlier replay has sent.

    Raises:
        PositionError: there is a file, but it is not one of these.
    """

    def __init__(self, path: Path | None, *, anew: bool = False) -> None:
        self.path = path
        self._file: sqlite3.Connection | None = None
        if anew:
            self.finish()
        self.is_resumed = path is not None and path.exists()
        if self.is_resumed:
            self._open()

    def taken(self, run_id: str) -> int:
        """Return how many spans of a run an earlier replay has sent."""
        if not self.is_resumed or self._file is None:
            return 0
        rows = self._file.execute("SELECT spans FROM taken WHERE run = ?", [run_id])
        row = rows.fetchone()
        return 0 if row is None else int(row[0])

    def note(self, taken: Mapping[str, int]) -> None:
        """Keep how many spans of each run were sent.

        Raises:
            PositionError: it cannot be written.
        """
        if self.path is None:
            return
        if self._file is None:
            self._open()
        assert self._file is not None  # noqa: S101  # _open raises instead
        try:
            with self._file:
                self._file.executemany(
                    "INSERT OR REPLACE INTO taken VALUES (?, ?)", taken.items()
                )
        except sqlite3.Error as error:
            raise self._failed(error) from error

    def finish(self) -> None:
        """Forget everything: all was sent."""
        self.close()
        if self.path is not None:
            with suppress(OSError):
                self.path.unlink(missing_ok=True)

    def close(self) -> None:
        """Leave the file as it is."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _open(self) -> None:
        try:
            self._file = sqlite3.connect(str(self.path))
            # A killed process is survived without it, and it costs much.
            self._file.execute("PRAGMA synchronous = OFF")
            self._file.execute(_TABLE)
        except sqlite3.Error as error:
            self.close()
            raise self._failed(error) from error

    def _failed(self, error: sqlite3.Error) -> PositionError:
        return PositionError(
            f"cannot keep the position of the replay in {self.path}: {error}"
        )
