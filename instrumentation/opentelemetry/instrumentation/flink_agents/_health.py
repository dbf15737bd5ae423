"""How our own telemetry fares, as metrics: records written and lost, faults caught."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING, Any

from opentelemetry.metrics import MeterProvider, Observation, get_meter_provider

from opentelemetry.exporter.flink_agents._execution import SCOPE
from opentelemetry.exporter.flink_agents._guard import faults, guarded
from opentelemetry.instrumentation.flink_agents._identity import IdentityMap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from opentelemetry.metrics import CallbackOptions

    from opentelemetry.exporter.flink_agents import EventLogSpanProcessor


class _Counts:
    """The counts that one meter provider reports: they never fall.

    Processors of an earlier `instrument()` are let go, their counts are kept.
    """

    def __init__(self) -> None:
        self.current: Callable[[], Iterable[EventLogSpanProcessor]] = tuple
        self._settled = (0, 0)
        self._counted: weakref.WeakKeyDictionary[Any, tuple[int, int]] = (
            weakref.WeakKeyDictionary()
        )
        self._lock = threading.Lock()

    def now(self) -> tuple[int, int]:
        """Return how many records were written and lost."""
        with self._lock:
            return self._sum()

    def settle(self) -> None:
        """Keep the counts so far without the processors that they come from."""
        with self._lock:
            self._settled = self._sum()
            for processor in self.current():
                self._counted[processor] = _counts_of(processor)
            self.current = tuple

    def _sum(self) -> tuple[int, int]:
        written, lost = self._settled
        for processor in self.current():
            counts, before = _counts_of(processor), self._counted.get(processor, (0, 0))
            written += counts[0] - before[0]
            lost += counts[1] - before[1]
        return written, lost


# By identity: a provider of others, such as Logfire's, need not be hashable.
_observed: IdentityMap[_Counts] = IdentityMap()


def _counts_of(processor: EventLogSpanProcessor) -> tuple[int, int]:
    return processor.written_records, processor.lost_records


def settle() -> None:
    """Keep the counts of the processors that are about to be let go."""
    for counts in _observed.values():
        counts.settle()


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
        observed.settle()
        observed.current = processors
        return
    counts = _Counts()
    counts.current = processors
    _observed.set(provider, counts)
    meter = provider.get_meter(SCOPE, version)

    def written(_: CallbackOptions) -> Iterable[Observation]:
        yield Observation(counts.now()[0])

    def lost(_: CallbackOptions) -> Iterable[Observation]:
        yield Observation(counts.now()[1])

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
