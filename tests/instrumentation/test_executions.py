"""Each action is one execution, however it ends and whatever runs between."""

import asyncio
from collections import Counter

import pytest
from flink_agents.api.agents.agent import Agent
from flink_agents.api.decorators import action
from flink_agents.api.events.event import Event
from flink_agents.api.runner_context import RunnerContext

from hosting import (
    NOTE_TYPE,
    ON_INPUT,
    ON_NOTE,
    input_of,
    local_runner,
    log_lines,
    note,
    output,
    text_of,
)
from telling import Names, ended, story, told_spans, tracing


class Relay(Agent):
    @action(ON_INPUT)
    @staticmethod
    def receive(event: Event, ctx: RunnerContext) -> None:
        ctx.send_event(note(input_of(event)))

    @action(ON_NOTE)
    @staticmethod
    async def answer(event: Event, ctx: RunnerContext) -> None:
        ctx.send_event(output(text_of(event)))


class Deep(Agent):
    """Counts down, one action for each step."""

    @action(ON_INPUT)
    @staticmethod
    def begin(event: Event, ctx: RunnerContext) -> None:
        ctx.send_event(note(input_of(event)))

    @action(ON_NOTE)
    @staticmethod
    def step(event: Event, ctx: RunnerContext) -> None:
        left = text_of(event) - 1
        ctx.send_event(note(left) if left else output("landed"))


class OrderError(Exception):
    pass


class SelfishError(Exception):
    """Cannot even say what it is."""

    def __str__(self):
        raise RuntimeError("no")


def _missing():
    raise KeyError("sku")


def _invalid():
    try:
        _missing()
    except KeyError as missing:
        raise ValueError("invalid model response") from missing


def _explicit():
    try:
        _invalid()
    except ValueError as invalid:
        raise OrderError("cannot order") from invalid


def _implicit():
    try:
        _missing()
    except KeyError:
        raise OrderError("while handling another")  # noqa: B904


def _cyclic():
    first, second = OrderError("first"), ValueError("second")
    second.__cause__ = first
    raise first from second


def _speechless():
    raise SelfishError


def _interrupted():
    raise KeyboardInterrupt


def _exiting():
    raise SystemExit(3)


def _cancelled():
    raise asyncio.CancelledError("too late")


FAILURES = {
    failure.__name__: failure
    for failure in (
        _explicit,
        _implicit,
        _cyclic,
        _speechless,
        _interrupted,
        _exiting,
        _cancelled,
    )
}


class Failing(Agent):
    @action(ON_INPUT)
    @staticmethod
    def fail(event: Event, ctx: RunnerContext) -> None:
        ctx.send_event(note("never seen"))
        FAILURES[input_of(event)]()


class FailingCoroutine(Agent):
    @action(ON_INPUT)
    @staticmethod
    async def fail(event: Event, ctx: RunnerContext) -> None:
        ctx.send_event(note("never seen"))
        await ctx.durable_execute_async(str, "half way")
        FAILURES[input_of(event)]()


def record(run, number, **fields):
    """The fields that all records of `run` share, then the given ones."""
    return {
        "timestamp": "T",
        "input_run_id": run,
        "business_key": number,
        "agent_name": "Relay",
        **fields,
    }


def test_two_chained_actions_are_told_field_by_field(instrument, tmp_path):
    instrument()

    local_runner(Relay()).run(key=1, value="hello")

    receive = {
        "execution_id": "execution 1",
        "action_trigger_event_id": "event 1",
        "entity_type": "action",
        "entity_name": "receive",
    }
    answer = {
        "execution_id": "execution 2",
        "action_trigger_event_id": "event 4",
        "entity_type": "action",
        "entity_name": "answer",
    }
    started = {"event_type": "_execution_started_event", "status": "started"}
    finished = {"event_type": "_execution_finished_event", "status": "finished"}
    in_span_2 = {"trace_id": "trace 1", "span_id": "span 2", "event_attributes": {}}
    in_span_3 = in_span_2 | {"span_id": "span 3"}
    expected = [
        {
            "event_id": "event 1",
            "source_event_id": "content 1",
            "event_type": "_input_event",
            "trace_id": "trace 1",
            "span_id": "span 1",
            "event_attributes": {"input": "hello"},
        },
        receive | {"event_id": "event 2"} | started | in_span_2,
        receive | {"event_id": "event 3"} | finished | in_span_2,
        receive
        | {"event_id": "event 4", "source_event_id": "content 2"}
        | {"event_type": NOTE_TYPE, "event_attributes": {"text": "hello"}},
        answer | {"event_id": "event 5"} | started | in_span_3,
        answer | {"event_id": "event 6"} | finished | in_span_3,
        answer
        | {"event_id": "event 7", "source_event_id": "content 3"}
        | {"event_type": "_output_event", "event_attributes": {"output": "hello"}},
    ]
    assert Names().records(log_lines(tmp_path / "log")) == [
        record("run 1", "1", **fields) for fields in expected
    ]


