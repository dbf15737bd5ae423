"""Every way to install it, and that it brings nothing of its own along."""

import sys
from pathlib import Path

import pytest
from flink_agents.runtime.local_runner import LocalRunner

from hosting import brief, log_lines
from opentelemetry.instrumentation.flink_agents import (
    FlinkAgentsInstrumentor,
    uninstrument,
)
from opentelemetry.instrumentation.flink_agents import instrument as install
from probing import play
from processes import complaints, printed_by, run_python

COMMAND = Path(sys.executable).with_name("opentelemetry-instrument")
STORY = ["_input_event", "action act started", "action act finished", "_output_event"]

APPLICATION = """
from hosting import output
from probing import play

def say_hello(_, ctx):
    ctx.send_event(output("hello"))

print(play(say_hello).get_outputs())
"""

WITHOUT_DISTRO = {
    "OTEL_PYTHON_DISTRO": "none",
    "OTEL_PYTHON_CONFIGURATOR": "none",
}
WITH_DISTRO = {
    "OTEL_TRACES_EXPORTER": "console",
    "OTEL_METRICS_EXPORTER": "none",
    "OTEL_LOGS_EXPORTER": "none",
}


def run_application(folder, **variables):
    done = run_python(
        APPLICATION,
        command=(str(COMMAND), sys.executable),
        OTEL_PYTHON_FLINK_AGENTS_EVENT_LOG_DIR=folder,
        **variables,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "[{'k': 'hello'}]"
    return done


def complaints_of(done):
    """Without the one that there is no configurator, which is meant."""
    return [each for each in complaints(done) if "configurator" not in each]


def test_opentelemetry_instrument_without_a_distro_writes_the_log(tmp_path):
    done = run_application(tmp_path / "log", **WITHOUT_DISTRO)

    assert complaints_of(done) == []
    assert brief(log_lines(tmp_path / "log")) == STORY


def test_opentelemetry_instrument_with_a_distro_exports_spans_too(tmp_path):
    done = run_application(tmp_path / "log", **WITH_DISTRO)

    assert complaints(done) == []
    lines = log_lines(tmp_path / "log")
    assert brief(lines) == STORY
    for name in ("invoke_agent Stage", "action act"):
        assert done.stdout.count(f'"name": "{name}"') == 1
    assert f"0x{lines[1]['span_id']}" in done.stdout


def test_a_disabled_instrumentation_does_nothing(tmp_path):
    run_application(
        tmp_path / "log",
        **WITHOUT_DISTRO,
        OTEL_PYTHON_DISABLED_INSTRUMENTATIONS="flink_agents",
    )

    assert not (tmp_path / "log").exists()


def test_a_disabled_sdk_does_nothing(tmp_path):
    run_application(tmp_path / "log", **WITHOUT_DISTRO, OTEL_SDK_DISABLED="true")

    assert not (tmp_path / "log").exists()


def test_bad_configuration_in_the_environment_does_not_stop_the_application(tmp_path):
    done = run_application(
        tmp_path / "log",
        **WITHOUT_DISTRO,
        OTEL_PYTHON_FLINK_AGENTS_EVENT_LOG="maybe",
        OTEL_PYTHON_FLINK_AGENTS_EVENT_LOG_DIALECT="camel",
    )

    assert len(complaints_of(done)) == 2
    assert brief(log_lines(tmp_path / "log")) == STORY


@pytest.mark.parametrize(
    "installing",
    [
        (
            "from opentelemetry.instrumentation.flink_agents import instrument\n"
            "instrument()\n"
        ),
        (
            "from opentelemetry.instrumentation.flink_agents import"
            " FlinkAgentsInstrumentor\n"
            "FlinkAgentsInstrumentor().instrument()\n"
        ),
    ],
    ids=["function", "class"],
)
@pytest.mark.parametrize("comes_first", [True, False])
def test_it_may_be_installed_before_or_after_the_host_is_imported(
    installing, comes_first, tmp_path
):
    host = "import flink_agents.runtime.local_runner\n"
    beginning = installing + host if comes_first else host + installing

    printed = printed_by(
        beginning + APPLICATION,
        OTEL_PYTHON_FLINK_AGENTS_EVENT_LOG_DIR=tmp_path / "log",
    )

    assert printed == ["[{'k': 'hello'}]"]
    assert brief(log_lines(tmp_path / "log")) == STORY


def test_it_imports_neither_the_host_nor_anything_heavy():
    [loaded] = printed_by(
        """
import sys
from opentelemetry.instrumentation.flink_agents import instrument
instrument()
heavy = ("flink_agents", "pyflink", "mem0", "chromadb", "mcp", "openai", "grpc",
         "requests", "opentelemetry.exporter.otlp")
print([name for name in heavy if name in sys.modules])
"""
    )

    assert loaded == "[]"


def test_the_instrumentor_is_one_object_and_knows_whether_it_is_installed(instrument):
    instrumentor = FlinkAgentsInstrumentor()
    assert not instrumentor.is_instrumented_by_opentelemetry

    instrument()

    assert FlinkAgentsInstrumentor() is instrumentor
    assert instrumentor.is_instrumented_by_opentelemetry
    uninstrument()
    assert not instrumentor.is_instrumented_by_opentelemetry


def test_uninstrumenting_what_is_not_installed_says_nothing(caplog):
    uninstrument()
    uninstrument()

    assert caplog.messages == []


def test_installing_twice_patches_once_and_says_nothing(instrument, tmp_path, caplog):
    original = vars(LocalRunner)["run"]
    instrument()
    patched = vars(LocalRunner)["run"]
    install()
    FlinkAgentsInstrumentor().instrument(skip_dep_check=True)

    assert vars(LocalRunner)["run"] is patched
    play(lambda *_: None)
    assert len(log_lines(tmp_path / "log")) == 3
    uninstrument()
    assert vars(LocalRunner)["run"] is original
    assert caplog.messages == []
