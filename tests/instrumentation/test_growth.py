"""Nothing of ours grows with the runs, and nothing of the host's is kept alive."""

import gc
import sys
import tracemalloc
import weakref
from collections import Counter
from contextlib import suppress
from pathlib import Path
from warnings import catch_warnings, simplefilter

import pytest
from flink_agents.api.agents.agent import Agent
from flink_agents.api.decorators import action
from flink_agents.api.events.event import Event
from flink_agents.api.runner_context import RunnerContext
from flink_agents.plan.function import PythonFunction
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider

from hosting import ON_INPUT, ON_NOTE, input_of, local_runner, note, output
from opentelemetry.instrumentation.flink_agents import (
    FlinkAgentsInstrumentor,
    _identity,
    uninstrument,
)
from probing import Stage, chat_model, perform, play, tool

pytestmark = pytest.mark.memory

PACKAGES = (
    "flink_agents_eventlog",
    "opentelemetry.exporter.flink_agents",
    "opentelemetry.instrumentation.flink_agents",
)
HERE = {
    str(Path(sys.modules[name].__file__).parent / "*")
    for name in list(sys.modules)
    if name in PACKAGES
}
ROTATED = {"event-log.rotate-bytes": 2**20, "event-log.keep-files": 1}
PROBE = tool(lambda: "result")
MODEL = chat_model(lambda _: "answer")


class Worker(Agent):
    """Two actions, a coroutine among them, a tool, a model and an output."""

    @action(ON_INPUT)
    @staticmethod
    def receive(event: Event, ctx: RunnerContext) -> None:
        PROBE.call()
        ctx.short_term_memory.set("last", input_of(event))
        ctx.sensory_memory.set("seen", ctx.short_term_memory.get("last"))
        ctx.send_event(note(input_of(event)))
        if input_of(event) == "fail":
            raise ValueError("boom")

    @action(ON_NOTE)
    @staticmethod
    async def answer(event: Event, ctx: RunnerContext) -> None:
        await ctx.durable_execute_async(MODEL.chat, [])
        ctx.send_event(output("done"))


class Forever:
    def __await__(self):
        yield


async def hold(event, ctx):
    await Forever()


def counted():
    """What is alive of ours, by type, and how much our containers hold."""
    gc.collect()
    alive = Counter()
    held = 0
    for each in gc.get_objects():
        kind = type(each)
        module = getattr(kind, "__module__", None)
        if isinstance(module, str) and module.startswith(PACKAGES):
            alive[f"{module}.{kind.__qualname__}"] += 1
            if kind is _identity.IdentityMap:
                held += len(each)
            held += sum(map(len, containers_of(each)))
    return alive, held


def containers_of(thing):
    names = [*getattr(thing, "__dict__", ()), *getattr(type(thing), "__slots__", ())]
    values = (getattr(thing, name, None) for name in names)
    return [each for each in values if isinstance(each, dict | list | set)]


def allocated():
    filters = [tracemalloc.Filter(inclusive=True, filename_pattern=h) for h in HERE]
    snapshot = tracemalloc.take_snapshot().filter_traces(filters)
    return sum(each.size for each in snapshot.statistics("filename"))


def more_runs(runner, count, value="succeed"):
    """Over seven keys; the host's outputs, which grow by themselves, are let go."""
    for number in range(count):
        with suppress(ValueError):
            runner.run(key=number % 7, value=value)
    runner.get_outputs().clear()
    gc.collect()


def run_many(count, value):
    runner = local_runner(Worker())
    more_runs(runner, count, value)
    return runner


@pytest.mark.parametrize(("value", "runs"), [("succeed", 1_000), ("fail", 200)])
def test_ten_times_the_runs_leave_no_more_alive(instrument, value, runs):
    instrument(options=ROTATED)

    runner = run_many(100, value)
    kept = run_many(runs, value)
    few = counted()
    del kept
    kept = run_many(10 * runs, value)

    assert counted() == few
    assert runner
    assert kept


