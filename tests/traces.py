"""One span in one form, whether it was sent or came back from a backend."""

import json
from typing import Any

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider

_KINDS = {1: "INTERNAL", 3: "CLIENT"}
_CODES = {None: "UNSET", 0: "UNSET", 2: "ERROR"}


class KeepingProvider(TracerProvider):
    """Keeps its spans, and has no exporter: `otlp=True` sends them."""

    def __init__(self) -> None:
        resource = Resource.create({"service.name": "orders"})
        super().__init__(shutdown_on_exit=False, resource=resource)
        self.kept: list[ReadableSpan] = []
        self.add_span_processor(_Keeping(self.kept))


class _Keeping(SpanProcessor):
    def __init__(self, kept: list[ReadableSpan]) -> None:
        self._kept = kept

    def on_end(self, span: ReadableSpan) -> None:
        self._kept.append(span)


def trace_ids(spans: list[ReadableSpan]) -> list[str]:
    """Each trace once, in the order of their first ends."""
    return list(dict.fromkeys(f"{span.context.trace_id:032x}" for span in spans))


def sent(span: ReadableSpan) -> dict[str, Any]:
    """What was sent: ids, parent, links, name, kind, times, status, attributes."""
    return {
        "trace": f"{span.context.trace_id:032x}",
        "span": f"{span.context.span_id:016x}",
        "parent": f"{span.parent.span_id:016x}" if span.parent else None,
        "links": [f"{link.context.span_id:016x}" for link in span.links],
        "name": span.name,
        "kind": span.kind.name,
        "times": (span.start_time, span.end_time),
        "status": (span.status.status_code.name, span.status.description),
        "attributes": {name: _stored(value) for name, value in span.attributes.items()},
    }


def _stored(value: Any) -> Any:
    """Jaeger keeps lists on disk as JSON text."""
    return json.dumps(value) if isinstance(value, tuple) else value


def received(span: dict[str, Any]) -> dict[str, Any]:
    """The same of a span in OTLP's JSON."""
    status = span.get("status", {})
    return {
        "trace": span["traceId"],
        "span": span["spanId"],
        "parent": span.get("parentSpanId") or None,
        "links": [link["spanId"] for link in span.get("links", ())],
        "name": span["name"],
        "kind": _KINDS[span["kind"]],
        "times": (int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"])),
        "status": (_CODES[status.get("code")], status.get("message")),
        "attributes": attributes_of(span),
    }


def attributes_of(holder: dict[str, Any]) -> dict[str, Any]:
    """The attributes of a span in OTLP's JSON."""
    return {each["key"]: _plain(each["value"]) for each in holder.get("attributes", ())}


def _plain(value: dict[str, Any]) -> Any:
    [(kind, held)] = value.items()
    return int(held) if kind == "intValue" else held
