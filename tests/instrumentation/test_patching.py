"""A fault of ours, wherever it is, stays ours: the agent does not notice.

Here the guard does what it does in production: it logs and counts. Faults are put
into every function of ours that a run passes through, one after the other.
"""

import gc
import logging
import os
import sys
import types
from collections import Counter
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import Span as SdkSpan
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace import Tracer as SdkTracer

import flink_agents_eventlog
import opentelemetry.exporter.flink_agents
import opentelemetry.instrumentation.flink_agents
from hosting import brief, local_runner, log_lines, output
from opentelemetry.exporter.flink_agents._guard import faults
from opentelemetry.instrumentation.flink_agents import uninstrument
from patched import FAULTS_OF_OURS
from probing import CoroutineStage, Stage, chat_model, perform, tool

pytestmark = pytest.mark.memory

ROOTS = [
    str(Path(package.__file__).parent)
    for package in (
        opentelemetry.instrumentation.flink_agents,
        opentelemetry.exporter.flink_agents,
        flink_agents_eventlog,
    )
]
# These stand directly around a call of the host, where no guard can be: it would
# catch the host's errors. They do next to nothing but call what is guarded. The last
# one is called by Python itself, which lets nothing out of it.
AROUND_THE_HOST = {
    "PatchedFunction.__get__",
    "OpenExecution.ended_by",
    "_Action.__enter__",
    "_Action.__exit__",
    "_Ending.__enter__",
    "_Ending.__exit__",
    "_Ending.__init__",
    "_Lookup.__enter__",
    "_Lookup.__exit__",
    "_Steps.__await__",
    "_Steps.__del__",
    "_Steps.__init__",
    "_drive",
    "driven",
    "IdentityMap.set.<locals>.forget",
}


@pytest.fixture(autouse=True)
def _as_in_production(monkeypatch):
    monkeypatch.setattr(faults, "reraise", False)


@pytest.fixture(autouse=True)
def _kinds_are_new(monkeypatch):
    """Each test sees what the guard says the first time."""
    monkeypatch.setattr(faults, "_kinds", set())


class BoomError(Exception):
    pass


class Interruption(BaseException):
    pass


def scene():
    """All that an application can see of several runs of an agent."""
    found = {}
    sentinel = object()
    errors = {kind: kind("as planned") for kind in (ValueError, Interruption)}

    def raising(kind):
        raise errors[kind]

    def caught(call):
        try:
            return "returned", call()
        except BaseException as error:  # noqa: BLE001
            return "raised", error is errors.get(type(error)), repr(error)

    def same(call):
        return caught(lambda: call() is sentinel)

    def act(_, ctx):
        found["tool"] = same(tool(lambda: sentinel).call)
        found["tool error"] = caught(tool(lambda: raising(ValueError)).call)
        found["model"] = same(lambda: chat_model(lambda _: sentinel).chat([{"n": 1}]))
        found["model error"] = caught(
            lambda: chat_model(lambda _: raising(ValueError)).chat([])
        )
        memory = ctx.short_term_memory
        found["memory"] = same(lambda: memory.set("n", {"m": 1}) and sentinel)
        found["remembered"] = caught(lambda: memory.get("n"))
        found["memory error"] = caught(lambda: memory.get("n.m.o"))
        found["durable"] = same(lambda: ctx.durable_execute(lambda: sentinel))
        found["sent"] = caught(lambda: ctx.send_event(output("from act")))
        found["inner"] = caught(
            lambda: perform(local_runner(Stage()), lambda _, __: None, key="inner")
        )

    async def act_slowly(_, ctx):
        awaited = await ctx.durable_execute_async(tool(lambda: sentinel).call)
        found["awaited"] = awaited is sentinel
        ctx.send_event(output("from act_slowly"))

    async def fail_slowly(_, __):
        raising(ValueError)

    runner, slow = local_runner(Stage()), local_runner(CoroutineStage())
    found["run"] = caught(lambda: perform(runner, act, value={"text": "hello"}))
    found["failed run"] = caught(
        lambda: perform(runner, lambda _, __: raising(ValueError))
    )
    found["interrupted run"] = caught(
        lambda: perform(runner, lambda _, __: raising(Interruption))
    )
    found["slow run"] = caught(lambda: perform(slow, act_slowly))
    found["slow failure"] = caught(lambda: perform(slow, fail_slowly))
    found["no value"] = caught(lambda: runner.run(key="k"))
    found["outputs"] = [*runner.get_outputs(), *slow.get_outputs()]
    return found


