"""Memory verified: does each snapshot follow from the one before and the writes since?

A check for who reads every record anyhow: hand each to `add`, in the order read.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final

from flink_agents_eventlog.folder import history_of
from flink_agents_eventlog.key_memory import (
    KeyMemory,
    is_snapshot,
    key_of,
    left_out,
    tells_short_term,
)
from flink_agents_eventlog.recent import Recent
from flink_agents_eventlog.record import timestamp_order
from flink_agents_eventlog.sameness import canonical, same_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flink_agents_eventlog.finding import Finding
    from flink_agents_eventlog.log_file import Located

MOST_KEYS: Final = 8_192
"""Keys followed at a time; what was not seen for longest is verified anew later."""

_MOST_IDS: Final = 65_536
_MOST_PATHS: Final = 10
_LONGEST_VALUE: Final = 200
_NOTHING: Final = object()


class MemoryVerification:
    """Follows the memory of every key through a log; what does not fit is told.

    It finds ``STATE_MISMATCH`` (a snapshot that differs from the rebuilt memory; the
    message names key, paths and both values), ``UNRECORDED_WRITES`` (the same after an
    action whose writes are in no event), ``TRUNCATED_VALUE`` of memory records, and at
    the end ``MISSING_SNAPSHOT``, once for each history. Repeated records count once.
    Its own memory is bounded by `MOST_KEYS` keys.
    """

    def __init__(self) -> None:
        self._keys: OrderedDict[tuple[str, str], KeyMemory] = OrderedDict()
        self._seen: Recent[tuple[str, str | None, str]] = Recent(_MOST_IDS)
        self._missing: dict[str, tuple[int, str, Located]] = {}
        self._has_let_go = False

    def add(self, located: Located) -> Iterator[Finding]:
        """Take in the next record and tell what is wrong with it; use it up."""
        record = located.record
        key = key_of(record)
        if key is None:
            return
        history = history_of(located.path)
        is_memory = tells_short_term(record)
        name = (history, record.input_run_id, record.event_id)
        if is_memory and self._seen.again(name):
            return
        memory = self._memory(history, key)
        is_new = memory.snapshot is None and not memory.applied
        if is_snapshot(record):
            yield from _differences(memory, key, located)
        memory.take(located)
        if not is_memory:
            return
        if is_new and memory.snapshot is None and not self._has_let_go:
            count, first, place = self._missing.get(history, (0, key, located))
            self._missing[history] = (count + 1, first, place)
        for doubt in memory.doubts():
            if doubt.code == "TRUNCATED_VALUE" and doubt.event_id == record.event_id:
                yield doubt

    def end(self) -> Iterator[Finding]:
        """Tell what is known only when all records were added."""
        for count, key, first in self._missing.values():
            others = f" and {count - 1} more keys" if count > 1 else ""
            message = f"no snapshot of key {key!r}{others} before the first write"
            yield first.finding("MISSING_SNAPSHOT", message)

    def memories(self) -> Iterator[tuple[str, KeyMemory]]:
        """Give the keys of which memory is known, those that were followed last.

        Of a key that several writers wrote, the one with the latest snapshot counts.
        """
        latest: dict[str, KeyMemory] = {}
        for (_, key), memory in self._keys.items():
            if memory.snapshot is None and not memory.applied:
                continue
            other = latest.setdefault(key, memory)
            if _snapshot_order(memory) >= _snapshot_order(other):
                latest[key] = memory
        yield from latest.items()

    def _memory(self, history: str, key: str) -> KeyMemory:
        name = (history, key)
        memory = self._keys.setdefault(name, KeyMemory())
        self._keys.move_to_end(name)
        if len(self._keys) > MOST_KEYS:
            self._keys.popitem(last=False)
            self._has_let_go = True
        return memory


def _snapshot_order(memory: KeyMemory) -> str:
    snapshot = memory.snapshot
    return "" if snapshot is None else timestamp_order(snapshot.record.timestamp)


def _differences(memory: KeyMemory, key: str, located: Located) -> Iterator[Finding]:
    """Compare what was rebuilt with a snapshot that says what was there."""
    before = memory.snapshot
    if before is None or _is_older(located, before):
        return
    fresh = KeyMemory()
    fresh.take(located)
    places = [
        place
        for place in {**memory.short_term, **fresh.short_term}
        if not memory.unknown(place)
        and not fresh.unknown(place)
        and place not in left_out(located.record)
        and not _same(
            memory.short_term.get(place, _NOTHING),
            fresh.short_term.get(place, _NOTHING),
        )
    ]
    if not places:
        return
    code = "STATE_MISMATCH" if memory.unrecorded is None else "UNRECORDED_WRITES"
    told = "; ".join(
        f"{place!r}: rebuilt {_shown(memory.short_term, place)},"
        f" snapshot {_shown(fresh.short_term, place)}"
        for place in places[:_MOST_PATHS]
    )
    more = len(places) - _MOST_PATHS
    message = f"key {key!r}, {told}" + (f"; and {more} more" if more > 0 else "")
    yield located.finding(code, message)


def _is_older(located: Located, before: Located) -> bool:
    """Whether logs were put together in another order than they were written."""
    mine, others = located.record.timestamp, before.record.timestamp
    return timestamp_order(mine) < timestamp_order(others)


def _same(rebuilt: Any, held: Any) -> bool:
    if rebuilt is _NOTHING:
        return False
    if held is _NOTHING:  # an object put there is told as null
        return rebuilt is None
    return same_json(rebuilt, held)


def _shown(memory: dict[str, Any], place: str) -> str:
    if place not in memory:
        return "nothing"
    text = canonical(memory[place]).decode()
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}..."
