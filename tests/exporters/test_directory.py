"""Which folder is the Event Log's, and which is refused."""

import logging
import os
import tempfile
from pathlib import Path

import pytest

from hosting import log_lines, output
from opentelemetry.exporter.flink_agents import _directory
from opentelemetry.exporter.flink_agents._directory import (
    EVENT_LOG_DIR,
    event_log_directory,
)
from opentelemetry.instrumentation.flink_agents import FlinkAgentsInstrumentor
from probing import play


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch, caplog):
    """The temporary folder of this process, in which nothing was announced yet."""
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(_directory, "_announced", set())
    return tmp_path


@pytest.fixture
def default(temporary):
    return temporary / f"flink-agents-eventlog-{os.getuid()}"


def said(caplog):
    return [(each.levelname, each.message) for each in caplog.records]


def test_a_folder_that_is_given_wins(monkeypatch, tmp_path, caplog):
    monkeypatch.setenv(EVENT_LOG_DIR, str(tmp_path / "environment"))

    assert event_log_directory("given") == Path("given")
    assert event_log_directory() == tmp_path / "environment"
    assert said(caplog) == []


def test_the_default_is_announced_once_and_not_created(default, caplog):
    assert [event_log_directory(), event_log_directory(None)] == [default, default]

    assert said(caplog) == [("INFO", f"The Event Log is written to {default}")]
    assert not default.exists()


def test_a_default_that_is_there_and_ours_is_used(default):
    default.mkdir()

    assert event_log_directory() == default


def make_foreign(default):
    default.mkdir()
    os.chown(default, 65534, -1)


def make_link(default):
    elsewhere = default.with_name("elsewhere")
    elsewhere.mkdir()
    default.symlink_to(elsewhere)


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(
            make_foreign,
            marks=pytest.mark.skipif(os.getuid() != 0, reason="only root can chown"),
        ),
        make_link,
        Path.touch,
    ],
)
def test_what_is_not_a_folder_of_ours_is_refused(make, default, caplog):
    make(default)

    assert [event_log_directory(), event_log_directory()] == [None, None]

    assert said(caplog) == [
        (
            "WARNING",
            (
                f"The Event Log is not written: {default} exists and is not a"
                " folder of this user's. Set OTEL_PYTHON_FLINK_AGENTS_EVENT_LOG_DIR to"
                " a folder of"
                " your own."
            ),
        )
    ]


def test_a_refused_folder_costs_the_agent_nothing_but_the_log(
    default, instrument, caplog
):
    make_link(default)
    instrument(event_log_dir=None)

    runner = play(lambda _, ctx: ctx.send_event(output(1)))

    assert runner.get_outputs() == [{"k": 1}]
    assert list(default.iterdir()) == []
    providers = FlinkAgentsInstrumentor()._core.providers
    [processor] = providers.processors
    assert processor.written_records == 0
    assert processor.lost_records >= 4
    assert [each[0] for each in said(caplog)].count("WARNING") == 1


def test_an_agent_that_says_nothing_logs_to_the_default(default, instrument):
    instrument(event_log_dir=None)

    play(lambda *_: None)

    assert next(line["event_type"] for line in log_lines(default)) == "_input_event"
    assert f"{default.stat().st_mode & 0o777:o}" == "700"
