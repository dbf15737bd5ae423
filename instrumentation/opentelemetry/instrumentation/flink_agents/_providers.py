"""Which provider a run uses, and what of ours is attached to it."""

from __future__ import annotations

import atexit
import logging
import threading
import weakref
from itertools import islice
from typing import TYPE_CHECKING, Any

from opentelemetry.instrumentation.utils import is_instrumentation_enabled
from opentelemetry.sdk.trace import TracerProvider

from flink_agents_eventlog.dialect import SNAKE
from opentelemetry import trace
from opentelemetry.exporter.flink_agents import EventLogSpanProcessor
from opentelemetry.exporter.flink_agents._execution import SCOPE
from opentelemetry.exporter.flink_agents._guard import faults, guarded
from opentelemetry.instrumentation.flink_agents import _otlp
from opentelemetry.instrumentation.flink_agents._content import ContentCapture
from opentelemetry.instrumentation.flink_agents._identity import IdentityMap
from opentelemetry.instrumentation.flink_agents._metrics import instruments_of
from opentelemetry.instrumentation.flink_agents._options import (
    EVENT_LOG,
    EVENT_LOG_OTLP,
    OTLP,
    OTLP_CONTENT_BYTES,
    OTLP_ERROR_MESSAGES,
)
from opentelemetry.instrumentation.flink_agents._record_events import RecordEvents
from opentelemetry.instrumentation.flink_agents._text import safe

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry._logs import LoggerProvider
    from opentelemetry.context import Context
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import Span, Tracer

    from opentelemetry.instrumentation.flink_agents._completion_hook import (
        CompletionHook,
    )
    from opentelemetry.instrumentation.flink_agents._metrics import Instruments
    from opentelemetry.instrumentation.flink_agents._settings import Settings

logger = logging.getLogger(__name__)


_MANY_ATTRIBUTES = 64
"""More than any span of ours has."""


class Session:
    """What one run uses from its beginning to its end."""

    def __init__(
        self,
        tracer: Tracer,
        processor: EventLogSpanProcessor,
        settings: Settings,
        *,
        flush: Callable[[], None],
        instruments: Instruments,
        content: ContentCapture,
        records: RecordEvents | None = None,
    ) -> None:
        self.processor = processor
        self.settings = settings
        self.flush = flush
        self.instruments = instruments
        self.content = content
        self.records = records
        """Emits records as events; None where nobody asked for it."""
        self._tracer = tracer
        limits = getattr(tracer, "_span_limits", None)
        self.value_length: int | None = getattr(
            limits, "max_span_attribute_length", None
        )
        """How many characters of an attribute the SDK keeps; None for all."""
        self._most: int | None = getattr(limits, "max_span_attributes", None)

    @guarded
    def start_span(self, name: str, context: Context, **arguments: Any) -> Span | None:
        """Start a span; None where there is none to be had.

        That is while instrumentation is suppressed, and from a tracer that does
        nothing: it gives back the span around, which is not ours to end.
        """
        if not is_instrumentation_enabled():
            return None
        attributes = arguments.get("attributes")
        if self._most is not None and attributes and len(attributes) > self._most:
            arguments["attributes"] = dict(islice(attributes.items(), self._most))
        span = self._tracer.start_span(
            safe(name),
            context,
            record_exception=False,
            set_status_on_exception=False,
            **arguments,
        )
        started = span.get_span_context()
        around = trace.get_current_span(context).get_span_context()
        is_new = started.is_valid and started.span_id != around.span_id
        return span if is_new else None

    def add_attributes(self, span: Any, attributes: dict[str, Any]) -> None:
        """Add attributes to a span of ours, as far as there is room for them.

        The SDK makes room by dropping the oldest: those that identify a span.
        """
        if self._most is not None and self._most < _MANY_ATTRIBUTES:
            has = getattr(span, "attributes", None) or {}
            known = {name: attributes[name] for name in attributes if name in has}
            new = {name: attributes[name] for name in attributes if name not in has}
            room = max(self._most - len(has), 0)
            attributes = {**known, **dict(islice(new.items(), room))}
        span.set_attributes(attributes)


