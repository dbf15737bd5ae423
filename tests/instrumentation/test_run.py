"""A run of an agent on the real local runner becomes a trace and a part of the log."""

from flink_agents.api.agents.agent import Agent
from flink_agents.api.decorators import action
from flink_agents.api.events.event import Event
from flink_agents.api.runner_context import RunnerContext
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from hosting import (
    NOTE_TYPE,
    ON_INPUT,
    ON_NOTE,
    brief,
    input_of,
    local_runner,
    log_lines,
    note,
    output,
    text_of,
)


class Relay(Agent):
    @action(ON_INPUT)
    @staticmethod
    def receive(event: Event, ctx: RunnerContext) -> None:
        ctx.send_event(note(input_of(event)))

    @action(ON_NOTE)
    @staticmethod
    async def answer(event: Event, ctx: RunnerContext) -> None:
        ctx.send_event(output(text_of(event)))


def test_a_run_is_told_in_order(instrument, tmp_path):
    instrument()

    runner = local_runner(Relay())
    runner.run(key="k", value="hello")

    assert runner.get_outputs() == [{"k": "hello"}]
    assert brief(log_lines(tmp_path / "log")) == [
        "_input_event",
        "action receive started",
        "action receive finished",
        NOTE_TYPE,
        "action answer started",
        "action answer finished",
        "_output_event",
    ]


def test_actions_are_spans_below_the_run_linked_to_what_triggered_them(instrument):
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    instrument(tracer_provider=provider)

    local_runner(Relay()).run(key="k", value="hello")

    receive, answer, run = exporter.get_finished_spans()
    assert [span.name for span in (run, receive, answer)] == [
        "invoke_agent Relay",
        "action receive",
        "action answer",
    ]
    assert run.parent is None
    assert receive.parent == answer.parent == run.context
    assert [link.context for link in receive.links] == []
    assert [link.context for link in answer.links] == [receive.context]
