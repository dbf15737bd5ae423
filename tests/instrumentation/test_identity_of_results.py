"""What the host's calls return and raise is what they return and raise without us."""

import asyncio
import inspect
import sys
import traceback
from contextlib import suppress
from contextvars import copy_context
from pathlib import Path

import pytest
from flink_agents.plan.function import PythonFunction
from hypothesis import given
from hypothesis import strategies as st

from hosting import local_runner
from opentelemetry.instrumentation.flink_agents._coroutines import driven
from probing import CoroutineStage, Stage, chat_model, perform, play, tool

pytestmark = pytest.mark.memory

OURS = (
    str(Path("opentelemetry", "instrumentation", "flink_agents")),
    str(Path("opentelemetry", "exporter", "flink_agents")),
    "wrapt",
)


def in_an_action(raising):
    play(lambda _, __: raising())


def in_a_coroutine(raising):
    async def body(_, __):
        raising()

    play(body, agent=CoroutineStage)


def in_a_tool(raising):
    play(lambda _, __: tool(raising).call())


def in_a_chat_model(raising):
    play(lambda _, __: chat_model(lambda _: raising()).chat([]))


def in_a_durable_call(raising):
    play(lambda _, ctx: ctx.durable_execute(raising))


def in_a_durable_tool_call(raising):
    play(lambda _, ctx: ctx.durable_execute(tool(raising).call))


def in_an_awaited_durable_call(raising):
    async def body(_, ctx):
        await ctx.durable_execute_async(raising)

    play(body, agent=CoroutineStage)


def in_an_action_in_an_action(raising):
    play(lambda _, __: play(lambda _, __: raising()))


# With the functions of ours that stand in the traceback.
PLACES = {
    in_an_action: ["run", "call"],
    in_a_coroutine: ["run", "_drive", "__await__"],
    in_a_tool: ["run", "call", "call"],
    in_a_chat_model: ["run", "call", "chat"],
    in_a_durable_call: ["run", "call", "durable"],
    in_a_durable_tool_call: ["run", "call", "durable", "call"],
    in_an_awaited_durable_call: ["run", "_drive", "__await__"],
    in_an_action_in_an_action: ["run", "call", "run", "call"],
}


class Interruption(BaseException):
    pass


ERRORS = [
    ValueError,
    RuntimeError,
    StopIteration,
    StopAsyncIteration,
    asyncio.CancelledError,
    KeyboardInterrupt,
    SystemExit,
    GeneratorExit,
    Interruption,
]


def outcome(place, kind):
    """What arrives of an error, and the names of our frames in its traceback."""
    cause, context = KeyError("cause"), OSError("context")
    error = kind("boom", 7)
    error.extra = cause

    def raising():
        try:
            raise context
        except OSError:
            raise error from cause

    try:
        place(raising)
    except BaseException as caught:  # noqa: BLE001
        frames = traceback.extract_tb(caught.__traceback__)
        ours = [each for each in frames if any(part in each.filename for part in OURS)]
        others = [each for each in frames if each not in ours]
        facts = {
            "type": type(caught),
            "same": caught is error,
            "cause": caught.__cause__ is cause,
            "context": caught.__context__ is context,
            "suppressed": caught.__suppress_context__,
            "args": caught.args,
            "extra": getattr(caught, "extra", None) is cause,
            "frames": [(each.filename, each.lineno, each.name) for each in others],
        }
        return facts, [each.name for each in ours]
    return None, []


@pytest.mark.parametrize("kind", ERRORS)
@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
def test_an_error_arrives_as_it_does_without_us(instrument, place, kind):
    bare, _ = outcome(place, kind)

    instrument()
    ours, _ = outcome(place, kind)

    assert ours == bare


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
def test_an_error_is_the_very_object_and_passes_few_frames_of_ours(instrument, place):
    instrument()

    facts, frames = outcome(place, ValueError)

    assert facts["same"]
    assert frames == PLACES[place]


def test_what_a_run_returns_is_the_very_key(instrument):
    instrument()
    key = ("a", "tuple", "of", "the", "caller")

    assert perform(local_runner(Stage()), lambda _, __: None, key=key) is key


def test_tools_models_and_durable_calls_return_the_very_object(instrument):
    instrument()
    result = object()
    found = {}

    def body(_, ctx):
        found["tool"] = tool(lambda: result).call()
        found["durable"] = ctx.durable_execute(lambda: result)
        found["durable tool"] = ctx.durable_execute(tool(lambda: result).call)

    async def awaiting(_, ctx):
        found["awaited"] = await ctx.durable_execute_async(tool(lambda: result).call)

    play(body)
    play(awaiting, agent=CoroutineStage)

    assert all(each is result for each in found.values())
    assert sorted(found) == ["awaited", "durable", "durable tool", "tool"]


def test_a_chat_model_gets_and_gives_the_very_objects(instrument):
    from flink_agents.api.chat_message import ChatMessage, MessageRole

    instrument()
    answer = ChatMessage(role=MessageRole.ASSISTANT, content="yes", extra_args={"n": 1})
    messages, seen, got = [object()], [], []

    def answering(*args, **kwargs):
        seen.append((args, kwargs))
        return answer

    play(lambda _, __: got.append(chat_model(answering).chat(messages, tone=messages)))

    assert got[0] is answer
    ((asked,), kwargs) = seen[0]
    assert asked is messages
    assert kwargs["tone"] is messages
    assert answer.extra_args == {"n": 1}


