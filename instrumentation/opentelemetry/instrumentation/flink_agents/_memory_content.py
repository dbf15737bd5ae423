"""What was looked for in a memory or a store and what was found, for a span."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flink_agents_eventlog.payload import decode_plain
from opentelemetry.instrumentation.flink_agents import semconv
from opentelemetry.instrumentation.flink_agents._text import safe

if TYPE_CHECKING:
    from opentelemetry.instrumentation.flink_agents._providers import Session

# Where the Event Log has it too: a mask is asked for the same path.
_PATH = "event_attributes.value"


class MemoryContent:
    """The content of one operation, only while content on spans is wanted.

    Args:
        session: of the run.
        query: the attribute for what is looked for.
        records: the attribute for what is found or written.
    """

    def __init__(
        self,
        session: Session,
        query: str = semconv.GEN_AI_MEMORY_QUERY_TEXT,
        records: str = semconv.GEN_AI_MEMORY_RECORDS,
    ) -> None:
        self._session = session
        self._names = query, records
        self._query: str | None = None
        self._records: list[dict[str, Any]] = []

    def asked(self, query: object) -> None:
        """Take note of what is looked for."""
        self._query = str(query)

    def record(self, record_id: object, content: object, score: object = None) -> None:
        """Take note of a record that was found or written."""
        record = {"id": record_id, "content": content, "score": score}
        self._records.append(
            {name: value for name, value in record.items() if value is not None}
        )

    def attributes(self) -> dict[str, Any]:
        """Return it as attributes, masked, as far as there is room for it."""
        session = self._session
        room = session.content.room(session.value_length)
        told: dict[str, Any] = {}
        query_name, records_name = self._names
        if self._query is not None:
            query = safe(session.processor.masked_text(_PATH, self._query))
            told[query_name] = room.text(query, share=0.5)
        if self._records:
            raw = session.processor.snapshot(_PATH, self._records)
            fitted = room.json(decode_plain(bytes(raw)))
            if fitted is not None:
                told[records_name] = fitted[1]
        if room.has_cut:
            told[semconv.FLINK_AGENTS_CONTENT_TRUNCATED] = True
        return told
