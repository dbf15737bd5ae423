"""The Event Log of Flink Agents: one line for each thing an agent did.

    model call ──▶ Execution ──▶ span ──▶ Record ──encode──▶ events-*.jsonl
                                                                  │
    Run ◀──execution_forest── Record … ◀──────read_records────────┘

Nothing here needs OpenTelemetry or Flink Agents.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from flink_agents_eventlog.execution import ExecutionForest, execution_forest
    from flink_agents_eventlog.finding import Finding
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

__all__ = [
    "Event",
    "Execution",
    "ExecutionForest",
    "Finding",
    "Record",
    "Run",
    "decode",
    "decode_plain",
    "encode",
    "encode_plain",
    "execution_forest",
    "read_records",
    "snapshot",
    "timestamp_ns",
    "timestamp_text",
    "to_plain",
]

# Loaded at first use: ``--help`` needs none of it.
_HOME: Final = {
    "Event": "run",
    "Execution": "run",
    "ExecutionForest": "execution",
    "Finding": "finding",
    "Record": "record",
    "Run": "run",
    "decode": "record",
    "decode_plain": "payload",
    "encode": "record",
    "encode_plain": "payload",
    "execution_forest": "execution",
    "read_records": "reader",
    "snapshot": "payload",
    "timestamp_ns": "record",
    "timestamp_text": "record",
    "to_plain": "payload",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
