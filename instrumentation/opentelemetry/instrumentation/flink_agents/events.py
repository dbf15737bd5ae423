"""Memory events, begin and end event as types that an action can listen to.

An action listens by type string (`ShortTermWriteEvent.EVENT_TYPE`) on 0.3, by class
on 0.2. On a host that has these types itself, they are the host's.

```python
@action(ShortTermWriteEvent.EVENT_TYPE)
@staticmethod
def observe(event: Event, ctx: RunnerContext) -> None:
    written = ShortTermWriteEvent.from_event(event)
    written.key, written.value   # '42', {'user.tier': 'gold'}
```
"""

from __future__ import annotations

import base64
import copy
import importlib
import math
from typing import TYPE_CHECKING, Any, ClassVar

from flink_agents.api.configuration import ConfigOption
from flink_agents.api.events.event import Event, InputEvent

from flink_agents_eventlog.folding import MEMORY_EVENT_TYPES

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "AGENT_RUN_BEGIN_EVENT",
    "AGENT_RUN_END_EVENT",
    "MEMORY_EVENT_TYPES",
    "AgentRunBeginEvent",
    "AgentRunEndEvent",
    "LongTermGetEvent",
    "LongTermSearchEvent",
    "LongTermUpdateEvent",
    "MemoryEventOptions",
    "SensoryReadEvent",
    "SensoryWriteEvent",
    "ShortTermReadEvent",
    "ShortTermWriteEvent",
    "is_memory_type",
]

AGENT_RUN_BEGIN_EVENT = "_agent_run_begin_event"
AGENT_RUN_END_EVENT = "_agent_run_end_event"

_TYPED = not hasattr(InputEvent, "EVENT_TYPE")
"""0.2 routes events by class; later versions by a type string."""


def is_memory_type(event_type: str | None) -> bool:
    """Whether `event_type` is one of the seven types of memory events."""
    return event_type in MEMORY_EVENT_TYPES


def _checked_key(key: Any) -> str:
    if key is None:
        raise ValueError("key is required: the text of the business key")
    return str(key)


def _checked_value(value: Any) -> dict[str, Any]:
    if value is None:
        raise ValueError("value is required: a mapping of paths or queries")
    if not isinstance(value, dict):
        raise TypeError(f"value must be a mapping, not {type(value).__name__}")
    checked: dict[str, Any] = _strict(copy.deepcopy(value))
    return checked


def _checked_sets(names: Any) -> list[str] | None:
    if names is None:
        return None
    if not isinstance(names, list) or not all(isinstance(each, str) for each in names):
        raise TypeError(f"cleared_sets must be a list of names, not {names!r}")
    return list(names)