def test_arguments_reach_a_tool_as_the_very_objects(instrument):
    instrument()
    first, second = object(), object()
    seen = []

    play(lambda _, __: tool(lambda a, *, b: seen.append((a, b))).call(first, b=second))

    assert seen[0][0] is first
    assert seen[0][1] is second


# --- coroutines -----------------------------------------------------------------


async def plain_action(event, ctx):
    await Given("first")
    return await Given("second")


class Given:
    """Awaiting it yields a value and returns what is sent."""

    def __init__(self, value):
        self._value = value

    def __await__(self):
        return (yield self._value)


def called(function, do):
    """Call `function` as the host calls an action, inside a run; `do` the result."""
    results = []

    def body(event, ctx):
        call = PythonFunction(module=function.__module__, qualname=function.__name__)
        results.append(do(call(event, ctx)))

    play(body)
    return results[0]


def test_an_action_that_is_a_coroutine_stays_a_native_one(instrument):
    def facts(coroutine):
        coroutine.close()
        return {
            "type": type(coroutine),
            "inspect": inspect.iscoroutine(coroutine),
            "asyncio": asyncio.iscoroutine(coroutine),
            "awaitable": inspect.isawaitable(coroutine),
            "name": coroutine.__name__,
            "qualname": coroutine.__qualname__,
        }

    bare = called(plain_action, facts)
    instrument()

    assert called(plain_action, facts) == bare


def test_values_pass_through_the_coroutine_of_an_action_both_ways(instrument):
    instrument()
    sent, returned = object(), object()

    def drive(coroutine):
        yielded = [coroutine.send(None), coroutine.send(sent)]
        with pytest.raises(StopIteration) as stop:
            coroutine.send(returned)
        return yielded, stop.value.value

    yielded, value = called(plain_action, drive)

    assert yielded == ["first", "second"]
    assert value is returned


def test_a_coroutine_that_nobody_awaits_says_so_once(instrument):
    def forgotten(function):
        with pytest.warns(RuntimeWarning) as warned:
            called(function, lambda _: None)
        return [str(each.message) for each in warned]

    bare = forgotten(plain_action)
    instrument()

    assert forgotten(plain_action) == bare


ON_THROW = st.sampled_from(["pass on", "swallow", "replace", "return"])
STEPS = st.lists(st.tuples(st.integers(), ON_THROW), max_size=4)
ENDS = st.sampled_from(
    [
        ("return", None),
        ("return", 7),
        ("return", StopIteration(3)),
        ("raise", ValueError),
        ("raise", StopIteration),
        ("raise", KeyboardInterrupt),
        ("raise", GeneratorExit),
        ("raise", asyncio.CancelledError),
    ]
)
# GeneratorExit comes by close() alone: thrown, `await` itself turns it into one.
THROWN = st.sampled_from(
    [ValueError, StopIteration, KeyboardInterrupt, asyncio.CancelledError]
)
DRIVES = st.lists(
    st.one_of(
        st.tuples(st.just("send"), st.none() | st.integers()),
        st.tuples(st.just("throw"), THROWN),
        st.tuples(st.just("close"), st.none()),
    ),
    max_size=8,
)


async def scripted(steps, end):
    received = []
    for value, on_throw in steps:
        try:
            received.append(await Given(value))
        except BaseException as error:  # noqa: PERF203
            if on_throw == "pass on":
                raise
            if on_throw == "replace":
                raise OSError(repr(error)) from error
            if on_throw == "return":
                return [*received, "left"]
            received.append(repr(error))
    how, what = end
    if how == "raise":
        raise what("the end")
    return received if what is None else what


def driven_by(coroutine, drives):
    """All that a driver can see of a coroutine, until it refuses to be closed.

    `await` turns such a refusal into an end, ours as everybody's.
    """
    seen = []
    for how, what in [*drives, ("close", None)]:
        thrown = what("thrown") if how == "throw" else None
        try:
            if how == "send":
                seen.append(("yielded", coroutine.send(what)))
            elif how == "throw":
                seen.append(("yielded", coroutine.throw(thrown)))
            else:
                seen.append(("closed", coroutine.close()))
        except StopIteration as stop:
            seen.append(("returned", repr(stop.value)))
        except BaseException as error:  # noqa: BLE001
            chain = [repr(each) for each in (error, error.__cause__, error.__context__)]
            same = error is thrown
            seen.append(("raised", chain, same, error.__suppress_context__))
            if "ignored GeneratorExit" in str(error):
                break
    return seen


def closed_at_last(coroutine):
    while inspect.getcoroutinestate(coroutine) != inspect.CORO_CLOSED:
        with suppress(BaseException):
            coroutine.close()


@given(steps=STEPS, end=ENDS, drives=DRIVES)
def test_a_driven_coroutine_does_what_the_bare_one_does(steps, end, drives):
    ends = []
    bare, inner = scripted(steps, end), scripted(steps, end)
    outer = driven(inner, copy_context(), ends.append)

    assert driven_by(outer, drives) == driven_by(bare, drives)
    assert len(ends) <= 1
    closed_at_last(bare)
    closed_at_last(inner)


def test_a_deep_chain_of_awaits_costs_two_frames_of_ours(instrument):
    def depth():
        frame, count = sys._getframe(), 0
        while frame:
            frame, count = frame.f_back, count + 1
        return count

    depths = []

    async def body(_, __):
        depths.append(depth())

    play(body, agent=CoroutineStage)
    instrument()
    play(body, agent=CoroutineStage)

    assert depths[1] - depths[0] == len(["run", "_drive", "__await__"])
