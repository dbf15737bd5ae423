"""`otlp=True`: our spans, and only ours, to the endpoint of the standard variables."""

from __future__ import annotations

import logging
import os
import threading
from typing import TYPE_CHECKING

from opentelemetry.sdk.trace.export import (
    BatchSpanProcessor,
    SpanExporter,
    SpanExportResult,
)

from opentelemetry.exporter.flink_agents._execution import SCOPE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opentelemetry.sdk.trace import ReadableSpan, TracerProvider

logger = logging.getLogger(__name__)

# The exporters report every retry here. Ours is to cost one warning in all.
_CHATTY = (
    "opentelemetry.exporter.otlp.proto.grpc.exporter",
    "opentelemetry.exporter.otlp.proto.http.trace_exporter",
)
_exporting = threading.local()


class ScopedBatchSpanProcessor(BatchSpanProcessor):
    """Exports the spans of our instrumentation scope and leaves all others alone."""

    def on_end(self, span: ReadableSpan) -> None:
        """Queue `span` if it is one of ours."""
        scope = span.instrumentation_scope
        if scope is not None and scope.name == SCOPE:
            super().on_end(span)


class QuietExporter(SpanExporter):
    """Says once that the backend cannot be reached, and once that it can again."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter
        self._failing = False
        for name in _CHATTY:
            logging.getLogger(name).addFilter(_not_while_exporting)

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Export `spans`; never raises."""
        _exporting.ours = True
        try:
            result = self._exporter.export(spans)
        except Exception:  # an exporter is not to end its thread
            logger.debug("The OTLP exporter failed", exc_info=True)
            result = SpanExportResult.FAILURE
        finally:
            _exporting.ours = False
        self._say(failed=result is not SpanExportResult.SUCCESS)
        return result

    def shutdown(self) -> None:
        """Shut the exporter down; an export under way is given up."""
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        """Flush the exporter."""
        return self._exporter.force_flush(timeout_millis)

    def _say(self, *, failed: bool) -> None:
        if failed and not self._failing:
            logger.warning(
                "Spans cannot be exported over OTLP and are dropped; the Event Log is"
                " not affected. Is the endpoint of OTEL_EXPORTER_OTLP_ENDPOINT up?"
            )
        elif self._failing and not failed:
            logger.info("Spans are exported over OTLP again")
        self._failing = failed


def forwarding_processor() -> BatchSpanProcessor | None:
    """Return a processor that forwards our spans, or None without an exporter."""
    protocol = os.environ.get(
        "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
        os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
    )
    try:
        exporter = _exporter(protocol)
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


def _exporter(protocol: str) -> SpanExporter | None:
    if protocol == "grpc":
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import (  # noqa: PLC0415
            OTLPSpanExporter as GrpcExporter,
        )

        return GrpcExporter()
    if protocol == "http/protobuf":
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # noqa: PLC0415
            OTLPSpanExporter as HttpExporter,
        )

        return HttpExporter()
    return None


def _not_while_exporting(_: logging.LogRecord) -> bool:
    return not getattr(_exporting, "ours", False)
