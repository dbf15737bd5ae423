"""The files that one processor writes, each opened by its first record."""

from __future__ import annotations

import os
import threading
import weakref
from typing import TYPE_CHECKING, NamedTuple

from opentelemetry.exporter.flink_agents._directory import event_log_directory
from opentelemetry.exporter.flink_agents._files import LogFile, Subtask
from opentelemetry.exporter.flink_agents._writer import EventLogWriter

if TYPE_CHECKING:
    from collections.abc import Callable

    from flink_agents_eventlog.dialect import Dialect
    from opentelemetry.exporter.flink_agents._execution import LogSettings


class Place(NamedTuple):
    """What decides which file a record goes to."""

    directory: str | None
    subtask: Subtask | None
    dialect: Dialect


class EventLogWriters:
    """A writer for each place, and what they have written and lost together.

    Args:
        directory: folder of all files; None for that of each run.
    """

    def __init__(self, directory: str | None) -> None:
        self._directory = directory
        self._writers: dict[Place, EventLogWriter | None] = {}
        """None where there is no safe folder."""
        self._closed_counts = [0, 0]
        self._unplaced = 0
        self._lock = threading.Lock()
        self._child: int | None = None
        if hasattr(os, "register_at_fork"):
            # Weakly: a hook cannot be taken back.
            forked = weakref.WeakMethod(self._after_fork)
            os.register_at_fork(after_in_child=lambda: _call(forked))

    @property
    def lost(self) -> int:
        """How many records could not be written."""
        with self._lock:
            lost = sum(writer.lost for writer in self._all())
            return lost + self._closed_counts[1] + self._unplaced

    @property
    def written(self) -> int:
        """How many records the operating system has taken."""
        with self._lock:
            return (
                sum(writer.written for writer in self._all()) + self._closed_counts[0]
            )

    def append(self, place: Place, line: bytes, settings: LogSettings) -> None:
        """Write `line` into the file of `place`."""
        try:
            writer = self._writers[place]
        except KeyError:
            writer = self._new(place, settings)
        if writer is None:
            self._unplaced += 1
        else:
            writer.append(line)

    def release(self, place: Place) -> None:
        """Close the file of `place` and let its writer go."""
        with self._lock:
            writer = self._writers.pop(place, None)
            if writer is not None:
                writer.close()
                self._closed_counts[0] += writer.written
                self._closed_counts[1] += writer.lost

    def close(self) -> None:
        """Close all files. A record that comes later still is written."""
        with self._lock:
            for writer in self._all():
                writer.close()

    def _new(self, place: Place, settings: LogSettings) -> EventLogWriter | None:
        directory = event_log_directory(self._directory or settings.directory)
        writer = None
        if directory is not None:
            writer = EventLogWriter(
                LogFile(directory, place.subtask, self._child, place.dialect),
                rotate_bytes=settings.rotate_bytes,
                keep_files=settings.keep_files,
            )
        with self._lock:
            return self._writers.setdefault(place, writer)

    def _all(self) -> list[EventLogWriter]:
        return [writer for writer in self._writers.values() if writer is not None]

    def _after_fork(self) -> None:
        """Begin anew in a forked child: files and counts are the parent's."""
        # The lock may be held by a thread that does not exist here.
        inherited = self._all()
        self._writers = {}
        self._lock = threading.Lock()
        self._child = os.getpid()
        self._closed_counts = [0, 0]
        self._unplaced = 0
        for writer in inherited:
            writer.abandon()


def _call(method: weakref.WeakMethod[Callable[[], None]]) -> None:
    bound = method()
    if bound is not None:
        bound()
