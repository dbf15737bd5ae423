"""The configuration for production between the agent and Jaeger, both real."""

import random
import re
import sys
from pathlib import Path

import pytest

from binaries import JAEGER, Receiver, fetch, free_address, is_up, serving, until
from core.samples import ACTION_FIELDS, lifecycle, record, write
from flink_agents_eventlog.lifecycle import FINISHED, INPUT_EVENT, STARTED
from hosting import log_lines
from log_receiving import log_backend
from opentelemetry.exporter.flink_agents import replay
from probing import CoroutineStage, play
from processes import run_python
from providing import ids_of
from traces import KeepingProvider, received, sent, trace_ids

COMMAND = Path(sys.executable).with_name("opentelemetry-instrument")
CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"


class Collector(Receiver):
    def __init__(self):
        super().__init__()
        self.settings["PROMETHEUS"] = free_address()

    def metric(self, name, **labels):
        """The sum of the samples that carry those labels."""
        lines = fetch(self.settings["PROMETHEUS"], "/metrics").decode().splitlines()
        wanted = [f'{label}="{value}"' for label, value in labels.items()]
        return sum(
            float(line.rpartition(" ")[2])
            for line in lines
            if line.startswith(f"{name}{{") and all(each in line for each in wanted)
        )


@pytest.fixture(scope="module")
def everything_logged():
    with log_backend() as received_logs:
        yield received_logs


@pytest.fixture
def logs(everything_logged):
    everything_logged.records.clear()
    return everything_logged


@pytest.fixture(scope="module")
def collector(tmp_path_factory, jaeger, everything_logged):
    """The Collector that is in Jaeger's binary; nothing is kept but for a reason."""
    running = Collector()
    settings = {
        **running.settings,
        "TRACES_BACKEND": jaeger.settings["OTLP_GRPC"],
        "LOGS_BACKEND": everything_logged.endpoint,
        "KEEP_PERCENT": "0",
        "LONGEST_RUN": "1s",
        "METRICS_EVERY": "200ms",
    }
    folder = tmp_path_factory.mktemp("production")
    with serving(JAEGER, "production.yaml", folder, **settings) as said:
        until(lambda: is_up(running.settings["HEALTH"], said))
        yield running


@pytest.fixture
def send(instrument, collector, sending, order):
    """Send an order, or whatever is done, through the Collector; return the spans."""

    def run(how):
        sending(collector)
        provider = KeepingProvider()
        instrument(tracer_provider=provider, otlp=True)
        if callable(how):
            how()
        else:
            order(how)
        provider.shutdown()
        return provider.kept

    return run


def kept(jaeger, spans):
    """The spans that Jaeger has of them, once it has some."""
    [trace] = trace_ids(spans)
    found = until(lambda: len(got := jaeger.trace(trace)) >= len(spans) and got)
    return sorted(map(received, found), key=lambda span: span["span"])


def hashed(span):
    """A span as it is to arrive: its key is not readable."""
    key = {"flink_agents.business_key": "hashed"}
    return {**span, "attributes": span["attributes"] | key}


def test_every_failed_run_is_kept_whole_and_others_are_not(send, jaeger):
    fine, failed = send("fine"), send("failed")

    expected = sorted(map(sent, failed), key=lambda span: span["span"])
    assert [*map(hashed, kept(jaeger, failed))] == [*map(hashed, expected)]
    # The other was sent, and so decided about, before.
    [trace] = trace_ids(fine)
    assert jaeger.trace(trace) == []


def test_a_run_with_a_failure_that_was_handled_is_kept(send, jaeger):
    repeated = send("repeated")

    assert len(kept(jaeger, repeated)) == len(repeated)


def test_a_run_that_was_abandoned_is_kept(send, jaeger):
    async def body(*_):
        raise GeneratorExit

    def abandon():
        with pytest.raises(GeneratorExit):
            play(body, agent=CoroutineStage)

    abandoned = send(abandon)

    [act] = [span for span in kept(jaeger, abandoned) if span["name"] == "action act"]
    assert act["attributes"]["flink_agents.execution.incomplete"] is True


def one_run(number, milliseconds):
    """A log of one run of one action that takes so long."""
    trace = f"{number:032x}"
    ids = {"trace_id": trace, "span_id": f"{2:016x}"}
    yield record(0, "input", INPUT_EVENT, trace_id=trace, span_id=f"{1:016x}")
    yield lifecycle(0, STARTED, "action", **ACTION_FIELDS, **ids)
    yield lifecycle(milliseconds, FINISHED, "action", **ACTION_FIELDS, **ids)


