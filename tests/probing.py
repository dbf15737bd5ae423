"""Code of a test inside an action, a tool and a chat model of the real host.

The host finds actions by name, so the agents stand in a module; what they do is
what the test hands to `play`.
"""

from collections.abc import Callable
from typing import Any

from flink_agents.api.agents.agent import Agent
from flink_agents.api.chat_models.chat_model import BaseChatModelSetup
from flink_agents.api.decorators import action
from flink_agents.api.events.event import Event
from flink_agents.api.runner_context import RunnerContext
from flink_agents.api.tools.tool import Tool, ToolMetadata, ToolType
from pydantic import BaseModel, PrivateAttr

from hosting import ON_INPUT, local_runner

_BODY: list[Callable[[Event, RunnerContext], Any]] = []


def body() -> Callable[[Event, RunnerContext], Any]:
    """Return what the test wants done in an action."""
    return _BODY[-1]


class Stage(Agent):
    @action(ON_INPUT)
    @staticmethod
    def act(event: Event, ctx: RunnerContext) -> None:
        return _BODY[-1](event, ctx)


class CoroutineStage(Agent):
    @action(ON_INPUT)
    @staticmethod
    async def act(event: Event, ctx: RunnerContext) -> None:
        return await _BODY[-1](event, ctx)


def play(
    body: Callable[[Event, RunnerContext], Any],
    *,
    agent: type[Agent] = Stage,
    key: Any = "k",
    value: Any = "hello",
) -> Any:
    """Run `body` as the action of `agent`; return the runner."""
    runner = local_runner(agent())
    perform(runner, body, key=key, value=value)
    return runner


def perform(
    runner: Any,
    body: Callable[[Event, RunnerContext], Any],
    *,
    key: Any = "k",
    value: Any = "hello",
) -> Any:
    """Run `body` as the action of the agent of `runner`; return what `run` does."""
    _BODY.append(body)
    try:
        return runner.run(key=key, value=value)
    finally:
        _BODY.pop()


class NoArguments(BaseModel):
    pass


def metadata(name: str) -> ToolMetadata:
    return ToolMetadata(name=name, description="", args_schema=NoArguments)


class ProbeTool(Tool):
    """Does what the test says."""

    _body: Any = PrivateAttr(default=None)

    @classmethod
    def tool_type(cls) -> ToolType:
        return ToolType.FUNCTION

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Call the body."""
        return self._body(*args, **kwargs)


def tool(body: Callable[..., Any] | None = None, *, name: str = "probe") -> ProbeTool:
    made = ProbeTool(metadata=metadata(name))
    made._body = body
    return made


class ProbeModel(BaseChatModelSetup):
    """Answers what the test says."""

    _body: Any = PrivateAttr(default=None)

    @property
    def model_kwargs(self) -> dict[str, Any]:
        return {}

    def chat(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
        """Ask the body."""
        return self._body(messages, *args, **kwargs)


def chat_model(body: Callable[..., Any] | None = None) -> ProbeModel:
    made = ProbeModel(connection="none", model="probe-1")
    made._body = body
    return made
