"""Events that a failed run leaves behind are told by the next run of their key."""

import pytest
from flink_agents.api.agents.agent import Agent
from flink_agents.api.decorators import action
from flink_agents.api.events.event import Event
from flink_agents.api.runner_context import RunnerContext

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
from telling import Names, story, told_spans, tracing


class Careless(Agent):
    """Sends, and then fails if its input says so."""

    @action(ON_INPUT)
    @staticmethod
    def send(event: Event, ctx: RunnerContext) -> None:
        ctx.send_event(note("sent"))
        ctx.send_event(output("sent"))
        if input_of(event) == "fail":
            raise ValueError("after sending")

    @action(ON_NOTE)
    @staticmethod
    def listen(event: Event, ctx: RunnerContext) -> None:
        ctx.send_event(output(f"heard {text_of(event)}"))


def fail(runner, key="k", value="fail"):
    with pytest.raises(ValueError, match="after sending"):
        runner.run(key=key, value=value)


FAILED = [
    "e1 _input_event",
    "x1 action send started because e1",
    "x1 action send failed because e1",
]


def test_leftovers_follow_the_next_input_of_their_key(instrument, tmp_path):
    provider, exporter = tracing()
    instrument(tracer_provider=provider)
    runner = local_runner(Careless())

    fail(runner)
    runner.run(key="other", value="fine")
    runner.run(key="k", value="fine")

    assert runner.get_outputs() == [
        {"other": "sent"},
        {"other": "heard sent"},
        {"k": "sent"},
        {"k": "heard sent"},
        {"k": "sent"},
        {"k": "heard sent"},
    ]
    assert story(log_lines(tmp_path / "log")) == [
        *FAILED,
        "r2 e2 _input_event",
        "r2 x2 action send started because e2",
        "r2 x2 action send finished because e2",
        "r2 e3 note from x2 because e2",
        "r2 e4 _output_event from x2 because e2",
        "r2 x3 action listen started because e3",
        "r2 x3 action listen finished because e3",
        "r2 e5 _output_event from x3 because e3",
        "r3 e6 _input_event",
        "r3 e7 note from x1 because e1",
        "r3 e8 _output_event from x1 because e1",
        "r3 x4 action listen started because e7",
        "r3 x4 action listen finished because e7",
        "r3 e9 _output_event from x4 because e7",
        "r3 x5 action send started because e6",
        "r3 x5 action send finished because e6",
        "r3 e10 note from x5 because e6",
        "r3 e11 _output_event from x5 because e6",
        "r3 x6 action listen started because e10",
        "r3 x6 action listen finished because e10",
        "r3 e12 _output_event from x6 because e10",
    ]
    spans = sorted(exporter.get_finished_spans(), key=lambda span: span.start_time)
    failed = next(span for span in spans if span.name == "action send")
    leftover = [span for span in spans if span.name == "action listen"][1]
    assert [link.context for link in leftover.links] == [failed.context]
    assert leftover.context.trace_id != failed.context.trace_id


def test_a_leftover_is_told_field_by_field(instrument, tmp_path):
    instrument()
    runner = local_runner(Careless())

    fail(runner)
    runner.run(key="k", value="fine")

    told = Names().records(log_lines(tmp_path / "log"))
    assert told[5] == {
        "timestamp": "T",
        "input_run_id": "run 2",
        "business_key": "k",
        "agent_name": "Careless",
        "execution_id": "execution 1",
        "action_trigger_event_id": "event 1",
        "entity_type": "action",
        "entity_name": "send",
        "event_id": "event 6",
        "source_event_id": "content 4",
        "event_type": "_output_event",
        "event_attributes": {"output": "sent"},
    }


def test_leftovers_are_told_though_the_next_run_fails_before_it_reaches_them(
    instrument, tmp_path
):
    instrument()
    runner = local_runner(Stubborn())

    fail(runner)
    fail(runner)
    runner.run(key="k", value="fine")

    assert story(log_lines(tmp_path / "log")) == [
        *FAILED,
        "r2 e2 _input_event",
        "r2 e3 note from x1 because e1",
        "r2 e4 note from x1 because e1",
        "r2 x2 action listen started because e3",
        "r2 x2 action listen failed because e3",
        # The input of the second run is still queued, behind the second note.
        "r3 e5 _input_event",
        "r3 x3 action listen started because e4",
        "r3 x3 action listen finished because e4",
        "r3 x4 action send started because e2",
        "r3 x4 action send finished because e2",
        "r3 x5 action send started because e5",
        "r3 x5 action send finished because e5",
    ]


