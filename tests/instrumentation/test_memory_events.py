"""What one action did to memory: at most one event for each scope and kind."""

import json
import math

import pytest
from flink_agents.api.agents.agent import Agent
from flink_agents.api.decorators import action
from flink_agents.api.events.event import Event
from flink_agents.api.runner_context import RunnerContext

from chat_agents import Asking, scripted
from hosting import (
    ON_INPUT,
    ON_NOTE,
    TYPED_EVENTS,
    brief,
    in_both_dialects,
    input_of,
    local_runner,
    log_lines,
    note,
    output,
    told_lines,
)
from memory_agents import memory_lines, of_type, remembered
from opentelemetry.instrumentation.flink_agents import Masking
from probing import CoroutineStage, Stage, perform, play
from providing import MemoryProvider
from scripted_llm import Reply

pytestmark = pytest.mark.memory

ALL = {"memory.generate-event": True}
BEGIN = {"agent-run.begin-event": True}
READS = {"memory.generate-event.short-term-read": True}
WRITE, READ = "_short_term_write_event", "_short_term_read_event"


def writing(**entries):
    def body(_, ctx):
        for path, value in entries.items():
            ctx.short_term_memory.set(path, value)

    return body


@in_both_dialects
def test_the_net_effect_of_an_action_is_one_event(instrument, tmp_path):
    instrument()

    def body(_, ctx):
        memory = ctx.short_term_memory
        memory.set("user.tier", "silver")
        memory.set("user.tier", "gold")
        memory.set("nullable", None)

    play(body, key=42)

    [line] = memory_lines(tmp_path / "log")
    assert line["event_attributes"] == {
        "key": "42",
        "value": {"user.tier": "gold", "nullable": None},
    }


@in_both_dialects
def test_nested_objects_tell_absolute_paths(instrument, tmp_path):
    instrument(options=READS)

    def body(_, ctx):
        memory = ctx.short_term_memory
        memory.new_object("empty")
        memory.set("user.tier", "gold")
        user = memory.get("user")
        user.new_object("address").set("city", "London")
        user.get("address").get("city")
        user.get_fields()

    play(body)

    assert remembered(tmp_path / "log") == [
        (
            WRITE,
            {
                "empty": None,
                "user.tier": "gold",
                "user.address": None,
                "user.address.city": "London",
            },
        ),
        (READ, {"user.address.city": "London", "user.tier": "gold"}),
    ]


@in_both_dialects
def test_a_read_of_a_missing_path_or_of_an_object_says_nothing(instrument, tmp_path):
    instrument(options=READS)
    runner = local_runner(Stage())
    perform(runner, writing(count=1, none=None, **{"user.tier": "gold"}))

    def body(_, ctx):
        memory = ctx.short_term_memory
        memory.get("count")
        memory.get("none")
        memory.get("missing")
        memory.get("user.missing")
        memory.get("user")

    perform(runner, body)

    assert remembered(tmp_path / "log")[-1] == (READ, {"count": 1, "none": None})


def test_a_map_is_one_entry(instrument, tmp_path):
    instrument()

    play(writing(user={"tier": {"name": "gold"}}))

    assert remembered(tmp_path / "log") == [
        (WRITE, {"user": {"tier": {"name": "gold"}}})
    ]


def test_a_value_is_copied_when_it_is_set(instrument, tmp_path):
    instrument()

    def body(_, ctx):
        basket = ["lamp"]
        ctx.short_term_memory.set("basket", basket)
        basket.append("mug")

    play(body)

    assert remembered(tmp_path / "log") == [(WRITE, {"basket": ["lamp"]})]


@in_both_dialects
def test_four_kinds_of_event_stand_in_a_fixed_order(instrument, tmp_path):
    instrument(options=ALL)

    def body(_, ctx):
        for memory in (ctx.short_term_memory, ctx.sensory_memory):
            memory.set("path", "value")
            memory.get("path")

    play(body, key="42")

    lines = memory_lines(tmp_path / "log")
    assert [line["event_type"] for line in lines] == [
        "_sensory_write_event",
        WRITE,
        "_sensory_read_event",
        READ,
    ]
    assert [line["event_attributes"] for line in lines] == [
        {"key": "42", "value": {"path": "value"}}
    ] * 4


@in_both_dialects
def test_memory_events_follow_the_business_events_whenever_they_were_sent(
    instrument, tmp_path
):
    instrument(options=BEGIN)

    def body(_, ctx):
        ctx.sensory_memory.set("path", "value")
        ctx.short_term_memory.set("path", "value")
        ctx.send_event(output("after"))

    play(body)

    assert brief(told_lines(tmp_path / "log")) == [
        "_input_event",
        "_agent_run_begin_event",
        "action act started",
        "action act finished",
        "_output_event",
        "_sensory_write_event",
        WRITE,
    ]


