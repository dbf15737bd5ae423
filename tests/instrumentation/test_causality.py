"""What triggered what: every record names the very occurrence of its event."""

import contextlib
import uuid

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


class Branching(Agent):
    @action(ON_INPUT)
    @staticmethod
    def left(event: Event, ctx: RunnerContext) -> None:
        ctx.send_event(note("from left"))

    @action(ON_INPUT)
    @staticmethod
    def right(event: Event, ctx: RunnerContext) -> None:
        ctx.send_event(note("from right"))

    @action(ON_NOTE)
    @staticmethod
    def first(event: Event, ctx: RunnerContext) -> None:
        ctx.send_event(output(f"first {text_of(event)}"))

    @action(ON_NOTE)
    @staticmethod
    async def second(event: Event, ctx: RunnerContext) -> None:
        ctx.send_event(output(f"second {text_of(event)}"))


def test_every_branch_names_the_event_that_it_grew_from(instrument, tmp_path):
    provider, exporter = tracing()
    instrument(tracer_provider=provider)

    local_runner(Branching()).run(key="k", value="hello")

    assert story(log_lines(tmp_path / "log")) == [
        "e1 _input_event",
        "x1 action left started because e1",
        "x1 action left finished because e1",
        "e2 note from x1 because e1",
        "x2 action right started because e1",
        "x2 action right finished because e1",
        "e3 note from x2 because e1",
        "x3 action first started because e2",
        "x3 action first finished because e2",
        "e4 _output_event from x3 because e2",
        "x4 action second started because e2",
        "x4 action second finished because e2",
        "e5 _output_event from x4 because e2",
        "x5 action first started because e3",
        "x5 action first finished because e3",
        "e6 _output_event from x5 because e3",
        "x6 action second started because e3",
        "x6 action second finished because e3",
        "e7 _output_event from x6 because e3",
    ]
    assert links(exporter) == [
        "invoke_agent Branching",
        "action left",
        "action right",
        "action first after action left",
        "action second after action left",
        "action first after action right",
        "action second after action right",
    ]


def links(exporter):
    """Which action span is linked to which, in the order of their starts."""
    spans = sorted(exporter.get_finished_spans(), key=lambda span: span.start_time)
    names = {span.context.span_id: span.name for span in spans}
    return [
        " after ".join(
            [span.name, *(names[link.context.span_id] for link in span.links)]
        )
        for span in spans
    ]


class Equal(Agent):
    """Sends two events that nobody can tell apart, `same` one object twice."""

    @action(ON_INPUT)
    @staticmethod
    def equal(event: Event, ctx: RunnerContext) -> None:
        ctx.send_event(note("same"))
        ctx.send_event(note("same"))

    @action(ON_INPUT)
    @staticmethod
    def same(event: Event, ctx: RunnerContext) -> None:
        once = note("same")
        ctx.send_event(once)
        ctx.send_event(once)

    @action(ON_NOTE)
    @staticmethod
    def first(event: Event, ctx: RunnerContext) -> None:
        pass

    @action(ON_NOTE)
    @staticmethod
    def second(event: Event, ctx: RunnerContext) -> None:
        pass


def test_equal_events_and_one_event_sent_twice_are_told_apart(instrument, tmp_path):
    instrument()

    local_runner(Equal()).run(key="k", value="hello")

    lines = log_lines(tmp_path / "log")
    dispatches = [
        f"x{number} action {name} {status} because e{event}"
        for number, name, event in [
            (3, "first", 2),
            (4, "second", 2),
            (5, "first", 3),
            (6, "second", 3),
            (7, "first", 4),
            (8, "second", 4),
            (9, "first", 5),
            (10, "second", 5),
        ]
        for status in ("started", "finished")
    ]
    assert story(lines) == [
        "e1 _input_event",
        "x1 action equal started because e1",
        "x1 action equal finished because e1",
        "e2 note from x1 because e1",
        "e3 note from x1 because e1",
        "x2 action same started because e1",
        "x2 action same finished because e1",
        "e4 note from x2 because e1",
        "e5 note from x2 because e1",
        *dispatches,
    ]
    notes = [line for line in lines if line["event_attributes"] == {"text": "same"}]
    assert len(notes) == 4
    assert len({line["source_event_id"] for line in notes}) == 1


class Echo(Agent):
    @action(ON_INPUT)
    @staticmethod
    def echo(event: Event, ctx: RunnerContext) -> None:
        ctx.send_event(output(input_of(event)))


def test_equal_inputs_of_one_key_are_two_runs(instrument, tmp_path):
    provider, exporter = tracing()
    instrument(tracer_provider=provider)

    runner = local_runner(Echo())
    runner.run(key="k", value="hello")
    runner.run(key="k", value="hello")

    lines = log_lines(tmp_path / "log")
    assert story(lines) == [
        "e1 _input_event",
        "x1 action echo started because e1",
        "x1 action echo finished because e1",
        "e2 _output_event from x1 because e1",
        "r2 e3 _input_event",
        "r2 x2 action echo started because e3",
        "r2 x2 action echo finished because e3",
        "r2 e4 _output_event from x2 because e3",
    ]
    assert [line["source_event_id"] for line in (lines[0], lines[3])] == [
        line["source_event_id"] for line in (lines[4], lines[7])
    ]
    first, second = {span.context.trace_id for span in exporter.get_finished_spans()}
    assert first != second


