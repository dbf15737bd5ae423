"""Where spans are sent over OTLP, and what sends them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.trace.export import SpanExporter

GRPC, HTTP = "grpc", "http/protobuf"
_PORT_OF_HTTP = ":4318"
_DEFAULT = {GRPC: "http://localhost:4317", HTTP: "http://localhost:4318"}

MOST_CHARACTERS = 2**19
"""Of attributes in one request; a character has up to four bytes, and backends take
4 MiB by default."""


class Endpoint(NamedTuple):
    """An OTLP endpoint and the protocol that it speaks."""

    url: str
    protocol: str

    def __str__(self) -> str:
        return f"{self.url} ({self.protocol})"


def protocol_of_environment(default: str = GRPC) -> str:
    """Return the protocol that the standard variables ask for."""
    return os.environ.get(
        "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
        os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL", default),
    )


def endpoint(url: str | None = None) -> Endpoint:
    """Return the endpoint `url`, by default that of the standard variables.

    A URL without a scheme is plain text; its port 4318 means http/protobuf, unless a
    variable says otherwise. The path of http/protobuf is added where it is missing.

    Raises:
        ValueError: the protocol is none of the two.
    """
    is_http = url is not None and _PORT_OF_HTTP in url
    protocol = protocol_of_environment(HTTP if is_http else GRPC)
    if protocol not in (GRPC, HTTP):
        raise ValueError(
            f"OTEL_EXPORTER_OTLP_PROTOCOL={protocol!r} is not allowed: use {GRPC} or"
            f" {HTTP}"
        )
    of_traces = os.environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
    if url is None and of_traces:
        return Endpoint(of_traces, protocol)
    base = url or os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT") or _DEFAULT[protocol]
    return Endpoint(_full(base, protocol), protocol)


def span_exporter(protocol: str, url: str | None = None) -> SpanExporter | None:
    """Return the exporter of a protocol, None if there is no such protocol.

    Args:
        protocol: `grpc` or `http/protobuf`.
        url: where to; None for the endpoint of the standard variables.

    Raises:
        ImportError: it is not installed.
    """
    if protocol == GRPC:
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import (  # noqa: PLC0415
            OTLPSpanExporter as GrpcExporter,
        )

        return GrpcExporter(endpoint=url)
    if protocol == HTTP:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # noqa: PLC0415
            OTLPSpanExporter as HttpExporter,
        )

        return HttpExporter(endpoint=url)
    return None


def size_of(span: ReadableSpan) -> int:
    """Return about how many characters a span has that may be many."""
    values = (span.attributes or {}).values()
    texts = sum(len(value) for value in values if isinstance(value, str))
    return texts + len(span.status.description or "")


def _full(url: str, protocol: str) -> str:
    if "://" not in url:
        url = f"http://{url}"
    if protocol == HTTP and not url.endswith("/v1/traces"):
        url = f"{url.rstrip('/')}/v1/traces"
    return url
