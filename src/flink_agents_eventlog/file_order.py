"""Does time go on within each file?

What an action leaves is written when it ends: its terminal record and its memory
records stand in the order of their times, unless a clock was set back or files were
put together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from flink_agents_eventlog import lifecycle
from flink_agents_eventlog.folding import MEMORY_EVENT_TYPES
from flink_agents_eventlog.recent import Recent
from flink_agents_eventlog.record import timestamp_ns

if TYPE_CHECKING:
    from flink_agents_eventlog.finding import Finding
    from flink_agents_eventlog.log_file import Located
    from flink_agents_eventlog.record import Record

ALLOWED_NS: Final = 1_000_000_000
"""How far back a record may go unreported, by the rule of the EVENT_LOG format."""

_MOST_IDS: Final = 65_536


class FileOrder:
    """Follows the clock of each file; give it the records in their order."""

    def __init__(self) -> None:
        self._last: dict[str, int] = {}
        self._seen: Recent[tuple[str, str]] = Recent(_MOST_IDS)

    def add(self, located: Located) -> Finding | None:
        """Take in the next record, and tell if it is older than the one before."""
        record, path, _ = located
        if not _is_written_at_the_end(record):
            return None
        if self._seen.again((path, record.event_id)):
            return None  # recovery wrote it once more, as it may
        try:
            now = timestamp_ns(record.timestamp)
        except ValueError:
            return None
        back = self._last.get(path, now) - now
        self._last[path] = now
        if back <= ALLOWED_NS:
            return None
        message = f"{back / 1e9:.3f} s older than the record before it"
        return located.finding("TIME_REVERSED", message)


def _is_written_at_the_end(record: Record) -> bool:
    if record.event_type in MEMORY_EVENT_TYPES:
        return True
    status = lifecycle.STATUS_OF_EVENT_TYPE.get(record.event_type)
    is_terminal = status is not None and status != lifecycle.STARTED
    return is_terminal and record.entity_type == lifecycle.ACTION
