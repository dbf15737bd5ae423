"""Memory rebuilt from memory events: *applying*, the inverse of folding.

>>> memory = {"user.tier": "silver", "count": 1}
>>> apply_writes(memory, {"user.tier": "gold"})
>>> memory
{'count': 1, 'user.tier': 'gold'}
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping


def apply_writes(
    memory: dict[str, Any], value: Mapping[str, Any], left_out: Collection[str] = ()
) -> None:
    """Apply the `value` of a write event to a flat map of absolute paths.

    Setting a path removes what is at its ancestors and below it: one place in
    memory holds either a value or an object.

    Args:
        memory: the map, which is changed.
        value: paths with their values, in the order of writing.
        left_out: paths that were written too, but whose values the event does not
            hold; what was there is forgotten.
    """
    for path in left_out:
        forget(memory, path)
    for path, item in value.items():
        forget(memory, path)
        memory[path] = item
    for path in left_out:
        # A value above it was written before it: an object never becomes a value.
        for above in _ancestors(path):
            memory.pop(above, None)


def forget(memory: dict[str, Any], path: str) -> None:
    """Remove `path`, its ancestors and what is below it."""
    for above in _ancestors(path):
        memory.pop(above, None)
    memory.pop(path, None)
    below = f"{path}."
    for other in [other for other in memory if other.startswith(below)]:
        del memory[other]


def _ancestors(path: str) -> Iterator[str]:
    parts = path.split(".")
    return (".".join(parts[:end]) for end in range(1, len(parts)))
