"""Every call of a chat model is one execution, whoever makes it and whatever class."""

import contextlib
from typing import Any

import pytest
from flink_agents.api.chat_message import ChatMessage
from flink_agents.api.chat_models.chat_model import BaseChatModelSetup
from flink_agents.api.decorators import action
from flink_agents.api.events.event import Event
from flink_agents.api.runner_context import RunnerContext
from flink_agents.integrations.chat_models.openai.openai_chat_model import (
    OpenAIChatModelSetup,
)

from chat_agents import (
    Asking,
    ChatAgent,
    chat_model,
    openai_setup,
    outcome,
    scripted,
)
from hosting import ON_INPUT, local_runner, log_lines, output
from scripted_llm import Reply
from telling import Names, ended, story, told_spans, tracing

USER = {"role": "user", "content": "hello", "tool_calls": [], "extra_args": {}}
FINE = {
    "role": "assistant",
    "content": "fine",
    "tool_calls": [],
    "extra_args": {
        "model_name": "scripted",
        "promptTokens": 20,
        "completionTokens": 10,
    },
}


def fine(_: object = None) -> Reply:
    return Reply.text("fine")


def test_a_call_tells_its_messages_its_answer_and_its_cost(instrument, tmp_path):
    provider, exporter = tracing()
    instrument(tracer_provider=provider)

    outcome(Asking, fine)

    names = Names()
    told = names.records(log_lines(tmp_path / "log"))
    llm = {
        "timestamp": "T",
        "input_run_id": "run 1",
        "business_key": "k",
        "agent_name": "Asking",
        "execution_id": "execution 3",
        "parent_execution_id": "execution 2",
        "action_trigger_event_id": "event 4",
        "entity_type": "llm",
        "entity_name": "model",
        "trace_id": "trace 1",
        "span_id": "span 4",
    }
    assert told[5:7] == [
        llm
        | {
            "entity_metadata": {"provider": "openai", "model": "scripted"},
            "event_id": "event 6",
            "event_type": "_execution_started_event",
            "status": "started",
            "event_attributes": {"input": [USER]},
        },
        llm
        | {
            "entity_metadata": {
                "provider": "openai",
                "model": "scripted",
                "input_tokens": 20,
                "output_tokens": 10,
                "attempts": 1,
            },
            "event_id": "event 7",
            "event_type": "_execution_finished_event",
            "status": "finished",
            "event_attributes": {"output": FINE},
        },
    ]
    assert names.spans(exporter)[3] == {
        "span": "span 4",
        "trace": "trace 1",
        "parent": "span 3",
        "name": "chat scripted",
        "kind": "CLIENT",
        "status": "UNSET",
        "attributes": {
            "flink_agents.input_run_id": "run 1",
            "flink_agents.business_key": "k",
            "flink_agents.agent.name": "Asking",
            "flink_agents.execution.id": "execution 3",
            "flink_agents.entity.type": "llm",
            "flink_agents.entity.name": "model",
            "flink_agents.llm.attempts": 1,
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "openai",
            "gen_ai.request.model": "scripted",
            "gen_ai.request.temperature": 0.1,
            "gen_ai.response.finish_reasons": ["stop"],
            "gen_ai.response.id": "chatcmpl-1",
            "gen_ai.response.model": "scripted",
            "gen_ai.usage.input_tokens": 20,
            "gen_ai.usage.output_tokens": 10,
            "server.address": "127.0.0.1",
            "server.port": "port",
        },
    }


class Direct(ChatAgent):
    """Calls its model itself, twice."""

    @action(ON_INPUT)
    @staticmethod
    def ask(event: Event, ctx: RunnerContext) -> None:
        model = chat_model(ctx)
        first = model.chat([ChatMessage(content="hello")])
        second = model.chat(messages=[first])
        ctx.send_event(output([first.content, second.content]))


def test_two_direct_calls_of_one_action_are_two_executions(instrument, tmp_path):
    instrument()

    seen = outcome(Direct, fine)

    assert seen.outputs == [["fine", "fine"]]
    lines = log_lines(tmp_path / "log")
    assert story(lines) == [
        "e1 _input_event",
        "x1 action ask started because e1",
        "x2 llm model started in x1 because e1",
        "x2 llm model finished in x1 because e1",
        "x3 llm model started in x1 because e1",
        "x3 llm model finished in x1 because e1",
        "x1 action ask finished because e1",
        "e2 _output_event from x1 because e1",
    ]
    assert [line["event_attributes"] for line in lines[2:6]] == [
        {"input": [USER]},
        {"output": FINE},
        {"input": [FINE]},
        {"output": FINE},
    ]