@pytest.mark.parametrize(
    ("key", "text"),
    [(7, "7"), (("tenant", 7), "('tenant', 7)"), (b"N.", "b'N.'"), (None, "None")],
)
def test_the_business_key_is_the_text_of_the_key(instrument, tmp_path, key, text):
    instrument()

    local_runner(Relay()).run(key=key, value="hello")

    lines = log_lines(tmp_path / "log")
    assert {line["business_key"] for line in lines} == {text}


@pytest.mark.parametrize("agent", [Failing, FailingCoroutine])
@pytest.mark.parametrize(
    ("failure", "error_type", "message"),
    [
        ("_explicit", "KeyError", "'sku'"),
        ("_implicit", f"{__name__}.OrderError", "while handling another"),
        ("_cyclic", "ValueError", "second"),
        ("_speechless", f"{__name__}.SelfishError", ""),
        ("_interrupted", "KeyboardInterrupt", ""),
        ("_exiting", "SystemExit", "3"),
        ("_cancelled", "asyncio.exceptions.CancelledError", "too late"),
    ],
)
def test_a_failed_action_tells_its_deepest_explicit_cause(  # noqa: PLR0917
    instrument, tmp_path, agent, failure, error_type, message
):
    provider, exporter = tracing()
    instrument(tracer_provider=provider)

    with pytest.raises(BaseException) as caught:  # noqa: PT011
        local_runner(agent()).run(key="k", value=failure)

    with pytest.raises(BaseException) as uninstrumented:  # noqa: PT011
        FAILURES[failure]()
    assert type(caught.value) is type(uninstrumented.value)
    lines = log_lines(tmp_path / "log")
    assert story(lines) == [
        "e1 _input_event",
        "x1 action fail started because e1",
        "x1 action fail failed because e1",
    ]
    assert lines[-1]["event_type"] == "_execution_failed_event"
    assert lines[-1]["problem_category"] == "action_execution_failed"
    assert lines[-1]["event_attributes"] == {
        "error_type": error_type,
        "error_message": message,
    }
    run, fail = sorted(exporter.get_finished_spans(), key=lambda span: span.start_time)
    for span in (run, fail):
        assert span.status.status_code.name == "ERROR"
        assert span.status.description == message
        assert span.attributes["error.type"] == error_type
        assert span.events == ()


def test_the_very_exception_reaches_the_caller(instrument):
    instrument()
    raised = []

    def fail():
        raised.append(OrderError("this one"))
        raise raised[0]

    FAILURES["fail"] = fail
    with pytest.raises(OrderError) as caught:
        local_runner(Failing()).run(key="k", value="fail")

    assert caught.value is raised[0]
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None


def test_200_actions_deep(instrument, tmp_path):
    provider, exporter = tracing()
    instrument(tracer_provider=provider)

    runner = local_runner(Deep())
    runner.run(key="k", value=200)

    assert runner.get_outputs() == [{"k": "landed"}]
    told = story(log_lines(tmp_path / "log"))
    expected = [
        "e1 _input_event",
        "x1 action begin started because e1",
        "x1 action begin finished because e1",
        "e2 note from x1 because e1",
    ]
    for step in range(2, 202):
        event = "_output_event" if step == 201 else "note"
        expected += [
            f"x{step} action step started because e{step}",
            f"x{step} action step finished because e{step}",
            f"e{step + 1} {event} from x{step} because e{step}",
        ]
    assert told == expected
    spans = told_spans(exporter)
    assert Counter(spans) == {
        "> invoke_agent Deep: UNSET": 1,
        "invoke_agent Deep > action begin: UNSET": 1,
        "invoke_agent Deep > action step: UNSET": 200,
    }


def test_500_inputs_over_7_keys_are_500_complete_runs(instrument, tmp_path):
    provider, exporter = tracing()
    instrument(tracer_provider=provider)

    runner = local_runner(Relay())
    for number in range(500):
        runner.run(key=number % 7, value=number % 5)

    assert len(runner.get_outputs()) == 500
    runs = {}
    for line in log_lines(tmp_path / "log"):
        runs.setdefault(line["input_run_id"], []).append(line)
    assert [lines[0]["business_key"] for lines in runs.values()] == [
        str(number % 7) for number in range(500)
    ]
    assert {tuple(story(lines)) for lines in runs.values()} == {
        (
            "e1 _input_event",
            "x1 action receive started because e1",
            "x1 action receive finished because e1",
            "e2 note from x1 because e1",
            "x2 action answer started because e2",
            "x2 action answer finished because e2",
            "e3 _output_event from x2 because e2",
        )
    }
    every = [line for lines in runs.values() for line in lines]
    assert len({line["event_id"] for line in every}) == len(every) == 3500
    assert len({line["execution_id"] for line in ended(every, "action")}) == 1000
    assert len({span.context.trace_id for span in exporter.get_finished_spans()}) == 500
