"""State kept beside objects of the host, by identity and no longer than they live."""

from __future__ import annotations

import weakref
from typing import Any, Generic, TypeVar

V = TypeVar("V")


class IdentityMap(Generic[V]):
    """A weak mapping whose keys need neither hash nor equality.

    The host's events, plans and resources are pydantic models: unhashable, equal
    by value, weakly referable.
    """

    def __init__(self) -> None:
        self._entries: dict[int, tuple[weakref.ref[Any], V]] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: object) -> V | None:
        """Return the value kept beside `key`, or None."""
        entry = self._entries.get(id(key))
        # An id may have been given to another object before the callback ran.
        return entry[1] if entry is not None and entry[0]() is key else None

    def set(self, key: object, value: V) -> None:
        """Keep `value` beside `key`.

        Raises:
            TypeError: `key` cannot be referred to weakly.
        """
        number = id(key)
        entries = self._entries

        def forget(reference: weakref.ref[Any]) -> None:
            found = entries.get(number)
            if found is not None and found[0] is reference:
                del entries[number]

        entries[number] = (weakref.ref(key, forget), value)

    def values(self) -> list[V]:
        """Return what is kept beside all keys."""
        return [value for _, value in list(self._entries.values())]

    def discard(self, key: object) -> None:
        """Forget `key`."""
        if self.get(key) is not None:
            self._entries.pop(id(key), None)
