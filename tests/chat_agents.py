"""Agents that ask a chat model, and the scripted model that answers them.

They say `ON_ANSWER` and `chat_request(...)` and run on 0.2 as on 0.3.
"""

import contextlib
import os
from collections.abc import Iterator
from typing import Any, NamedTuple
from unittest.mock import patch
from uuid import uuid4

from flink_agents.api.agents.agent import STRUCTURED_OUTPUT, Agent
from flink_agents.api.agents.react_agent import OutputSchema
from flink_agents.api.chat_message import ChatMessage
from flink_agents.api.decorators import action
from flink_agents.api.events.chat_event import ChatRequestEvent, ChatResponseEvent
from flink_agents.api.events.event import Event
from flink_agents.api.events.tool_event import ToolRequestEvent
from flink_agents.api.resource import ResourceDescriptor, ResourceType
from flink_agents.api.runner_context import RunnerContext
from flink_agents.api.tools.tool import Tool
from pydantic import BaseModel

from hosting import ON_INPUT, TYPED_EVENTS, input_of, local_runner, output
from scripted_llm import ScriptedLLM

_OPENAI = "flink_agents.integrations.chat_models.openai.openai_chat_model"

ON_ANSWER = ChatResponseEvent if TYPED_EVENTS else ChatResponseEvent.EVENT_TYPE


def answer_of(event: Event) -> ChatMessage:
    if TYPED_EVENTS:
        return event.response
    return ChatResponseEvent.from_event(event).response


def chat_request(
    text: str, *, model: str = "model", schema: type[BaseModel] | None = None
) -> Event:
    return ChatRequestEvent(
        model=model,
        messages=[ChatMessage(content=text)],
        output_schema=OutputSchema(output_schema=schema) if schema else None,
    )


def tool_request(*calls: tuple[str, dict[str, Any]]) -> Event:
    return ToolRequestEvent(
        model="model",
        tool_calls=[
            {"id": uuid4(), "function": {"name": name, "arguments": arguments}}
            for name, arguments in calls
        ],
    )


def openai_connection() -> ResourceDescriptor:
    """The client tries once: repeating is left to the host."""
    return ResourceDescriptor(
        clazz=f"{_OPENAI}.OpenAIChatModelConnection",
        api_base_url=os.environ.get("OPENAI_BASE_URL", "http://127.0.0.1:9"),
        api_key="unused",
        max_retries=0,
    )


def openai_setup(
    clazz: str = f"{_OPENAI}.OpenAIChatModelSetup", **arguments: Any
) -> ResourceDescriptor:
    return ResourceDescriptor(
        clazz=clazz, connection="connection", model="scripted", **arguments
    )


def chat_model(ctx: RunnerContext, name: str = "model") -> Any:
    return ctx.get_resource(name, ResourceType.CHAT_MODEL)


def tool_named(ctx: RunnerContext, name: str) -> Any:
    return ctx.get_resource(name, ResourceType.TOOL)


@contextlib.contextmanager
def scripted(replies: Any) -> Iterator[ScriptedLLM]:
    """Serve `replies`; agents applied inside ask this server."""
    with ScriptedLLM(replies) as server:
        # A proxy, if one is configured, cannot reach the loopback address.
        loopback = dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1")
        with patch.dict(os.environ, loopback, OPENAI_BASE_URL=server.base_url):
            yield server


class ChatAgent(Agent):
    """What the agents here have in common: a model, its connection, two tools.

    Args:
        setup: the model, if it is not a plain one.
        resources: further chat models and tools by their names.
    """

    def __init__(
        self, setup: ResourceDescriptor | None = None, **resources: Any
    ) -> None:
        super().__init__()
        self.add_resource(
            "connection", ResourceType.CHAT_MODEL_CONNECTION, openai_connection()
        )
        self.add_resource("model", ResourceType.CHAT_MODEL, setup or openai_setup())
        for function in (double, refuse):
            self.add_resource(
                function.__name__, ResourceType.TOOL, Tool.from_callable(function)
            )
        for name, resource in resources.items():
            is_model = isinstance(resource, ResourceDescriptor)
            kind = ResourceType.CHAT_MODEL if is_model else ResourceType.TOOL
            self.add_resource(name, kind, resource)


def double(number: int) -> int:
    """Double a number.

    :param number: The number.
    """
    return 2 * number


def refuse(reason: str) -> str:
    """Refuse.

    :param reason: The reason.
    """
    raise PermissionError(reason)


class Asking(ChatAgent):
    """Passes its input to the model and the answer on."""

    @action(ON_INPUT)
    @staticmethod
    def ask(event: Event, ctx: RunnerContext) -> None:
        ctx.send_event(chat_request(input_of(event)))

    @action(ON_ANSWER)
    @staticmethod
    def reply(event: Event, ctx: RunnerContext) -> None:
        ctx.send_event(output(answer_of(event).content))


class Answer(BaseModel):
    result: int


class Structured(ChatAgent):
    """Asks the model for an `Answer`."""

    @action(ON_INPUT)
    @staticmethod
    def ask(event: Event, ctx: RunnerContext) -> None:
        ctx.send_event(chat_request(input_of(event), schema=Answer))

    @action(ON_ANSWER)
    @staticmethod
    def reply(event: Event, ctx: RunnerContext) -> None:
        ctx.send_event(output(answer_of(event).extra_args[STRUCTURED_OUTPUT].result))


class Outcome(NamedTuple):
    """What a user sees of a run, whether or not it is instrumented."""

    outputs: list[Any]
    error: str | None
    requests: list[dict[str, Any]]


def outcome(agent: type[Agent], replies: Any, **configuration: Any) -> Outcome:
    """Run `agent` once, key "k" and value "hello", against `replies`."""
    error = None
    with scripted(replies) as server:
        runner = local_runner(agent(), **configuration)
        try:
            runner.run(key="k", value="hello")
        except Exception as raised:  # noqa: BLE001  # it is what is compared
            error = f"{type(raised).__name__}: {raised}"
        outputs = [
            value for output in runner.get_outputs() for value in output.values()
        ]
        return Outcome(outputs, error, [request.body for request in server.requests])


RETRYING = {
    "error-handling-strategy": "retry",
    "max-retries": 2,
    "retry-wait-interval": 0,
}
