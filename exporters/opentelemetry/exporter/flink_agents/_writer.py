"""Appends whole lines to one file of the Event Log, and survives what happens to it."""

from __future__ import annotations

import logging
import os
import stat
import threading
import time
from typing import TYPE_CHECKING

from opentelemetry.exporter.flink_agents import _rotation

if TYPE_CHECKING:
    from opentelemetry.exporter.flink_agents._files import LogFile

_SECONDS_BETWEEN_WARNINGS = 60.0

logger = logging.getLogger(__name__)


class EventLogWriter:
    """The writing end of one file: one `write` for one whole line, nothing buffered.

    A line is acknowledged (`append` returns True) once the operating system has
    it. A line that cannot be written is lost and counted; the next one tries
    again. Safe to call from any thread; a forked child writes a file of its own.

    Args:
        file: which file.
        rotate_bytes: size at which the file is set aside and a new one begun;
            0 never does.
        keep_files: how many files set aside are kept; 0 keeps all.
    """

    def __init__(self, file: LogFile, *, rotate_bytes: int, keep_files: int) -> None:
        self.written = 0
        self.lost = 0
        self.deleted_files = 0
        self._file = file
        self._rotate_bytes = rotate_bytes
        self._keep_files = keep_files
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self._descriptor: int | None = None
        self._identity: tuple[int, int] | None = None
        self._torn = False
        self._warned_at: float | None = None
        self._refused_to_rotate = False

    def append(self, line: bytes) -> bool:
        """Write `line` (without newline) as one line; False if it is lost."""
        if self._pid != os.getpid():
            self._after_fork()
        with self._lock:
            try:
                self._write(line + b"\n")
            except OSError as error:
                self.lost += 1
                self._warn(error)
                return False
            self.written += 1
            return True

    def close(self) -> None:
        """Give the descriptor back. A later `append` opens the file again."""
        with self._lock:
            self._close()

    def abandon(self) -> None:
        """Give the descriptor back in a forked child, whatever the parent was doing."""
        self._lock = threading.RLock()
        self.close()

    def _write(self, data: bytes) -> None:
        descriptor = self._open_descriptor(len(data))
        if self._torn:
            # What a full disk or a killed process left of an earlier line.
            data = b"\n" + data
        written = os.write(descriptor, data)
        if written:
            self._torn = data[written - 1 : written] != b"\n"
        if written < len(data):
            raise OSError(f"only {written} of {len(data)} bytes were written")

    def _open_descriptor(self, more: int) -> int:
        size = self._size_if_ours()
        if size is None:
            self._close()
            size = self._open()
        if self._rotate_bytes and size and size + more > self._rotate_bytes:
            self._rotate()
        if self._descriptor is None:
            self._open()
        assert self._descriptor is not None  # noqa: S101  # _open raises instead
        return self._descriptor

    def _size_if_ours(self) -> int | None:
        """The file's size, or None when the descriptor no longer leads to it.

        The file may have been removed, or the descriptor closed by somebody and
        its number given to another file, into which nothing of ours must go.
        """
        if self._descriptor is None:
            return None
        try:
            found = os.fstat(self._descriptor)
        except OSError:
            return None
        if (found.st_dev, found.st_ino) != self._identity:
            # The number is somebody else's now: forget it without closing it.
            self._descriptor = None
            return None
        return found.st_size if found.st_nlink else None

    def _open(self) -> int:
        path = self._file.path
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT
        flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
        descriptor = os.open(path, flags, 0o600)
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            # A pipe that nobody reads would block the agent.
            os.close(descriptor)
            raise OSError("it is not a regular file")
        self._descriptor = descriptor
        self._identity = (found.st_dev, found.st_ino)
        self._torn = bool(found.st_size) and (
            os.pread(descriptor, 1, found.st_size - 1) != b"\n"
        )
        return found.st_size

    def _close(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            try:
                os.close(descriptor)
            except OSError:
                logger.debug("The descriptor was closed already", exc_info=True)

    def _rotate(self) -> None:
        try:
            deleted = _rotation.rotate(self._file.path, keep=self._keep_files)
        except OSError as error:
            # A log that grows is better than none.
            if not self._refused_to_rotate:
                self._refused_to_rotate = True
                logger.warning("Cannot rotate %s: %s", self._file.path, error)
            return
        self._close()
        if deleted and not self.deleted_files:
            logger.warning(
                "The oldest files of the Event Log %s are deleted: more than %d were"
                " full (event-log.keep-files)",
                self._file.path,
                self._keep_files,
            )
        self.deleted_files += deleted

    def _after_fork(self) -> None:
        # The parent's lock may have been held by a thread that does not exist here.
        self._lock = threading.RLock()
        self._pid = os.getpid()
        self._file = self._file.of_child(self._pid)
        self._close()

    def _warn(self, error: OSError) -> None:
        now = time.monotonic()
        if self._warned_at is None or now - self._warned_at > _SECONDS_BETWEEN_WARNINGS:
            self._warned_at = now
            logger.warning(
                "Records of the Event Log are lost: %s: %s (%d so far)",
                self._file.path,
                error,
                self.lost,
            )
