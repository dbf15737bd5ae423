"""Durable calls: an execution is what the called function does, when it does it."""

import asyncio
from typing import Any

import pytest
from flink_agents.api.decorators import action
from flink_agents.api.events.event import Event
from flink_agents.api.runner_context import RunnerContext
from flink_agents.api.tools.tool import Tool, ToolMetadata, ToolType
from pydantic import create_model

from chat_agents import ChatAgent, scripted, tool_named
from hosting import ON_INPUT, input_of, local_runner, log_lines, output
from scripted_llm import Reply
from telling import story, told_spans, tracing


async def awaited(ctx: RunnerContext) -> object:
    return await ctx.durable_execute_async(tool_named(ctx, "double").call, number=1)


async def synchronous(ctx: RunnerContext) -> object:
    return ctx.durable_execute(tool_named(ctx, "double").call, number=1)


async def never_awaited(ctx: RunnerContext) -> object:
    ctx.durable_execute_async(tool_named(ctx, "double").call, number=1)
    return "went on"


async def awaited_late(ctx: RunnerContext) -> object:
    double = tool_named(ctx, "double").call
    first = ctx.durable_execute_async(double, number=1)
    second = ctx.durable_execute_async(double, number=2)
    return [await second, await first]


async def caught(ctx: RunnerContext) -> object:
    try:
        await ctx.durable_execute_async(tool_named(ctx, "refuse").call, reason="no")
    except PermissionError as error:
        return f"refused: {error}"


async def never_awaited_failure(ctx: RunnerContext) -> object:
    ctx.durable_execute_async(tool_named(ctx, "refuse").call, reason="no")
    return "went on"


async def no_entity(ctx: RunnerContext) -> object:
    return [ctx.durable_execute(str, 1), await ctx.durable_execute_async(str, 2)]


async def inside_a_function(ctx: RunnerContext) -> object:
    double = tool_named(ctx, "double")
    return ctx.durable_execute(lambda number: double.call(number=number), 1)


class Raising(Tool):
    """Raises what it is given."""

    def __init__(self) -> None:
        super().__init__(
            metadata=ToolMetadata(
                name="raising", description="", args_schema=create_model("Arguments")
            )
        )

    @classmethod
    def tool_type(cls) -> ToolType:
        return ToolType.FUNCTION

    def call(self, *_: Any, **kwargs: Any) -> Any:
        raise kwargs["error"]


CALLS = {
    call.__name__: call
    for call in (
        awaited,
        synchronous,
        never_awaited,
        awaited_late,
        caught,
        never_awaited_failure,
        no_entity,
        inside_a_function,
    )
}


class Durable(ChatAgent):
    @action(ON_INPUT)
    @staticmethod
    async def call(event: Event, ctx: RunnerContext) -> None:
        ctx.send_event(output(await CALLS[input_of(event)](ctx)))


class DurableInPlainFunction(ChatAgent):
    @action(ON_INPUT)
    @staticmethod
    def call(event: Event, ctx: RunnerContext) -> None:
        try:
            CALLS[input_of(event)](ctx).send(None)
        except StopIteration as stop:
            ctx.send_event(output(stop.value))


def run(agent, name):
    with scripted(lambda _: Reply.text("fine")):
        runner = local_runner(agent())
        runner.run(key="k", value=name)
    return runner.get_outputs()[0]["k"]


DOUBLED = [
    "x2 tool double started in x1 because e1",
    "x2 tool double finished in x1 because e1",
]
REFUSED = [
    "x2 tool refuse started in x1 because e1",
    "x2 tool refuse failed in x1 because e1",
]
BEGIN = ["e1 _input_event", "x1 action call started because e1"]
END = ["x1 action call finished because e1", "e2 _output_event from x1 because e1"]


@pytest.mark.parametrize("agent", [Durable, DurableInPlainFunction])
@pytest.mark.parametrize(
    ("name", "result", "told"),
    [
        ("awaited", 2, DOUBLED),
        ("synchronous", 2, DOUBLED),
        # The local runner runs an asynchronous call at once, awaited or not.
        ("never_awaited", "went on", DOUBLED),
        (
            "awaited_late",
            [4, 2],
            [
                *DOUBLED,
                "x3 tool double started in x1 because e1",
                "x3 tool double finished in x1 because e1",
            ],
        ),
        ("caught", "refused: no", REFUSED),
        ("never_awaited_failure", "went on", REFUSED),
        ("no_entity", ["1", "2"], []),
        ("inside_a_function", 2, DOUBLED),
    ],
)
def test_a_durable_call_is_told_where_it_runs(  # noqa: PLR0917
    instrument, tmp_path, agent, name, result, told
):
    instrument()

    assert run(agent, name) == result

    assert story(log_lines(tmp_path / "log")) == [*BEGIN, *told, *END]


def test_a_handled_failure_of_a_tool_fails_neither_action_nor_run(instrument):
    provider, exporter = tracing()
    instrument(tracer_provider=provider)

    run(Durable, "caught")

    assert told_spans(exporter) == [
        "> invoke_agent Durable: UNSET",
        "invoke_agent Durable > action call: UNSET",
        "action call > execute_tool refuse: ERROR",
    ]


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt("stop"), SystemExit("stop"), asyncio.CancelledError()]
)
@pytest.mark.parametrize("agent", [Durable, DurableInPlainFunction])
def test_what_interrupts_a_tool_fails_all_around_it(instrument, tmp_path, agent, error):
    instrument()

    async def interrupted(ctx):
        return ctx.durable_execute(Raising().call, error=error)

    CALLS["interrupted"] = interrupted
    with pytest.raises(type(error)) as raised:
        run(agent, "interrupted")

    assert raised.value is error
    assert story(log_lines(tmp_path / "log")) == [
        *BEGIN,
        "x2 tool raising started in x1 because e1",
        "x2 tool raising failed in x1 because e1",
        "x1 action call failed because e1",
    ]
