"""One record of the Event Log and its line: `encode` and `decode` are inverses."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from typing import Annotated, Any, Final

import msgspec

from flink_agents_eventlog.payload import (
    REFUSED,
    REJECTED,
    decode_plain,
    encode_mended,
)


class Record(
    msgspec.Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """One flat JSON object, fields in the order in which they are written.

    For writing, `event_attributes` may hold `msgspec.Raw` values (see
    `snapshot`) or be one. `extra` keeps fields this version does not know; they
    are written back after the known ones.
    """

    timestamp: str
    input_run_id: str | None = None
    business_key: str | None = None
    agent_name: str | None = None
    execution_id: str | None = None
    parent_execution_id: str | None = None
    action_trigger_event_id: str | None = None
    entity_type: str | None = None
    entity_name: str | None = None
    entity_metadata: dict[str, Any] = msgspec.field(default_factory=dict)
    event_id: str
    source_event_id: str | None = None
    event_type: str
    status: str | None = None
    problem_category: str | None = None
    trace_id: str | None = None
    span_id: str | None = None
    event_attributes: dict[str, Any]
    # Not part of the wire shape, but it has to have some name there. A line that
    # uses this very name is noticed, as an empty object by being refused.
    extra: Annotated[dict[str, Any], msgspec.Meta(min_length=1)] = msgspec.field(
        default_factory=dict, name="(extra)"
    )


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Record).decode
_FIELDS: Final = Record.__struct_fields__[:-1]


def encode(record: Record) -> bytes:
    """Write a record as one line, without the newline; raises for no string or number.

    Attributes are expected to be plain already (see `to_plain`).
    """
    if not record.extra:
        try:
            return _encode(record)
        except REJECTED:
            pass
    return _encode_carefully(record)


def decode(line: bytes | str) -> Record:
    """Read one line.

    Raises:
        msgspec.ValidationError: If the line is JSON but not a record; the message
            ends with the JSON path.
        msgspec.DecodeError: If the line is not JSON.

    """
    try:
        record = _decode(line)
    except REFUSED:
        return _decode_carefully(line)
    return _decode_carefully(line) if record.extra else record


def _encode_carefully(record: Record) -> bytes:
    fields = {name: getattr(record, name) for name in _FIELDS}
    present = {
        name: value
        for name, value in fields.items()
        if name == "event_attributes" or (value is not None and value != {})
    }
    for name, value in record.extra.items():
        present.setdefault(name, value)
    return encode_mended(present)


def _decode_carefully(line: bytes | str) -> Record:
    fields = decode_plain(line)
    if not isinstance(fields, dict):
        return msgspec.convert(fields, Record)  # raises, naming what was found
    known = {name: fields.pop(name) for name in _FIELDS if name in fields}
    record = msgspec.convert(known, Record)
    record.extra = fields
    return record


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=timezone.utc)
_SECOND: Final = 1_000_000_000
_TIMESTAMP: Final = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ]([0-9]{2}:[0-9]{2}:[0-9]{2})"
    r"(?:\.([0-9]{1,9}))?([Zz]|[+-][0-9]{2}:[0-9]{2})"
)
# The last second and its text, replaced as a whole: safe without a lock.
_last_second: tuple[int, str] = (0, "1970-01-01T00:00:00")


def timestamp_text(ns: int) -> str:
    """RFC 3339 text in UTC with microseconds (truncated) of epoch nanoseconds.

    >>> timestamp_text(1_700_000_000_123_456_789)
    '2023-11-14T22:13:20.123456Z'
    """
    global _last_second  # noqa: PLW0603 - the cache
    second, fraction = divmod(ns, _SECOND)
    cached, text = _last_second
    if second != cached:
        moment = _EPOCH + timedelta(seconds=second)
        text = moment.replace(tzinfo=None).isoformat()
        _last_second = (second, text)
    return f"{text}.{fraction // 1000:06d}Z"


def timestamp_ns(text: str) -> int:
    """Epoch nanoseconds of RFC 3339 text with up to nine fraction digits.

    Raises:
        ValueError: If the text is no such timestamp.

    """
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        raise ValueError(f"not an RFC 3339 timestamp: {text!r}")
    day, clock, fraction, zone = match.groups()
    offset = "+00:00" if zone in "Zz" else zone
    since = datetime.fromisoformat(f"{day}T{clock}{offset}") - _EPOCH
    seconds = since.days * 86_400 + since.seconds
    return seconds * _SECOND + int((fraction or "").ljust(9, "0"))