def _strict(value: Any) -> Any:
    """Return `value` with bytes as base64 text; refuse what strict JSON cannot hold."""
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode()
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} is no JSON value")
    if isinstance(value, dict):
        return {key: _strict(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(item) for item in value]
    return value


if _TYPED:

    class _KeyedEvent(Event):
        """On 0.2 an event's fields are its attributes."""

        EVENT_TYPE: ClassVar[str]
        _VALUE_IS_REQUIRED: ClassVar[bool] = True

        key: str
        value: dict[str, Any] | None = None
        previous: dict[str, Any] | None = None

        def __init__(
            self,
            key: Any,
            value: Mapping[str, Any] | None = None,
            previous: Mapping[str, Any] | None = None,
            **fields: Any,
        ) -> None:
            super().__init__(**_attributes(type(self), key, value, previous), **fields)

        @classmethod
        def from_event(cls, event: Any) -> Any:
            """Return `event`, which is typed already, or a typed copy of it."""
            if isinstance(event, cls):
                return event
            fields = {**vars(event), **(event.__pydantic_extra__ or {})}
            return cls(**fields)

else:

    class _KeyedEvent(Event):  # type: ignore[no-redef]
        """An event of a fixed type whose attributes are `key` and `value`."""

        EVENT_TYPE: ClassVar[str]
        _VALUE_IS_REQUIRED: ClassVar[bool] = True
        _FIELDS: ClassVar[tuple[str, ...]] = ("key", "value", "previous")

        def __init__(
            self,
            key: Any,
            value: Mapping[str, Any] | None = None,
            previous: Mapping[str, Any] | None = None,
        ) -> None:
            super().__init__(
                type=type(self).EVENT_TYPE,
                attributes=_attributes(type(self), key, value, previous),
            )

        @classmethod
        def from_event(cls, event: Any) -> Any:
            """Return the typed form of a base event; its id is kept.

            Raises:
                ValueError: `key` or `value` is missing or holds no JSON.
                TypeError: `value` is no mapping, or `cleared_sets` no list of names.
            """
            typed = cls(**{name: event.attributes.get(name) for name in cls._FIELDS})
            typed.id = event.id
            return typed

        @property
        def key(self) -> str:
            """The text of the business key."""
            return str(self.attributes["key"])

        @property
        def value(self) -> dict[str, Any] | None:
            """What was written, read or found, by path or by query."""
            value: dict[str, Any] | None = self.attributes.get("value")
            return value

        @property
        def previous(self) -> dict[str, Any] | None:
            """What was at those paths before, where that is switched on."""
            previous: dict[str, Any] | None = self.attributes.get("previous")
            return previous


def _attributes(cls: Any, key: Any, value: Any, previous: Any) -> dict[str, Any]:
    attributes: dict[str, Any] = {"key": _checked_key(key)}
    if value is not None or cls._VALUE_IS_REQUIRED:
        attributes["value"] = _checked_value(value)
    if previous is not None:
        attributes["previous"] = _checked_value(previous)
    return attributes


class ShortTermWriteEvent(_KeyedEvent):
    """Short-term memory an action wrote: absolute dotted path to the last value."""

    EVENT_TYPE: ClassVar[str] = "_short_term_write_event"


class ShortTermReadEvent(_KeyedEvent):
    """Short-term memory an action read: existing values only."""

    EVENT_TYPE: ClassVar[str] = "_short_term_read_event"


class SensoryWriteEvent(_KeyedEvent):
    """Sensory memory an action wrote."""

    EVENT_TYPE: ClassVar[str] = "_sensory_write_event"


class SensoryReadEvent(_KeyedEvent):
    """Sensory memory an action read."""

    EVENT_TYPE: ClassVar[str] = "_sensory_read_event"


class LongTermUpdateEvent(_KeyedEvent):
    """Long-term memory that changed: `set.itemId` to text, null for deleted.

    In the native dialect set to item to text, and `cleared_sets` names the sets that
    were deleted before.
    """

    EVENT_TYPE: ClassVar[str] = "_long_term_update_event"

    if _TYPED:
        cleared_sets: list[str] | None = None

        def __init__(self, key: Any, value: Any = None, **fields: Any) -> None:
            cleared = fields.pop("cleared_sets", None)
            super().__init__(key, value, cleared_sets=_checked_sets(cleared), **fields)

    else:
        _FIELDS: ClassVar[tuple[str, ...]] = (
            "key",
            "value",
            "previous",
            "cleared_sets",
        )

        def __init__(  # type: ignore[misc]
            self,
            key: Any,
            value: Mapping[str, Any] | None = None,
            previous: Mapping[str, Any] | None = None,
            cleared_sets: list[str] | None = None,
        ) -> None:
            super().__init__(key, value, previous)
            if cleared_sets is not None:
                self.attributes["cleared_sets"] = _checked_sets(cleared_sets)

        @property
        def cleared_sets(self) -> list[str]:  # type: ignore[misc]
            """The sets that were deleted; always empty in the default dialect."""
            cleared: list[str] = self.attributes.get("cleared_sets") or []
            return cleared


class LongTermGetEvent(_KeyedEvent):
    """Long-term memory an action read by id or by listing: `set.itemId` to text."""

    EVENT_TYPE: ClassVar[str] = "_long_term_get_event"


class LongTermSearchEvent(_KeyedEvent):
    """What searches of long-term memory found: query to hits, best first."""

    EVENT_TYPE: ClassVar[str] = "_long_term_search_event"


class AgentRunBeginEvent(_KeyedEvent):
    """A run begins; the key's whole short-term memory, if a snapshot was due."""

    EVENT_TYPE: ClassVar[str] = AGENT_RUN_BEGIN_EVENT
    _VALUE_IS_REQUIRED: ClassVar[bool] = False


class AgentRunEndEvent(_KeyedEvent):
    """A run has ended; the key's whole short-term memory, if a snapshot was due."""

    EVENT_TYPE: ClassVar[str] = AGENT_RUN_END_EVENT
    _VALUE_IS_REQUIRED: ClassVar[bool] = False


def _switch(name: str) -> ConfigOption:
    return ConfigOption(key=name, config_type=bool, default=None)


class MemoryEventOptions:
    """The host's options for memory events, by the names it gives them from 0.4."""

    MEMORY_GENERATE_EVENT = _switch("memory.generate-event")
    SHORT_TERM_WRITE = _switch("memory.generate-event.short-term-write")
    SHORT_TERM_READ = _switch("memory.generate-event.short-term-read")
    SENSORY_WRITE = _switch("memory.generate-event.sensory-write")
    SENSORY_READ = _switch("memory.generate-event.sensory-read")
    LONG_TERM_UPDATE = _switch("memory.generate-event.long-term-update")
    LONG_TERM_GET = _switch("memory.generate-event.long-term-get")
    LONG_TERM_SEARCH = _switch("memory.generate-event.long-term-search")


def _prefer_those_of_the_host() -> None:
    """Where the host has types of these names (from 0.4), ours are theirs."""
    events = "flink_agents.api.events"
    for module in (f"{events}.memory_event", f"{events}.run_event", _OPTIONS):
        try:
            found = importlib.import_module(module)
        except ImportError:
            return  # before 0.4; importing its options may start a gateway there
        globals().update(
            {name: getattr(found, name) for name in __all__ if hasattr(found, name)}
        )


_OPTIONS = "flink_agents.api.core_options"
_prefer_those_of_the_host()

EVENT_CLASSES = {
    cls.EVENT_TYPE: cls
    for cls in (
        ShortTermWriteEvent,
        ShortTermReadEvent,
        SensoryWriteEvent,
        SensoryReadEvent,
        LongTermUpdateEvent,
        LongTermGetEvent,
        LongTermSearchEvent,
        AgentRunBeginEvent,
        AgentRunEndEvent,
    )
}
