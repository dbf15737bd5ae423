"""Instrumentations of a provider's client beside ours: one call stays one call."""

import importlib

import openai
import pytest

from chat_agents import Asking, outcome
from flink_agents_eventlog import read_records
from hosting import brief, log_lines
from probing import play
from scripted_llm import Reply, ScriptedLLM

GENAI = "opentelemetry.instrumentation.genai.openai"
OPENINFERENCE = "openinference.instrumentation.openai"
INPUT, OUTPUT = "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"
STORY = [
    "_input_event",
    "action ask started",
    "action ask finished",
    "_chat_request_event",
    "action chat_model_action started",
    "llm model started",
    "llm model finished",
    "action chat_model_action finished",
    "_chat_response_event",
    "action reply started",
    "action reply finished",
    "_output_event",
]


def instrumentor(module):
    return importlib.import_module(module).OpenAIInstrumentor()


def sums(provider):
    """All tokens of a trace, as a backend adds them up."""
    found = [span.attributes for span in provider.spans]
    return [sum(each.get(name, 0) for each in found) for name in (INPUT, OUTPUT)]


def fine(_):
    return Reply.text("fine")


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize("module", [GENAI, OPENINFERENCE])
def test_a_chat_is_one_execution_and_its_tokens_count_once(  # noqa: PLR0917
    module, is_first, instrument, provider, beside, tmp_path
):
    if is_first:
        beside(instrumentor(module))
    instrument(tracer_provider=provider)
    if not is_first:
        beside(instrumentor(module))

    done = outcome(Asking, fine)

    assert done.outputs == ["fine"]
    assert brief(log_lines(tmp_path / "log")) == STORY
    assert sums(provider) == [20, 10]


def test_conventional_instrumentation_adds_to_our_span_and_has_none(
    instrument, provider, beside
):
    beside(instrumentor(GENAI))
    instrument(tracer_provider=provider)

    outcome(Asking, fine)

    [chat] = [span for span in provider.spans if span.name.startswith("chat ")]
    told = {
        name: chat.attributes[name]
        for name in ("gen_ai.response.finish_reasons", "server.address")
    }
    assert told == {
        "gen_ai.response.finish_reasons": ("stop",),
        "server.address": "127.0.0.1",
    }
    assert chat.attributes["gen_ai.response.id"]
    assert chat.attributes["server.port"] > 0


def test_each_attempt_of_a_chat_is_shared_anew(instrument, provider, beside, tmp_path):
    beside(instrumentor(GENAI))
    instrument(tracer_provider=provider)
    replies = [Reply.status(500), Reply.text("fine")]

    retrying = {"error-handling-strategy": "retry", "max-retries": 1}
    done = outcome(Asking, replies, **retrying, **{"retry-wait-interval": 0})

    assert done.outputs == ["fine"]
    assert brief(log_lines(tmp_path / "log")) == STORY
    [chat] = [span for span in provider.spans if span.name.startswith("chat ")]
    assert chat.attributes["flink_agents.llm.attempts"] == 2
    assert sums(provider) == [20, 10]


def test_foreign_instrumentation_of_another_kind_keeps_its_span_below_ours(
    instrument, provider, beside
):
    beside(instrumentor(OPENINFERENCE))
    instrument(tracer_provider=provider)

    outcome(Asking, fine)

    [theirs] = [span for span in provider.spans if span.name == "ChatCompletion"]
    [ours] = [span for span in provider.spans if span.name.startswith("chat ")]
    assert theirs.parent == ours.context


@pytest.fixture
def ask_directly(monkeypatch):
    """What a user action does that knows nothing of the host's chat models."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with ScriptedLLM(fine) as server:

        def ask(*_):
            with openai.OpenAI(base_url=server.base_url, api_key="unused") as client:
                client.chat.completions.create(
                    model="scripted", messages=[{"role": "user", "content": "hello"}]
                )

        yield ask


def test_a_client_used_by_an_action_itself_is_an_execution_of_the_action(
    instrument, provider, beside, ask_directly, tmp_path
):
    beside(instrumentor(GENAI))
    instrument(tracer_provider=provider)

    play(ask_directly)

    assert brief(log_lines(tmp_path / "log")) == [
        "_input_event",
        "action act started",
        "llm scripted started",
        "llm scripted finished",
        "action act finished",
    ]
    *_, finished, _ = read_records(tmp_path / "log")
    assert finished.entity_metadata["input_tokens"] == 20
    assert sums(provider) == [20, 10]


def test_without_ours_theirs_has_its_span_again(instrument, provider, beside):
    from opentelemetry.instrumentation.flink_agents import uninstrument

    beside(instrumentor(GENAI))
    instrument(tracer_provider=provider)
    outcome(Asking, fine)
    uninstrument()
    provider.exporter.clear()

    outcome(Asking, fine)

    assert provider.span_names == ["chat scripted"]
