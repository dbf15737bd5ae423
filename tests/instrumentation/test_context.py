"""Contexts: OpenTelemetry's and Python's own stay where they belong."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from itertools import pairwise

import pytest
from flink_agents.api.agents.agent import Agent
from flink_agents.api.decorators import action
from flink_agents.api.events.event import Event
from flink_agents.api.runner_context import RunnerContext
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from hosting import (
    ON_INPUT,
    ON_NOTE,
    brief,
    local_runner,
    log_lines,
    note,
    output,
)
from opentelemetry import baggage, trace
from opentelemetry import context as otel_context
from probing import CoroutineStage, Stage, chat_model, perform, play, tool

MODEL = getattr(chat_model(), "model", "ProbeModel")  # 0.2 does not know the model
COLOUR: ContextVar[str] = ContextVar("colour", default="none")
SEEN: list[str] = []


class Painter(Agent):
    """Each action says what it sees and leaves a colour of its own."""

    @action(ON_INPUT)
    @staticmethod
    def first(event: Event, ctx: RunnerContext) -> None:
        SEEN.append(COLOUR.get())
        COLOUR.set("red")
        ctx.send_event(note("paint"))

    @action(ON_NOTE)
    @staticmethod
    async def second(event: Event, ctx: RunnerContext) -> None:
        SEEN.append(COLOUR.get())
        COLOUR.set("green")
        await ctx.durable_execute_async(COLOUR.set, "blue")
        SEEN.append(COLOUR.get())
        ctx.send_event(output("painted"))


@pytest.fixture
def spans(instrument):
    """Instrument with a provider; return what gives its ended spans by name."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    instrument(tracer_provider=provider)

    def ended():
        return {span.name: span for span in exporter.get_finished_spans()}

    ended.all = exporter.get_finished_spans
    ended.tracer = provider.get_tracer("application")
    return ended


def test_what_an_action_sets_reaches_neither_the_next_one_nor_the_caller(instrument):
    instrument()
    SEEN.clear()

    def run():
        COLOUR.set("of the caller")
        local_runner(Painter()).run(key="k", value="v")
        SEEN.append(COLOUR.get())

    copy_context().run(run)

    assert SEEN == ["of the caller", "of the caller", "blue", "of the caller"]


def test_inside_one_action_what_is_set_stays_set(instrument):
    instrument()

    async def body(_, ctx):
        def call():
            COLOUR.set("set by a tool")

        tool(call).call()
        chat_model(lambda _: SEEN.append(COLOUR.get())).chat([])
        token = COLOUR.set("again")
        await ctx.durable_execute_async(lambda: None)
        SEEN.append(COLOUR.get())
        COLOUR.reset(token)
        SEEN.append(COLOUR.get())

    SEEN.clear()
    play(body, agent=CoroutineStage)

    assert SEEN == ["set by a tool", "again", "set by a tool"]


def test_the_ambient_span_is_the_parent_of_the_run(spans):
    with spans.tracer.start_as_current_span("request") as request:
        play(lambda _, __: None)

    found = spans()
    assert found["invoke_agent Stage"].parent == request.get_span_context()
    assert found["action act"].parent == found["invoke_agent Stage"].context


def test_a_span_of_the_user_inside_an_action_is_the_parent_of_the_tools(spans):
    def body(_, __):
        with spans.tracer.start_as_current_span("lookup"):
            tool(lambda: None).call()
        tool(lambda: None).call()

    play(body)

    found = spans()
    first, second = (each for each in spans.all() if "execute_tool" in each.name)
    assert found["lookup"].parent == found["action act"].context
    assert first.parent == found["lookup"].context
    assert second.parent == found["action act"].context


def test_spans_nest_as_the_calls_do(spans):
    def asking(_):
        with spans.tracer.start_as_current_span("http"):
            tool(lambda: None).call()

    def body(_, __):
        with spans.tracer.start_as_current_span("step"):
            chat_model(asking).chat([])

    play(body)

    found = spans()
    path = [
        "execute_tool probe",
        "http",
        f"chat {MODEL}",
        "step",
        "action act",
        "invoke_agent Stage",
    ]
    for inner, outer in pairwise(path):
        assert found[inner].parent == found[outer].context
    assert found[path[-1]].parent is None


def test_ambient_baggage_is_visible_in_actions_tools_and_models(instrument):
    instrument()
    seen = []

    async def body(_, ctx):
        seen.append(baggage.get_baggage("tenant"))
        tool(lambda: seen.append(baggage.get_baggage("tenant"))).call()
        chat_model(lambda _: seen.append(baggage.get_baggage("tenant"))).chat([])
        await ctx.durable_execute_async(
            lambda: seen.append(baggage.get_baggage("tenant"))
        )

    token = otel_context.attach(baggage.set_baggage("tenant", "blue"))
    try:
        play(body, agent=CoroutineStage)
    finally:
        otel_context.detach(token)

    assert seen == ["blue"] * 4


