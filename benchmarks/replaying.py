"""Turning a log into spans, against a bare msgspec pass over the same bytes.

Nothing is encoded or sent: how long that takes is the exporter's and the backend's.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import msgspec
from benchmarks.rounds import Ratio, fastest
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from flink_agents_eventlog import Record, encode, timestamp_text
from opentelemetry.exporter.flink_agents import replay

RUNS = 400
CALLS = 4
SPANS = RUNS * (2 + CALLS)


class Nowhere(SpanExporter):
    """Takes everything and keeps nothing."""

    def export(self, _):
        return SpanExportResult.SUCCESS


def ratios() -> list[Ratio]:
    """Compare; the budget is 20 times the bare pass, which knows no runs."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "events-x.jsonl")
        path.write_bytes(b"".join(encode(each) + b"\n" for each in _records()))
        decode = msgspec.json.Decoder(Record).decode

        def bare() -> None:
            with path.open("rb") as lines:
                for each in lines:
                    decode(each)

        best = fastest(
            {"ours": lambda: replay(path, exporter=Nowhere()), "bare": bare},
            calls=1,
            rounds=9,
        )
    took = best["ours"] / SPANS * 1e6
    return [Ratio("a span of a replayed log", best["ours"] / best["bare"], 20.0, took)]


def _records():
    for number in range(RUNS):
        run = f"run-{number}"
        yield _record(run, f"i{number}", "_input_event")
        action = {"execution_id": f"a{number}", "action_trigger_event_id": f"i{number}"}
        yield _execution(run, "started", "action", **action)
        for call in range(CALLS):
            llm = {"execution_id": f"l{number}-{call}"}
            llm["parent_execution_id"] = f"a{number}"
            yield _execution(run, "started", "llm", **llm)
            yield _execution(run, "finished", "llm", **llm)
        yield _execution(run, "finished", "action", **action)


def _execution(run, status, kind, **fields):
    content = {"started": "input", "finished": "output"}[status]
    return _record(
        run,
        f"{fields['execution_id']}-{status}",
        f"_execution_{status}_event",
        status=status,
        entity_type=kind,
        entity_name="name",
        entity_metadata={"model": "small", "provider": "openai"},
        event_attributes={content: [{"role": "user", "content": "x" * 400}]},
        trace_id="1" * 32,
        span_id=f"{abs(hash(fields['execution_id'])) % 2**60 + 1:016x}",
        **fields,
    )


def _record(run, event_id, event_type, **fields):
    return Record(
        timestamp=timestamp_text(1_700_000_000_000_000_000),
        input_run_id=run,
        business_key=run,
        agent_name="Agent",
        event_id=event_id,
        event_type=event_type,
        **{"event_attributes": {}, **fields},
    )
