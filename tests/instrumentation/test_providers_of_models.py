"""What each chat model integration of the host says of itself, by its real client."""

import importlib

import pytest
from flink_agents.api.agents.agent import Agent
from flink_agents.api.chat_message import ChatMessage
from flink_agents.api.decorators import action
from flink_agents.api.events.event import Event
from flink_agents.api.resource import ResourceDescriptor, ResourceType
from flink_agents.api.runner_context import RunnerContext
from flink_agents.integrations.chat_models.anthropic.anthropic_chat_model import (
    AnthropicChatModelSetup,
)
from opentelemetry.sdk.trace import SpanProcessor

from answering import answering
from chat_agents import ChatAgent, chat_model, openai_setup, scripted
from exporting import signals
from hosting import ON_INPUT, TYPED_EVENTS, local_runner, output
from opentelemetry.instrumentation.flink_agents import _host
from scripted_llm import Reply

INTEGRATIONS = "flink_agents.integrations.chat_models"


@pytest.fixture(autouse=True)
def _loopback(monkeypatch):
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1")


@pytest.fixture
def exported():
    with signals() as made:
        yield made


@pytest.mark.parametrize(
    ("module", "setup", "provider"),
    [
        ("openai.openai_chat_model", "OpenAIChatModelSetup", "openai"),
        (
            "azure.azure_openai_chat_model",
            "AzureOpenAIChatModelSetup",
            "azure.ai.openai",
        ),
        ("anthropic.anthropic_chat_model", "AnthropicChatModelSetup", "anthropic"),
        ("ollama_chat_model", "OllamaChatModelSetup", "ollama"),
        ("tongyi_chat_model", "TongyiChatModelSetup", "dashscope"),
    ],
)
def test_each_integration_of_the_host_has_a_provider(module, setup, provider):
    cls = getattr(importlib.import_module(f"{INTEGRATIONS}.{module}"), setup)

    assert _host.provider_of(cls(connection="connection", model="model")) == provider


class Direct(Agent):
    """Asks its model itself."""

    def __init__(self, connection: ResourceDescriptor, setup: ResourceDescriptor):
        super().__init__()
        self.add_resource("connection", ResourceType.CHAT_MODEL_CONNECTION, connection)
        self.add_resource("model", ResourceType.CHAT_MODEL, setup)

    @action(ON_INPUT)
    @staticmethod
    def ask(event: Event, ctx: RunnerContext) -> None:
        answer = chat_model(ctx).chat([ChatMessage(content="hello")])
        ctx.send_event(output(answer.content))


def chat_span(exported, agent):
    """What the span of a chat says, but for identity and the port."""
    runner = local_runner(agent)
    runner.run(key="k", value="hello")
    found = dict(exported.span("chat").attributes)
    assert found.pop("server.port") > 0
    said = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in found.items()
        if not name.startswith("flink_agents.")
    }
    return runner.get_outputs(), said


class Plain(AnthropicChatModelSetup):
    """Without the temperature, which newer clients do not take any more."""

    @property
    def model_kwargs(self):
        return {"model": self.model, "max_tokens": self.max_tokens}


def test_anthropic(instrument, exported, monkeypatch):
    instrument(**exported.providers)
    module = f"{INTEGRATIONS}.anthropic.anthropic_chat_model"
    answer = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-test-1",
        "content": [{"type": "text", "text": "fine"}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": 20,
            "output_tokens": 10,
            "cache_read_input_tokens": 7,
            "cache_creation_input_tokens": 3,
        },
    }
    with answering(answer) as address:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", address)
        outputs, said = chat_span(
            exported,
            Direct(
                ResourceDescriptor(
                    clazz=f"{module}.AnthropicChatModelConnection", api_key="unused"
                ),
                ResourceDescriptor(
                    clazz=f"{__name__}.Plain",
                    connection="connection",
                    model="claude-test",
                ),
            ),
        )

    assert outputs == [{"k": "fine"}]
    assert said == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "anthropic",
        "gen_ai.request.model": "claude-test",
        "gen_ai.request.max_tokens": 1024,
        "gen_ai.response.id": "msg_1",
        "gen_ai.response.model": "claude-test-1",
        "gen_ai.response.finish_reasons": ["end_turn"],
        "gen_ai.usage.input_tokens": 30,
        "gen_ai.usage.output_tokens": 10,
        "gen_ai.usage.cache_read.input_tokens": 7,
        "server.address": "127.0.0.1",
    }


