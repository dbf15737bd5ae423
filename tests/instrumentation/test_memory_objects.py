"""Memory objects behave as they do without us, and previous values stand beside new."""

import pytest
from flink_agents.api.memory_object import MemoryType
from flink_agents.api.memory_reference import MemoryRef

from hosting import TYPED_EVENTS, local_runner
from memory_agents import memory_lines, remembered
from opentelemetry.exporter.flink_agents._guard import faults
from opentelemetry.instrumentation.flink_agents import uninstrument
from probing import Stage, perform, play

pytestmark = pytest.mark.memory

ALL = {"memory.generate-event": True}
PREVIOUS = {"memory.generate-event.previous-value": True}
WRITE, READ = "_short_term_write_event", "_short_term_read_event"


def behaviour(body):
    """What `body` yields and how it ends, and what memory holds afterwards."""
    seen = []

    def act(_, ctx):
        try:
            seen.extend(body(ctx.short_term_memory))
        except Exception as error:  # noqa: BLE001  # it is what is compared
            seen.append((type(error), str(error)))
        seen.append(ctx._short_term_mem_store.keys())

    play(act)
    return seen


@pytest.fixture
def same_as_without_us(instrument):
    def check(body, **options):
        alone = behaviour(body)
        instrument(options=ALL | options)
        assert behaviour(body) == alone
        return alone

    return check


def test_get_returns_the_very_object_that_was_set(instrument):
    instrument(options=ALL | PREVIOUS)
    seen = []

    def body(_, ctx):
        value = {"list": [1]}
        for memory in (ctx.short_term_memory, ctx.sensory_memory):
            reference = memory.set("path.to", value)
            seen.extend(
                [
                    memory.get("path.to") is value,
                    memory.get(reference) is value,
                    memory.get("path").get("to") is value,
                    memory.get("path").get_fields()["to"] is value,
                ]
            )

    play(body)

    assert seen == [True] * 8


def test_a_value_that_is_changed_after_it_was_set_is_changed_in_memory_as_without_us(
    same_as_without_us,
):
    def body(memory):
        value = []
        memory.set("path", value)
        value.append(1)
        yield memory.get("path")

    assert same_as_without_us(body)[0] == [1]


REFUSED = {
    "a memory object": lambda memory: memory.set("path", memory),
    "a value over an object": lambda memory: [
        memory.new_object("path"),
        memory.set("path", 1),
    ],
    "an object over a value": lambda memory: [
        memory.set("path", 1),
        memory.new_object("path"),
    ],
    "no path": lambda memory: memory.set(),
    "an unknown argument": lambda memory: memory.set("path", 1, overwrite=True),
    "a path of another type": lambda memory: memory.set(7, 1),
    "nothing to get": lambda memory: memory.get(),
    "bytes": lambda memory: memory.set("path", b"x"),
    "a tuple inside": lambda memory: memory.set("path", [(1,)]),
    "an object of the user's": lambda memory: memory.set("path", object),
    "a key that is no string": lambda memory: memory.set("path", {1: 2}),
}


