"""The memory of one key as one writer tells it, up to a moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flink_agents_eventlog.key_memory import KeyMemory, is_snapshot, tells_short_term
from flink_agents_eventlog.split_history import Writer

if TYPE_CHECKING:
    from flink_agents_eventlog.log_file import Located
    from flink_agents_eventlog.record import Record


class WriterMemory:
    """What one writer's files say of the key, read in their order."""

    def __init__(self) -> None:
        self.memory = KeyMemory()
        self.chosen = self.memory
        self.writer = Writer()
        self.last: Located | None = None
        self.is_inside_run = False
        self._is_after = False
        self._seen: set[tuple[str | None, str]] = set()

    def take(self, located: Located, ns: int, limit: int) -> None:
        """Take a record of the key, unless it is later than the moment asked for."""
        record = located.record
        is_memory = tells_short_term(record)
        if is_memory and self._is_repeated(record):
            return
        if is_snapshot(record):
            self._is_after = ns > limit
        if ns >= limit and record.input_run_id == self.chosen.run:
            self.is_inside_run = record.input_run_id is not None
        if ns > limit or self._is_after:
            return
        if is_snapshot(record):
            self._turn(ns)
        self.writer.add(located, ns)
        run = self.memory.run
        self.memory.take(located)
        self.last = located
        if self.memory.run != run:
            self.is_inside_run = ns >= limit

    def _turn(self, ns: int) -> None:
        """Begin from a new snapshot, but keep the memory of a later one."""
        latest = self.writer.snapshot_ns
        if ns < latest and self.memory is self.chosen:
            self.memory = self.memory.copied()
        elif ns >= latest:
            self.chosen = self.memory

    def _is_repeated(self, record: Record) -> bool:
        name = (record.input_run_id, record.event_id)
        is_repeated = name in self._seen
        self._seen.add(name)
        return is_repeated
