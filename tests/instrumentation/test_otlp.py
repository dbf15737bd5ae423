"""`otlp=True`: our spans, and only ours, reach a backend, and cost nothing without."""

import logging
import socket
import sys
import threading

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from hosting import brief, log_lines, output
from opentelemetry.instrumentation.flink_agents import _otlp, uninstrument
from probing import play
from processes import complaints, run_python
from providing import MemoryProvider
from receiving import grpc_backend, http_backend

SCOPE = "opentelemetry.instrumentation.flink_agents"
OURS = [(SCOPE, "action act"), (SCOPE, "invoke_agent Stage")]
STORY = [
    "_input_event",
    "action act started",
    "action act finished",
    "_output_event",
]

SCRIPT = """
import os, sys
from hosting import output
from opentelemetry.instrumentation.flink_agents import instrument
from probing import play

def say_hello(_, ctx):
    ctx.send_event(output("hello"))

{before}
instrument(event_log_dir=os.environ["LOG"]{arguments})
print(play(say_hello).get_outputs())
{after}
sys.exit(7)
"""


def run_script(folder, *, arguments="", before="", after="", **variables):
    code = SCRIPT.format(arguments=arguments, before=before, after=after)
    done = run_python(code, LOG=folder, **variables)
    assert (done.returncode, done.stdout) == (7, "[{'k': 'hello'}]\n"), done.stderr
    assert brief(log_lines(folder)) == STORY
    return complaints(done)


def say_hello(_, ctx):
    ctx.send_event(output("hello"))


def warnings_in(caplog):
    return [each.message for each in caplog.records if each.levelno >= logging.WARNING]


@pytest.fixture(params=[grpc_backend, http_backend], ids=["grpc", "http"])
def backend(request, monkeypatch):
    with request.param() as received:
        for name, value in received.variables.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield received


@pytest.mark.parametrize(
    "way",
    [
        {"arguments": ", otlp=True"},
        {"OTEL_PYTHON_FLINK_AGENTS_OTLP": "true"},
    ],
    ids=["argument", "variable"],
)
def test_spans_of_a_short_script_arrive_before_it_ends(way, backend, tmp_path):
    said = run_script(tmp_path / "log", **way, **backend.variables)

    assert said == []
    assert backend.spans == OURS


def test_without_it_nothing_is_sent(backend, tmp_path):
    assert run_script(tmp_path / "log", **backend.variables) == []
    assert backend.spans == []


def test_a_provider_that_nobody_shuts_down_is_flushed_too(backend, tmp_path):
    before = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
trace.set_tracer_provider(TracerProvider(shutdown_on_exit=False))
"""

    said = run_script(
        tmp_path / "log", before=before, arguments=", otlp=True", **backend.variables
    )

    assert said == []
    assert backend.spans == OURS


def test_of_a_provider_of_the_applications_only_our_spans_are_sent(instrument, backend):
    provider = TracerProvider(shutdown_on_exit=False)
    instrument(tracer_provider=provider, otlp=True)

    with provider.get_tracer("theirs").start_as_current_span("GET /"):
        play(say_hello)
    provider.shutdown()

    assert backend.spans == OURS


def test_a_provider_that_exports_already_is_left_alone_and_it_is_said_once(
    instrument, backend, caplog
):
    caplog.set_level(logging.INFO, "opentelemetry")
    provider = MemoryProvider()
    instrument(tracer_provider=provider, otlp=True)

    play(say_hello)
    play(say_hello)
    provider.shutdown()

    assert backend.spans == []
    assert len(provider.spans) == 4
    assert [(each.levelname, each.message) for each in caplog.records] == [
        ("INFO", "otlp=True is ignored: the tracer provider exports spans already")
    ]


def test_instrumented_again_every_span_is_sent_once(instrument, backend, caplog):
    provider = TracerProvider(shutdown_on_exit=False)
    for _ in range(3):
        instrument(tracer_provider=provider, otlp=True)
        play(say_hello)
        uninstrument()
    provider.shutdown()

    assert backend.spans == OURS * 3
    assert warnings_in(caplog) == []


def test_it_can_be_switched_off_and_on(instrument, backend, caplog):
    provider = TracerProvider(shutdown_on_exit=False)
    for otlp in (True, False, True):
        instrument(tracer_provider=provider, otlp=otlp)
        play(say_hello)
    provider.shutdown()

    assert backend.spans == OURS * 2
    assert warnings_in(caplog) == []


def test_spans_of_a_forked_child_arrive_when_it_flushes(tmp_path):
    # By HTTP: gRPC itself does not survive a fork.
    after = """
