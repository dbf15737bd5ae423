"""From a record to its line: level, truncation, dialect and layout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from flink_agents_eventlog import lifecycle
from flink_agents_eventlog.conversion import in_native_words
from flink_agents_eventlog.dialect import NATIVE
from flink_agents_eventlog.levels import DEFAULT_LEVELS, OFF, STANDARD
from flink_agents_eventlog.payload import decode_plain, encode_plain
from flink_agents_eventlog.record import encode
from flink_agents_eventlog.truncation import may_exceed, truncate

if TYPE_CHECKING:
    from flink_agents_eventlog.record import Record
    from flink_agents_eventlog.truncation import Limits
    from opentelemetry.exporter.flink_agents._execution import LogSettings, Run


def line(record: Record, run: Run, settings: LogSettings, dialect: str) -> bytes | None:
    """Return the line of `record`, without newline; None where it is switched off.

    Args:
        record: in the words of the default dialect; it is used up.
        run: the run that it belongs to.
        settings: how the log of the run is written.
        dialect: `snake` or `native`.
    """
    level = _level(record.event_type, settings, dialect)
    if level == OFF:
        return None
    if level == STANDARD:
        record.event_attributes = _cut(record.event_attributes, settings.limits)
    if dialect == NATIVE:
        return _native_line(record, run, settings, level)
    return encode(record)


def _level(event_type: str, settings: LogSettings, dialect: str) -> str:
    if settings.levels is None:
        return DEFAULT_LEVELS[dialect]
    return settings.levels.of(event_type)


def _cut(attributes: Any, limits: Limits) -> Any:
    encoded = encode_plain(attributes)
    if not may_exceed(encoded, limits):
        return attributes
    return truncate(decode_plain(encoded), limits)[0]


def _native_line(
    record: Record, run: Run, settings: LogSettings, level: str
) -> bytes | None:
    is_execution = record.event_type in lifecycle.STATUS_OF_EVENT_TYPE
    if is_execution and not settings.trace:
        return None
    native = in_native_words(record, run.input_event_id).record
    native.log_level = level
    encoded = encode(native if settings.trace else _without_trace(native))
    return _laid_out(encoded) if settings.pretty_print else encoded


def _without_trace(event: Record) -> Record:
    """Take away what the host leaves out too; what led to the event stays."""
    return replace(
        event,
        input_run_id=None,
        business_key=None,
        agent_name=None,
        execution_id=None,
        entity_type=None,
        entity_name=None,
        entity_metadata={},
        trace_id=None,
        span_id=None,
    )


def _laid_out(encoded: bytes) -> bytes:
    try:
        return msgspec.json.format(encoded, indent=2)
    except (msgspec.MsgspecError, RecursionError):
        return encoded  # very deep data; one line is as good JSON
