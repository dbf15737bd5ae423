"""How our own telemetry fares, as metrics: records written and lost, faults caught."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opentelemetry.metrics import MeterProvider, Observation, get_meter_provider

from opentelemetry.exporter.flink_agents._execution import SCOPE
from opentelemetry.exporter.flink_agents._guard import faults, guarded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from opentelemetry.metrics import CallbackOptions

    from opentelemetry.exporter.flink_agents import EventLogSpanProcessor


@guarded
def observe(
    provider: MeterProvider | None,
    version: str,
    processors: Callable[[], Iterable[EventLogSpanProcessor]],
) -> None:
    """Register the counters with `provider`; they cost nothing until it collects.

    Args:
        provider: where the meter comes from; None for the global one.
        version: ours.
        processors: returns the processors that write the Event Log at that time.
    """
    meter = (provider or get_meter_provider()).get_meter(SCOPE, version)

    def written(_: CallbackOptions) -> Iterable[Observation]:
        yield Observation(sum(each.written_records for each in processors()))

    def lost(_: CallbackOptions) -> Iterable[Observation]:
        yield Observation(sum(each.lost_records for each in processors()))

    def caught(_: CallbackOptions) -> Iterable[Observation]:
        yield Observation(faults.count)

    meter.create_observable_counter(
        "flink_agents.event_log.records.written",
        [written],
        unit="{record}",
        description="Records of the Event Log that were written.",
    )
    meter.create_observable_counter(
        "flink_agents.event_log.records.lost",
        [lost],
        unit="{record}",
        description="Records of the Event Log that could not be written.",
    )
    meter.create_observable_counter(
        "flink_agents.instrumentation.faults",
        [caught],
        unit="{fault}",
        description="Faults of the instrumentation that were caught.",
    )
