"""The conventions' metrics: under which names, divided by what, and when not."""

import pytest
from opentelemetry.instrumentation.utils import suppress_instrumentation
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk.metrics import MeterProvider

from chat_agents import Asking, outcome
from exporting import signals
from hosting import log_lines
from opentelemetry.exporter.flink_agents._guard import faults
from opentelemetry.instrumentation.flink_agents import semconv
from probing import play, tool
from scripted_llm import Reply

OPERATION = "gen_ai.client.operation.duration"
TOKENS = "gen_ai.client.token.usage"
TOOL = "gen_ai.execute_tool.duration"
AGENT = "gen_ai.invoke_agent.duration"
CHAT = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "openai",
    "gen_ai.request.model": "scripted",
    "server.address": "127.0.0.1",
}
ANSWERED = {**CHAT, "gen_ai.response.model": "scripted"}


@pytest.fixture
def exported():
    with signals() as made:
        yield made


def told(points):
    """What each point is divided by, but for the port, which is free every time."""
    return [
        {name: value for name, value in point.attributes.items() if name != PORT}
        for point in points
    ]


PORT = "server.port"


def fine(_=None):
    return Reply.text("fine")


def ours(exported):
    found = exported.metrics
    return {name: found[name] for name in found if name.startswith("gen_ai.")}


def test_a_chat_is_measured_with_its_tokens_and_its_run(instrument, exported):
    instrument(**exported.providers)

    outcome(Asking, fine)

    found = ours(exported)
    assert {name: told(points) for name, points in found.items()} == {
        OPERATION: [ANSWERED],
        TOKENS: [
            {**ANSWERED, "gen_ai.token.type": "input"},
            {**ANSWERED, "gen_ai.token.type": "output"},
        ],
        AGENT: [{"gen_ai.agent.name": "Asking"}],
    }
    assert [point.sum for point in found[TOKENS]] == [20, 10]
    assert [point.count for name in (OPERATION, AGENT) for point in found[name]] == [
        1,
        1,
    ]
    chat = exported.span("chat")
    took = (chat.end_time - chat.start_time) / 1e9
    assert found[OPERATION][0].sum == pytest.approx(took)


def test_the_buckets_are_those_of_the_conventions(instrument, exported):
    instrument(**exported.providers)

    outcome(Asking, fine)

    found = ours(exported)
    seconds = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64)
    seconds += (1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
    tokens = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536)
    tokens += (262144, 1048576, 4194304, 16777216, 67108864)
    agent = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6)
    assert tuple(found[OPERATION][0].explicit_bounds) == seconds
    assert tuple(found[TOKENS][0].explicit_bounds) == tokens
    assert tuple(found[AGENT][0].explicit_bounds) == agent


def test_what_fails_is_measured_by_the_type_of_its_error(instrument, exported):
    instrument(**exported.providers)

    outcome(Asking, lambda _: Reply.status(500))

    found = ours(exported)
    error = {"error.type": "openai.InternalServerError"}
    assert {name: told(points) for name, points in found.items()} == {
        OPERATION: [{**CHAT, **error}],
        AGENT: [{"gen_ai.agent.name": "Asking", **error}],
    }


def test_tools_are_measured_by_their_names(instrument, exported):
    instrument(**exported.providers)
    failing = tool(lambda: 1 / 0)

    def call(*_):
        tool(lambda: "done").call()
        with pytest.raises(ZeroDivisionError):
            failing.call()

    play(call)

    probe = {
        "gen_ai.tool.name": "probe",
        "gen_ai.tool.type": "function",
        "gen_ai.agent.name": "Stage",
    }
    assert told(ours(exported)[TOOL]) == [
        probe,
        {**probe, "error.type": "ZeroDivisionError"},
    ]


def test_the_newer_names_are_a_choice(instrument, exported, monkeypatch):
    monkeypatch.setenv(
        "OTEL_SEMCONV_STABILITY_OPT_IN", "http, gen_ai_latest_experimental"
    )
    instrument(**exported.providers)

    outcome(Asking, fine)

    found = ours(exported)
    text = {**ANSWERED, "gen_ai.token.modality": "text"}
    assert {name: told(points) for name, points in found.items()} == {
        "gen_ai.client.inference.duration": [ANSWERED],
        "gen_ai.client.inference.usage.input_tokens": [text],
        "gen_ai.client.inference.usage.output_tokens": [text],
        "gen_ai.client.inference.operation.input_tokens": [ANSWERED],
        "gen_ai.client.inference.operation.output_tokens": [ANSWERED],
        AGENT: [{"gen_ai.agent.name": "Asking"}],
    }
    assert found["gen_ai.client.inference.usage.input_tokens"][0].value == 20


def test_a_retried_call_is_measured_once(instrument, exported):
    instrument(**exported.providers)
    retrying = {"error-handling-strategy": "retry", "max-retries": 1}

    outcome(
        Asking,
        [Reply.status(500), fine()],
        **retrying,
        **{"retry-wait-interval": 0},
    )

    assert told(ours(exported)[OPERATION]) == [ANSWERED]


def test_nothing_is_measured_while_instrumentation_is_suppressed(
    instrument, exported, tmp_path
):
    instrument(**exported.providers)

    with suppress_instrumentation():
        outcome(Asking, fine)

    assert ours(exported) == {}
    assert exported.spans == []
    assert len(log_lines(tmp_path / "log")) == 12


def test_instrumenting_again_goes_on_with_the_same_metrics(instrument, exported):
    for _ in range(3):
        instrument(**exported.providers)
        instrument(event_log=True)
        outcome(Asking, fine)

    assert sum(point.count for point in ours(exported)[OPERATION]) == 3


def test_providers_that_are_false_are_providers(instrument, exported, monkeypatch):
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_EMIT_EVENT", "true")
    for provider in (MeterProvider, LoggerProvider):
        monkeypatch.setattr(provider, "__bool__", lambda _: False, raising=False)
    instrument(**exported.providers)

    outcome(Asking, fine)

    assert ours(exported)[OPERATION]
    assert len(exported.events) == 1


class Unable:
    """A provider of nobody's making."""

    def get_meter(self, *_, **__):
        raise RuntimeError("no meter today")

    def get_logger(self, *_, **__):
        raise RuntimeError("no logger today")


class Poor(Unable):
    """A provider whose meter has no instruments."""

    def get_meter(self, *_, **__):
        return object()


@pytest.mark.parametrize("provider", [Unable, Poor])
def test_a_provider_that_fails_costs_no_run(
    provider, instrument, monkeypatch, tmp_path
):
    monkeypatch.setenv(
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "EVENT_ONLY"
    )
    monkeypatch.setattr(faults, "reraise", False)
    instrument(meter_provider=provider(), logger_provider=provider())

    assert outcome(Asking, fine).outputs == ["fine"]
    assert len(log_lines(tmp_path / "log")) == 12


def test_every_metric_has_a_description():
    names = {
        value
        for name, value in vars(semconv).items()
        if name.startswith("METRIC_") and isinstance(value, str)
    }

    assert names <= set(semconv.METRIC_DESCRIPTIONS)