def test_identity_and_lineage_stand_outside_the_payload(instrument, tmp_path):
    instrument()

    play(writing(path="value"), key=42)

    received, _, _, finished, line = log_lines(tmp_path / "log")
    assert line.pop("event_id") not in {finished["event_id"], received["event_id"]}
    assert line == {
        "timestamp": finished["timestamp"],
        "input_run_id": received["input_run_id"],
        "business_key": "42",
        "agent_name": "Stage",
        "execution_id": finished["execution_id"],
        "action_trigger_event_id": received["event_id"],
        "entity_type": "action",
        "entity_name": "act",
        "event_type": WRITE,
        "event_attributes": {"key": "42", "value": {"path": "value"}},
    }


def test_fields_stand_in_the_order_of_the_format(instrument, tmp_path):
    instrument(options={"memory.generate-event.previous-value": True})

    play(writing(bad=math.nan))

    assert list(memory_lines(tmp_path / "log")[0]) == [
        "timestamp",
        "input_run_id",
        "business_key",
        "agent_name",
        "execution_id",
        "action_trigger_event_id",
        "entity_type",
        "entity_name",
        "entity_metadata",
        "event_id",
        "event_type",
        "event_attributes",
    ]


@in_both_dialects
def test_a_failed_action_has_no_memory_events_and_leaves_nothing_to_the_next(
    instrument, tmp_path
):
    instrument(options=ALL)
    runner = local_runner(Stage())

    def failing(_, ctx):
        for memory in (ctx.short_term_memory, ctx.sensory_memory):
            memory.set("lost", "value")
            memory.get("lost")
        raise ValueError("boom")

    with pytest.raises(ValueError, match="boom"):
        perform(runner, failing)
    perform(runner, writing(kept="value"))

    assert remembered(tmp_path / "log") == [(WRITE, {"kept": "value"})]


class Chain(Agent):
    """Two actions, each with memory of its own in the log."""

    @action(ON_INPUT)
    @staticmethod
    def first(event: Event, ctx: RunnerContext) -> None:
        ctx.short_term_memory.set("first", 1)
        ctx.sensory_memory.set("sensed", input_of(event))
        ctx.send_event(note("go on"))

    @action(ON_NOTE)
    @staticmethod
    def second(event: Event, ctx: RunnerContext) -> None:
        ctx.short_term_memory.set("second", 2)
        ctx.sensory_memory.get("sensed")


def test_each_action_has_events_of_its_own(instrument, tmp_path):
    instrument(options=ALL)

    local_runner(Chain()).run(key="k", value="x")

    assert [
        (line["entity_name"], line["event_type"], line["event_attributes"]["value"])
        for line in memory_lines(tmp_path / "log")
    ] == [
        ("first", "_sensory_write_event", {"sensed": "x"}),
        ("first", WRITE, {"first": 1}),
        ("second", WRITE, {"second": 2}),
        ("second", "_sensory_read_event", {"sensed": "x"}),
    ]


@in_both_dialects
def test_what_a_coroutine_does_around_a_suspension_is_one_event_at_its_end(
    instrument, tmp_path
):
    instrument()

    async def body(_, ctx):
        ctx.short_term_memory.set("first", 1)
        await ctx.durable_execute_async(lambda: None)
        assert memory_lines(tmp_path / "log") == []
        ctx.short_term_memory.set("second", 2)

    play(body, agent=CoroutineStage)

    assert remembered(tmp_path / "log") == [(WRITE, {"first": 1, "second": 2})]


def test_of_a_coroutine_that_fails_after_a_suspension_nothing_is_left(
    instrument, tmp_path
):
    instrument()
    runner = local_runner(CoroutineStage())

    async def failing(_, ctx):
        ctx.short_term_memory.set("lost", 1)
        await ctx.durable_execute_async(lambda: None)
        raise ValueError("boom")

    async def succeeding(_, ctx):
        ctx.short_term_memory.set("kept", 1)

    with pytest.raises(ValueError, match="boom"):
        perform(runner, failing)
    perform(runner, succeeding)

    assert remembered(tmp_path / "log") == [(WRITE, {"kept": 1})]


def test_a_run_inside_an_action_has_memory_events_of_its_own(instrument, tmp_path):
    instrument()
    inner = local_runner(Stage())

    def body(_, ctx):
        ctx.short_term_memory.set("outer.before", 1)
        perform(inner, writing(inner=1), key="inner")
        ctx.short_term_memory.set("outer.after", 2)

    play(body, key="outer")

    assert [line["event_attributes"] for line in memory_lines(tmp_path / "log")] == [
        {"key": "inner", "value": {"inner": 1}},
        {"key": "outer", "value": {"outer.before": 1, "outer.after": 2}},
    ]


def test_the_same_key_again_inside_an_action_does_not_mix_with_it(instrument, tmp_path):
    instrument()
    runner = local_runner(Stage())

    def outer(_, ctx):
        ctx.short_term_memory.set("a", 1)
        perform(runner, writing(b=2))
        ctx.short_term_memory.set("c", 3)

    perform(runner, outer)

    assert remembered(tmp_path / "log") == [
        (WRITE, {"b": 2}),
        (WRITE, {"a": 1, "c": 3}),
    ]


