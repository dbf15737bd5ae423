"""Reading a whole file, against a bare msgspec pass over the same bytes."""

from __future__ import annotations

import tempfile
from pathlib import Path

import msgspec
from benchmarks.rounds import Ratio, fastest

from flink_agents_eventlog import Record, encode, read_records

RECORDS = 5_000


def ratios() -> list[Ratio]:
    """Compare; the budget is twice the time of the bare pass."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "events-x.jsonl")
        line = encode(
            Record(
                timestamp="2026-01-01T00:00:00.000000Z",
                input_run_id="run",
                business_key="key",
                agent_name="Agent",
                execution_id="execution",
                action_trigger_event_id="trigger",
                entity_type="llm",
                entity_name="model",
                event_id="event",
                event_type="_execution_started_event",
                status="started",
                event_attributes={"input": [{"role": "user", "content": "x" * 400}]},
            )
        )
        path.write_bytes((line + b"\n") * RECORDS)
        decode = msgspec.json.Decoder(Record).decode

        def bare() -> None:
            with path.open("rb") as lines:
                for each in lines:
                    decode(each)

        def ours() -> None:
            for _ in read_records(path):
                pass

        best = fastest({"ours": ours, "bare": bare}, calls=1, rounds=15)
    took = best["ours"] / RECORDS * 1e6
    return [Ratio("reading a whole file", best["ours"] / best["bare"], 2.0, took)]
