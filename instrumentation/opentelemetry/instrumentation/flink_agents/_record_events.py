"""`event_log_otlp=True`: each record is a log event too, for disks that die with pods.

What may leave is what spans may say: who, what, when and how it ended. Content is
in the body only where events may have it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace
from opentelemetry._logs import SeverityNumber
from opentelemetry.context import Context
from opentelemetry.instrumentation.utils import is_instrumentation_enabled
from opentelemetry.trace import NonRecordingSpan, set_span_in_context

from flink_agents_eventlog import lifecycle
from flink_agents_eventlog.payload import decode_plain, encode_plain
from flink_agents_eventlog.record import timestamp_ns
from opentelemetry.exporter.flink_agents import semconv
from opentelemetry.exporter.flink_agents._attributes import identity
from opentelemetry.exporter.flink_agents._guard import faults
from opentelemetry.instrumentation.flink_agents._log_events import logger_of, new_event
from opentelemetry.instrumentation.flink_agents._text import safe

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry._logs import LoggerProvider
    from opentelemetry.trace import SpanContext

    from flink_agents_eventlog.record import Record
    from opentelemetry.exporter.flink_agents._execution import Run
    from opentelemetry.instrumentation.flink_agents._content import ContentCapture

_ATTRIBUTES = {
    "execution_id": semconv.FLINK_AGENTS_EXECUTION_ID,
    "parent_execution_id": semconv.FLINK_AGENTS_EXECUTION_PARENT_ID,
    "action_trigger_event_id": semconv.FLINK_AGENTS_EVENT_TRIGGER_ID,
    "entity_type": semconv.FLINK_AGENTS_ENTITY_TYPE,
    "entity_name": semconv.FLINK_AGENTS_ENTITY_NAME,
    "event_id": semconv.FLINK_AGENTS_EVENT_ID,
    "source_event_id": semconv.FLINK_AGENTS_EVENT_SOURCE_ID,
    "status": semconv.FLINK_AGENTS_EXECUTION_STATUS,
    "problem_category": semconv.FLINK_AGENTS_PROBLEM_CATEGORY,
}
# Paths in the memory of an agent, which may say as much as values.
_PATHS = ("unrepresentable_paths", "oversized_paths")


class RecordEvents:
    """Emits records, from one `instrument()` to the next.

    Args:
        provider: where they go; None for the global logger provider.
        version: ours.
        content: what of content may leave.
        error_messages: whether the message of an error may.
    """

    def __init__(
        self,
        provider: LoggerProvider | None,
        version: str,
        content: ContentCapture,
        *,
        error_messages: bool,
    ) -> None:
        self._logger = logger_of(provider, version)
        self._content = content
        self._error_messages = error_messages

    def emit(
        self,
        run: Run,
        record: Record,
        span: SpanContext | None,
        line: Callable[[Record], bytes | None],
    ) -> None:
        """Emit `record`, unless its event is switched off.

        Args:
            run: the run that it belongs to.
            record: masked already, in the words of the default dialect; kept as it is.
            span: the span that it is about.
            line: writes a record as the log does, and uses it up.
        """
        if not is_instrumentation_enabled():
            return
        told, cut = self._allowed(record)
        text = line(told)
        if text is None:
            return
        context = Context()
        if span is not None:
            context = set_span_in_context(NonRecordingSpan(span), context)
        has_failed = record.status == lifecycle.FAILED
        event = new_event(
            self._logger,
            record.event_type,
            {**_attributes(run, record), **cut},
            context,
            body=text.decode(),
            timestamp=timestamp_ns(record.timestamp),
            severity=SeverityNumber.ERROR if has_failed else SeverityNumber.INFO,
        )
        try:
            self._logger.emit(event)
        except Exception as error:  # noqa: BLE001  # anybody's code
            faults.caught("emit", error, own=False)

    def _allowed(self, record: Record) -> tuple[Record, dict[str, bool]]:
        """Return a copy that may leave, and what was done to it as attributes."""
        metadata: dict[str, Any] = dict(record.entity_metadata)
        attributes: Any = {}
        cut = {}
        if self._content.in_events:
            room = self._content.room(None)
            fitted = room.json(decode_plain(encode_plain(record.event_attributes)))
            attributes = {} if fitted is None else fitted[0]
            if room.has_cut:
                cut[semconv.FLINK_AGENTS_CONTENT_TRUNCATED] = True
        else:
            metadata = {name: metadata[name] for name in metadata if name not in _PATHS}
            if record.status is not None:
                attributes = _without_content(record.event_attributes)
        if record.status is not None and not self._error_messages:
            attributes = _without_messages(attributes)
        copy = replace(record, entity_metadata=metadata, event_attributes=attributes)
        return copy, cut


def _attributes(run: Run, record: Record) -> dict[str, Any]:
    attributes = identity(run)
    for name, attribute in _ATTRIBUTES.items():
        value = getattr(record, name)
        if value is not None:
            attributes[attribute] = safe(value)
    if record.status is not None:
        kind = record.event_attributes.get("error_type")
        if kind is not None:
            attributes[semconv.ERROR_TYPE] = safe(str(kind))
    return attributes


def _without_content(attributes: dict[str, Any]) -> dict[str, Any]:
    return {
        name: attributes[name] for name in attributes if name not in {"input", "output"}
    }


def _without_messages(attributes: dict[str, Any]) -> dict[str, Any]:
    kept = {name: attributes[name] for name in attributes if name != "error_message"}
    if isinstance(kept.get("attempts"), list):
        kept["attempts"] = [
            {name: each[name] for name in each if name != "error_message"}
            for each in kept["attempts"]
        ]
    return kept