def test_a_slow_run_is_kept_also_of_a_log_that_is_replayed(
    collector, jaeger, monkeypatch, tmp_path
):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    url = collector.variables()["OTEL_EXPORTER_OTLP_ENDPOINT"]
    quick, slow = (random.randint(1, 2**127) for _ in range(2))

    for number, milliseconds in ((quick, 59_000), (slow, 61_000)):
        log = write(tmp_path / f"{number}.jsonl", one_run(number, milliseconds))
        replay(log, url=url)

    assert until(lambda: jaeger.trace(f"{slow:032x}"))
    assert jaeger.trace(f"{quick:032x}") == []


def test_what_people_said_and_who_they_are_does_not_get_through(
    send, jaeger, monkeypatch
):
    monkeypatch.setenv(CONTENT, "SPAN_ONLY")

    spans = send("failed")

    said = [name for span in spans for name in span.attributes if is_content(name)]
    assert set(said) == {
        "gen_ai.input.messages",
        "gen_ai.output.messages",
        "gen_ai.tool.call.arguments",
        "gen_ai.tool.definitions",
    }
    arrived = kept(jaeger, spans)
    assert not [
        each for span in arrived for each in span["attributes"] if is_content(each)
    ]
    keys = {span["attributes"]["flink_agents.business_key"] for span in arrived}
    assert re.fullmatch("[0-9a-f]{64}", keys.pop())
    assert not keys


def is_content(name):
    return re.search(r"messages|instructions|arguments|result|definitions", name)


CHAT = """
from chat_agents import Asking, outcome
from scripted_llm import Reply

print(outcome(Asking, lambda _: Reply.text("fine")).outputs)
"""


@pytest.fixture
def chat(collector, logs, tmp_path):
    """Let an application chat under the Collector; return the lines of its log."""

    def run(**variables):
        done = run_python(
            CHAT,
            command=(str(COMMAND), sys.executable),
            OTEL_PYTHON_FLINK_AGENTS_EVENT_LOG_DIR=tmp_path / "log",
            **collector.variables("http/protobuf"),
            **variables,
        )
        assert done.stdout == "['fine']\n"
        assert "opentelemetry" not in done.stderr
        return log_lines(tmp_path / "log")

    return run


def test_metrics_and_events_of_an_application_get_through_without_content(
    chat, collector, logs
):
    lines = chat(**{CONTENT: "EVENT_ONLY"})

    [event] = until(lambda: logs.records)
    [asked] = filter(is_chat, lines)
    assert (event["trace_id"], event["span_id"]) == ids_of(asked)
    assert event["attributes"]["gen_ai.operation.name"] == "chat"
    assert not [name for name in event["attributes"] if is_content(name)]
    tokens = {"gen_ai_token_type": "input", "gen_ai_request_model": "scripted"}
    total = "gen_ai_client_token_usage_sum"
    assert until(lambda: collector.metric(total, **tokens)) >= 20


def is_chat(line):
    return (line.get("entity_type"), line.get("status")) == ("llm", "started")


def test_records_sent_as_events_get_through_with_the_ids_of_their_spans(chat, logs):
    lines = chat(OTEL_PYTHON_FLINK_AGENTS_EVENT_LOG_OTLP="true")

    until(lambda: len(logs.records) >= len(lines))
    sent = {line["event_id"]: ids_of(line) for line in lines if line.get("trace_id")}
    found = {
        each["attributes"]["flink_agents.event.id"]: (each["trace_id"], each["span_id"])
        for each in logs.records
    }
    assert found.keys() == {line["event_id"] for line in lines}
    assert {event: found[event] for event in sent} == sent
    [trace] = {ids[0] for ids in found.values()}
    assert trace == ids_of(lines[0])[0]
    keys = {each["attributes"]["flink_agents.business_key"] for each in logs.records}
    assert re.fullmatch("[0-9a-f]{64}", keys.pop())


def test_all_runs_are_counted_whether_or_not_they_are_kept(send, collector):
    def counts():
        return [
            collector.metric(
                "traces_span_metrics_calls_total",
                span_name="invoke_agent OrderAgent",
                status_code=f"STATUS_CODE_{code}",
                flink_agents_agent_name="OrderAgent",
            )
            for code in ("UNSET", "ERROR")
        ]

    fine, failed = counts()

    for how in ("fine", "failed"):
        send(how)

    until(lambda: counts() == [fine + 1, failed + 1])
    tool = {
        "span_name": "execute_tool charge_card",
        "error_type": "order_agent.PaymentRefusedError",
    }
    assert collector.metric("traces_span_metrics_duration_seconds_count", **tool) >= 1