class Chain(Agent):
    """Forwards the very event that it was called for, as often as it says."""

    @action(ON_INPUT)
    @staticmethod
    def begin(event: Event, ctx: RunnerContext) -> None:
        LEFT[:] = [2]
        ctx.send_event(note("again"))

    @action(ON_NOTE)
    @staticmethod
    def again(event: Event, ctx: RunnerContext) -> None:
        if LEFT[0]:
            LEFT[0] -= 1
            ctx.send_event(event)


LEFT = [0]


def test_an_event_sent_again_by_its_own_action_is_a_further_occurrence(
    instrument, tmp_path
):
    instrument()

    local_runner(Chain()).run(key="k", value="hello")

    assert story(log_lines(tmp_path / "log")) == [
        "e1 _input_event",
        "x1 action begin started because e1",
        "x1 action begin finished because e1",
        "e2 note from x1 because e1",
        "x2 action again started because e2",
        "x2 action again finished because e2",
        "e3 note from x2 because e2",
        "x3 action again started because e3",
        "x3 action again finished because e3",
        "e4 note from x3 because e3",
        "x4 action again started because e4",
        "x4 action again finished because e4",
    ]


class Unheard(Agent):
    @action(ON_INPUT)
    @staticmethod
    def speak(event: Event, ctx: RunnerContext) -> None:
        ctx.send_event(note("is anybody there?"))


def test_an_event_without_listeners_fails_the_run_and_no_action(instrument, tmp_path):
    provider, exporter = tracing()
    instrument(tracer_provider=provider)

    with pytest.raises(KeyError):
        local_runner(Unheard()).run(key="k", value="hello")

    assert story(log_lines(tmp_path / "log")) == [
        "e1 _input_event",
        "x1 action speak started because e1",
        "x1 action speak finished because e1",
        "e2 note from x1 because e1",
    ]
    assert told_spans(exporter) == [
        "> invoke_agent Unheard: ERROR",
        "invoke_agent Unheard > action speak: UNSET",
    ]
    assert exporter.get_finished_spans()[-1].attributes["error.type"] == "KeyError"


def test_without_a_key_the_host_s_own_is_the_business_key(instrument, tmp_path):
    instrument()

    runner = local_runner(Echo())
    key = runner.run(value="hello")

    lines = log_lines(tmp_path / "log")
    assert {line["business_key"] for line in lines} == {str(key)}
    assert len(lines) == 4


def test_the_short_names_k_and_v_do_too(instrument, tmp_path):
    instrument()

    runner = local_runner(Echo())
    runner.run(k="k", v="hello")

    assert runner.get_outputs() == [{"k": "hello"}]
    lines = log_lines(tmp_path / "log")
    assert {line["business_key"] for line in lines} == {"k"}


def test_without_a_value_there_is_no_run(instrument, tmp_path):
    provider, exporter = tracing()
    instrument(tracer_provider=provider)

    runner = local_runner(Echo())
    with pytest.raises(RuntimeError, match="Input data must be dict"):
        runner.run(key="k")

    assert log_lines(tmp_path / "log") == []
    assert exporter.get_finished_spans() == ()
    runner.run(key="k", value="hello")
    assert len(log_lines(tmp_path / "log")) == 4


class Nesting(Agent):
    """Runs an agent inside its action; which one, its input says."""

    @action(ON_INPUT)
    @staticmethod
    def outer(event: Event, ctx: RunnerContext) -> None:
        what = input_of(event)
        if what == "plain":
            ctx.send_event(output("inner"))
            return
        if what == "fail":
            raise ValueError("inside")
        ctx.send_event(note("before"))
        runner = RUNNERS["outer" if what == "same runner" else "other"]
        key = "k" if what in {"same runner", "same key"} else "another key"
        with contextlib.suppress(ValueError):
            runner.run(key=key, value="fail" if what == "failing" else "plain")
        ctx.send_event(output("after"))

    @action(ON_INPUT)
    @staticmethod
    async def beside(event: Event, ctx: RunnerContext) -> None:
        pass

    @action(ON_NOTE)
    @staticmethod
    def listen(event: Event, ctx: RunnerContext) -> None:
        pass


RUNNERS = {}


@pytest.fixture
def nest(instrument, tmp_path):
    """Run `Nesting`; the stories of its runs, and the spans."""
    provider, exporter = tracing()
    instrument(tracer_provider=provider)
    RUNNERS.update(outer=local_runner(Nesting()), other=local_runner(Nesting()))

    def run(what):
        RUNNERS["outer"].run(key="k", value=what)
        return story(log_lines(tmp_path / "log")), exporter

    yield run
    RUNNERS.clear()