class Overriding(OpenAIChatModelSetup):
    def chat(self, messages: Any, *args: Any, **kwargs: Any) -> ChatMessage:
        return super().chat(messages, *args, **kwargs)


class OverridingTwice(Overriding):
    def chat(self, messages: Any, *args: Any, **kwargs: Any) -> ChatMessage:
        first = super().chat(messages, *args, **kwargs)
        assert first.content == "fine"
        return super().chat(messages, *args, **kwargs)


class Own(BaseChatModelSetup):
    """A model of no integration of the host's."""

    @property
    def model_kwargs(self) -> dict[str, Any]:
        return {}

    def open(self) -> None:
        pass

    def chat(self, *_: Any, **__: Any) -> ChatMessage:
        return ChatMessage(role="assistant", content="fine")


class Odd(OpenAIChatModelSetup):
    def chat(self, *_: Any, **__: Any) -> Any:
        return "not even a message"


class Subclassed(ChatAgent):
    """Calls the model of the class `CLASS` as the framework does."""

    def __init__(self) -> None:
        super().__init__(openai_setup(f"{__name__}.{CLASS[0]}"))

    @action(ON_INPUT)
    @staticmethod
    def ask(event: Event, ctx: RunnerContext) -> None:
        answer = ctx.durable_execute(
            chat_model(ctx).chat, [ChatMessage(content="hello")]
        )
        ctx.send_event(output(getattr(answer, "content", answer)))


CLASS = [""]


@pytest.mark.parametrize(
    ("name", "requests", "provider"),
    [
        ("Overriding", 1, "openai"),
        ("OverridingTwice", 2, "openai"),
        ("Own", 0, "Own"),
    ],
)
def test_a_subclass_that_overrides_chat_is_counted_once(
    instrument, tmp_path, name, requests, provider
):
    instrument()
    CLASS[0] = name

    seen = outcome(Subclassed, fine)

    assert len(seen.requests) == requests
    lines = log_lines(tmp_path / "log")
    assert story(lines) == [
        "e1 _input_event",
        "x1 action ask started because e1",
        "x2 llm model started in x1 because e1",
        "x2 llm model finished in x1 because e1",
        "x1 action ask finished because e1",
        "e2 _output_event from x1 because e1",
    ]
    [llm] = ended(lines, "llm")
    assert llm["entity_metadata"]["provider"] == provider


def test_a_subclass_defined_after_instrument_is_patched_too(instrument, tmp_path):
    instrument()

    class Late(OpenAIChatModelSetup):
        def chat(self, *args: Any, **kwargs: Any) -> ChatMessage:
            return super().chat(*args, **kwargs)

    class Later(Late):
        def chat(self, *_: Any, **__: Any) -> ChatMessage:
            return ChatMessage(role="assistant", content="later")

    MODELS[:] = [Late, Later]
    with scripted(fine):
        local_runner(Making()).run(key="k", value="hello")

    lines = log_lines(tmp_path / "log")
    assert story(lines)[2:6] == [
        "x2 llm Late started in x1 because e1",
        "x2 llm Late failed in x1 because e1",
        "x3 llm Later started in x1 because e1",
        "x3 llm Later finished in x1 because e1",
    ]


class Making(ChatAgent):
    """Makes the models of the classes `MODELS` by itself, and no connection."""

    @action(ON_INPUT)
    @staticmethod
    def ask(event: Event, ctx: RunnerContext) -> None:
        for cls in MODELS:
            model = cls(connection="none", model="scripted")
            # Without a connection the host's own `chat` fails.
            with contextlib.suppress(TypeError):
                model.chat([ChatMessage(content="hello")])


MODELS = []


def test_an_answer_of_another_shape_is_told_as_it_is(instrument, tmp_path):
    CLASS[0] = "Odd"
    without = outcome(Subclassed, fine)

    instrument()

    assert outcome(Subclassed, fine) == without
    assert without.outputs == ["not even a message"]
    [llm] = ended(log_lines(tmp_path / "log"), "llm")
    assert llm["event_attributes"] == {"output": "not even a message"}