@pytest.mark.parametrize("operation", REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("options", [{}, PREVIOUS], ids=["", "previous"])
def test_what_the_host_refuses_or_takes_it_refuses_or_takes_with_us_too(
    same_as_without_us, operation, options, monkeypatch
):
    # A fault of ours over a strange argument is ours to swallow.
    monkeypatch.setattr(faults, "reraise", False)

    def body(memory):
        yield "before"
        operation(memory)

    same_as_without_us(body, **options)


def test_a_refused_write_is_in_no_event(instrument, tmp_path):
    instrument()

    def body(_, ctx):
        memory = ctx.short_term_memory
        memory.new_object("path")
        with pytest.raises(ValueError, match="Cannot overwrite object field"):
            memory.set("path", 1)
        memory.set("other", 2)

    play(body)

    assert remembered(tmp_path / "log") == [(WRITE, {"path": None, "other": 2})]


def test_arguments_may_be_given_by_name(instrument, tmp_path):
    instrument(options=ALL)

    def body(_, ctx):
        memory = ctx.short_term_memory
        memory.set(path="a.b", value=1)
        memory.new_object(path="o")
        memory.get(path_or_ref="a.b")

    play(body)

    assert remembered(tmp_path / "log") == [
        (WRITE, {"a.b": 1, "o": None}),
        (READ, {"a.b": 1}),
    ]


def test_a_reference_is_absolute_wherever_it_is_followed(instrument, tmp_path):
    instrument(options=ALL)

    def body(_, ctx):
        reference = ctx.short_term_memory.set("user.tier", "gold")
        nested = ctx.short_term_memory.new_object("elsewhere")
        assert nested.get(reference) == "gold"
        missing = MemoryRef(memory_type=MemoryType.SHORT_TERM, path="missing")
        assert nested.get(missing) is None

    play(body)

    assert remembered(tmp_path / "log")[1:] == [(READ, {"user.tier": "gold"})]


def test_fields_that_read_like_the_mark_of_an_object_are_values(instrument, tmp_path):
    instrument(options=ALL)

    def body(_, ctx):
        memory = ctx.short_term_memory
        memory.set("text", "NestedObject")
        memory.new_object("object")
        assert memory.get_fields() == {"text": "NestedObject", "object": "NestedObject"}

    play(body)

    assert remembered(tmp_path / "log")[1:] == [(READ, {"text": "NestedObject"})]


@pytest.mark.skipif(not TYPED_EVENTS, reason="later hosts refuse such values")
def test_values_that_compare_in_ways_of_their_own_are_only_looked_at(
    instrument, tmp_path
):
    class Vector(list):
        def __eq__(self, other):
            raise TypeError("not comparable")

        __hash__ = None

    instrument(options=ALL | PREVIOUS)

    def body(_, ctx):
        memory = ctx.short_term_memory
        memory.set("vector", Vector([1, 2]))
        memory.set("vector", Vector([3]))
        memory.get_fields()

    play(body)

    assert remembered(tmp_path / "log") == [
        (WRITE, {"vector": [3]}),
        (READ, {"vector": [3]}),
    ]


@pytest.mark.skipif(not TYPED_EVENTS, reason="later hosts refuse such values")
def test_what_the_oldest_host_takes_is_told_as_far_as_json_can_hold_it(
    instrument, tmp_path
):
    instrument()

    def body(_, ctx):
        memory = ctx.short_term_memory
        memory.set("bytes", b"\x01\x02")
        memory.set("tuple", (1, (2,)))
        memory.set("set", {2, 1})
        memory.set("key", {7: "seven"})
        memory.set("thing", object())

    play(body)

    [line] = memory_lines(tmp_path / "log")
    assert line["event_attributes"]["value"] == {
        "bytes": "AQI=",
        "tuple": [1, [2]],
        "set": [1, 2],
        "key": {"7": "seven"},
    }
    assert line["entity_metadata"] == {"unrepresentable_paths": ["thing"]}


def previous_of(folder):
    return [line["event_attributes"]["previous"] for line in memory_lines(folder)]


def test_previous_values_are_those_before_the_action_s_first_write(
    instrument, tmp_path
):
    instrument(options=PREVIOUS)
    runner = local_runner(Stage())

    def body(event, ctx):
        memory = ctx.short_term_memory
        for _ in range(2):
            memory.set("count", (memory.get("count") or 0) + 1)
        memory.set("user.none", None)
        memory.get("user").set("name", "ada")

    perform(runner, body)
    perform(runner, body)

    assert remembered(tmp_path / "log") == [
        (WRITE, {"count": 2, "user.none": None, "user.name": "ada"}),
        (WRITE, {"count": 4, "user.none": None, "user.name": "ada"}),
    ]
    assert previous_of(tmp_path / "log") == [
        {},
        {"count": 2, "user.none": None, "user.name": "ada"},
    ]


def test_an_object_has_no_previous_value_but_what_it_replaces_has(instrument, tmp_path):
    instrument(options=PREVIOUS)
    runner = local_runner(Stage())

    def prepare(_, ctx):
        ctx.short_term_memory.set("value", 1)
        ctx.short_term_memory.new_object("object")

    def replace(_, ctx):
        ctx.short_term_memory.new_object("value", overwrite=True)
        ctx.short_term_memory.new_object("object")

    perform(runner, prepare)
    perform(runner, replace)

    assert previous_of(tmp_path / "log") == [{}, {"value": 1}]


def test_previous_values_are_copies_and_no_reads(instrument, tmp_path):
    instrument(options=PREVIOUS | ALL)
    runner = local_runner(Stage())

    def body(event, ctx):
        memory = ctx.short_term_memory
        before = memory._LocalMemoryObject__store.get("list")
        memory.set("list", [*(before or []), 1])
        if before:
            before.append("changed afterwards")

    perform(runner, body)
    perform(runner, body)

    assert [line["event_type"] for line in memory_lines(tmp_path / "log")] == [
        WRITE
    ] * 2
    assert previous_of(tmp_path / "log") == [{}, {"list": [1]}]


def test_sensory_memory_has_previous_values_of_its_own(instrument, tmp_path):
    instrument(options=PREVIOUS)
    runner = local_runner(Stage())

    def body(_, ctx):
        ctx.short_term_memory.set("path", "short")
        ctx.sensory_memory.set("path", "sensed")

    perform(runner, body)
    perform(runner, body)

    # Sensory memory is empty at the beginning of each run.
    assert previous_of(tmp_path / "log") == [{}, {}, {}, {"path": "short"}]


def test_payloads_have_no_previous_values_unless_switched_on(instrument, tmp_path):
    instrument()

    play(lambda _, ctx: ctx.short_term_memory.set("path", 1))

    [line] = memory_lines(tmp_path / "log")
    assert set(line["event_attributes"]) == {"key", "value"}


def test_objects_held_since_before_behave_as_before_afterwards(instrument):
    held = []
    runner = local_runner(Stage())
    perform(runner, lambda _, ctx: held.append(ctx.short_term_memory))
    instrument(options=ALL)
    perform(runner, lambda _, ctx: held[0].set("path", 1))
    set_ = held[0].set

    uninstrument()

    set_("path", 2)
    assert held[0].get("path") == 2
    assert not hasattr(held[0].set.__func__, "__wrapped__")


@pytest.mark.parametrize("name", ["get", "set", "new_object", "get_fields"])
def test_a_call_without_an_object_fails_as_without_us(instrument, name):
    from flink_agents.runtime.local_memory_object import LocalMemoryObject

    def message():
        with pytest.raises(TypeError) as raised:
            getattr(LocalMemoryObject, name)()
        return str(raised.value)

    without_us = message()
    instrument(options={"memory.generate-event": True})
    perform(local_runner(Stage()), lambda *_: None)

    assert message() == without_us