def is_ours(code):
    path = Path(code.co_filename)
    # The guard itself is what is left when all else fails.
    return (
        path.is_relative_to(path.anchor)
        and path.name != "_guard.py"
        and any(path.is_relative_to(root) for root in ROOTS)
    )


def functions_of_ours(passed):
    """The function objects of each code among `passed`."""
    found = {}
    for each in gc.get_objects():
        if type(each) is types.FunctionType and each.__code__ in passed:
            found.setdefault(each.__code__, []).append(each)
    return found


def passed_through(do):
    """The code of ours that runs while `do` does."""
    passed = set()

    def profile(frame, event, _):
        if event == "call" and is_ours(frame.f_code):
            passed.add(frame.f_code)

    sys.setprofile(profile)
    try:
        do()
    finally:
        sys.setprofile(None)
    return passed


def raising_code(code):
    """Code that raises, for a function with the variables that `code` closes over."""
    names = ", ".join(code.co_freevars)
    source = f"""
def around({names}):
    def boom(*args, **kwargs):
        __import__("patched").fault_of_ours()
        [{names}]
    return boom
"""
    made = {}
    exec(source, made)
    return made["around"](*code.co_freevars).__code__


def test_the_scene_is_what_it_is_without_us(instrument, tmp_path):
    bare = scene()
    instrument()

    assert scene() == bare
    assert len(log_lines(tmp_path / "log")) > 20


def is_a_wrapper(code):
    """Whether this is a function that calls what is patched."""
    return code.co_varnames[: code.co_argcount] == ("wrapped", "_", "args", "kwargs")


def faulty_scenes(instrument):
    """For each function of ours: its name, the scene with a fault in it, the count."""
    instrument(mask=lambda _, value: value)
    for code, functions in functions_of_ours(passed_through(scene)).items():
        name = functions[0].__qualname__
        if name in AROUND_THE_HOST or is_a_wrapper(code):
            continue
        before = faults.count
        FAULTS_OF_OURS.clear()
        for function in functions:
            function.__code__ = raising_code(code)
        try:
            seen = scene()
        finally:
            for function in functions:
                function.__code__ = code
        if FAULTS_OF_OURS:  # some run only once for a file or a provider
            yield f"{functions[0].__module__}.{name}", seen, faults.count - before


def test_a_fault_in_any_function_of_ours_does_not_reach_the_agent(instrument):
    bare = scene()

    tried = {name: seen for name, seen, _ in faulty_scenes(instrument)}

    assert {name: seen for name, seen in tried.items() if seen != bare} == {}
    assert len(tried) > 80


def test_a_fault_in_any_function_of_ours_is_counted(instrument):
    silent = [name for name, _, count in faulty_scenes(instrument) if not count]

    # Payloads that cannot be said are marked in the record itself, at its place.
    marking = ("flink_agents_eventlog.payload", "flink_agents_eventlog.shapes")
    assert [name for name in silent if not name.startswith(marking)] == []


def test_a_fault_is_said_once_for_each_place_and_kind(instrument, caplog):
    for _ in faulty_scenes(instrument):
        scene()

    said = Counter(
        (record.args[0], type(record.exc_info[1]))
        for record in caplog.records
        if record.msg.startswith("Fault in the Flink Agents instrumentation")
    )
    assert said
    assert set(said.values()) == {1}


# --- faults of others, under our calls --------------------------------------------


def boom(*_, **__):
    raise BoomError("a fault of somebody else's")


