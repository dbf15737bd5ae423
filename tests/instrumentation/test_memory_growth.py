"""Memory events leave nothing behind, however many runs and keys there are."""

import gc
import weakref
from collections import Counter
from contextlib import suppress

import pytest
from flink_agents.runtime.local_memory_object import LocalMemoryObject

from hosting import local_runner
from memory_agents import HEARD, Observer
from opentelemetry.instrumentation.flink_agents import uninstrument
from probing import Stage, perform

pytestmark = pytest.mark.memory

PACKAGES = (
    "flink_agents_eventlog",
    "opentelemetry.exporter.flink_agents",
    "opentelemetry.instrumentation.flink_agents",
)
OPTIONS = {
    "memory.generate-event": True,
    "memory.generate-event.previous-value": True,
    "agent-run.end-event": True,
    "agent-run.snapshot-interval": 3,
    "event-log.rotate-bytes": 2**20,
    "event-log.keep-files": 1,
}


def alive():
    """How many objects of ours are alive, by type, and what they hold."""
    gc.collect()
    found = Counter()
    for each in gc.get_objects():
        kind = type(each)
        module = getattr(kind, "__module__", None)
        if isinstance(module, str) and module.startswith(PACKAGES):
            found[kind.__qualname__] += 1
            found["held"] += sum(map(len, containers_of(each)))
    return found


def containers_of(thing):
    names = [*getattr(thing, "__dict__", ()), *getattr(type(thing), "__slots__", ())]
    values = (getattr(thing, name, None) for name in names)
    return [each for each in values if isinstance(each, dict | list | set)]


def body(event, ctx):
    for memory in (ctx.short_term_memory, ctx.sensory_memory):
        memory.set("user.count", (memory.get("user.count") or 0) + 1)
        memory.get("user").get_fields()
        memory.new_object(f"object{memory.get('user.count') % 3}")
    if ctx.short_term_memory.get("user.count") % 7 == 0:
        raise ValueError("boom")


def many_runs(runner, count, keys=5):
    for number in range(count):
        with suppress(ValueError):
            perform(runner, body, key=number % keys)
    return alive()


def test_ten_times_the_runs_leave_no_more_alive(instrument):
    instrument(options=OPTIONS)
    runner = local_runner(Stage())

    few = many_runs(runner, 300)

    assert many_runs(runner, 2_700) == few


def test_listeners_make_no_difference(instrument):
    instrument(options=OPTIONS)
    runner = local_runner(Observer())

    def runs(count):
        for number in range(count):
            runner.run(key=number % 5, value={"count": number})
        HEARD.clear()
        return alive()

    few = runs(100)

    assert runs(900) == few


def test_keys_leave_nothing_when_their_runner_is_gone(instrument):
    instrument(options=OPTIONS)
    many_runs(local_runner(Stage()), 10)
    before = alive()

    many_runs(local_runner(Stage()), 500, keys=500)

    assert alive() == before


def test_memory_objects_die_as_without_us(instrument):
    instrument(options=OPTIONS)
    seen = []

    def remembering(_, ctx):
        memory = ctx.short_term_memory
        memory.set("path", 1)
        seen.append(weakref.ref(memory.new_object("object")))
        seen.append(weakref.ref(memory.get("object")))

    runner = local_runner(Stage())
    perform(runner, remembering)
    gc.collect()

    assert [each() for each in seen] == [None] * 2
    assert runner


METHODS = ("get", "set", "new_object", "get_fields")


def in_place():
    return [vars(LocalMemoryObject)[name] for name in METHODS]


@pytest.mark.parametrize("times", [1, 3])
def test_after_uninstrument_memory_has_the_host_s_own_functions(instrument, times):
    before = in_place()

    for _ in range(times):
        instrument(options=OPTIONS)
        perform(local_runner(Stage()), lambda *_: None)
        assert all(
            now is not then for now, then in zip(in_place(), before, strict=True)
        )
        uninstrument()

        assert all(now is then for now, then in zip(in_place(), before, strict=True))