class AskingTwoModels(ChatAgent):
    """Has a model that asks another one."""

    def __init__(self) -> None:
        super().__init__(openai_setup(f"{__name__}.Router"), second=openai_setup())

    @action(ON_INPUT)
    @staticmethod
    def ask(event: Event, ctx: RunnerContext) -> None:
        ROUTES["second"] = chat_model(ctx, "second")
        answer = chat_model(ctx).chat([ChatMessage(content="hello")])
        ctx.send_event(output(answer.content))


class Router(OpenAIChatModelSetup):
    def chat(self, messages: Any, *args: Any, **kwargs: Any) -> ChatMessage:
        return ROUTES["second"].chat(messages)


ROUTES: dict[str, Any] = {}


def test_a_model_that_asks_another_contains_its_call(instrument, tmp_path):
    provider, exporter = tracing()
    instrument(tracer_provider=provider)

    outcome(AskingTwoModels, fine)

    assert story(log_lines(tmp_path / "log"))[2:6] == [
        "x2 llm model started in x1 because e1",
        "x3 llm second started in x2 because e1",
        "x3 llm second finished in x2 because e1",
        "x2 llm model finished in x1 because e1",
    ]
    assert told_spans(exporter)[2:] == [
        "action ask > chat scripted: UNSET",
        "chat scripted > chat scripted: UNSET",
    ]


def test_a_call_outside_of_any_run_is_not_recorded(instrument, tmp_path):
    provider, exporter = tracing()
    instrument(tracer_provider=provider)

    answer = Own(connection="none", model="scripted").chat([])

    assert answer.content == "fine"
    assert log_lines(tmp_path / "log") == []
    assert exporter.get_finished_spans() == ()


class Conversing(ChatAgent):
    """Asks the framework twice in one action; the answers come to another one."""

    @action(ON_INPUT)
    @staticmethod
    async def ask(event: Event, ctx: RunnerContext) -> None:
        model = chat_model(ctx)
        first = await ctx.durable_execute_async(
            model.chat, [ChatMessage(content="hello")]
        )
        second = ctx.durable_execute(model.chat, [first])
        ctx.send_event(output([first.content, second.content]))


def test_two_durable_calls_of_one_action_are_two_executions(instrument, tmp_path):
    instrument()

    seen = outcome(Conversing, fine)

    assert seen.outputs == [["fine", "fine"]]
    assert story(log_lines(tmp_path / "log"))[1:7] == [
        "x1 action ask started because e1",
        "x2 llm model started in x1 because e1",
        "x2 llm model finished in x1 because e1",
        "x3 llm model started in x1 because e1",
        "x3 llm model finished in x1 because e1",
        "x1 action ask finished because e1",
    ]


def configured(agent_configuration: dict[str, Any]) -> None:
    with scripted(fine):
        local_runner(Asking(), **agent_configuration).run(key="k", value="hello")


KEY = "event-log.execution-content"
VARIABLE = "OTEL_PYTHON_FLINK_AGENTS_EVENT_LOG_EXECUTION_CONTENT"


@pytest.mark.parametrize(
    ("options", "variable", "agent_configuration"),
    [
        ({KEY: False}, None, {}),
        ({KEY: "false"}, None, {}),
        ({}, "false", {}),
        ({}, None, {KEY: "false"}),
        ({}, None, {KEY: False}),
        ({KEY: False}, "true", {KEY: True}),
        ({}, "false", {KEY: True}),
    ],
)
def test_content_can_be_left_out(  # noqa: PLR0917
    instrument, tmp_path, monkeypatch, options, variable, agent_configuration
):
    if variable is not None:
        monkeypatch.setenv(VARIABLE, variable)
    instrument(options=options)

    configured(agent_configuration)

    lines = log_lines(tmp_path / "log")
    attributes = [line["event_attributes"] for line in lines if "status" in line]
    assert attributes == [{}] * 8
    assert lines[0]["event_attributes"] == {"input": "hello"}


@pytest.mark.parametrize(
    ("options", "variable", "agent_configuration"),
    [
        ({}, None, {}),
        ({KEY: True}, "false", {KEY: False}),
        ({}, "true", {KEY: False}),
        ({}, None, {KEY: "on"}),
    ],
)
def test_content_is_there_unless_the_first_source_that_speaks_leaves_it_out(  # noqa: PLR0917
    instrument, tmp_path, monkeypatch, options, variable, agent_configuration
):
    if variable is not None:
        monkeypatch.setenv(VARIABLE, variable)
    instrument(options=options)

    configured(agent_configuration)

    [llm] = ended(log_lines(tmp_path / "log"), "llm")
    assert llm["event_attributes"] == {"output": FINE}
