"""A run while its spans go nowhere: 10,000 of them for each way that an endpoint fails.

By the wall clock, since waiting is what is looked for, and by the median of the
rounds: the fastest would hide a host that has to wait now and then.
"""

import gc
import logging
import os
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median
from threading import Event as Flag
from threading import Thread
from typing import Any

from benchmarks.rounds import Ratio
from flink_agents.api.agents.agent import Agent
from flink_agents.api.decorators import action
from flink_agents.api.events.event import Event, OutputEvent
from flink_agents.api.runner_context import RunnerContext
from flink_agents.plan.configuration import AgentConfiguration
from flink_agents.runtime.local_runner import LocalRunner
from opentelemetry.sdk.trace import TracerProvider

from opentelemetry.instrumentation.flink_agents import (
    _otlp,
    instrument,
    uninstrument,
)

RUNS = 10_000
ROUNDS = 50
RECORDS_OF_A_RUN = 5  # with the begin event
FAILING = ("down", "slow", "429", "500")

logging.disable(logging.WARNING)
# A proxy, if one is configured, cannot reach the loopback address.
os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1"


class Echo(Agent):
    @action("_input_event")
    @staticmethod
    def echo(event: Event, ctx: RunnerContext) -> None:  # noqa: ARG004
        ctx.send_event(OutputEvent(output="echo"))


def ratios() -> list[Ratio]:
    """Compare with runs whose spans an endpoint takes: those cost the queue too."""
    took: dict[str, list[float]] = {name: [] for name in ("up", *FAILING)}
    _otlp.SECONDS_TO_FLUSH = 0.1
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        stack.callback(uninstrument)
        providers = {
            name: _forwarding(folder, stack.enter_context(_endpoint(name)))
            for name in took
        }
        runner = LocalRunner(Echo(), AgentConfiguration())
        early = 0
        for number in range(ROUNDS):
            early = early or (number > ROUNDS // 5 and _resident())
            for name, provider in providers.items():
                instrument(tracer_provider=provider)
                took[name].append(_seconds_of_a_run(runner, RUNS // ROUNDS))
        grown = _resident() - early
        records = sum(_lines(path) for path in folder.iterdir())
    expected = len(took) * (RUNS + 1) * RECORDS_OF_A_RUN
    if records != expected:
        raise RuntimeError(f"the log has {records} records of {expected}")
    print(
        f"{5 * RUNS} runs, {records} records, resident memory {grown / 2**20:+.1f} MB"
    )
    up = median(took["up"])
    return [
        Ratio(
            f"a run, endpoint {name}",
            median(took[name]) / up,
            1.05,
            median(took[name]) * 1e6,
        )
        for name in FAILING
    ]


def _seconds_of_a_run(runner: LocalRunner, calls: int) -> float:
    gc.collect()
    begin = time.perf_counter()
    for _ in range(calls):
        runner.run(key="key", value="value")
    took = (time.perf_counter() - begin) / calls
    runner.get_outputs().clear()
    return took


def _forwarding(folder: Path, endpoint: str) -> TracerProvider:
    """A provider whose spans go to `endpoint` from now on."""
    os.environ["OTEL_EXPORTER_OTLP_PROTOCOL"] = "http/protobuf"
    os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = endpoint
    provider = TracerProvider(shutdown_on_exit=False)
    instrument(event_log_dir=folder, otlp=True, tracer_provider=provider)
    LocalRunner(Echo(), AgentConfiguration()).run(key="key", value="value")
    return provider


@contextmanager
def _endpoint(name: str) -> Iterator[str]:
    if name == "down":
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        yield f"http://127.0.0.1:{port}"
        return
    over = Flag()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # named by the library
            self.rfile.read(int(self.headers["Content-Length"]))
            if name == "slow":
                over.wait()
            self.send_response(int(name) if name.isdigit() else 200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        over.set()
        server.shutdown()
        server.server_close()


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _lines(path: Path) -> int:
    with path.open("rb") as lines:
        return sum(1 for _ in lines)