def fail():
    raise ValueError("boom")


def interrupt():
    raise KeyboardInterrupt


@pytest.mark.parametrize("agent", [Stage, CoroutineStage])
@pytest.mark.parametrize("ending", [str, fail, interrupt])
def test_after_a_run_the_context_is_what_it_was(instrument, caplog, ending, agent):
    instrument()
    tracer = TracerProvider().get_tracer("application")

    def body(_, __):
        otel_context.attach(otel_context.set_value("left", "attached by the action"))
        tool(ending).call()

    async def awaited(_, __):
        body(_, __)

    with tracer.start_as_current_span("request") as request:
        before = otel_context.get_current()
        try:
            play(body if agent is Stage else awaited, agent=agent)
        except BaseException as error:  # noqa: BLE001
            assert type(error) in {ValueError, KeyboardInterrupt}  # noqa: PT017
        assert otel_context.get_current() is before
        assert trace.get_current_span() is request
    assert [each for each in caplog.records if "detach" in each.getMessage()] == []


def test_after_a_tool_that_fails_the_action_is_current_again(spans):
    current = []

    def body(_, __):
        around = trace.get_current_span()
        with pytest.raises(ValueError, match="boom"):
            tool(fail).call()
        with pytest.raises(ValueError, match="boom"):
            chat_model(lambda _: fail()).chat([])
        current.append(trace.get_current_span() is around)

    play(body)

    assert current == [True]


def test_a_run_inside_an_action_is_a_run_of_its_own_below_the_action(spans, tmp_path):
    def inner(_, __):
        tool(lambda: None).call()

    def outer(_, __):
        perform(local_runner(Stage()), inner, key="inner")
        chat_model(lambda _: None).chat([])

    play(outer, key="outer")

    key = "flink_agents.business_key"
    of = {(span.name, span.attributes[key]): span for span in spans.all()}
    inner_run = of["invoke_agent Stage", "inner"]
    assert inner_run.parent == of["action act", "outer"].context
    assert of["action act", "inner"].parent == inner_run.context
    assert of[f"chat {MODEL}", "outer"].parent == of["action act", "outer"].context
    lines = log_lines(tmp_path / "log")
    inner_act = next(
        line
        for line in lines
        if line["business_key"] == "inner" and line.get("entity_name") == "act"
    )
    assert "parent_execution_id" not in inner_act
    assert len({line["input_run_id"] for line in lines}) == 2


def test_tools_called_from_threads_of_the_user(instrument, tmp_path):
    """With the context of the action they are its own; without one nobody's."""
    instrument()
    results = []

    def body(_, __):
        probe = tool(lambda n: n)
        with ThreadPoolExecutor(2) as pool:
            carried = [pool.submit(copy_context().run, probe.call, n) for n in (1, 2)]
            bare = [pool.submit(probe.call, n) for n in (3, 4)]
            results.extend(each.result() for each in [*carried, *bare])

    play(body)

    assert results == [1, 2, 3, 4]
    lines = log_lines(tmp_path / "log")
    started = [line for line in lines if line.get("status") == "started"]
    act, *tools = started
    assert act["entity_name"] == "act"
    assert sorted(each["event_attributes"]["input"]["args"][0] for each in tools) == [
        1,
        2,
    ]
    assert {each["parent_execution_id"] for each in tools} == {act["execution_id"]}


def test_an_event_that_a_thread_of_the_user_sends_is_sent_and_recorded(
    instrument, tmp_path
):
    instrument()

    def body(_, ctx):
        thread = threading.Thread(target=ctx.send_event, args=(output("late"),))
        thread.start()
        thread.join()

    runner = play(body)

    assert runner.get_outputs() == [{"k": "late"}]
    assert "_output_event" in brief(log_lines(tmp_path / "log"))


def test_runs_in_several_threads_do_not_meet(instrument, tmp_path):
    instrument()
    runners = [local_runner(Painter()) for _ in range(8)]
    barrier = threading.Barrier(len(runners))

    def run(number):
        barrier.wait()
        for n in range(5):
            runners[number].run(key=f"key {number}", value=n)

    with ThreadPoolExecutor(len(runners)) as pool:
        list(pool.map(run, range(len(runners))))

    lines = log_lines(tmp_path / "log")
    runs = {}
    for line in lines:
        runs.setdefault(line["input_run_id"], []).append(line)
    assert len(runs) == 8 * 5
    for of_one in runs.values():
        assert len({line["business_key"] for line in of_one}) == 1
        assert [
            line["status"]
            for line in of_one
            if line.get("entity_type") and "status" in line
        ] == ["started", "finished", "started", "finished"]
