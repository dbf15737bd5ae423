"""All of a key's short-term memory as one flat map."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from flink_agents_eventlog.folding import captured
from opentelemetry.instrumentation.flink_agents._memory_objects import is_object
from opentelemetry.instrumentation.flink_agents._patching import original

if TYPE_CHECKING:
    from collections.abc import Hashable

_REMEMBERED_KEYS = 65_536


def snapshot(root: Any, max_bytes: int = 0) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the value nodes that are reachable from `root`, and what is left out.

    Args:
        root: the host's short-term memory; reading it is not observed.
        max_bytes: a larger value is left out; 0 is no limit.

    Returns:
        The map of absolute paths to raw JSON, and the metadata of its event.
    """
    values: dict[str, Any] = {}
    metadata: dict[str, Any] = {}
    waiting = _fields(root, "")
    while waiting:
        node, name, path = waiting.pop()
        value = original(type(node), "get")(node, name)
        if is_object(value):
            waiting.extend(_fields(value, f"{path}."))
            continue
        now = captured(value, max_bytes)
        if now.raw is not None:
            values[path] = now.raw
        elif now.size is not None:
            metadata.setdefault("oversized_paths", {})[path] = now.size
        else:
            metadata.setdefault("unrepresentable_paths", []).append(path)
    return values, metadata


def _fields(node: Any, prefix: str) -> list[tuple[Any, str, str]]:
    """The fields of a memory object, last first, since the last is taken next."""
    names = original(type(node), "get_field_names")(node)
    return [(node, name, f"{prefix}{name}") for name in reversed(names)]


class SnapshotTurns:
    """Whose turn it is for a full snapshot, in a table that does not grow for ever."""

    def __init__(self) -> None:
        self._runs: OrderedDict[Hashable, int] = OrderedDict()

    def is_due(self, key: Hashable, interval: int) -> bool:
        """Count a run of `key`; whether it gets a full snapshot.

        A key that is not known, such as after a restart, always does.
        """
        if interval <= 1:
            return True
        runs = self._runs.pop(key, 0)
        self._runs[key] = (runs + 1) % interval
        if len(self._runs) > _REMEMBERED_KEYS:
            self._runs.popitem(last=False)
        return runs == 0
