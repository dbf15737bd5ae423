"""Writes the Event Log of Apache Flink Agents as its OpenTelemetry spans open and end.

```
span ───▶ EventLogSpanProcessor ─▶ Record ─▶ EventLogWriter ─▶ events-*.jsonl
               ▲
Execution ─────┘  (by OpenTelemetry Context, never by span attributes)
```

The processor needs no instrumentation of ours beside it: it also records the
model and tool calls that other GenAI instrumentations report.
"""

from opentelemetry.exporter.flink_agents._processor import EventLogSpanProcessor

__all__ = ["EventLogSpanProcessor"]
