"""From one dialect to another: what a record says, in the words of the other.

What the other dialect has no place for is kept as an extra field. What even that
cannot carry, or what has to be guessed, is named in the losses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from flink_agents_eventlog import lifecycle, long_term
from flink_agents_eventlog.dialect import (
    NATIVE,
    NATIVE_ATTRIBUTES,
    NATIVE_EXTRA,
    NATIVE_METADATA,
    NESTED,
    SNAKE,
    SNAKE_ATTRIBUTES,
    SNAKE_EXTRA,
    SNAKE_METADATA,
    native_error_type,
    renamed,
    snake_error_type,
)
from flink_agents_eventlog.payload import decode_plain

if TYPE_CHECKING:
    from flink_agents_eventlog.record import Record

UNKNOWN_ACTION: Final = "the action that sent an Event, which the source does not name"
UNKNOWN_INPUT: Final = "the input that a begin or end Event belongs to"

_TRIGGER: Final = "actionTriggerEventId"
# Runs whose input is remembered; more than this are hardly open at a time.
_MANY_RUNS: Final = 65_536
# On hosts up to 0.2 an Event has no type but its class.
_BUILTIN_EVENTS: Final = ("flink_agents.api.", "org.apache.flink.agents.api.")
_BUILTIN_TYPES: Final = {
    "InputEvent": lifecycle.INPUT_EVENT,
    "OutputEvent": lifecycle.OUTPUT_EVENT,
    "ChatRequestEvent": "_chat_request_event",
    "ChatResponseEvent": "_chat_response_event",
    "ToolRequestEvent": "_tool_request_event",
    "ToolResponseEvent": "_tool_response_event",
    "ContextRetrievalRequestEvent": "_context_retrieval_request_event",
    "ContextRetrievalResponseEvent": "_context_retrieval_response_event",
}
# What an old Event has beside its attributes without it being one of its fields.
_NO_FIELDS: Final = ("type", "eventClass", "upstreamEventId", "upstreamActionName")


class Converted(NamedTuple):
    """A record in another dialect, and what it lost on the way."""

    record: Record
    losses: tuple[str, ...] = ()


def convert(record: Record, to: str) -> Converted:
    """Translate one record into the dialect ``snake`` or ``native``.

    The record itself stays as it is. A whole log is better translated by one
    `Conversion`, which knows the input of each run.
    """
    return Conversion(to).convert(record)


class Conversion:
    """Translates the records of a log in their order."""

    def __init__(self, to: str) -> None:
        if to not in (SNAKE, NATIVE):
            raise ValueError(f"cannot convert to {to!r}, only to 'snake' or 'native'")
        self._to = to
        self._input_of: dict[str, str] = {}

    def convert(self, record: Record) -> Converted:
        """Translate the next record."""
        if record.event_type == lifecycle.INPUT_EVENT and record.input_run_id:
            self._remember(record.input_run_id, record.event_id)
        if record.dialect == self._to:
            return Converted(record)
        if record.dialect == NESTED:
            record = _flat(record)
            if self._to == NATIVE:
                return Converted(record)
        if self._to == SNAKE:
            return _to_snake(record)
        return self._to_native(record)

    def _remember(self, input_run_id: str, event_id: str) -> None:
        if len(self._input_of) >= _MANY_RUNS:
            del self._input_of[next(iter(self._input_of))]
        self._input_of[input_run_id] = event_id

    def _to_native(self, record: Record) -> Converted:
        attributes, losses = _translated(record, long_term.NESTING)
        record = replace(record, event_attributes=attributes)
        input_event_id = self._input_of.get(record.input_run_id or "")
        native, unlinked = in_native_words(record, input_event_id)
        return Converted(native, losses + unlinked)


def in_native_words(record: Record, input_event_id: str | None) -> Converted:
    """Rename what the native dialect calls otherwise; the shape of memory stays.

    Args:
        record: a record in the words of the default dialect.
        input_event_id: the input of its run, which a begin or end event follows.

    """
    metadata = renamed(record.entity_metadata, NATIVE_METADATA)
    extra = renamed(record.extra, NATIVE_EXTRA)
    record = replace(record, entity_metadata=metadata, extra=extra, dialect=NATIVE)
    if record.event_type in lifecycle.STATUS_OF_EVENT_TYPE:
        return Converted(_native_execution(record))
    if record.upstream_action_name is not None:
        return Converted(record)
    return Converted(record, _link(record, input_event_id))


def _link(event: Record, input_event_id: str | None) -> tuple[str, ...]:
    """Say through which action the event came about."""
    of_run = lifecycle.ACTION_OF_RUN_EVENT.get(event.event_type)
    if event.action_trigger_event_id is not None:
        event.upstream_action_name = event.entity_name or of_run
        return () if event.upstream_action_name else (UNKNOWN_ACTION,)
    if of_run is None:
        return ()
    event.action_trigger_event_id = input_event_id
    if event.action_trigger_event_id is None:
        return (UNKNOWN_INPUT,)
    event.upstream_action_name = of_run
    return ()


def _native_execution(record: Record) -> Record:
    """Finish an execution's record, which has no upstream in the native dialect."""
    if record.status == lifecycle.FINISHED:
        record.status = lifecycle.SUCCESS
    if record.action_trigger_event_id is not None:
        record.extra[_TRIGGER] = record.action_trigger_event_id
        record.action_trigger_event_id = None
    attributes = renamed(_plain_attributes(record), NATIVE_ATTRIBUTES)
    if isinstance(attributes.get("errorType"), str):
        attributes["errorType"] = native_error_type(attributes["errorType"])
    if attributes.get("errorMessage") == "":
        del attributes["errorMessage"]
    record.event_attributes = attributes
    return record


