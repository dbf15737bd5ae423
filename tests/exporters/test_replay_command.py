"""`flink-agents-eventlog replay`, from its arguments to what a backend receives."""

import io
import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from core.samples import one_run, write
from flink_agents_eventlog.commands import main
from processes import environment
from receiving import grpc_backend, http_backend
from replaying import told


@pytest.fixture
def log(tmp_path):
    return write(tmp_path / "events-a.jsonl", one_run())


def run(*arguments):
    """The console script, in a process of its own."""
    command = [sys.executable, "-m", "flink_agents_eventlog", "replay", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("backend", [grpc_backend, http_backend])
def test_a_log_is_sent_where_the_standard_variables_say(backend, log, capsys):
    with backend() as received, received.in_force():
        assert main(["replay", log, "--otlp"]) == 0

    assert [span.name for span in received.whole] == [
        "invoke_agent OrderAgent",
        "action answer",
        "chat small",
        "execute_tool search",
    ]
    said = capsys.readouterr()
    first, *lacking, last = said.out.splitlines()
    assert first.startswith("sent 4 spans of 1 runs to http://127.0.0.1:")
    assert first.endswith(": 1 run, 1 action, 1 llm, 1 tool")
    assert "not in the log of 1 llm: its provider" in lacking
    assert last == "never in a log: memory, embedding and retrieval spans"
    assert said.err == ""


@pytest.mark.parametrize("backend", [grpc_backend, http_backend])
def test_an_endpoint_may_be_given_without_scheme_and_path(
    backend, log, monkeypatch, capsys
):
    with backend() as received, received.in_force():
        endpoint = received.variables["OTEL_EXPORTER_OTLP_ENDPOINT"]
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")

        assert main(["replay", log, "--otlp", endpoint.partition("//")[2]]) == 0

    assert len(received.spans) == 4
    assert capsys.readouterr().err == ""


def test_a_log_sent_again_adds_no_span(log, capsys):
    with http_backend() as received, received.in_force():
        for _ in range(2):
            assert main(["replay", log, "--otlp"]) == 0

    first, second = received.whole[:4], received.whole[4:]
    assert first == second
    assert received.resources[0] == received.resources[1]
    assert len(told(received.whole)) == 4


def test_the_product_as_json(log, capsys):
    assert main(["replay", log, "--dry-run", "--json"]) == 0

    product = json.loads(capsys.readouterr().out)
    assert product == {
        "format": 1,
        "command": "replay",
        "findings": [],
        "records": 8,
        "runs": 1,
        "spans": {"run": 1, "action": 1, "llm": 1, "tool": 1},
        "sent": 0,
        "sent_before": 0,
        "incomplete": 0,
        "still_open": 0,
        "lacking": product["lacking"],
        "absent": "memory, embedding and retrieval spans",
    }
    assert product["lacking"]["tool: the id of its call"] == 1


def test_trying_it_sends_nothing_and_says_what_would_be_sent(log, capsys):
    with http_backend() as received, received.in_force():
        assert main(["replay", log, "--otlp", "--dry-run"]) == 0

    assert received.spans == []
    assert capsys.readouterr().out.startswith("would send 4 spans of 1 runs: 1 run")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "say where to: --otlp [ENDPOINT], or --dry-run"),
        (["--dry-run", "--run", "nobody"], "no run 'nobody' in"),
        (["--dry-run", "--since", "monday"], "not an RFC 3339 timestamp: 'monday'"),
    ],
)
def test_what_cannot_be_done_is_a_usage_error(arguments, message, log, capsys):
    assert main(["replay", log, *arguments]) == 2

    assert message in capsys.readouterr().err


def test_a_protocol_that_does_not_exist_is_a_usage_error(log, monkeypatch, capsys):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "carrier pigeon")

    assert main(["replay", log, "--otlp"]) == 2
    assert "'carrier pigeon' is not allowed" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("protocol", "module"), [("grpc", "grpc"), ("http/protobuf", "http")]
)
def test_a_missing_exporter_says_what_to_install(
    protocol, module, log, monkeypatch, capsys
):
    name = f"opentelemetry.exporter.otlp.proto.{module}.trace_exporter"
    monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)

    assert main(["replay", log, "--otlp"]) == 2
    assert (
        "pip install 'opentelemetry-instrumentation-flink-agents[otlp]'"
        in capsys.readouterr().err
    )


def test_without_opentelemetry_it_says_what_to_install(log, monkeypatch, capsys):
    for name in list(sys.modules):
        if name.startswith("opentelemetry.exporter.flink_agents"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)

    assert main(["replay", log, "--otlp"]) == 2
    assert capsys.readouterr().err == (
        "flink-agents-eventlog: replay cannot be loaded (import of"
        " opentelemetry.sdk.trace halted; None in sys.modules): pip install"
        " 'opentelemetry-instrumentation-flink-agents[otlp]'\n"
    )


def test_a_backend_that_is_not_there_is_a_clear_error_of_its_own(log, monkeypatch):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        endpoint = f"http://127.0.0.1:{free.getsockname()[1]}"
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    done = run(log, "--otlp", endpoint)

    assert (done.returncode, done.stdout) == (3, "")
    first, second = done.stderr.splitlines()
    assert first.startswith(
        f"flink-agents-eventlog: {endpoint}/v1/traces (http/protobuf) does not take"
        " spans: "
    )
    assert second == (
        "0 spans have arrived; the same command goes on from there (--anew: from the"
        " beginning)"
    )


def test_a_terminal_sees_how_far_it_is(log, monkeypatch):
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", terminal)

    assert main(["replay", log, "--dry-run"]) == 0

    assert f"\r[{'#' * 30}] 100%  8 records, 0 spans sent\x1b[K" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_standard_input_is_replayed_and_its_position_is_kept_nowhere(log):
    with http_backend() as received:
        received.dies_at = 1
        variables = {**received.variables, "OTEL_EXPORTER_OTLP_TIMEOUT": "1"}
        command = [sys.executable, "-m", "flink_agents_eventlog", "replay"]
        done = subprocess.run(
            [*command, "-", "--otlp"],
            input=Path(log).read_text(),
            env=environment(**variables),
            capture_output=True,
            text=True,
        )

    assert done.returncode == 3
    assert done.stderr.endswith(
        "0 spans have arrived; how far it came is kept only with --resume-from FILE\n"
    )
