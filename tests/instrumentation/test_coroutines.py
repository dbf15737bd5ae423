"""Actions that are coroutines: polled, interleaved, interrupted, abandoned.

The local runner drives one coroutine to its end before it calls the next action.
Flink polls several of one runner context in turn, and lets go of some for ever; here
an action does it in Flink's place, with the framework's own calls.
"""

import asyncio
import contextvars
import inspect
from types import CoroutineType

import pytest
from flink_agents.api.agents.agent import Agent
from flink_agents.api.decorators import action
from flink_agents.api.events.event import Event
from flink_agents.api.runner_context import RunnerContext
from flink_agents.plan.function import PythonFunction

from chat_agents import ChatAgent, chat_model, scripted, tool_named
from hosting import (
    ON_INPUT,
    ON_NOTE,
    input_of,
    local_runner,
    log_lines,
    note,
    output,
    text_of,
)
from opentelemetry import trace
from scripted_llm import Reply
from telling import story, told_spans, tracing

SETTING = contextvars.ContextVar("setting", default="unset")


class Suspended:
    """What a coroutine waits for: it yields as often as told, then is done."""

    def __init__(self, times=1):
        self.times = times

    def __await__(self):
        yield from range(self.times)
        return "resumed"


def call_action(ctx, name, event):
    """Call the action `name` as a runner does: its coroutine, not yet started."""
    ctx.action_name = name
    function = next(
        action.exec
        for action in ctx._LocalRunnerContext__agent_plan.actions.values()
        if action.name == name
    )
    assert isinstance(function, PythonFunction)
    return function(event, ctx)


class Waiting(Agent):
    @action(ON_INPUT)
    @staticmethod
    async def wait(event: Event, ctx: RunnerContext) -> None:
        resumed = await Suspended(3)
        ctx.send_event(output(f"{resumed} {input_of(event)}"))


def test_a_suspended_action_is_started_once(instrument, tmp_path):
    instrument()

    runner = local_runner(Waiting())
    runner.run(key="k", value="hello")

    assert runner.get_outputs() == [{"k": "resumed hello"}]
    assert story(log_lines(tmp_path / "log")) == [
        "e1 _input_event",
        "x1 action wait started because e1",
        "x1 action wait finished because e1",
        "e2 _output_event from x1 because e1",
    ]


class Polling(ChatAgent):
    """Calls its coroutine actions by hand, as its input says."""

    @action(ON_INPUT)
    @staticmethod
    def poll(event: Event, ctx: RunnerContext) -> None:
        HANDS[input_of(event)](event, ctx)

    @action(ON_NOTE)
    @staticmethod
    async def model_then_tool(event: Event, ctx: RunnerContext) -> None:
        SETTING.set("model_then_tool")
        chat_model(ctx).chat([])
        await Suspended()
        assert SETTING.get() == "model_then_tool"
        tool_named(ctx, "double").call(number=1)

    @action(ON_NOTE)
    @staticmethod
    async def tool_then_model(event: Event, ctx: RunnerContext) -> None:
        SETTING.set("tool_then_model")
        tool_named(ctx, "double").call(number=2)
        await Suspended()
        assert SETTING.get() == "tool_then_model"
        chat_model(ctx).chat([])

    @action(ON_NOTE)
    @staticmethod
    async def insist(event: Event, ctx: RunnerContext) -> None:
        ctx.send_event(output("too early"))
        try:
            await Suspended()
        except asyncio.CancelledError:
            await Suspended()

    @action(ON_NOTE)
    @staticmethod
    async def clean_up(event: Event, ctx: RunnerContext) -> None:
        try:
            await Suspended()
        finally:
            tool_named(ctx, "double").call(number=1)


def step(coroutine):
    try:
        return coroutine.send(None)
    except StopIteration as stop:
        return stop


def interleave(event, ctx):
    first = call_action(ctx, "model_then_tool", event)
    second = call_action(ctx, "tool_then_model", event)
    for coroutine in (first, second, second, first):
        step(coroutine)
    assert SETTING.get() == "unset"


def close(event, ctx):
    coroutine = call_action(ctx, "insist", event)
    coroutine.send(None)
    coroutine.close()


def close_before_the_first_poll(event, ctx):
    call_action(ctx, "insist", event).close()


def close_one_that_cleans_up(event, ctx):
    coroutine = call_action(ctx, "clean_up", event)
    coroutine.send(None)
    coroutine.close()


def rest(event, ctx):
    pass


def throw(event, ctx):
    coroutine = call_action(ctx, "insist", event)
    assert coroutine.send(None) == 0
    assert coroutine.throw(asyncio.CancelledError()) == 0
    with pytest.raises(KeyboardInterrupt):
        coroutine.throw(KeyboardInterrupt())


def let_go(event, ctx):
    coroutine = call_action(ctx, "insist", event)
    coroutine.send(None)
    KEPT.append(coroutine)