class Raising(SpanProcessor):
    """A processor of the application that fails at everything."""

    on_start = on_end = _on_ending = boom


class RaisingAtEnd(SpanProcessor):
    on_end = boom


class RaisingAtStart(SpanProcessor):
    on_start = boom


def broken_disk(monkeypatch):
    def write(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", write)


def partial_writes(monkeypatch):
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[: len(data) // 2]))


def no_files(monkeypatch):
    monkeypatch.setattr(os, "open", boom_os)


def boom_os(*_, **__):
    raise PermissionError(13, "Permission denied")


BROKEN = {
    "start_span": lambda patch: patch.setattr(SdkTracer, "start_span", boom),
    "end": lambda patch: patch.setattr(SdkSpan, "end", boom),
    "set_attribute": lambda patch: patch.setattr(SdkSpan, "set_attribute", boom),
    "set_attributes": lambda patch: patch.setattr(SdkSpan, "set_attributes", boom),
    "set_status": lambda patch: patch.setattr(SdkSpan, "set_status", boom),
    "get_span_context": lambda patch: patch.setattr(SdkSpan, "get_span_context", boom),
    "get_tracer": lambda patch: patch.setattr(TracerProvider, "get_tracer", boom),
    "add_span_processor": lambda patch: patch.setattr(
        TracerProvider, "add_span_processor", boom
    ),
    "disk full": broken_disk,
    "partial writes": partial_writes,
    "no files": no_files,
}


@pytest.mark.parametrize("broken", BROKEN)
def test_whatever_breaks_below_us_the_agent_runs_on(
    instrument, monkeypatch, tmp_path, broken
):
    bare = scene()
    (tmp_path / "log").mkdir()
    instrument(tracer_provider=TracerProvider())

    with monkeypatch.context() as patch:
        BROKEN[broken](patch)
        seen = scene()

    assert seen == bare
    assert scene() == bare


@pytest.mark.parametrize("processor", [Raising, RaisingAtStart, RaisingAtEnd])
@pytest.mark.parametrize("place", ["before ours", "behind ours"])
def test_a_processor_of_others_that_raises_costs_neither_run_nor_record(
    instrument, tmp_path, processor, place
):
    bare = scene()
    instrument(event_log_dir=str(tmp_path / "undisturbed"))
    scene()
    uninstrument()
    provider = TracerProvider()
    if place == "before ours":
        provider.add_span_processor(processor())
    instrument(tracer_provider=provider)
    if place == "behind ours":
        # Ours is added by the first run.
        perform(local_runner(Stage()), lambda _, __: None)
        provider.add_span_processor(processor())
    apart = len(log_lines(tmp_path / "log"))

    seen = scene()

    assert seen == bare
    told = brief(log_lines(tmp_path / "log")[apart:])
    assert told == brief(log_lines(tmp_path / "undisturbed"))


def test_a_mask_that_raises_hides_the_values_and_nothing_else(instrument, tmp_path):
    bare = scene()
    instrument(mask=boom)

    assert scene() == bare
    lines = log_lines(tmp_path / "log")
    assert lines[0]["event_attributes"] == {"input": {"text": "***"}}
    assert len(lines) > 20


def test_a_mask_that_is_interrupted_passes_the_interruption_on(instrument):
    """An interrupt that arrives while our code runs is the application's."""

    def interrupted(*_):
        raise KeyboardInterrupt

    instrument(mask=interrupted)

    with pytest.raises(KeyboardInterrupt):
        perform(local_runner(Stage()), lambda _, __: None)


def test_what_is_logged_of_a_fault_names_the_place_and_calms(instrument, caplog):
    instrument(mask=boom)

    with caplog.at_level(logging.ERROR):
        scene()

    (said,) = caplog.records
    assert said.getMessage() == (
        "Fault in the Flink Agents instrumentation at mask; the agent is not"
        " affected, its telemetry may be incomplete."
    )
    assert type(said.exc_info[1]) is BoomError
