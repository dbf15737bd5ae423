"""Which provider a run uses, and what of ours is attached to it."""

from __future__ import annotations

import logging
import weakref
from typing import TYPE_CHECKING, Any

from opentelemetry.instrumentation.utils import is_instrumentation_enabled
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.sampling import Decision, Sampler, SamplingResult

from opentelemetry import trace
from opentelemetry.exporter.flink_agents import EventLogSpanProcessor
from opentelemetry.exporter.flink_agents._execution import SCOPE
from opentelemetry.exporter.flink_agents._guard import guarded
from opentelemetry.instrumentation.flink_agents import _otlp
from opentelemetry.instrumentation.flink_agents._options import (
    EVENT_LOG,
    OTLP,
    Settings,
)
from opentelemetry.instrumentation.flink_agents._text import safe

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry.context import Context
    from opentelemetry.trace import Span, Tracer

logger = logging.getLogger(__name__)


class RecordDropped(Sampler):
    """Records, without exporting it, what another sampler would drop.

    Exporters skip such spans; the Event Log is complete. On one tracer, ours:
    the tracers of others are sampled as before.
    """

    def __init__(self, root: Sampler) -> None:
        self.root = root

    def should_sample(  # noqa: PLR0917  # the SDK's signature
        self,
        parent_context: Any,
        trace_id: int,
        name: str,
        kind: Any = None,
        attributes: Any = None,
        links: Any = None,
        trace_state: Any = None,
    ) -> SamplingResult:
        """Decide as the other sampler does, but record what it drops."""
        result = self.root.should_sample(
            parent_context, trace_id, name, kind, attributes, links, trace_state
        )
        if result.decision is not Decision.DROP:
            return result
        return SamplingResult(Decision.RECORD_ONLY, attributes, result.trace_state)

    def get_description(self) -> str:
        """Name this sampler and the one that it asks."""
        return f"RecordDropped({self.root.get_description()})"


class Session:
    """What one run uses from its beginning to its end."""

    def __init__(
        self,
        tracer: Tracer,
        processor: EventLogSpanProcessor,
        settings: Settings,
        flush: Callable[[], None],
    ) -> None:
        self.processor = processor
        self.settings = settings
        self.flush = flush
        self._tracer = tracer

    @guarded
    def start_span(self, name: str, context: Context, **arguments: Any) -> Span | None:
        """Start a span; None while instrumentation is suppressed."""
        if not is_instrumentation_enabled():
            return None
        return self._tracer.start_span(
            safe(name),
            context,
            record_exception=False,
            set_status_on_exception=False,
            **arguments,
        )


class Providers:
    """Attaches the Event Log to the provider in force, run by run, and detaches it."""

    def __init__(self, version: str) -> None:
        self._version = version
        self._settings = Settings({})
        self._explicit: trace.TracerProvider | None = None
        self._own_processor = EventLogSpanProcessor()
        self._own_processor.alone = False
        self._adopted: EventLogSpanProcessor | None = None
        self._private: TracerProvider | None = None
        self._forwarders: list[SpanProcessor] = []
        self._forwarding: weakref.WeakSet[Any] = weakref.WeakSet()
        self._sampled: list[Any] = []
        self._current: tuple[trace.TracerProvider, Session] | None = None

    def configure(
        self,
        settings: Settings,
        explicit: trace.TracerProvider | None,
        mask: Callable[[str, Any], Any] | None,
    ) -> None:
        """Take over what `instrument()` was given, from the next run.

        Args:
            settings: the switches.
            explicit: the provider to use; None for the global one.
            mask: the mask of the Event Log.
        """
        self._settings = settings
        self._explicit = explicit
        self._own_processor.mask = mask
        self._current = None

    def session(self) -> Session:
        """Return what a run that begins now uses."""
        provider = self._in_force()
        if self._current is None or self._current[0] is not provider:
            self._current = (provider, self._attach(provider))
        return self._current[1]

    @property
    def processors(self) -> list[EventLogSpanProcessor]:
        """The processors that write our log."""
        return [each for each in (self._own_processor, self._adopted) if each]

    def flush(self) -> None:
        """Send what waits to be forwarded over OTLP."""
        for forwarder in self._forwarders:
            forwarder.force_flush()

    def detach(self) -> None:
        """Undo what was attached, as far as a provider lets go."""
        for tracer in self._sampled:
            if isinstance(tracer.sampler, RecordDropped):
                tracer.sampler = tracer.sampler.root
        self._own_processor.active = False
        self._own_processor.shutdown()
        if self._adopted is not None:
            self._adopted.alone = True
        for forwarder in self._forwarders:
            forwarder.shutdown()
        if self._private is not None:
            self._private.shutdown()

    def _in_force(self) -> trace.TracerProvider:
        provider = self._explicit or trace.get_tracer_provider()
        if not isinstance(provider, trace.ProxyTracerProvider):
            return provider
        if self._private is None:
            # Nothing global is set: the application may still set its own.
            self._private = TracerProvider()
        return self._private

    def _attach(self, provider: trace.TracerProvider) -> Session:
        processor = _event_log_of(provider)
        if processor is None:
            processor = self._own_processor
            # A provider that is not the SDK's takes no processor: the patches
            # hand executions to ours directly then.
            if self._settings[EVENT_LOG] and isinstance(provider, TracerProvider):
                provider.add_span_processor(processor)
        elif processor is not self._own_processor:
            processor.alone = False
            self._adopted = processor
        if self._settings[OTLP]:
            self._forward(provider)
        tracer = provider.get_tracer(SCOPE, self._version)
        self._record_dropped(tracer)
        return Session(tracer, processor, self._settings, self.flush)

    def _forward(self, provider: trace.TracerProvider) -> None:
        if provider in self._forwarding or not isinstance(provider, TracerProvider):
            return
        self._forwarding.add(provider)
        if _otlp.has_exporter(provider):
            logger.info(
                "otlp=True is ignored: the tracer provider exports spans already"
            )
            return
        forwarder = _otlp.forwarding_processor()
        if forwarder is not None:
            self._forwarders.append(forwarder)
            provider.add_span_processor(forwarder)

    def _record_dropped(self, tracer: Any) -> None:
        sampler = getattr(tracer, "sampler", None)
        # SDK 1.45 hands out one tracer per scope: never wrap it twice.
        if isinstance(sampler, Sampler) and not isinstance(sampler, RecordDropped):
            tracer.sampler = RecordDropped(sampler)
            self._sampled.append(tracer)


def _event_log_of(provider: object) -> EventLogSpanProcessor | None:
    """The active Event Log processor that `provider` has already, if any."""
    processors = getattr(provider, "_active_span_processor", None)
    for processor in getattr(processors, "_span_processors", ()):
        if isinstance(processor, EventLogSpanProcessor) and processor.active:
            return processor
    return None