from opentelemetry.instrumentation.flink_agents import FlinkAgentsInstrumentor
providers = FlinkAgentsInstrumentor()._core.providers
providers.flush()
child = os.fork()
if child == 0:
    play(say_hello)
    providers.flush()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""
    with http_backend() as backend:
        done = run_python(
            SCRIPT.format(arguments=", otlp=True", before="", after=after),
            LOG=tmp_path / "log",
            **backend.variables,
        )

    assert (done.returncode, complaints(done)) == (7, [])
    assert backend.spans == OURS * 2


@pytest.fixture
def silent():
    """An address where somebody listens and never says anything."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(0)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


def closed_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}"


@pytest.mark.parametrize("protocol", ["grpc", "http/protobuf"])
@pytest.mark.parametrize("is_silent", [False, True], ids=["refused", "silent"])
def test_an_endpoint_that_is_not_there_costs_one_warning(
    protocol, is_silent, silent, tmp_path
):
    said = run_script(
        tmp_path / "log",
        OTEL_PYTHON_FLINK_AGENTS_OTLP="true",
        OTEL_EXPORTER_OTLP_PROTOCOL=protocol,
        OTEL_EXPORTER_OTLP_ENDPOINT=silent if is_silent else closed_port(),
    )

    [warning] = said
    assert warning.endswith(
        "WARNING - Spans cannot be exported over OTLP and are dropped; the Event Log"
        " is not affected. Is the endpoint of OTEL_EXPORTER_OTLP_ENDPOINT up?"
    )


def test_nobody_waits_for_an_exporter_that_does_not_end(instrument, monkeypatch):
    never = threading.Event()

    class Endless(SpanExporter):
        def export(self, spans):
            never.wait()
            return SpanExportResult.SUCCESS

    monkeypatch.setattr(_otlp, "SECONDS_TO_FLUSH", 0.05)
    monkeypatch.setattr(_otlp, "span_exporter", lambda _: Endless())
    provider = TracerProvider(shutdown_on_exit=False)
    instrument(tracer_provider=provider, otlp=True)
    play(say_hello)

    assert provider.force_flush() in {True, False}  # ends at all
    provider.shutdown()
    uninstrument()
    never.set()


@pytest.mark.parametrize(
    ("protocol", "module"), [("grpc", "grpc"), ("http/protobuf", "http")]
)
def test_a_missing_exporter_is_one_warning_that_says_what_to_install(  # noqa: PLR0917
    protocol, module, instrument, tmp_path, monkeypatch, caplog
):
    name = f"opentelemetry.exporter.otlp.proto.{module}.trace_exporter"
    monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
    instrument(tracer_provider=TracerProvider(shutdown_on_exit=False), otlp=True)

    play(say_hello)
    play(say_hello)

    assert warnings_in(caplog) == [
        (
            f"otlp=True needs an OTLP exporter for {protocol}: pip install"
            " 'opentelemetry-instrumentation-flink-agents[otlp]'"
        )
    ]
    assert brief(log_lines(tmp_path / "log")) == STORY * 2


def test_a_protocol_that_does_not_exist_is_one_warning(
    instrument, tmp_path, monkeypatch, caplog
):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "carrier pigeon")
    instrument(tracer_provider=TracerProvider(shutdown_on_exit=False), otlp=True)

    play(say_hello)
    play(say_hello)

    assert warnings_in(caplog) == [
        (
            "OTEL_EXPORTER_OTLP_PROTOCOL='carrier pigeon' is not allowed: use grpc or"
            " http/protobuf; no spans are exported"
        )
    ]
    assert brief(log_lines(tmp_path / "log")) == STORY * 2


def test_a_lone_surrogate_in_a_message_does_not_lose_the_batch(instrument, backend):
    provider = TracerProvider(shutdown_on_exit=False)
    instrument(tracer_provider=provider, otlp=True)

    def fail(*_):
        raise ValueError("\ud83d")

    play(say_hello)
    with pytest.raises(ValueError, match="\ud83d"):
        play(fail, key="\ud83d")
    provider.shutdown()

    assert backend.spans == OURS * 2