def give_up_before_the_first_poll(event, ctx):
    call_action(ctx, "insist", event)


def let_go_and_fail(event, ctx):
    ctx.send_event(note("before"))
    let_go(event, ctx)
    ctx.send_event(note("after"))
    raise KeyboardInterrupt


KEPT = []
HANDS = {
    hand.__name__: hand
    for hand in (
        interleave,
        close,
        close_before_the_first_poll,
        give_up_before_the_first_poll,
        throw,
        let_go,
        let_go_and_fail,
        close_one_that_cleans_up,
        rest,
    )
}


@pytest.fixture
def poll(instrument, tmp_path):
    """Run `Polling` with one of `HANDS`; the story after its own first records."""
    provider, exporter = tracing()
    instrument(tracer_provider=provider)

    def run(hand):
        with scripted(lambda _: Reply.text("fine")):
            local_runner(Polling()).run(key="k", value=hand)
        return story(log_lines(tmp_path / "log")), exporter

    yield run
    KEPT.clear()


def test_interleaved_actions_keep_their_own_children(poll):
    told, exporter = poll("interleave")

    assert told == [
        "e1 _input_event",
        "x1 action poll started because e1",
        "x2 action model_then_tool started because e1",
        "x3 action tool_then_model started because e1",
        "x4 llm model started in x2 because e1",
        "x4 llm model finished in x2 because e1",
        "x5 tool double started in x3 because e1",
        "x5 tool double finished in x3 because e1",
        "x6 llm model started in x3 because e1",
        "x6 llm model finished in x3 because e1",
        "x3 action tool_then_model finished because e1",
        "x7 tool double started in x2 because e1",
        "x7 tool double finished in x2 because e1",
        "x2 action model_then_tool finished because e1",
        "x1 action poll finished because e1",
    ]
    assert told_spans(exporter) == [
        "> invoke_agent Polling: UNSET",
        "invoke_agent Polling > action poll: UNSET",
        "invoke_agent Polling > action model_then_tool: UNSET",
        "invoke_agent Polling > action tool_then_model: UNSET",
        "action model_then_tool > chat scripted: UNSET",
        "action tool_then_model > execute_tool double: UNSET",
        "action tool_then_model > chat scripted: UNSET",
        "action model_then_tool > execute_tool double: UNSET",
    ]


@pytest.mark.parametrize("hand", ["close", "let_go"])
def test_an_abandoned_action_has_no_terminal_record(poll, hand):
    told, exporter = poll(hand)

    assert told == [
        "e1 _input_event",
        "x1 action poll started because e1",
        "x2 action insist started because e1",
        "x1 action poll finished because e1",
    ]
    insist = next(
        span for span in exporter.get_finished_spans() if span.name == "action insist"
    )
    assert insist.status.status_code.name == "UNSET"
    assert insist.attributes["flink_agents.execution.incomplete"] is True
    run = exporter.get_finished_spans()[-1]
    assert run.name == "invoke_agent Polling"
    assert run.status.status_code.name == "UNSET"
    assert "flink_agents.execution.incomplete" not in run.attributes


def test_an_action_let_go_says_nothing_when_it_is_closed_later(poll, tmp_path, caplog):
    told, exporter = poll("let_go")

    KEPT.pop().close()

    assert story(log_lines(tmp_path / "log")) == told
    names = [span.name for span in exporter.get_finished_spans()]
    assert names.count("action insist") == 1
    assert "ended span" not in caplog.text


def test_an_action_let_go_says_nothing_when_it_fails_later(poll, tmp_path, caplog):
    told, exporter = poll("let_go")

    with pytest.raises(LookupError):
        KEPT.pop().throw(LookupError("too late"))

    assert story(log_lines(tmp_path / "log")) == told
    assert told_spans(exporter)[2] == "invoke_agent Polling > action insist: UNSET"
    assert "ended span" not in caplog.text


def test_an_action_let_go_and_closed_later_leaves_nothing_over(instrument, tmp_path):
    instrument()
    runner = local_runner(Polling())

    runner.run(key="k", value="let_go")
    KEPT.pop().close()
    runner.run(key="k", value="rest")

    assert story(log_lines(tmp_path / "log"))[4:] == [
        "r2 e2 _input_event",
        "r2 x3 action poll started because e2",
        "r2 x3 action poll finished because e2",
    ]


def test_a_closed_action_cleans_up_in_its_own_context(poll):
    told, _ = poll("close_one_that_cleans_up")

    assert told[2:] == [
        "x2 action clean_up started because e1",
        "x3 tool double started in x2 because e1",
        "x3 tool double finished in x2 because e1",
        "x1 action poll finished because e1",
    ]


def test_an_action_closed_before_its_first_step_is_abandoned(poll):
    told, exporter = poll("close_before_the_first_poll")

    assert told == [
        "e1 _input_event",
        "x1 action poll started because e1",
        "x2 action insist started because e1",
        "x1 action poll finished because e1",
    ]
    assert told_spans(exporter)[2] == "invoke_agent Polling > action insist: UNSET"


