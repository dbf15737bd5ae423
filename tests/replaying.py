"""Spans that were sent live, and those of their log, told alike."""

from typing import Any

from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from opentelemetry.exporter.flink_agents import replay
from receiving import attributes_of, http_backend


def told(spans: list[Span]) -> dict[str, dict[str, Any]]:
    """All that spans say, by their ids."""
    return {span.span_id.hex(): _told(span) for span in spans}


def _told(span: Span) -> dict[str, Any]:
    return {
        "name": span.name,
        "kind": Span.SpanKind.Name(span.kind),
        "trace": span.trace_id.hex(),
        "parent": span.parent_span_id.hex(),
        "start": span.start_time_unix_nano // 1000,
        "end": span.end_time_unix_nano // 1000,
        "status": (span.status.code, span.status.message),
        "links": [(link.trace_id.hex(), link.span_id.hex()) for link in span.links],
        "attributes": attributes_of(span),
    }


def encoded(spans: list[Any]) -> list[Span]:
    """Spans of the SDK as an exporter would send them."""
    request = encode_spans(spans)
    return [
        span
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


def replayed(*paths: Any, **arguments: Any) -> list[Span]:
    """Replay a log into a backend of its own and return what arrived."""
    with http_backend() as backend, backend.in_force():
        replay(*paths, **arguments)
    return backend.whole
