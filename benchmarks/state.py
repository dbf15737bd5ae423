"""Asking a large log for the memory of a key: what is read does not grow with it."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from benchmarks.rounds import Ratio

from flink_agents_eventlog import Record, encode, memory_at
from flink_agents_eventlog.lifecycle import AGENT_RUN_BEGIN_EVENT, INPUT_EVENT

SMALL, LARGE = 20_000_000, 200_000_000
"""Bytes of the log."""


def ratios() -> list[Ratio]:
    """Compare the bytes that are read for one answer once there is an index."""
    small, _ = _asked(SMALL)
    large, took = _asked(LARGE)
    return [Ratio("state at t, bytes of a log x 10", large / small, 1.2, took * 1e6)]


def _asked(size: int) -> tuple[int, float]:
    with tempfile.TemporaryDirectory() as folder:
        _write(Path(folder, "events-x.jsonl"), size)
        memory_at(folder, key="key-7")
        read, begun = _read_so_far(), time.perf_counter()
        memory_at(folder, key="key-7")
        return _read_so_far() - read, time.perf_counter() - begun


def _write(path: Path, size: int) -> None:
    with path.open("wb") as file:
        number = 0
        while file.tell() < size:
            file.write(b"".join(_run(number)))
            number += 1


def _run(number: int) -> list[bytes]:
    key = f"key-{number}"
    told = {
        INPUT_EVENT: {"input": "x" * 400},
        AGENT_RUN_BEGIN_EVENT: {"key": key, "value": {"said": "y" * 400}},
    }
    return [
        encode(
            Record(
                timestamp="2026-01-01T00:00:00.000000Z",
                input_run_id=f"run-{number}",
                business_key=key,
                agent_name="Agent",
                event_id=f"{kind}-{number}",
                event_type=kind,
                event_attributes=attributes,
            )
        )
        + b"\n"
        for kind, attributes in told.items()
    ]


def _read_so_far() -> int:
    """Return the bytes that this process has read by system calls (Linux)."""
    told = Path("/proc/self/io").read_text(encoding="ascii")
    return int(told.splitlines()[0].split()[1])
