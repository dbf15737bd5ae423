"""What every test begins and ends with: nothing of ours installed, no fault of ours."""

import logging
import os
import shutil
import tempfile
from importlib.metadata import version
from uuid import uuid4

# mem0 and Chroma report their use to their makers unless told not to, and mem0 keeps
# a history in the home directory.
os.environ["MEM0_TELEMETRY"] = "False"
os.environ["ANONYMIZED_TELEMETRY"] = "False"
os.environ["MEM0_DIR"] = tempfile.mkdtemp()

import pytest
from hypothesis import settings

from opentelemetry.exporter.flink_agents._guard import faults
from opentelemetry.instrumentation.flink_agents import instrument as instrument_agents
from opentelemetry.instrumentation.flink_agents import uninstrument
from processes import NO_MEMORY

logging.getLogger("flink_agents").setLevel(logging.CRITICAL)
settings.register_profile("untimed", deadline=None)  # speed is for the benchmarks
settings.load_profile("untimed")


def pytest_unconfigure() -> None:
    shutil.rmtree(os.environ["MEM0_DIR"], ignore_errors=True)


def pytest_report_header() -> list[str]:
    names = ("flink-agents", "apache-flink", "opentelemetry-sdk", "wrapt", "msgspec")
    return [f"{name} {version(name)}" for name in names]


@pytest.fixture(autouse=True)
def _no_fault_of_ours(monkeypatch):
    """A fault that the guard would swallow in production fails the test."""
    monkeypatch.setattr(faults, "reraise", True)


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch, request):
    """Variables of the developer's shell do not reach a test.

    Only tests marked `memory` have memory, begin and end events in their logs: those
    of other tests are about something else, and stay as short as what they say.
    """
    for name in list(os.environ):
        if name.startswith("OTEL_"):
            monkeypatch.delenv(name)
    if request.node.get_closest_marker("memory") is None:
        for name, value in NO_MEMORY.items():
            monkeypatch.setenv(name, value)


@pytest.fixture
def instrument(request, tmp_path):
    """`instrument(...)`, into the folder `tmp_path / "log"` unless told otherwise.

    A test marked `in_both_dialects` runs once with each.
    """

    def start(**arguments):
        if hasattr(request, "param"):
            arguments.setdefault("dialect", request.param)
        arguments.setdefault("event_log_dir", str(tmp_path / "log"))
        instrument_agents(**arguments)

    yield start
    uninstrument()


@pytest.fixture
def key():
    """A key of the test's own: Chroma in memory is one for the whole process."""
    return f"ada-{uuid4()}"


@pytest.fixture
def quiet_mem0(monkeypatch):
    """The example's own settings; what mem0 says of what it does is not ours."""
    for variable in ("OPENAI_API_KEY", "OPENAI_MODEL"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(logging.getLogger("mem0"), "disabled", True)
