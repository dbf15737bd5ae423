"""The host's own dialect from 0.4 on: camelCase, with its own order of fields.

Works on the fields of a `Record`, not on the class: `Record` itself leads here.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

import msgspec

from flink_agents_eventlog.dialect import SNAKE_EXTRA, camel
from flink_agents_eventlog.payload import REJECTED, encode_mended

if TYPE_CHECKING:
    from flink_agents_eventlog.record import Record

_RENAMED: Final = {"action_trigger_event_id": "upstreamEventId"}


class _Line(
    msgspec.Struct,
    kw_only=True,
    omit_defaults=True,
    forbid_unknown_fields=True,
    rename=lambda name: _RENAMED.get(name, camel(name)),
):
    """The wire shape, with the names that `Record` has for the fields."""

    timestamp: str
    log_level: str | None = None
    # Only where the host logs through SLF4J; `Record.extra` keeps these three.
    job_id: Any = msgspec.UNSET
    task_name: Any = msgspec.UNSET
    subtask_id: Any = msgspec.UNSET
    input_run_id: str | None = None
    business_key: str | None = None
    agent_name: str | None = None
    execution_id: str | None = None
    parent_execution_id: str | None = None
    entity_type: str | None = None
    entity_name: str | None = None
    entity_metadata: dict[str, Any] = msgspec.field(default_factory=dict)
    event_id: str
    source_event_id: str | None = None
    event_type: str
    action_trigger_event_id: str | None = None
    upstream_action_name: str | None = None
    status: str | None = None
    problem_category: str | None = None
    # Not the host's: ours to tell which span a record belongs to.
    trace_id: str | None = None
    span_id: str | None = None
    event_attributes: dict[str, Any]


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_Line).decode
_NAMES: Final = dict(
    zip(_Line.__struct_fields__, _Line.__struct_encode_fields__, strict=True)
)
_EXTRA: Final = tuple(SNAKE_EXTRA)
_OWN: Final = tuple(name for name, wire in _NAMES.items() if wire not in SNAKE_EXTRA)
_own_values = attrgetter(*_OWN)


def encode(record: Record) -> bytes:
    """Write the fields of a record as a line of this dialect."""
    if not record.extra:
        line = _Line(**dict(zip(_OWN, _own_values(record), strict=True)))
        try:
            return _encode(line)
        except REJECTED:
            pass
    return encode_mended(_fields(record))


def is_likely(line: bytes | str) -> bool:
    """Whether a line may be of this dialect, at a glance."""
    if isinstance(line, str):
        return '"eventAttributes"' in line
    return b'"eventAttributes"' in line


def decode(line: bytes | str) -> dict[str, Any]:
    """Read the fields of a record from a line; refuses unknown ones."""
    return _known(_decode(line))


def read(fields: dict[str, Any]) -> dict[str, Any]:
    """Read the fields of a record from a JSON object, which is used up."""
    line = {name: fields.pop(name) for name in _NAMES.values() if name in fields}
    known = _known(msgspec.convert(line, _Line))
    known["extra"] |= fields
    return known


def _known(line: _Line) -> dict[str, Any]:
    known = dict(zip(_OWN, _own_values(line), strict=True))
    known["extra"] = {}
    if line.job_id is line.task_name is line.subtask_id is msgspec.UNSET:
        return known
    for name in _EXTRA:
        value = getattr(line, SNAKE_EXTRA[name])
        if value is not msgspec.UNSET:
            known["extra"][name] = value
    return known


def _fields(record: Record) -> dict[str, Any]:
    """Lay out every field by its name in this dialect, in order."""
    extra = record.extra
    fields: dict[str, Any] = {}
    for name, wire in _NAMES.items():
        if wire in SNAKE_EXTRA:
            if wire in extra:
                fields[wire] = extra[wire]
            continue
        value = getattr(record, name)
        if value is not None and (value != {} or name == "event_attributes"):
            fields[wire] = value
    return fields | {name: extra[name] for name in extra if name not in fields}
