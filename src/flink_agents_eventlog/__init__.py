"""The Event Log of Flink Agents: one line for each thing an agent did.

    model call ──▶ Execution ──▶ span ──▶ Record ──encode──▶ events-*.jsonl
                                                                  │
    Run ◀────execution_forest────┐                                │
                              Record … ◀──────read_records────────┘
    TraceForest ◀──trace_forest──┘

Nothing here needs OpenTelemetry or Flink Agents.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from flink_agents_eventlog.checking import Checked, check_log
    from flink_agents_eventlog.conversion import Conversion, convert
    from flink_agents_eventlog.execution import (
        ExecutionForest,
        execution_forest,
        execution_sequence,
    )
    from flink_agents_eventlog.finding import Finding
    from flink_agents_eventlog.levels import Levels
    from flink_agents_eventlog.lineage import trace_forest
    from flink_agents_eventlog.moment import MemoryAt, memory_at
    from flink_agents_eventlog.payload import (
        decode_plain,
        encode_plain,
        snapshot,
        to_plain,
    )
    from flink_agents_eventlog.reader import read_records
    from flink_agents_eventlog.record import (
        Record,
        decode,
        encode,
        timestamp_ns,
        timestamp_text,
    )
    from flink_agents_eventlog.run import Event, Execution, Run
    from flink_agents_eventlog.selection import Selection
    from flink_agents_eventlog.trace import TraceEvent, TraceForest, event_sequence
    from flink_agents_eventlog.truncation import Limits, is_truncated, truncate

__all__ = [
    "Checked",
    "Conversion",
    "Event",
    "Execution",
    "ExecutionForest",
    "Finding",
    "Levels",
    "Limits",
    "MemoryAt",
    "Record",
    "Run",
    "Selection",
    "TraceEvent",
    "TraceForest",
    "check_log",
    "convert",
    "decode",
    "decode_plain",
    "encode",
    "encode_plain",
    "event_sequence",
    "execution_forest",
    "execution_sequence",
    "is_truncated",
    "memory_at",
    "read_records",
    "snapshot",
    "timestamp_ns",
    "timestamp_text",
    "to_plain",
    "trace_forest",
    "truncate",
]

# Loaded at first use: ``--help`` needs none of it.
_HOME: Final = {
    "Checked": "checking",
    "Conversion": "conversion",
    "Event": "run",
    "Execution": "run",
    "ExecutionForest": "execution",
    "Finding": "finding",
    "Levels": "levels",
    "Limits": "truncation",
    "MemoryAt": "moment",
    "Record": "record",
    "Run": "run",
    "Selection": "selection",
    "TraceEvent": "trace",
    "TraceForest": "trace",
    "check_log": "checking",
    "convert": "conversion",
    "decode": "record",
    "decode_plain": "payload",
    "encode": "record",
    "encode_plain": "payload",
    "event_sequence": "trace",
    "execution_forest": "execution",
    "execution_sequence": "execution",
    "is_truncated": "truncation",
    "memory_at": "moment",
    "read_records": "reader",
    "snapshot": "payload",
    "timestamp_ns": "record",
    "timestamp_text": "record",
    "to_plain": "payload",
    "trace_forest": "lineage",
    "truncate": "truncation",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