def _to_snake(record: Record) -> Converted:
    metadata = renamed(record.entity_metadata, SNAKE_METADATA)
    extra = renamed(record.extra, SNAKE_EXTRA)
    record = replace(record, entity_metadata=metadata, extra=extra, dialect=SNAKE)
    if record.event_type in lifecycle.STATUS_OF_EVENT_TYPE:
        return Converted(_snake_execution(record))
    record.event_attributes, losses = _translated(record, long_term.FLATTENING)
    action = record.upstream_action_name
    if action is not None and action == record.entity_name:
        record.upstream_action_name = None
    elif (
        action is not None
        and action == lifecycle.ACTION_OF_RUN_EVENT.get(record.event_type)
        and record.input_run_id is not None
    ):  # the run leads to its input
        record.action_trigger_event_id = record.upstream_action_name = None
    return Converted(record, losses)


def _snake_execution(record: Record) -> Record:
    if record.status == lifecycle.SUCCESS:
        record.status = lifecycle.FINISHED
    trigger = record.extra.get(_TRIGGER)
    if isinstance(trigger, str) and record.action_trigger_event_id is None:
        record.action_trigger_event_id = trigger
        del record.extra[_TRIGGER]
    attributes = renamed(_plain_attributes(record), SNAKE_ATTRIBUTES)
    if isinstance(attributes.get("error_type"), str):
        attributes["error_type"] = snake_error_type(attributes["error_type"])
        attributes.setdefault("error_message", "")
    record.event_attributes = attributes
    return record


def _flat(record: Record) -> Record:
    """Unfold the old nested form; both other dialects write the result alike."""
    extra = dict(record.extra)
    event = extra.pop("event", {})
    extra.pop("eventType", None)
    event_type = _type_of_class(record.event_type)
    if event_type == record.event_type and isinstance(event.get("type"), str):
        event_type = event["type"]
    for kind in (record.event_type, event.get("eventClass")):
        if kind is not None and kind != event_type:
            extra["eventClass"] = kind
    fields = {name: event[name] for name in event if name not in _NO_FIELDS}
    return replace(
        record,
        event_type=event_type,
        event_attributes={**fields, **record.event_attributes},
        extra=extra,
        dialect=NATIVE,
    )


def _type_of_class(name: str) -> str:
    if name.startswith(_BUILTIN_EVENTS):
        return _BUILTIN_TYPES.get(name.rpartition(".")[2], name)
    return name


def _translated(
    event: Record, translations: dict[str, long_term.Translation]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Translate the attributes of a long-term memory event."""
    translation = translations.get(event.event_type)
    if translation is None:
        return event.event_attributes, ()
    attributes = _plain_attributes(event)
    losses: list[str] = []
    translated = translation(attributes, losses.append)
    return translated, tuple(dict.fromkeys(losses))


def _plain_attributes(record: Record) -> dict[str, Any]:
    attributes: Any = record.event_attributes
    if isinstance(attributes, msgspec.Raw):
        attributes = decode_plain(bytes(attributes))
    return attributes  # type: ignore[no-any-return]
