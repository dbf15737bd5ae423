"""One record of the Event Log and its line: `encode` and `decode` are inverses."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from typing import Annotated, Any, Final

import msgspec

from flink_agents_eventlog import native, nested
from flink_agents_eventlog.dialect import NATIVE, NESTED, SNAKE
from flink_agents_eventlog.payload import (
    REFUSED,
    REJECTED,
    decode_plain,
    encode_mended,
)

# Fields that are not part of the wire shape have to have some name there. A line
# that uses this very name is refused, whatever stands there, and then read with care.
_NO_OBJECT: Final = msgspec.Meta(min_length=1 << 40)
_NO_TEXT: Final = msgspec.Meta(pattern="(?!)")


class Record(
    msgspec.Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """One flat JSON object, fields in the order in which they are written.

    For writing, `event_attributes` may hold `msgspec.Raw` values (see
    `snapshot`) or be one. `extra` keeps fields this version does not know, under
    their own names; they are written back after the known ones.

    `dialect` is the form the record was read from and will be written in; the
    fields are the same in all three, their *contents* are those of the dialect
    (``status`` is ``success`` in a native record) until `convert` translates them.
    On an Event of the native dialect `action_trigger_event_id` is its
    ``upstreamEventId``.
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
    # Of the native dialect; the others write them like unknown fields.
    log_level: str | None = None
    upstream_action_name: str | None = None
    extra: Annotated[dict[str, Any], _NO_OBJECT] = msgspec.field(
        default_factory=dict, name="(extra)"
    )
    dialect: Annotated[str, _NO_TEXT] = msgspec.field(default=SNAKE, name="(dialect)")


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Record).decode
_FIELDS: Final = Record.__struct_fields__[:-2]


def encode(record: Record) -> bytes:
    """Write a record as one line, without the newline; raises for no string or number.

    Attributes are expected to be plain already (see `to_plain`).
    """
    if record.dialect == NATIVE:
        return native.encode(record)
    if record.dialect == NESTED:
        return nested.encode(record)
    if not record.extra:
        try:
            return _encode(record)
        except REJECTED:
            pass
    return _encode_carefully(record)


def decode(line: bytes | str) -> Record:
    """Read one line, or several that are one JSON object, of any dialect.

    Raises:
        msgspec.ValidationError: If the line is JSON but not a record; the message
            ends with the JSON path.
        msgspec.DecodeError: If the line is not JSON.

    """
    try:
        return _decode(line)
    except REFUSED:
        return _decode_other(line)


def _encode_carefully(record: Record) -> bytes:
    present = {
        name: value
        for name in _FIELDS
        if not _is_absent(name, value := getattr(record, name))
    }
    for name, value in record.extra.items():
        present.setdefault(name, value)
    return encode_mended(present)


def _is_absent(name: str, value: Any) -> bool:
    return value is None or (value == {} and name != "event_attributes")


def _decode_other(line: bytes | str) -> Record:
    """Read what is not a plain record of the default dialect."""
    if native.is_likely(line):
        try:
            return Record(**native.decode(line), dialect=NATIVE)
        except REFUSED:
            pass
    fields = decode_plain(line)
    if not isinstance(fields, dict):
        return msgspec.convert(fields, Record)  # raises, naming what was found
    if "event_attributes" in fields:
        known = {name: fields.pop(name) for name in _FIELDS if name in fields}
        record = msgspec.convert(known, Record)
        record.extra = fields
        return record
    if "eventAttributes" in fields:
        return Record(**native.read(fields), dialect=NATIVE)
    if "event" in fields:
        return Record(**nested.read(fields), dialect=NESTED)
    raise msgspec.ValidationError(
        "Object is no record: no `event_attributes`, `eventAttributes` or `event` in it"
    )


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


def timestamp_order(text: str) -> str:
    """Give a text that sorts as the times do, whatever their precision.

    >>> sorted(["00:00:00.5Z", "00:00:00Z"], key=timestamp_order)
    ['00:00:00Z', '00:00:00.5Z']
    """
    return text.removesuffix("Z")
