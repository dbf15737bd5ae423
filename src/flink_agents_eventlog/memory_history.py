"""What one path of a key's memory held, one change after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from flink_agents_eventlog.folder import history_of
from flink_agents_eventlog.index import Wanted, read_wanted
from flink_agents_eventlog.key_memory import KeyMemory, key_of, tells_short_term
from flink_agents_eventlog.masking import names_of_key
from flink_agents_eventlog.reader import files_of
from flink_agents_eventlog.sameness import same_json

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator

    from flink_agents_eventlog.finding import OnFinding
    from flink_agents_eventlog.log_file import Located, Watch


class Change(NamedTuple):
    """A record after which short-term memory was no longer the same at a path."""

    located: Located
    values: dict[str, Any]
    """What is at the path since then, above it and below it; empty for nothing."""


def memory_history(
    paths: Iterable[str | os.PathLike[str]],
    key: str,
    path: str,
    on_finding: OnFinding,
    watch: Watch | None = None,
) -> Iterator[Change]:
    """Follow one path of short-term memory through the records, in their order."""
    names = names_of_key(key)
    memories: dict[str, KeyMemory] = {}
    seen: set[tuple[str, str | None, str]] = set()
    files = files_of(paths, on_finding)
    for located in read_wanted(files, Wanted(frozenset(names)), on_finding, watch):
        record = located.record
        if not tells_short_term(record) or key_of(record) not in names:
            continue
        history = history_of(located.path)
        name = (history, record.input_run_id, record.event_id)
        if name in seen:
            continue
        seen.add(name)
        memory = memories.setdefault(history, KeyMemory())
        before = _around(memory.short_term, path)
        memory.take(located)
        after = _around(memory.short_term, path)
        if not same_json(before, after):
            yield Change(located, after)
        for doubt in memory.doubts():
            if doubt.event_id == record.event_id and memory.unknown(path):
                on_finding(doubt)


def _around(memory: dict[str, Any], path: str) -> dict[str, Any]:
    return {
        place: value
        for place, value in memory.items()
        if f"{place}.".startswith(f"{path}.") or path.startswith(f"{place}.")
    }