def test_memory_used_outside_a_run_is_in_no_event(instrument, tmp_path):
    instrument(options=ALL)
    contexts = []
    runner = local_runner(Stage())
    perform(runner, lambda _, ctx: contexts.append(ctx))
    before = log_lines(tmp_path / "log")

    memory = contexts[0].short_term_memory
    memory.set("outside", 1)
    memory.new_object("object").set("in", 2)

    assert memory.get("outside") == 1
    assert log_lines(tmp_path / "log") == before


@in_both_dialects
def test_the_host_s_own_chat_action_is_seen_at_its_sensory_memory(instrument, tmp_path):
    instrument()

    replies = [Reply.tool_calls([("double", {"number": 3})]), Reply.text("six")]
    with scripted(replies):
        local_runner(Asking()).run(key="k", value="what is 2 * 3?")

    written = {
        path
        for line in memory_lines(tmp_path / "log")
        for path in line["event_attributes"]["value"]
        if line["entity_name"] == "chat_model_action"
    }
    assert "_TOOL_CALL_CONTEXT" in written


def test_the_span_of_an_action_counts_its_operations(instrument):
    provider = MemoryProvider()
    instrument(tracer_provider=provider, options=ALL)

    def body(_, ctx):
        memory = ctx.short_term_memory
        memory.set("a", 1)
        memory.set("a", 2)
        memory.new_object("o")
        memory.get("a")
        memory.get("missing")
        ctx.sensory_memory.set("s", 1)

    play(body)

    [span] = [span for span in provider.spans if span.name == "action act"]
    assert {
        name: count
        for name, count in span.attributes.items()
        if name.startswith("flink_agents.memory.")
    } == {
        "flink_agents.memory.short_term_write.count": 3,
        "flink_agents.memory.short_term_read.count": 1,
        "flink_agents.memory.sensory_write.count": 1,
    }


def test_values_stand_in_the_log_but_not_on_spans(instrument, tmp_path):
    provider = MemoryProvider()
    instrument(tracer_provider=provider)

    play(writing(password="hunter2"))

    assert remembered(tmp_path / "log") == [(WRITE, {"password": "hunter2"})]
    assert "hunter2" not in "".join(span.to_json() for span in provider.spans)


def test_memory_and_snapshots_are_masked_in_the_log(instrument, tmp_path):
    instrument(
        mask=Masking(keys=["card"], patterns=[r"sk-\w+"]),
        options={"memory.generate-event.previous-value": True},
    )
    runner = local_runner(Stage())

    for number in (1, 2):
        perform(runner, writing(card=number, token=f"sk-{number}", shown=number))

    assert [
        line["event_attributes"]
        for line in log_lines(tmp_path / "log")
        if "key" in line["event_attributes"]
    ] == [
        {"key": "k", "value": {}},
        {
            "key": "k",
            "value": {"card": "***", "token": "***", "shown": 1},
            "previous": {},
        },
        {"key": "k", "value": {"card": "***", "shown": 1, "token": "***"}},
        {
            "key": "k",
            "value": {"card": "***", "token": "***", "shown": 2},
            "previous": {"card": "***", "token": "***", "shown": 1},
        },
    ]


def test_records_are_the_same_whether_the_trace_is_sampled_or_not(
    instrument, tmp_path, monkeypatch
):
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "always_off")
    provider = MemoryProvider()
    instrument(tracer_provider=provider)

    play(writing(path="value"))

    assert provider.spans == []
    assert remembered(tmp_path / "log") == [(WRITE, {"path": "value"})]


@in_both_dialects
def test_the_proposal_s_golden_action(instrument, tmp_path):
    instrument(options=BEGIN)
    runner = local_runner(Stage())

    def body(_, ctx):
        memory = ctx.short_term_memory
        memory.set("count", 1)
        memory.set("user.tier", "gold")
        if TYPED_EVENTS:  # later hosts refuse bytes
            memory.set("user.raw", b"\x01\x02")
        memory.new_object("obj")
        memory.set("obj.x", 1.5)
        ctx.sensory_memory.set("s", [1, {"a": None}])

    perform(runner, body, key="k0")
    perform(runner, lambda *_: None, key="k0")

    raw = {"user.raw": "AQI="} if TYPED_EVENTS else {}
    begun = of_type(tmp_path / "log", "_agent_run_begin_event")
    written = {"count": 1, "user.tier": "gold", **raw, "obj": None, "obj.x": 1.5}
    assert remembered(tmp_path / "log") == [
        ("_sensory_write_event", {"s": [1, {"a": None}]}),
        (WRITE, written),
    ]
    assert json.dumps(remembered(tmp_path / "log")[1][1]) == json.dumps(written)
    assert begun == [
        {"key": "k0", "value": {}},
        {"key": "k0", "value": {"count": 1, "user.tier": "gold", **raw, "obj.x": 1.5}},
    ]
