"""`otlp=True`: our spans, and only ours, to the endpoint of the standard variables."""

from __future__ import annotations

import logging
import os
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TYPE_CHECKING

from opentelemetry.instrumentation.utils import suppress_instrumentation
from opentelemetry.sdk.trace.export import (
    BatchSpanProcessor,
    SpanExporter,
    SpanExportResult,
)

from opentelemetry.exporter.flink_agents._endpoint import (
    MOST_CHARACTERS,
    protocol_of_environment,
    size_of,
    span_exporter,
)
from opentelemetry.exporter.flink_agents._execution import SCOPE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from opentelemetry.sdk.trace import ReadableSpan, TracerProvider

SECONDS_TO_FLUSH = 2.0
"""How long the end of a process may wait for an endpoint that does not answer."""

logger = logging.getLogger(__name__)

# The exporters report every retry here. Ours is to cost one warning in all.
_CHATTY = (
    "opentelemetry.exporter.otlp.proto.grpc.exporter",
    "opentelemetry.exporter.otlp.proto.http.trace_exporter",
)
_exporting = threading.local()


class ScopedBatchSpanProcessor(BatchSpanProcessor):
    """Exports the spans of our instrumentation scope and leaves all others alone.

    Flushing and shutting down end within `SECONDS_TO_FLUSH`, whatever the endpoint
    does: by themselves they last as long as the exporter repeats its attempts.
    """

    def __init__(self, exporter: QuietExporter) -> None:
        super().__init__(exporter)
        self._quiet = exporter
        self._closed = False

    def on_end(self, span: ReadableSpan) -> None:
        """Queue `span` if it is one of ours."""
        scope = span.instrumentation_scope
        if not self._closed and scope is not None and scope.name == SCOPE:
            super().on_end(span)

    def force_flush(self, timeout_millis: int | None = None) -> bool:
        """Export what waits; False if it could not be done in time."""
        with self._quiet.in_haste():
            return not self._closed and super().force_flush(timeout_millis)

    def shutdown(self) -> None:
        """Export what waits, then stop; the spans of later runs are not ours."""
        if not self._closed:
            self._closed = True
            with self._quiet.in_haste():
                super().shutdown()  # type: ignore[no-untyped-call,unused-ignore]


@dataclass(eq=False)
class _Batch:
    spans: Sequence[ReadableSpan]
    result: SpanExportResult | None = None


class QuietExporter(SpanExporter):
    """Says once that the backend cannot be reached, and once that it can again.

    Exports in a thread of its own: an exporter that repeats its attempts for a
    minute can only be left behind.
    """

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter
        self._failing = False
        for name in _CHATTY:
            logging.getLogger(name).addFilter(_not_while_exporting)
        self._begin()

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._changed = threading.Condition()
        self._give_up_at: float | None = None
        self._batches: SimpleQueue[_Batch | None] = SimpleQueue()
        self._thread = threading.Thread(
            target=self._work, name="flink-agents-otlp", daemon=True
        )
        self._thread.start()

    @contextmanager
    def in_haste(self) -> Iterator[None]:
        """Let no export inside the block, also one under way, last much longer."""
        with self._changed:
            self._give_up_at = time.monotonic() + SECONDS_TO_FLUSH
            self._changed.notify_all()
        try:
            yield
        finally:
            self._give_up_at = None

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Export `spans`; never raises."""
        if self._pid != os.getpid():
            self._begin()  # a forked child has the object, but not the thread
        batch = _Batch(spans)
        self._batches.put(batch)
        with self._changed:
            self._changed.wait_for(lambda: batch.result or self._give_up_at)
            if self._give_up_at is not None:
                left = self._give_up_at - time.monotonic()
                self._changed.wait_for(lambda: batch.result, max(0, left))
            if batch.result is None:
                batch.spans = ()  # given up: they are not to wait here for ever
            result = batch.result or SpanExportResult.FAILURE
        self._say(failed=result is not SpanExportResult.SUCCESS)
        return result

    def shutdown(self) -> None:
        """Shut the exporter down; an export under way is given up."""
        self._batches.put(None)
        if self._give_up_at is not None:
            self._thread.join(max(0, self._give_up_at - time.monotonic()))

    def force_flush(self, timeout_millis: int = 30000) -> bool:  # noqa: ARG002
        """True: nothing is buffered here."""
        return True

    def _work(self) -> None:
        _exporting.ours = True
        changed, batches = self._changed, self._batches
        with suppress_instrumentation():
            while (batch := batches.get()) is not None:
                spans = batch.spans
                result = self._export(spans) if spans else SpanExportResult.FAILURE
                del spans
                with changed:
                    batch.result = result
                    changed.notify_all()
            self._exporter.shutdown()

    def _export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = SpanExportResult.SUCCESS
        try:
            for portion in portions(spans):
                result = self._exporter.export(portion)
                if result is not SpanExportResult.SUCCESS:
                    break  # the endpoint would not take the others either
        except Exception:  # an exporter is not to end its thread
            logger.debug("The OTLP exporter failed", exc_info=True)
            result = SpanExportResult.FAILURE
        return result

    def _say(self, *, failed: bool) -> None:
        if failed and not self._failing:
            logger.warning(
                "Spans cannot be exported over OTLP and are dropped; the Event Log is"
                " not affected. Is the endpoint of OTEL_EXPORTER_OTLP_ENDPOINT up?"
            )
        elif self._failing and not failed:
            logger.info("Spans are exported over OTLP again")
        self._failing = failed


def portions(spans: Sequence[ReadableSpan]) -> Iterator[Sequence[ReadableSpan]]:
    """Yield `spans` in requests that a backend takes: by default 4 MiB at most."""
    begin, size = 0, 0
    for index, span in enumerate(spans):
        more = size_of(span)
        if size + more > MOST_CHARACTERS and index > begin:
            yield spans[begin:index]
            begin, size = index, 0
        size += more
    yield spans[begin:]


def forwarding_processor() -> ScopedBatchSpanProcessor | None:
    """Return a processor that forwards our spans, or None without an exporter."""
    protocol = protocol_of_environment()
    try:
        exporter = span_exporter(protocol)
    except ImportError:
        logger.warning(
            "otlp=True needs an OTLP exporter for %s: pip install"
            " 'opentelemetry-instrumentation-flink-agents[otlp]'",
            protocol,
        )
        return None
    if exporter is None:
        logger.warning(
            "OTEL_EXPORTER_OTLP_PROTOCOL=%r is not allowed: use grpc or http/protobuf;"
            " no spans are exported",
            protocol,
        )
        return None
    return ScopedBatchSpanProcessor(QuietExporter(exporter))


def has_exporter(provider: TracerProvider) -> bool:
    """Whether `provider` exports spans already."""
    processors = getattr(provider, "_active_span_processor", None)
    return any(
        hasattr(processor, "span_exporter") or hasattr(processor, "_batch_processor")
        for processor in getattr(processors, "_span_processors", ())
        if not isinstance(processor, ScopedBatchSpanProcessor)
    )


def _not_while_exporting(_: logging.LogRecord) -> bool:
    return not getattr(_exporting, "ours", False)