class Providers:
    """Attaches the Event Log to the provider in force, run by run, and detaches it."""

    def __init__(self, version: str) -> None:
        self._version = version
        self._settings: Settings
        self._mask: Callable[[str, Any], Any] | None = None
        self._explicit: trace.TracerProvider | None = None
        self._meter_provider: MeterProvider | None = None
        self._logger_provider: LoggerProvider | None = None
        self._hook: CompletionHook | None = None
        self._own_processor = EventLogSpanProcessor()
        self._own_processor.alone = False
        self._adopted: list[EventLogSpanProcessor] = []
        self._masked: list[EventLogSpanProcessor] = []
        self._private: TracerProvider | None = None
        self._forwarders: list[_otlp.ScopedBatchSpanProcessor] = []
        self._forwarding: weakref.WeakSet[Any] = weakref.WeakSet()
        self._added: IdentityMap[EventLogSpanProcessor] = IdentityMap()
        self._lock = threading.RLock()
        self._current: tuple[trace.TracerProvider, Session] | None = None

    def configure(
        self,
        settings: Settings,
        explicit: trace.TracerProvider | None,
        mask: Callable[[str, Any], Any] | None,
        *,
        meter_provider: MeterProvider | None = None,
        logger_provider: LoggerProvider | None = None,
        hook: CompletionHook | None = None,
    ) -> None:
        """Take over what `instrument()` was given, from the next run.

        Args:
            settings: the switches.
            explicit: the tracer provider to use; None for the global one.
            mask: the mask of the Event Log.
            meter_provider: where metrics go; None for the global one.
            logger_provider: where events go; None for the global one.
            hook: the completion hook, if there is one.
        """
        self._settings = settings
        self._explicit = explicit
        self._meter_provider = meter_provider
        self._logger_provider = logger_provider
        self._hook = hook
        self._mask = self._own_processor.mask = mask
        if not settings[OTLP]:
            self._stop_forwarding()
        self._current = None

    def session(self) -> Session:
        """Return what a run that begins now uses."""
        current = self._current
        if current is None or current[0] is not self._in_force():
            with self._lock:  # two first runs would attach everything twice
                provider = self._in_force()
                current = self._current
                if current is None or current[0] is not provider:
                    current = self._current = (provider, self._attach(provider))
        return current[1]

    @property
    def processors(self) -> list[EventLogSpanProcessor]:
        """The processors that write our log."""
        return [self._own_processor, *self._adopted]

    def flush(self) -> None:
        """Send what waits to be forwarded over OTLP."""
        for forwarder in self._forwarders:
            forwarder.force_flush()

    def detach(self) -> None:
        """Undo what was attached, as far as a provider lets go."""
        self._own_processor.active = False
        self._own_processor.shutdown()
        for adopted in self._adopted:
            adopted.alone = True
        for lent in self._masked:
            lent.mask = None
        self._stop_forwarding()
        if self._private is not None:
            self._private.shutdown()
        # The counts are asked for after this; the providers are let go.
        self._current = self._explicit = self._private = None
        self._meter_provider = self._logger_provider = self._hook = None

    def _in_force(self) -> trace.TracerProvider:
        provider = self._explicit
        if provider is None:
            provider = trace.get_tracer_provider()
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
            if self._settings[EVENT_LOG] or self._settings[EVENT_LOG_OTLP]:
                self._add_to(provider)
        elif processor is not self._own_processor:
            self._adopt(processor)
        if self._settings[OTLP]:
            self._forward(provider)
        tracer = _tracer_of(provider, self._version)
        settings = self._settings
        if processor.dialect != SNAKE:
            settings = settings.in_dialect(processor.dialect)
        content = ContentCapture(
            self._logger_provider,
            self._hook,
            self._version,
            settings[OTLP_CONTENT_BYTES],
        )
        return Session(
            tracer,
            processor,
            settings,
            flush=self.flush,
            instruments=instruments_of(self._meter_provider, self._version),
            content=content,
            records=self._records(content, settings),
        )

    def _records(
        self, content: ContentCapture, settings: Settings
    ) -> RecordEvents | None:
        if not settings[EVENT_LOG_OTLP]:
            return None
        return RecordEvents(
            self._logger_provider,
            self._version,
            content,
            error_messages=settings[OTLP_ERROR_MESSAGES],
        )

    @guarded
    def _add_to(self, provider: Any) -> None:
        """Add our processor, if `provider`, perhaps not the SDK's, takes any.

        Otherwise the patches hand executions to it directly.
        """
        add = getattr(provider, "add_span_processor", None)
        if isinstance(provider, TracerProvider):
            provider.add_span_processor(self._own_processor)
        elif callable(add) and self._added.get(provider) is None:
            # Whether it has ours already cannot be seen from outside.
            self._added.set(provider, self._own_processor)
            add(self._own_processor)

    def _adopt(self, processor: EventLogSpanProcessor) -> None:
        if processor not in self._adopted:
            self._adopted.append(processor)
        processor.alone = False
        if processor in self._masked or processor.mask is None:
            # Its own mask wins; without one, what is to be hidden stays hidden.
            processor.mask = self._mask
            self._masked.append(processor)

    def _forward(self, provider: trace.TracerProvider) -> None:
        if not isinstance(provider, TracerProvider):  # perhaps not even hashable
            self._settings.say_once(
                logging.INFO,
                "otlp=True is ignored: the tracer provider is not the SDK's",
            )
            return
        if provider in self._forwarding:
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
            # The provider may be one that nobody shuts down.
            atexit.register(forwarder.shutdown)

    def _stop_forwarding(self) -> None:
        for forwarder in self._forwarders:
            forwarder.shutdown()
            atexit.unregister(forwarder.shutdown)
        self._forwarders.clear()
        self._forwarding.clear()


def _tracer_of(provider: trace.TracerProvider, version: str) -> Tracer:
    """Our tracer; one that does nothing if `provider`, anybody's code, has none."""
    try:
        return provider.get_tracer(SCOPE, version)
    except Exception as error:  # noqa: BLE001  # the log is written without spans
        faults.caught("get_tracer", error, own=False)
        return trace.NoOpTracer()


def _event_log_of(provider: object) -> EventLogSpanProcessor | None:
    """The active Event Log processor that `provider` has already, if any."""
    processors = getattr(provider, "_active_span_processor", None)
    for processor in getattr(processors, "_span_processors", ()):
        if isinstance(processor, EventLogSpanProcessor) and processor.active:
            return processor
    return None