def test_our_own_allocations_do_not_grow(instrument):
    instrument(options=ROTATED)
    runner = run_many(100, "succeed")
    tracemalloc.start()
    try:
        more_runs(runner, 100)
        before = allocated()
        more_runs(runner, 1_000)
        after = allocated()
    finally:
        tracemalloc.stop()

    # Two bytes a run would be 2,000.
    assert after - before < 2_000


def test_many_keys_and_runners_leave_nothing_when_they_are_gone(instrument):
    instrument()
    run_many(10, "succeed")
    before = counted()

    for number in range(200):
        local_runner(Worker()).run(key=f"key {number}", value="succeed")

    assert counted() == before


@pytest.mark.parametrize("value", ["succeed", "fail"])
def test_events_contexts_plans_and_errors_of_the_host_die_as_without_us(
    instrument, value
):
    instrument()
    seen = []

    class Passing(ValueError):
        pass

    def body(event, ctx):
        sent = output("x")
        ctx.send_event(sent)
        probe, model = tool(lambda: "result"), chat_model(lambda _: "answer")
        probe.call()
        model.chat([])
        seen.extend(map(weakref.ref, (event, ctx, sent, probe, model)))
        if value == "fail":
            error = Passing("boom")
            seen.append(weakref.ref(error))
            raise error

    runner = local_runner(Stage())
    seen.append(weakref.ref(runner))
    with suppress(Passing):
        perform(runner, body)
    del runner
    gc.collect()

    assert [type(each()).__name__ for each in seen if each() is not None] == []


def test_arguments_and_results_are_not_kept_after_the_call(instrument):
    class Heavy:
        pass

    instrument()
    seen = []

    def call():
        given, answered = Heavy(), Heavy()
        seen.extend(map(weakref.ref, (given, answered)))
        tool(lambda _: answered).call(given)
        chat_model(lambda _: answered).chat([given])

    def body(_, __):
        call()
        gc.collect()
        alive.extend(each() for each in seen)

    alive = []
    play(body)

    assert alive == [None, None]


@pytest.mark.parametrize("steps", [0, 1])
@pytest.mark.parametrize("closed", [True, False], ids=["closed", "dropped"])
def test_a_coroutine_that_is_given_up_leaves_nothing(instrument, steps, closed):
    instrument()

    def body(event, ctx):
        call = PythonFunction(module=hold.__module__, qualname=hold.__name__)
        coroutine = call(event, ctx)
        for _ in range(steps):
            coroutine.send(None)
        if closed:
            coroutine.close()

    with catch_warnings():
        simplefilter("ignore", RuntimeWarning)  # was never awaited
        play(body)
        before = counted()
        for _ in range(50):
            play(body)

    assert counted() == before


def test_instrumenting_again_and_again_leaves_nothing(instrument):
    def cycle():
        provider = TracerProvider()
        instrument(tracer_provider=provider)
        play(lambda _, __: PROBE.call())
        uninstrument()
        provider.shutdown()

    for _ in range(3):
        cycle()
    before = counted()
    for _ in range(20):
        cycle()

    assert counted() == before


def test_after_uninstrument_nothing_of_a_run_is_left(instrument):
    instrument()
    kept = run_many(20, "fail")
    core = weakref.ref(FlinkAgentsInstrumentor()._core)

    uninstrument()
    gc.collect()

    assert core() is None
    assert kept


class Remembering(SpanProcessor):
    """Knows which spans ended, and keeps none of them alive."""

    def __init__(self):
        self.spans = []

    def on_start(self, span, parent_context=None):
        self.spans.append(weakref.ref(span))


def test_the_span_of_a_call_does_not_wait_for_the_garbage_collector(instrument):
    provider, ended = TracerProvider(), Remembering()
    provider.add_span_processor(ended)
    instrument(tracer_provider=provider)
    gc.collect()
    gc.disable()
    try:
        play(lambda _, ctx: PROBE.call())
        alive = {span().name for span in ended.spans if span() is not None}
    finally:
        gc.enable()

    assert len(ended.spans) == 3
    assert "execute_tool probe" not in alive
    provider.shutdown()