@pytest.mark.parametrize("what", ["another runner", "same key"])
def test_a_run_inside_an_action_is_a_run_of_its_own(nest, what):
    told, exporter = nest(what)

    assert told == [
        "e1 _input_event",
        "x1 action outer started because e1",
        "r2 e2 _input_event",
        "r2 x2 action outer started because e2",
        "r2 x2 action outer finished because e2",
        "r2 e3 _output_event from x2 because e2",
        "r2 x3 action beside started because e2",
        "r2 x3 action beside finished because e2",
        "x1 action outer finished because e1",
        "e4 note from x1 because e1",
        "e5 _output_event from x1 because e1",
        "x4 action beside started because e1",
        "x4 action beside finished because e1",
        "x5 action listen started because e4",
        "x5 action listen finished because e4",
    ]
    assert told_spans(exporter) == [
        "> invoke_agent Nesting: UNSET",
        "invoke_agent Nesting > action outer: UNSET",
        "action outer > invoke_agent Nesting: UNSET",
        "invoke_agent Nesting > action outer: UNSET",
        "invoke_agent Nesting > action beside: UNSET",
        "invoke_agent Nesting > action beside: UNSET",
        "invoke_agent Nesting > action listen: UNSET",
    ]


def test_a_failed_run_inside_an_action_that_handles_it_fails_no_other(nest):
    told, exporter = nest("failing")

    assert told[1:6] == [
        "x1 action outer started because e1",
        "r2 e2 _input_event",
        "r2 x2 action outer started because e2",
        "r2 x2 action outer failed because e2",
        "x1 action outer finished because e1",
    ]
    assert told_spans(exporter)[:4] == [
        "> invoke_agent Nesting: UNSET",
        "invoke_agent Nesting > action outer: UNSET",
        "action outer > invoke_agent Nesting: ERROR",
        "invoke_agent Nesting > action outer: ERROR",
    ]


def test_a_run_of_the_same_runner_and_key_works_off_what_is_queued(nest):
    # The two runs share one queue: the inner one takes the note that the outer one
    # has sent, before that one's action is at its end.
    told, _ = nest("same runner")

    assert told == [
        "e1 _input_event",
        "x1 action outer started because e1",
        "r2 e2 _input_event",
        "r2 x2 action listen started because e3",
        "r2 x2 action listen finished because e3",
        "r2 x3 action outer started because e2",
        "r2 x3 action outer finished because e2",
        "r2 e4 _output_event from x3 because e2",
        "r2 x4 action beside started because e2",
        "r2 x4 action beside finished because e2",
        "x1 action outer finished because e1",
        "e3 note from x1 because e1",
        "e5 _output_event from x1 because e1",
        "x5 action beside started because e1",
        "x5 action beside finished because e1",
    ]


def test_a_run_is_a_child_of_the_span_around_it(instrument, tmp_path):
    provider, exporter = tracing()
    instrument(tracer_provider=provider)

    with provider.get_tracer("application").start_as_current_span("request") as span:
        local_runner(Echo()).run(key="k", value="hello")

    assert told_spans(exporter) == [
        "> request: UNSET",
        "request > invoke_agent Echo: UNSET",
        "invoke_agent Echo > action echo: UNSET",
    ]
    first = log_lines(tmp_path / "log")[0]
    assert first["trace_id"] == f"{span.get_span_context().trace_id:032x}"


class Mutating(Agent):
    """Changes what it has sent."""

    @action(ON_INPUT)
    @staticmethod
    def send(event: Event, ctx: RunnerContext) -> None:
        items = [1]
        ctx.send_event(note({"items": items}))
        ctx.send_event(output(list(items)))

    @action(ON_NOTE)
    @staticmethod
    def change(event: Event, ctx: RunnerContext) -> None:
        text_of(event)["items"].append(2)
        ctx.send_event(output(text_of(event)))


def test_an_event_is_told_as_it_was_when_it_was_sent(instrument, tmp_path):
    instrument()

    local_runner(Mutating()).run(key="k", value="hello")

    lines = log_lines(tmp_path / "log")
    assert [line["event_attributes"] for line in lines if "status" not in line] == [
        {"input": "hello"},
        {"text": {"items": [1]}},
        {"output": [1]},
        {"output": {"items": [1, 2]}},
    ]


def test_ids_that_are_unique_already_are_kept(instrument, tmp_path):
    instrument()
    unique = note("hello")
    unique.id = uuid.uuid4()
    SENT[:] = [unique, unique]

    local_runner(Sending()).run(key="k", value="hello")

    lines = log_lines(tmp_path / "log")
    first, second = [line for line in lines if "text" in line["event_attributes"]]
    assert first["event_id"] == str(unique.id)
    assert "source_event_id" not in first
    assert second["event_id"] != str(unique.id)
    assert second["source_event_id"] == str(unique.id)
    assert Names().records(lines)[-1]["action_trigger_event_id"] == "event 5"


class Sending(Agent):
    @action(ON_INPUT)
    @staticmethod
    def send(event: Event, ctx: RunnerContext) -> None:
        for prepared in SENT:
            ctx.send_event(prepared)

    @action(ON_NOTE)
    @staticmethod
    def listen(event: Event, ctx: RunnerContext) -> None:
        pass


SENT = []
