"""Cutting payloads at level STANDARD, and converting logs.

Each against what cannot be done without: two passes of msgspec over the same bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from benchmarks.rounds import Ratio, fastest

from flink_agents_eventlog import Conversion, Record, decode, encode
from flink_agents_eventlog.levels import STANDARD, VERBOSE, Levels
from opentelemetry.exporter.flink_agents._execution import LogSettings, Run
from opentelemetry.exporter.flink_agents._lines import line

if TYPE_CHECKING:
    from collections.abc import Callable

_MESSAGE = {"role": "user", "content": "a lamp in red, please. " * 20}
_SHORT = {"model": "model", "messages": [_MESSAGE]}
_LONG = {"model": "model", "messages": [_MESSAGE] * 40 + [{"content": "x" * 5_000}]}


def ratios() -> list[Ratio]:
    """Compare; nothing to cut costs an encoding more, a cut a pass there and back."""
    return [
        _truncation("a payload that is not cut", _SHORT, 3.0),
        _truncation("a payload that is cut", _LONG, 2.0),
        _conversion("converting to native", "native", _RECORD),
        _conversion("converting to snake", "snake", _native(_RECORD)),
    ]


def _truncation(what: str, payload: dict[str, Any], budget: float) -> Ratio:
    raw = msgspec.json.encode(payload)

    def line_at(level: str) -> Callable[[], object]:
        settings = LogSettings(levels=Levels(default=level))

        def written() -> None:
            record = msgspec.structs.replace(_RECORD, event_attributes=msgspec.Raw(raw))
            line(record, _RUN, settings, "snake")

        return written

    def two_passes() -> None:
        msgspec.json.encode(msgspec.json.decode(raw))

    best = fastest(
        {
            "cut": line_at(STANDARD),
            "whole": line_at(VERBOSE),
            "two passes": two_passes,
        },
        calls=200,
    )
    bare = best["whole"] + best["two passes"]
    return Ratio(what, best["cut"] / bare, budget, best["cut"] * 1e6)


def _conversion(what: str, dialect: str, record: Record) -> Ratio:
    text = encode(record)
    conversion = Conversion(dialect)
    best = fastest(
        {
            "ours": lambda: encode(conversion.convert(decode(text)).record),
            "bare": lambda: msgspec.json.encode(msgspec.json.decode(text)),
        },
        calls=400,
    )
    return Ratio(what, best["ours"] / best["bare"], 5.0, best["ours"] * 1e6)


def _native(record: Record) -> Record:
    return Conversion("native").convert(record).record


_RUN = Run("run", "key", "Agent")
_RECORD = Record(
    timestamp="2026-01-01T00:00:00.000000Z",
    input_run_id="run",
    business_key="key",
    agent_name="Agent",
    execution_id="execution",
    action_trigger_event_id="trigger",
    entity_type="action",
    entity_name="ask",
    event_id="event",
    event_type="_chat_request_event",
    event_attributes=_SHORT,
)
