"""An endpoint that fails costs neither a record, nor memory, nor the end of a process.

What it costs the host in time is measured by the benchmarks, with 10,000 runs.
"""

import contextlib
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from flink_agents_eventlog import read_records
from opentelemetry.instrumentation.flink_agents import _otlp
from probing import play
from processes import complaints, run_python

RUNS = 400
QUEUE = 64
BATCH = 16

SCRIPT = f"""
import gc, logging, os
from hosting import local_runner
from opentelemetry.instrumentation.flink_agents import _otlp, instrument
from opentelemetry.sdk.trace import ReadableSpan
from probing import Stage, perform

logging.getLogger("flink_agents").setLevel(logging.CRITICAL)
_otlp.SECONDS_TO_FLUSH = 0.1
instrument(event_log_dir=os.environ["LOG"], otlp=True)
runner = local_runner(Stage())
for _ in range({RUNS}):
    perform(runner, lambda *_: None)
alive = sum(isinstance(each, ReadableSpan) for each in gc.get_objects())
print(alive <= 2 * ({QUEUE} + {BATCH}) or alive)
"""


@contextlib.contextmanager
def endpoint(answer):
    """An address that refuses, never answers, or answers with a status."""
    over = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            if answer == "slow":
                over.wait()
            self.send_response(503 if answer == "slow" else int(answer))
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

        def handle(self):
            with contextlib.suppress(OSError):  # its client is gone
                super().handle()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    port = server.server_port
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        if answer == "down":
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                port = free.getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        over.set()
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.mark.parametrize("answer", ["down", "slow", "429", "500"])
def test_of_many_runs_the_log_is_complete_and_only_the_queue_is_kept(answer, tmp_path):
    with endpoint(answer) as address:
        done = run_python(
            SCRIPT,
            LOG=tmp_path / "log",
            OTEL_EXPORTER_OTLP_PROTOCOL="http/protobuf",
            OTEL_EXPORTER_OTLP_ENDPOINT=address,
            OTEL_BSP_MAX_QUEUE_SIZE=QUEUE,
            OTEL_BSP_MAX_EXPORT_BATCH_SIZE=BATCH,
            OTEL_BSP_SCHEDULE_DELAY=50,
        )

    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr
    records = [*read_records(tmp_path / "log")]
    assert len(records) == RUNS * 3
    assert len({record.input_run_id for record in records}) == RUNS
    said = [each for each in complaints(done) if "Queue full" not in each]
    assert [each for each in said if "Spans cannot be exported over OTLP" in each]


def test_what_is_given_up_at_a_flush_is_not_kept(instrument, monkeypatch):
    started, never = threading.Event(), threading.Event()
    exported = []

    class Endless(SpanExporter):
        def export(self, spans):
            started.set()
            never.wait()
            exported.append(len(spans))
            return SpanExportResult.SUCCESS

    monkeypatch.setattr(_otlp, "SECONDS_TO_FLUSH", 0.05)
    monkeypatch.setattr(_otlp, "span_exporter", lambda _: Endless())
    provider = TracerProvider(shutdown_on_exit=False)
    instrument(tracer_provider=provider, otlp=True)
    for _ in range(5):
        play(lambda *_: None)
        provider.force_flush()
    assert started.wait(10)
    [forwarder] = provider._active_span_processor._span_processors[1:]
    never.set()
    provider.shutdown()
    forwarder._quiet._thread.join(10)

    assert exported == [2]  # the others were given up before they were begun