class Stubborn(Agent):
    """Fails in the first two runs, wherever they are."""

    @action(ON_INPUT)
    @staticmethod
    def send(event: Event, ctx: RunnerContext) -> None:
        if input_of(event) == "fail" and not RUNS:
            RUNS.append("first")
            ctx.send_event(note("one"))
            ctx.send_event(note("two"))
            raise ValueError("after sending")

    @action(ON_NOTE)
    @staticmethod
    def listen(event: Event, ctx: RunnerContext) -> None:
        if text_of(event) == "one":
            raise ValueError("after sending")


RUNS = []


@pytest.fixture(autouse=True)
def _first_run():
    RUNS.clear()


def test_failing_twice_in_a_row_tells_the_leftovers_of_both(instrument, tmp_path):
    instrument()
    runner = local_runner(Careless())

    fail(runner)
    fail(runner)
    runner.run(key="k", value="fine")

    assert story(log_lines(tmp_path / "log")) == [
        *FAILED,
        "r2 e2 _input_event",
        "r2 e3 note from x1 because e1",
        "r2 e4 _output_event from x1 because e1",
        "r2 x2 action listen started because e3",
        "r2 x2 action listen finished because e3",
        "r2 e5 _output_event from x2 because e3",
        "r2 x3 action send started because e2",
        "r2 x3 action send failed because e2",
        "r3 e6 _input_event",
        "r3 e7 note from x3 because e2",
        "r3 e8 _output_event from x3 because e2",
        "r3 x4 action listen started because e7",
        "r3 x4 action listen finished because e7",
        "r3 e9 _output_event from x4 because e7",
        "r3 x5 action send started because e6",
        "r3 x5 action send finished because e6",
        "r3 e10 note from x5 because e6",
        "r3 e11 _output_event from x5 because e6",
        "r3 x6 action listen started because e10",
        "r3 x6 action listen finished because e10",
        "r3 e12 _output_event from x6 because e10",
    ]


def test_without_a_next_run_leftovers_are_not_told(instrument, tmp_path):
    provider, exporter = tracing()
    instrument(tracer_provider=provider)

    fail(local_runner(Careless()))

    assert story(log_lines(tmp_path / "log")) == FAILED
    assert told_spans(exporter) == [
        "> invoke_agent Careless: ERROR",
        "invoke_agent Careless > action send: ERROR",
    ]


class Behind(Agent):
    """Sends in one action; another one fails before its events are worked off."""

    @action(ON_INPUT)
    @staticmethod
    def send(event: Event, ctx: RunnerContext) -> None:
        ctx.send_event(note(input_of(event)))

    @action(ON_INPUT)
    @staticmethod
    def check(event: Event, ctx: RunnerContext) -> None:
        if input_of(event) == "fail":
            raise ValueError("after sending")

    @action(ON_NOTE)
    @staticmethod
    def listen(event: Event, ctx: RunnerContext) -> None:
        ctx.send_event(output(text_of(event)))


def test_events_of_finished_actions_are_not_told_again(instrument, tmp_path):
    instrument()
    runner = local_runner(Behind())

    fail(runner)
    runner.run(key="k", value="fine")

    assert runner.get_outputs() == [{"k": "fail"}, {"k": "fine"}]
    assert story(log_lines(tmp_path / "log")) == [
        "e1 _input_event",
        "x1 action send started because e1",
        "x1 action send finished because e1",
        "e2 note from x1 because e1",
        "x2 action check started because e1",
        "x2 action check failed because e1",
        "r2 e3 _input_event",
        "r2 x3 action listen started because e2",
        "r2 x3 action listen finished because e2",
        "r2 e4 _output_event from x3 because e2",
        "r2 x4 action send started because e3",
        "r2 x4 action send finished because e3",
        "r2 e5 note from x4 because e3",
        "r2 x5 action check started because e3",
        "r2 x5 action check finished because e3",
        "r2 x6 action listen started because e5",
        "r2 x6 action listen finished because e5",
        "r2 e6 _output_event from x6 because e5",
    ]


def test_a_leftover_of_an_interrupted_run_is_told_too(instrument, tmp_path):
    instrument()
    runner = local_runner(Interrupted())

    with pytest.raises(KeyboardInterrupt):
        runner.run(key="k", value="fail")
    runner.run(key="k", value="fine")

    assert story(log_lines(tmp_path / "log"))[2:5] == [
        "x1 action send failed because e1",
        "r2 e2 _input_event",
        "r2 e3 _output_event from x1 because e1",
    ]


class Interrupted(Agent):
    @action(ON_INPUT)
    @staticmethod
    async def send(event: Event, ctx: RunnerContext) -> None:
        if input_of(event) == "fail":
            ctx.send_event(output("sent"))
            raise KeyboardInterrupt
