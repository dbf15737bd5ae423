"""How much of an Event is logged: ``OFF``, ``STANDARD`` (truncated), ``VERBOSE``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from flink_agents_eventlog.dialect import NATIVE, SNAKE

if TYPE_CHECKING:
    from collections.abc import Mapping

OFF: Final = "OFF"
STANDARD: Final = "STANDARD"
VERBOSE: Final = "VERBOSE"

DEFAULT_LEVELS: Final = {SNAKE: VERBOSE, NATIVE: STANDARD}
"""The level of each dialect where none is set."""

LEVEL_KEY: Final = "event-log.level"
_PREFIX: Final = "event-log.type."
_SUFFIX: Final = ".level"


class Levels:
    """The level of each event type: its own, its nearest parent's or the root's.

    >>> levels = Levels(
    ...     {"event-log.level": "off", "event-log.type.com.shop.level": "Verbose"}
    ... )
    >>> levels.of("com.shop.orders.Paid"), levels.of("_input_event")
    ('VERBOSE', 'OFF')
    """

    def __init__(
        self, options: Mapping[str, Any] | None = None, *, default: str = STANDARD
    ) -> None:
        """Take the levels from a configuration; other keys in it do not matter.

        Raises:
            ValueError: If a level is none of the three; names key and value.

        """
        self.root = default
        self._by_type: dict[str, str] = {}
        for key, value in (options or {}).items():
            if key == LEVEL_KEY:
                if value is not None:
                    self.root = parse_level(value, key)
            elif key.startswith(_PREFIX) and key.endswith(_SUFFIX):
                event_type = key[len(_PREFIX) : -len(_SUFFIX)]
                if event_type and value is not None:
                    self._by_type[event_type] = parse_level(value, key)

    def of(self, event_type: str | None) -> str:
        """Find the level of an event type."""
        name = event_type or ""
        while name:
            level = self.own(name)
            if level is not None:
                return level
            name = name.rpartition(".")[0]
        return self.root

    def own(self, name: str) -> str | None:
        """Find the level that is set for just this type or namespace, if any."""
        return self._by_type.get(name)


def parse_level(value: Any, key: str = LEVEL_KEY) -> str:
    """Read the name of a level in any case.

    Raises:
        ValueError: If there is no such level.

    """
    level = value.strip().upper() if isinstance(value, str) else value
    if level not in (OFF, STANDARD, VERBOSE):
        raise ValueError(f"{key} is {value!r}, but only OFF, STANDARD or VERBOSE exist")
    return str(level)