def test_python_warns_once_of_an_action_that_nobody_polls(poll):
    with pytest.warns(RuntimeWarning) as warned:
        poll("give_up_before_the_first_poll")

    assert [str(warning.message) for warning in warned] == [
        "coroutine 'Polling.insist' was never awaited"
    ]


def test_what_is_thrown_into_a_coroutine_reaches_it(poll):
    told, _ = poll("throw")

    assert told == [
        "e1 _input_event",
        "x1 action poll started because e1",
        "x2 action insist started because e1",
        "x2 action insist failed because e1",
        "x1 action poll finished because e1",
    ]


class Closing(Agent):
    @action(ON_INPUT)
    @staticmethod
    def receive(event: Event, ctx: RunnerContext) -> None:
        ctx.send_event(note("go on"))

    @action(ON_NOTE)
    @staticmethod
    async def leave(event: Event, ctx: RunnerContext) -> None:
        ctx.send_event(output("never reached"))
        await Suspended()
        raise GeneratorExit(text_of(event))


def test_generator_exit_is_no_failure(instrument, tmp_path):
    provider, exporter = tracing()
    instrument(tracer_provider=provider)

    with pytest.raises(GeneratorExit, match="go on"):
        local_runner(Closing()).run(key="k", value="hello")

    assert story(log_lines(tmp_path / "log")) == [
        "e1 _input_event",
        "x1 action receive started because e1",
        "x1 action receive finished because e1",
        "e2 note from x1 because e1",
        "x2 action leave started because e2",
    ]
    spans = {span.name: span for span in exporter.get_finished_spans()}
    leave = spans["action leave"]
    assert leave.attributes["flink_agents.execution.incomplete"] is True
    assert leave.status.status_code.name == "UNSET"


class Breaking(ChatAgent):
    @action(ON_INPUT)
    @staticmethod
    async def ask(event: Event, ctx: RunnerContext) -> None:
        ctx.send_event(output("never reached"))
        await ctx.durable_execute_async(tool_named(ctx, "double").call, number=1)
        await Suspended()
        raise LookupError("in the middle")


def test_an_action_that_raises_in_the_middle_keeps_what_ran_before(
    instrument, tmp_path
):
    instrument()

    with pytest.raises(LookupError, match="in the middle"):
        local_runner(Breaking()).run(key="k", value="hello")

    lines = log_lines(tmp_path / "log")
    assert story(lines) == [
        "e1 _input_event",
        "x1 action ask started because e1",
        "x2 tool double started in x1 because e1",
        "x2 tool double finished in x1 because e1",
        "x1 action ask failed because e1",
    ]
    assert lines[-1]["event_attributes"] == {
        "error_type": "LookupError",
        "error_message": "in the middle",
    }


class Native(Agent):
    @action(ON_INPUT)
    @staticmethod
    def poll(event: Event, ctx: RunnerContext) -> None:
        coroutine = call_action(ctx, "wait", event)
        SEEN.update(
            type=type(coroutine),
            iscoroutine=inspect.iscoroutine(coroutine),
            name=coroutine.__name__,
            qualname=coroutine.__qualname__,
            before=trace.get_current_span(),
        )
        step(coroutine)
        SEEN["after"] = trace.get_current_span()
        step(coroutine)

    @action(ON_NOTE)
    @staticmethod
    async def wait(event: Event, ctx: RunnerContext) -> None:
        await Suspended()
        SEEN["within"] = trace.get_current_span()


SEEN = {}


def test_the_host_gets_a_native_coroutine_whose_span_is_current_only_inside(instrument):
    provider, _ = tracing()
    instrument(tracer_provider=provider)

    local_runner(Native()).run(key="k", value="hello")

    assert SEEN["type"] is CoroutineType
    assert SEEN["iscoroutine"]
    assert (SEEN["name"], SEEN["qualname"]) == ("wait", "Native.wait")
    assert SEEN["before"] is SEEN["after"]
    assert SEEN["before"].name == "action poll"
    assert SEEN["within"].name == "action wait"


def test_events_of_an_action_that_its_failed_run_let_go_of_are_leftovers(
    instrument, tmp_path
):
    instrument()
    with scripted(lambda _: Reply.text("fine")):
        runner = local_runner(Polling())

        with pytest.raises(KeyboardInterrupt):
            runner.run(key="k", value="let_go_and_fail")
        KEPT.pop().close()
        runner.run(key="k", value="rest")

    assert story(log_lines(tmp_path / "log"))[:8] == [
        "e1 _input_event",
        "x1 action poll started because e1",
        "x2 action insist started because e1",
        "x1 action poll failed because e1",
        "r2 e2 _input_event",
        "r2 e3 note from x1 because e1",
        "r2 e4 _output_event from x2 because e1",
        "r2 e5 note from x1 because e1",
    ]
