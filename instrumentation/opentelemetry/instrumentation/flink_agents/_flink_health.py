"""How our own telemetry fares, as counters in the metric group of the Flink agent."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from opentelemetry.exporter.flink_agents._guard import faults, guarded

if TYPE_CHECKING:
    from opentelemetry.instrumentation.flink_agents._providers import Providers

COUNTERS = (
    "eventLogRecordsWritten",
    "eventLogRecordsLost",
    "instrumentationFaults",
)


class FlinkHealth:
    """What of the counts of this process no subtask has told Flink yet.

    The subtasks of a process share one processor: whichever ends a run tells what is
    new, so the sum over them is that of the process.
    """

    def __init__(self, providers: Providers) -> None:
        self._providers = providers
        self._told = self._counts()
        self._lock = threading.Lock()

    @guarded
    def tell(self, context: Any) -> None:
        """Add what is new to the counters behind `context`, on the task thread.

        No counter is kept: dropping a Java object is touching it, on whatever thread.
        """
        new = self._new()
        if not any(new):
            return
        group = context.agent_metric_group
        for name, count in zip(COUNTERS, new, strict=True):
            if count:
                group.get_counter(name).inc(count)

    def _new(self) -> list[int]:
        with self._lock:
            before, self._told = self._told, self._counts()
            pairs = zip(self._told, before, strict=True)
            return [max(now - then, 0) for now, then in pairs]

    def _counts(self) -> tuple[int, int, int]:
        processors = self._providers.processors
        return (
            sum(processor.written_records for processor in processors),
            sum(processor.lost_records for processor in processors),
            faults.count,
        )
