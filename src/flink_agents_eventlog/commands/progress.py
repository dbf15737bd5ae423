"""How far the reading of a log has come, told to who waits for it."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from flink_agents_eventlog.reader import STDIN, files_of

if TYPE_CHECKING:
    from flink_agents_eventlog.log_file import Lines

AFTER_SECONDS: Final = 1.0
"""Nothing is told of shorter work."""
_EVERY_SECONDS: Final = 0.1
_EVERY_LINES: Final = 256
_BAR_WIDTH: Final = 30
_MB: Final = 1e6
_ERASE: Final = "\r\x1b[K"


class Progress:
    """A bar on standard error, if that is a terminal, until it is closed.

    Hand `watch` to what reads. The bar vanishes in the end.
    """

    def __init__(self, paths: list[str]) -> None:
        self._paths = paths
        self._is_shown = sys.stderr.isatty()
        self._begun = self._told = time.monotonic()
        self._is_drawn = False
        self._total: int | None = None
        self._before = 0
        self._file: _Watched | None = None

    def watch(self, path: str, file: Lines) -> Lines:
        """Follow how a file is read that was just opened."""
        if not self._is_shown:
            return file
        if self._file is not None:
            self._before += _size([self._file.path])
        self._file = _Watched(path, file, self)
        return self._file

    def close_for_terminal(self) -> None:
        """Close it if the product goes to a terminal too, where they would mix."""
        if sys.stdout.isatty():
            self.close()

    def close(self) -> None:
        """Tell no more, and leave nothing behind."""
        self._is_shown = False
        if self._is_drawn:
            self._is_drawn = False
            sys.stderr.write(_ERASE)
            sys.stderr.flush()

    def tick(self) -> None:
        """Draw the bar, if it is time to."""
        now = time.monotonic()
        is_due = now - self._told >= _EVERY_SECONDS
        if not self._is_shown or not is_due or now - self._begun < AFTER_SECONDS:
            return
        self._told = now
        self._is_drawn = True
        sys.stderr.write(f"{_ERASE}{self._text(now - self._begun)}")
        sys.stderr.flush()

    def _text(self, seconds: float) -> str:
        if self._total is None:
            self._total = _size(self._paths)
        assert self._file is not None  # noqa: S101 - it is its lines that tick
        done = self._before + self._file.position()
        if not self._total:
            return f"{done / _MB:.1f} MB read"
        share = min(done / self._total, 1.0)
        bar = ("=" * int(share * _BAR_WIDTH)).ljust(_BAR_WIDTH)
        left = seconds / share - seconds if share else 0.0
        read = f"{done / _MB:.1f} of {self._total / _MB:.1f} MB"
        return f"{share:4.0%} [{bar}] {read}, {left:.0f} s left"


class _Watched:
    """A file that tells now and then that it was read."""

    def __init__(self, path: str, file: Lines, progress: Progress) -> None:
        self.path = path
        self._file = file
        self._progress = progress
        self._lines = 0
        self._read = 0

    def readline(self, limit: int, /) -> bytes:
        text = self._file.readline(limit)
        self._read += len(text)
        self._lines += 1
        if self._lines % _EVERY_LINES == 0:
            self._progress.tick()
        return text

    def position(self) -> int:
        """Tell how many bytes were read, of a compressed file those on the disk."""
        compressed = getattr(self._file, "fileobj", None)
        if compressed is None:
            return self._read
        with suppress(OSError, ValueError):
            return int(compressed.tell())
        return 0


def _size(paths: list[str]) -> int:
    """Add up the sizes of the files; 0 where that is not known."""
    total = 0
    for file in files_of(paths, lambda _: None):
        if file == STDIN:
            return 0
        with suppress(OSError):
            total += Path(file).stat().st_size
    return total
