"""All three signals of a process, and the very bytes in which they would leave it."""

import contextlib
from collections.abc import Iterator
from typing import Any

import opentelemetry.sdk._logs.export as logs_of_sdk
from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs
from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from providing import MemoryProvider

# Named anew in 1.39.
_MemoryLogExporter = getattr(logs_of_sdk, "InMemoryLogRecordExporter", None) or getattr(
    logs_of_sdk, "InMemoryLogExporter", None
)


class Signals:
    """Providers of the SDK, and what they would export."""

    def __init__(self, **arguments: Any) -> None:
        self.tracers = MemoryProvider(**arguments)
        self.reader = InMemoryMetricReader()
        self.meters = MeterProvider([self.reader], shutdown_on_exit=False)
        self.exporter = _MemoryLogExporter()
        self.loggers = LoggerProvider(shutdown_on_exit=False)
        self.loggers.add_log_record_processor(
            logs_of_sdk.SimpleLogRecordProcessor(self.exporter)
        )

    @property
    def providers(self) -> dict[str, Any]:
        """What `instrument()` takes."""
        return {
            "tracer_provider": self.tracers,
            "meter_provider": self.meters,
            "logger_provider": self.loggers,
        }

    @property
    def spans(self) -> list[Any]:
        return self.tracers.spans

    @property
    def events(self) -> list[Any]:
        """The log records."""
        return [each.log_record for each in self.exporter.get_finished_logs()]

    @property
    def metrics(self) -> dict[str, Any]:
        """The points of each metric, by its name."""
        data = self.reader.get_metrics_data()
        return {
            metric.name: list(metric.data.data_points)
            for resource in (data.resource_metrics if data is not None else ())
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }

    def span(self, beginning: str) -> Any:
        """The one span whose name begins so."""
        [found] = [each for each in self.spans if each.name.startswith(beginning)]
        return found

    def raw(self) -> bytes:
        """Everything, as OTLP has it on the wire."""
        logs = self.exporter.get_finished_logs()
        messages = [encode_spans(self.spans), encode_logs(logs)]
        data = self.reader.get_metrics_data()
        if data is not None:
            messages.append(encode_metrics(data))
        return b"".join(message.SerializeToString() for message in messages)


@contextlib.contextmanager
def signals(**arguments: Any) -> Iterator[Signals]:
    made = Signals(**arguments)
    yield made
    made.meters.shutdown()
    made.loggers.shutdown()
