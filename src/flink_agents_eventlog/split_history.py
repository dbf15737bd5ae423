"""Was a key written in several files at a time, so that no one knows its memory?"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final, NamedTuple

from flink_agents_eventlog.finding import Finding, finding
from flink_agents_eventlog.folder import history_of
from flink_agents_eventlog.key_memory import is_snapshot, key_of, tells_short_term
from flink_agents_eventlog.record import timestamp_ns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flink_agents_eventlog.log_file import Located

MOST_KEYS: Final = 65_536
"""Keys followed at a time; what was not seen for longest is looked at anew later."""

NEVER: Final = -(1 << 63)


class Written(NamedTuple):
    """A record that tells something of a key's short-term memory, and when."""

    ns: int
    timestamp: str
    event_id: str
    path: str
    line: int

    def finding(self, key: str) -> Finding:
        """Tell that this was written while another file was written too."""
        message = f"key {key!r} was written here too, until {self.timestamp}"
        event_id = self.event_id
        return finding(
            "SPLIT_HISTORY", message, self.path, line=self.line, event_id=event_id
        )


def written(located: Located, ns: int | None = None) -> Written | None:
    """Take from a record when it tells of short-term memory; None if it does not.

    `ns` is its time, if somebody knows it better than the record.
    """
    record, path, line = located
    if not tells_short_term(record):
        return None
    if ns is None:
        try:
            ns = timestamp_ns(record.timestamp)
        except ValueError:
            return None
    return Written(ns, record.timestamp, record.event_id, path, line)


class Writer:
    """When one writer last told the whole memory of a key, and a write to it."""

    __slots__ = ("last", "snapshot_ns")

    def __init__(self) -> None:
        self.snapshot_ns = NEVER
        self.last: Written | None = None

    @property
    def age(self) -> tuple[int, int]:
        """Sorts writers by what they know; the last is the one to believe."""
        return (self.snapshot_ns, NEVER if self.last is None else self.last.ns)

    def add(self, located: Located, ns: int | None = None) -> None:
        """Take in a record of this writer, and its time (see `written`)."""
        told = written(located, ns)
        if told is None:
            return
        if is_snapshot(located.record):
            self.snapshot_ns = max(self.snapshot_ns, told.ns)
        elif self.last is None or told.ns >= self.last.ns:
            self.last = told

    def written_since(self, other: Writer) -> Written | None:
        """Give its last write, if that came after the snapshot of another writer."""
        is_later = self.last is not None and self.last.ns > other.snapshot_ns
        return self.last if is_later and self is not other else None


class SplitHistories:
    """Collects memory records one by one; `findings` names the keys that were split."""

    def __init__(self) -> None:
        self._keys: OrderedDict[str, dict[str, Writer]] = OrderedDict()

    def add(self, located: Located) -> None:
        """Take in a record."""
        key = key_of(located.record)
        if key is None or not tells_short_term(located.record):
            return
        writers = self._keys.setdefault(key, {})
        self._keys.move_to_end(key)
        if len(self._keys) > MOST_KEYS:
            self._keys.popitem(last=False)
        writers.setdefault(history_of(located.path), Writer()).add(located)

    def findings(self) -> Iterator[Finding]:
        """Tell where a key was written after the latest snapshot in another file."""
        for key, writers in self._keys.items():
            chosen = max(writers.values(), key=lambda writer: writer.age)
            for writer in writers.values():
                last = writer.written_since(chosen)
                if last is not None:
                    yield last.finding(key)
