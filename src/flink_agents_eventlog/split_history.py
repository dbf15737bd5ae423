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

_NEVER: Final = -(1 << 63)


class _Write(NamedTuple):
    timestamp: str
    event_id: str
    path: str
    line: int


class _History:
    """When one writer last told the whole memory of a key, and a write to it."""

    __slots__ = ("snapshot_ns", "written", "written_ns")

    def __init__(self) -> None:
        self.snapshot_ns = _NEVER
        self.written_ns = _NEVER
        self.written: _Write | None = None


class SplitHistories:
    """Collects memory records one by one; `findings` names the keys that were split."""

    def __init__(self) -> None:
        self._keys: OrderedDict[str, dict[str, _History]] = OrderedDict()

    def add(self, located: Located) -> None:
        """Take in a record."""
        record = located.record
        key = key_of(record)
        if key is None or not tells_short_term(record):
            return
        try:
            now = timestamp_ns(record.timestamp)
        except ValueError:
            return
        history = self._history(key, history_of(located.path))
        if is_snapshot(record):
            history.snapshot_ns = max(history.snapshot_ns, now)
        elif now >= history.written_ns:
            history.written_ns = now
            history.written = _Write(
                record.timestamp, record.event_id, located.path, located.line
            )

    def _history(self, key: str, name: str) -> _History:
        histories = self._keys.setdefault(key, {})
        self._keys.move_to_end(key)
        if len(self._keys) > MOST_KEYS:
            self._keys.popitem(last=False)
        return histories.setdefault(name, _History())

    def findings(self) -> Iterator[Finding]:
        """Tell where a key was written after the latest snapshot in another file."""
        for key, histories in self._keys.items():
            chosen = max(
                histories.values(), key=lambda each: (each.snapshot_ns, each.written_ns)
            )
            for other in histories.values():
                if other.written is None or other.written_ns <= chosen.snapshot_ns:
                    continue
                if other is not chosen:
                    yield _split(key, other.written)


def _split(key: str, written: _Write) -> Finding:
    timestamp, event_id, path, line = written
    message = f"key {key!r} was written here too, until {timestamp}"
    return finding("SPLIT_HISTORY", message, path, line=line, event_id=event_id)
