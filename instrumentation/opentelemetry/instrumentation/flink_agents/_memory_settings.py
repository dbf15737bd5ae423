"""Which memory events a run writes."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flink_agents_eventlog import folding
from flink_agents_eventlog.dialect import NATIVE
from opentelemetry.instrumentation.flink_agents import _options

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opentelemetry.instrumentation.flink_agents._settings import Settings

_ON_BY_DEFAULT = frozenset(folding.EVENT_TYPE_OF_OPERATION) - {
    folding.SHORT_TERM_READ,
    folding.SENSORY_READ,
}
_TTL = "short-term-memory.state-ttl.ms"
_TTL_UPDATE = "short-term-memory.state-ttl.update-type"
_UPDATED_BY_READS = "ON_READ_AND_WRITE"


@dataclass(frozen=True)
class MemorySettings:
    """The switches of memory, begin and end events for the runs of one agent."""

    operations: frozenset[str]
    """The kinds of operation that become events; see `folding`."""
    previous: bool = False
    max_bytes: int = 0
    begin: bool = True
    end: bool = False
    interval: int = 1
    """A full snapshot every so many runs of a key."""
    native: bool = False
    """Whether events have the shapes of the native dialect."""


def memory_settings(
    settings: Settings, configuration: Mapping[str, Any]
) -> MemorySettings:
    """Return the switches for an agent with this configuration.

    The key of an operation beats the master, which beats the default of the
    operation: all of long-term memory and writes are on, the other reads off.
    """
    master = settings.for_agent(_options.GENERATE_EVENT, configuration)
    own = {
        operation: settings.for_agent(option, configuration)
        for operation, option in _options.GENERATE_EVENT_OF.items()
    }
    on = {
        operation
        for operation, value in own.items()
        if _first(value, master, operation in _ON_BY_DEFAULT)
    }
    begin = settings.for_agent(_options.BEGIN_EVENT, configuration)
    end = settings.for_agent(_options.END_EVENT, configuration)
    kept_alive = begin is None and _would_keep_alive(settings, configuration)
    return MemorySettings(
        operations=frozenset(on),
        previous=settings.for_agent(_options.PREVIOUS_VALUE, configuration),
        max_bytes=settings.for_agent(_options.MAX_VALUE_BYTES, configuration),
        begin=_first(begin, not kept_alive),
        end=_first(end),
        interval=settings.for_agent(_options.SNAPSHOT_INTERVAL, configuration),
        native=settings[_options.DIALECT] == NATIVE,
    )


def _first(*values: bool | None) -> bool:
    return next((value for value in values if value is not None), False)


def _would_keep_alive(settings: Settings, configuration: Mapping[str, Any]) -> bool:
    """Whether reading all of memory at each run would keep it from expiring."""
    try:
        lifetime = int(configuration.get(_TTL) or 0)
    except (TypeError, ValueError):
        return False  # the host itself will say so
    update = configuration.get(_TTL_UPDATE) or _UPDATED_BY_READS
    name = str(getattr(update, "name", update)).upper()
    if lifetime <= 0 or name != _UPDATED_BY_READS:
        return False
    settings.say_once(
        logging.INFO,
        "agent-run.begin-event is off: a snapshot reads all of short-term memory, which"
        f" {_TTL}={lifetime} with {_TTL_UPDATE}={_UPDATED_BY_READS} would keep alive."
        " Set agent-run.begin-event to have it.",
    )
    return True
