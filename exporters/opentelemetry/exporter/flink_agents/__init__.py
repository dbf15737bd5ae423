"""Writes the Event Log of Apache Flink Agents as its OpenTelemetry spans open and end.

```
span ───▶ EventLogSpanProcessor ─▶ Record ─▶ EventLogWriter ─▶ events-*.jsonl
               ▲
Execution ─────┘  (by OpenTelemetry Context, never by span attributes)
```

The processor needs no instrumentation of ours beside it: it also records the
model and tool calls that other GenAI instrumentations report. `replay` goes the other
way: a log, of whatever age, becomes traces again.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.exporter.flink_agents._processor import EventLogSpanProcessor

if TYPE_CHECKING:
    from opentelemetry.exporter.flink_agents._replay import replay
    from opentelemetry.exporter.flink_agents._replayed import BackendError, Replayed

__all__ = ["BackendError", "EventLogSpanProcessor", "Replayed", "replay"]

# Loaded at first use: to write a log needs nothing of what reads one.
_HOME: Final = {"BackendError": "_replayed", "Replayed": "_replayed"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME.get(name, '_replay')}"), name)
    globals()[name] = value
    return value
