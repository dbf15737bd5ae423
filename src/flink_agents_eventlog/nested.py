"""The host's form up to 0.3: the Event as an object of its own inside the record.

    {"timestamp", "event": {"eventType", "id", "attributes", …fields}}      0.2
    {"timestamp", "logLevel", "eventType",
     "event": {"eventType", "id", "attributes", "type", …}}                 0.3

Fields of the Event beside its attributes stay in ``extra["event"]``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from flink_agents_eventlog.payload import REJECTED, encode_mended

if TYPE_CHECKING:
    from flink_agents_eventlog.record import Record


class _Event(msgspec.Struct, rename={"event_type": "eventType"}):
    event_type: str
    id: str
    attributes: dict[str, Any] = msgspec.field(default_factory=dict)
    upstream_event_id: str | None = msgspec.field(default=None, name="upstreamEventId")
    upstream_action_name: str | None = msgspec.field(
        default=None, name="upstreamActionName"
    )


class _Line(msgspec.Struct):
    timestamp: str
    event: _Event
    log_level: str | None = msgspec.field(default=None, name="logLevel")


_encode = msgspec.json.Encoder().encode


def encode(record: Record) -> bytes:
    """Write the fields of a record in this form."""
    fields: dict[str, Any] = {"timestamp": record.timestamp}
    if record.log_level is not None:
        fields["logLevel"] = record.log_level
    event = {
        "eventType": record.event_type,
        "id": record.event_id,
        "attributes": record.event_attributes,
    }
    more = record.extra.get("event")
    fields |= record.extra
    # Stands where `extra` has the rest of it.
    fields["event"] = event | (more if isinstance(more, dict) else {})
    try:
        return _encode(fields)
    except REJECTED:
        return encode_mended(fields)


def read(fields: dict[str, Any]) -> dict[str, Any]:
    """Read the fields of a record from a JSON object, which is used up."""
    line = msgspec.convert(fields, _Line)
    event = line.event
    extra = {
        name: value
        for name, value in fields.items()
        if name not in ("timestamp", "logLevel")
    }
    extra["event"] = {
        name: value
        for name, value in fields["event"].items()
        if name not in ("eventType", "id", "attributes")
    }
    return {
        "timestamp": line.timestamp,
        "log_level": line.log_level,
        "event_id": event.id,
        "event_type": event.event_type,
        "event_attributes": event.attributes,
        "action_trigger_event_id": event.upstream_event_id,
        "upstream_action_name": event.upstream_action_name,
        "extra": extra,
    }
