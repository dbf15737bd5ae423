"""What a job does whose log cannot be written, or whose spans nobody takes."""

from __future__ import annotations

import socket
from collections import Counter

import pytest

from flink_agents_eventlog import check_log, execution_forest, read_records

ANSWERS = Counter(
    answer
    for text, inputs in (("one", 4), ("two", 8), ("three", 4))
    for answer in (
        *[text, f"refused: {text}"] * 2 * inputs,
        *[f"{text} of {2 * len(text) + 1}", f"refused: {text} of {2 * len(text) + 1}"]
        * inputs,
    )
)
"""Of sixteen inputs, without us: three notes each, two of them equal."""


@pytest.fixture(scope="module")
def silent():
    """An endpoint that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture(scope="module")
def unheard(run_mixed, silent, tmp_path_factory):
    file = tmp_path_factory.mktemp("missing") / "file"
    file.touch()
    return run_mixed(
        "mixed",
        command=["opentelemetry-instrument"],
        OTEL_PYTHON_FLINK_AGENTS_EVENT_LOG_DIR=str(file / "log"),
        OTEL_PYTHON_FLINK_AGENTS_OTLP="true",
        OTEL_EXPORTER_OTLP_ENDPOINT=silent,
        OTEL_EXPORTER_OTLP_PROTOCOL="http/protobuf",
    )


@pytest.fixture(scope="module")
def native(run_mixed):
    return run_mixed(
        "mixed",
        "full",
        command=["opentelemetry-instrument"],
        OTEL_PYTHON_FLINK_AGENTS_EVENT_LOG_DIALECT="native",
    )


def test_a_job_ends_as_well_without_a_folder_and_with_an_endpoint_that_hangs(unheard):
    assert unheard.found["mixed"]["error"] is None
    assert unheard.answers("mixed") == ANSWERS


def test_a_job_ends_as_well_on_a_full_disk(native):
    assert native.found["full"]["error"] is None
    assert native.answers("full") == ANSWERS


def test_what_was_written_before_the_disk_was_full_can_be_read(native):
    checked = check_log(*native.logs["FullDiskAgent"])

    assert checked.records
    assert {finding.severity for finding in checked.findings} <= {"warning", "info"}


def test_the_native_dialect_tells_every_run_too(native):
    files = native.logs["MixedAgent"]

    runs = list(execution_forest(read_records(*files)))

    assert [file.name[-11:] for file in files] == ["-0-otel.log", "-1-otel.log"]
    # There the begin event, with its snapshot, is off unless it is asked for.
    codes = {finding.code for finding in check_log(*files).findings}
    assert codes == {"MISSING_SNAPSHOT"}
    assert Counter((run.complete, len(run.executions)) for run in runs) == {
        (True, 8): 16
    }
