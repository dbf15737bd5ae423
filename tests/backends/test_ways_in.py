"""`opentelemetry-instrument` with every setting of its exporters, to real backends."""

import sys
from pathlib import Path

import pytest

from binaries import until
from hosting import brief, log_lines
from processes import complaints, run_python

COMMAND = Path(sys.executable).with_name("opentelemetry-instrument")

APPLICATION = """
from hosting import output
from probing import play

def say_hello(_, ctx):
    ctx.send_event(output("hello"))

print(play(say_hello).get_outputs())
"""

# Ours says so where the distro exports already.
IGNORED = "otlp=True is ignored"
STORY = ["_input_event", "action act started", "action act finished", "_output_event"]


@pytest.fixture
def run(jaeger, tmp_path):
    """Run the application; return what became of it and the trace in its log."""

    def start(**variables):
        done = run_python(
            APPLICATION,
            command=(str(COMMAND), sys.executable),
            OTEL_PYTHON_FLINK_AGENTS_EVENT_LOG_DIR=tmp_path / "log",
            **variables,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines()[0] == "[{'k': 'hello'}]"
        assert [each for each in complaints(done) if IGNORED not in each] == []
        lines = log_lines(tmp_path / "log")
        assert brief(lines) == STORY
        return done, lines[0]["trace_id"]

    return start


def names(jaeger, trace):
    return sorted(span["name"] for span in jaeger.trace(trace))


@pytest.mark.parametrize("protocol", ["grpc", "http/protobuf"])
@pytest.mark.parametrize(
    "chosen",
    [{}, {"OTEL_PYTHON_FLINK_AGENTS_OTLP": "true"}, {"OTEL_TRACES_EXPORTER": "otlp"}],
    ids=["nothing", "ours", "theirs"],
)
def test_all_signals_are_taken_and_the_trace_is_there_once(
    protocol, chosen, run, jaeger
):
    _, trace = run(**chosen, **jaeger.variables(protocol))

    until(lambda: jaeger.trace(trace))
    assert names(jaeger, trace) == ["action act", "invoke_agent Stage"]


@pytest.mark.parametrize("exporter", ["otlp_proto_grpc", "otlp_proto_http"])
def test_an_exporter_can_be_chosen_by_its_full_name(exporter, run, jaeger):
    protocol = "grpc" if exporter.endswith("grpc") else "http/protobuf"

    _, trace = run(OTEL_TRACES_EXPORTER=exporter, **jaeger.variables(protocol))

    until(lambda: jaeger.trace(trace))
    assert names(jaeger, trace) == ["action act", "invoke_agent Stage"]


def test_a_console_and_a_backend_both_get_the_trace(run, jaeger):
    done, trace = run(OTEL_TRACES_EXPORTER="console,otlp", **jaeger.variables())

    assert done.stdout.count('"name": "invoke_agent Stage"') == 1
    until(lambda: jaeger.trace(trace))
    assert names(jaeger, trace) == ["action act", "invoke_agent Stage"]


def test_with_the_console_alone_nothing_leaves_the_process(run, jaeger):
    nobody = {"OTEL_METRICS_EXPORTER": "none", "OTEL_LOGS_EXPORTER": "none"}

    done, trace = run(OTEL_TRACES_EXPORTER="console", **nobody, **jaeger.variables())

    assert done.stdout.count('"name": "invoke_agent Stage"') == 1
    assert jaeger.trace(trace) == []


def test_with_no_exporter_there_is_the_log_and_nothing_else(run, jaeger):
    none = {f"OTEL_{each}_EXPORTER": "none" for each in ("TRACES", "METRICS", "LOGS")}

    done, trace = run(**none, **jaeger.variables())

    assert done.stdout.splitlines() == ["[{'k': 'hello'}]"]
    assert jaeger.trace(trace) == []


def test_with_no_exporter_of_the_distros_ours_still_sends(run, jaeger):
    none = {f"OTEL_{each}_EXPORTER": "none" for each in ("TRACES", "METRICS", "LOGS")}

    _, trace = run(**none, **jaeger.variables(), OTEL_PYTHON_FLINK_AGENTS_OTLP="true")

    until(lambda: jaeger.trace(trace))
    assert names(jaeger, trace) == ["action act", "invoke_agent Stage"]