def test_ollama(instrument, exported):
    instrument(**exported.providers)
    module = f"{INTEGRATIONS}.ollama_chat_model"
    answer = {
        "model": "small:latest",
        "created_at": "2026-01-01T00:00:00Z",
        "message": {"role": "assistant", "content": "fine"},
        "done": True,
        "done_reason": "stop",
        "prompt_eval_count": 20,
        "eval_count": 10,
    }
    with answering(answer) as address:
        outputs, said = chat_span(
            exported,
            Direct(
                ResourceDescriptor(
                    clazz=f"{module}.OllamaChatModelConnection", base_url=address
                ),
                ResourceDescriptor(
                    clazz=f"{module}.OllamaChatModelSetup",
                    connection="connection",
                    model="small",
                ),
            ),
        )

    assert outputs == [{"k": "fine"}]
    assert said == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "ollama",
        "gen_ai.request.model": "small",
        "gen_ai.request.temperature": 0.75,
        "gen_ai.response.model": "small:latest",
        "gen_ai.response.finish_reasons": ["stop"],
        "gen_ai.usage.input_tokens": 20,
        "gen_ai.usage.output_tokens": 10,
        "server.address": "127.0.0.1",
    }


class Tuned(ChatAgent):
    """Sets what the conventions have a name for."""

    def __init__(self) -> None:
        more = {
            "top_p": 0.5,
            "seed": 7,
            "n": 2,
            "stop": "END",
            "frequency_penalty": 1,
            "presence_penalty": -1,
            "response_format": {"type": "json_object"},
            "logit_bias": {},
        }
        super().__init__(openai_setup(max_tokens=99, additional_kwargs=more))

    @action(ON_INPUT)
    @staticmethod
    def ask(event: Event, ctx: RunnerContext) -> None:
        chat_model(ctx).chat([ChatMessage(content="hello")], temperature=0)


def test_openai_with_every_parameter(instrument, exported):
    instrument(**exported.providers)
    with scripted(lambda _: Reply.text("fine")):
        local_runner(Tuned()).run(key="k", value="hello")
    found = dict(exported.span("chat").attributes)

    said = {
        name.removeprefix("gen_ai.request."): value
        for name, value in found.items()
        if name.startswith("gen_ai.request.")
    }
    assert said == {
        "model": "scripted",
        "temperature": 0.0,
        "top_p": 0.5,
        "max_tokens": 99,
        "frequency_penalty": 1.0,
        "presence_penalty": -1.0,
        "seed": 7,
        "choice.count": 2,
        "stop_sequences": ("END",),
    }
    assert found["gen_ai.output.type"] == "json"


class Starts(SpanProcessor):
    """Keeps what each span says when it starts, as samplers see it."""

    def __init__(self):
        self.seen = {}

    def on_start(self, span, parent_context=None):
        self.seen[span.name] = dict(span.attributes)


def test_what_samplers_need_is_there_when_the_span_starts(instrument, exported):
    starts = Starts()
    exported.tracers.add_span_processor(starts)
    instrument(**exported.providers)

    with scripted(lambda _: Reply.text("fine")):
        local_runner(Tuned()).run(key="k", value="hello")

    names = ["gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model"]
    if not TYPED_EVENTS:  # the first hosts look their connection up with each call
        names += ["server.address", "server.port"]
    seen = starts.seen["chat scripted"]
    assert [name for name in names if name not in seen] == []
