"""The same agents, once in each dialect: one log is the other one, converted."""

import json

import pytest

from chat_agents import RETRYING, Asking, Structured, scripted
from flink_agents_eventlog import Conversion, encode, execution_forest, read_records
from hosting import input_of, local_runner, output
from instrumentation.test_causality import Branching
from instrumentation.test_leftovers import Careless
from instrumentation.test_memory_events import Chain
from instrumentation.test_tools import Requesting
from memory_agents import Beginner, Observer, SeveralObserver
from native_reader import warnings_of
from probing import CoroutineStage, Stage, perform, play
from scripted_llm import Reply
from telling import Names

pytestmark = pytest.mark.memory

OPTIONS = {
    "agent-run.begin-event": True,
    "agent-run.end-event": True,
    "memory.generate-event": True,
    "event-log.level": "VERBOSE",
    "event-log.execution-content": False,
}
"""What makes the two tell the same: the differences of docs/native.md, set equal."""


def equal_inputs():
    runner = local_runner(Branching())
    for _ in range(3):
        runner.run(key="k", value="hello")


def leftovers():
    runner = local_runner(Careless())
    with pytest.raises(ValueError, match="after sending"):
        runner.run(key="k", value="fail")
    runner.run(key="k", value="fine")


def failures_of_every_kind():
    def raise_from(_, ctx):
        raise KeyError("outer") from ValueError("inner")

    def raise_silently(_, ctx):
        raise LookupError

    def raise_a_library_error(_, ctx):
        json.loads("{")

    def raise_half_a_character(_, ctx):
        raise ValueError("\ud83d")

    for body in (
        raise_from,
        raise_silently,
        raise_a_library_error,
        raise_half_a_character,
    ):
        with pytest.raises((LookupError, ValueError)):
            play(body)


def answers_that_do_not_parse():
    with scripted([Reply("not json"), Reply('{"result": 42}')]):
        local_runner(Structured(), **RETRYING).run(key="k", value="6 x 7?")


def attempts_that_all_fail():
    with (
        scripted([Reply.status(500)] * 3),
        pytest.raises(Exception, match="scripted status 500"),
    ):
        local_runner(Asking(), **RETRYING).run(key="k", value="?")


def ignored_failures():
    with scripted([Reply.status(500)]):
        runner = local_runner(Asking(), **{"error-handling-strategy": "ignore"})
        runner.run(key="k", value="?")


def tools():
    replies = [
        Reply.tool_calls([("double", {"number": 3}), ("double", {"number": 4})]),
        Reply.text("six and eight"),
    ]
    with scripted(replies):
        local_runner(Asking()).run(key="k", value="what is 2 * 3, and 2 * 4?")


def a_tool_that_fails():
    with pytest.raises(PermissionError):
        local_runner(Requesting()).run(key="k", value=[("refuse", {"reason": "no"})])


def coroutines():
    async def body(_, ctx):
        ctx.short_term_memory.set("first", 1)
        await ctx.durable_execute_async(lambda: None)
        ctx.send_event(output("done"))

    play(body, agent=CoroutineStage)


def memory_of_all_kinds():
    def body(event, ctx):
        for memory in (ctx.sensory_memory, ctx.short_term_memory):
            memory.set("a.b", input_of(event))
            memory.set("c", None)
            memory.set("a.b", [1, {"d": [None]}])
            memory.new_object("empty")
            memory.get("a.b")
        ctx.short_term_memory.get("a").get_fields()

    runner = local_runner(Stage())
    for value in (1, 2):
        perform(runner, body, value=value)


def chained_memory():
    local_runner(Chain()).run(key="k", value="x")


def listeners():
    for agent in (Observer, SeveralObserver, Beginner):
        runner = local_runner(agent())
        for value in (1, 2):
            runner.run(key="k", value={"path": value})


def awkward_payloads():
    for value in (
        {"status": "paid", "problemCategory": "none", "upstreamEventId": "e"},
        {"error_type": "ValueError", "errorType": "x", "key": {"value": 1}},
        "\N{GRINNING FACE}e\N{COMBINING ACUTE ACCENT}",
        [2**70, -0.0, True, 1, "", [], {}],
        {"eventAttributes": {"event": {"id": "x"}}},
    ):
        play(lambda event, ctx: ctx.send_event(output(input_of(event))), value=value)


SCENARIOS = [
    equal_inputs,
    leftovers,
    failures_of_every_kind,
    answers_that_do_not_parse,
    attempts_that_all_fail,
    ignored_failures,
    tools,
    a_tool_that_fails,
    coroutines,
    memory_of_all_kinds,
    chained_memory,
    listeners,
    awkward_payloads,
]


@pytest.fixture
def both_logs(instrument, tmp_path):
    """Run something once in each dialect; give the records of both logs."""

    def run(scenario):
        logs = {}
        for dialect in ("snake", "native"):
            folder = str(tmp_path / dialect)
            instrument(
                dialect=dialect,
                event_log_dir=folder,
                llm_attempts="each",
                options=OPTIONS,
            )
            scenario()
            logs[dialect] = list(read_records(folder))
        return logs

    return run


def converted(records, dialect):
    """Lines in `dialect`, ids by their names; only native logs tell levels."""
    conversion = Conversion(dialect)
    lines = []
    for each in records:
        record, losses = conversion.convert(each)
        assert losses == ()
        record.log_level = None
        lines.append(json.loads(encode(record)))
    return Names().records(lines)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.__name__)
def test_a_log_in_one_dialect_converted_is_the_log_in_the_other(scenario, both_logs):
    logs = both_logs(scenario)

    assert {each.dialect for each in logs["native"]} == {"native"}
    for dialect in ("native", "snake"):
        here, there = (converted(log, dialect) for log in logs.values())
        assert here == there
    assert shapes(logs["snake"]) == shapes(logs["native"])
    native = [json.loads(encode(each)) for each in logs["native"]]
    assert warnings_of(native) == []


@pytest.mark.usefixtures("quiet_mem0")
def test_long_term_memory_converted_is_what_the_other_dialect_tells(both_logs, key):
    pytest.importorskip("mem0", reason="this version of the host has no mem0")
    import long_term_agents as agents

    def everything(memory):
        agents.add("old", to="other")(memory)
        memory.delete_memory_set("other")
        agents.add("a", "b")(memory)
        agents.add("c", to="other")(memory)
        for name in ("notes", "other"):
            memory.get_memory_set(name).get()
            memory.get_memory_set(name).search("a", limit=2)
        memory.get_memory_set("notes").delete()

    logs = both_logs(lambda: agents.act(agents.echo, everything, key=key))

    snake, native = (converted(log, "native") for log in logs.values())
    assert snake == native
    assert "_long_term_search_event" in {line["eventType"] for line in native}


def shapes(records):
    """The forest of a log without its ids and times."""

    def shape(execution):
        return (
            execution.entity_type,
            execution.entity_name,
            execution.status,
            execution.error_type,
            [shape(child) for child in execution.children],
        )

    return [
        [shape(root) for root in run.executions] for run in execution_forest(records)
    ]
