"""What every test begins and ends with: nothing of ours installed, no fault of ours."""

import logging

import pytest

from opentelemetry.exporter.flink_agents._guard import faults

logging.getLogger("flink_agents").setLevel(logging.CRITICAL)


def pytest_report_header() -> list[str]:
    from importlib.metadata import version

    names = ("flink-agents", "apache-flink", "opentelemetry-sdk", "wrapt", "msgspec")
    return [f"{name} {version(name)}" for name in names]


@pytest.fixture(autouse=True)
def _no_fault_of_ours(monkeypatch):
    """A fault that the guard would swallow in production fails the test."""
    monkeypatch.setattr(faults, "reraise", True)


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch):
    """Variables of the developer's shell do not reach a test."""
    import os

    for name in list(os.environ):
        if name.startswith("OTEL_"):
            monkeypatch.delenv(name)


@pytest.fixture
def instrument(tmp_path):
    """`instrument(...)`, into the folder `tmp_path / "log"` unless told otherwise."""
    from opentelemetry.instrumentation.flink_agents import (
        instrument as original,
    )
    from opentelemetry.instrumentation.flink_agents import (
        uninstrument,
    )

    def start(**arguments):
        arguments.setdefault("event_log_dir", str(tmp_path / "log"))
        original(**arguments)

    yield start
    uninstrument()
