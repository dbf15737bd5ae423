"""Real providers, the spans they exported, and a clean global provider."""

import contextlib
from collections.abc import Iterator
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.util._once import Once

from opentelemetry import trace


class MemoryProvider(TracerProvider):
    """A provider of the SDK whose exported spans can be looked at."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(shutdown_on_exit=False, **arguments)
        self.exporter = InMemorySpanExporter()
        self.add_span_processor(SimpleSpanProcessor(self.exporter))

    @property
    def spans(self) -> list[ReadableSpan]:
        return list(self.exporter.get_finished_spans())

    @property
    def span_names(self) -> list[str]:
        return [span.name for span in self.spans]


@contextlib.contextmanager
def no_global_provider() -> Iterator[None]:
    """Inside, nothing global is set; afterwards it is as before."""
    before = trace._TRACER_PROVIDER, trace._TRACER_PROVIDER_SET_ONCE
    trace._TRACER_PROVIDER, trace._TRACER_PROVIDER_SET_ONCE = None, Once()
    try:
        yield
    finally:
        trace._TRACER_PROVIDER, trace._TRACER_PROVIDER_SET_ONCE = before


def ids(span: ReadableSpan) -> tuple[str, str]:
    """Trace and span id as a record has them."""
    return f"{span.context.trace_id:032x}", f"{span.context.span_id:016x}"


def ids_of(line: dict[str, Any]) -> tuple[str | None, str | None]:
    """Trace and span id of a record."""
    return line.get("trace_id"), line.get("span_id")
