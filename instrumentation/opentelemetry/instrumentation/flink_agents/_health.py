"""How our own telemetry fares, as metrics: records written and lost, faults caught."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING, Any

from opentelemetry.metrics import MeterProvider, Observation, get_meter_provider

from opentelemetry.exporter.flink_agents._execution import SCOPE
from opentelemetry.exporter.flink_agents._guard import faults, guarded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from opentelemetry.metrics import CallbackOptions

    from opentelemetry.exporter.flink_agents import EventLogSpanProcessor


_lock = threading.Lock()
_observed: weakref.WeakKeyDictionary[Any, _Processors] = weakref.WeakKeyDictionary()


class _Processors:
    """The processors whose counts one meter provider reports.

    Those of an earlier `instrument()` stay among them: a counter never falls.
    """

    def __init__(self) -> None:
        self.current: Callable[[], Iterable[EventLogSpanProcessor]] = tuple
        self._known: list[EventLogSpanProcessor] = []

    def __iter__(self) -> Iterator[EventLogSpanProcessor]:
        with _lock:
            self._known += [each for each in self.current() if each not in self._known]
            return iter(list(self._known))


@guarded
def observe(
    provider: MeterProvider | None,
    version: str,
    processors: Callable[[], Iterable[EventLogSpanProcessor]],
) -> None:
    """Register the counters with `provider`; they cost nothing until it collects.

    Called again with the same provider it only changes whose counts these are: a
    provider does not let an instrument go.

    Args:
        provider: where the meter comes from; None for the global one.
        version: ours.
        processors: returns the processors that write the Event Log at that time.
    """
    if provider is None:
        provider = get_meter_provider()
    observed = _observed.get(provider)
    if observed is not None:
        list(observed)  # take the counts so far over
        observed.current = processors
        return
    observed = _observed[provider] = _Processors()
    observed.current = processors
    meter = provider.get_meter(SCOPE, version)

    def written(_: CallbackOptions) -> Iterable[Observation]:
        yield Observation(sum(each.written_records for each in observed))

    def lost(_: CallbackOptions) -> Iterable[Observation]:
        yield Observation(sum(each.lost_records for each in observed))

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
