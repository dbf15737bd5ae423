"""A log that is replayed gives the spans that were sent while it was written."""

import pytest
from flink_agents.api.agents.agent import Agent
from flink_agents.api.decorators import action
from flink_agents.api.events.event import Event
from flink_agents.api.runner_context import RunnerContext

from chat_agents import (
    RETRYING,
    Asking,
    ChatAgent,
    Structured,
    outcome,
    tool_request,
)
from hosting import ON_INPUT, ON_NOTE, input_of, local_runner, note, output, text_of
from providing import MemoryProvider
from replaying import encoded, replayed, told
from scripted_llm import Reply

DOWN = Reply.status(500, message="down")
# What only the call itself knows: it is in no record.
NOT_RECORDED = {
    "server.address",
    "server.port",
    "gen_ai.output.type",
    "gen_ai.request.temperature",
    "gen_ai.response.id",
    "gen_ai.response.finish_reasons",
    "gen_ai.tool.definitions",
}
# Taken from content, of which the native dialect has none.
OF_CONTENT = {"flink_agents.parser.schema", "gen_ai.response.model"}


class UsingTools(ChatAgent):
    """Calls one tool that answers and one that fails the action."""

    @action(ON_INPUT)
    @staticmethod
    def request(event: Event, ctx: RunnerContext) -> None:
        ctx.send_event(tool_request(("double", {"number": 4})))
        ctx.send_event(tool_request(("refuse", {"reason": "no"})))


class Leaving(Agent):
    """Fails after it sent an event, which the next run of the key works off."""

    @action(ON_INPUT)
    @staticmethod
    def act(event: Event, ctx: RunnerContext) -> None:
        ctx.send_event(note("left over"))
        if input_of(event) == "fail":
            raise RuntimeError("outer") from KeyError("inner")

    @action(ON_NOTE)
    @staticmethod
    def noted(event: Event, ctx: RunnerContext) -> None:
        ctx.send_event(output(text_of(event)))


def tell_all():
    """Runs of every kind: retries, failures, tools, a parser, what a run left over."""
    outcome(Asking, [DOWN, Reply.text("fine")], **RETRYING)
    outcome(Asking, [DOWN, DOWN, DOWN], **RETRYING)
    replies = [Reply.text("no json"), Reply.text('{"result": 3}')]
    outcome(Structured, replies, **RETRYING)
    outcome(UsingTools, [])
    runner = local_runner(Leaving())
    with pytest.raises(RuntimeError):
        runner.run(key="k", value="fail")
    runner.run(key="k", value="go on")


@pytest.mark.parametrize(
    ("dialect", "content"), [("snake", "SPAN_ONLY"), ("native", "NO_CONTENT")]
)
def test_a_replayed_log_equals_the_spans_that_were_sent_live(
    dialect, content, instrument, tmp_path, monkeypatch
):
    variable = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
    monkeypatch.setenv(variable, content)
    provider = MemoryProvider()
    instrument(tracer_provider=provider, dialect=dialect)
    tell_all()

    live = told(encoded(provider.spans))
    again = told(replayed(tmp_path / "log"))

    assert set(again) == set(live)
    kinds = {
        each["attributes"].get("flink_agents.entity.type") for each in live.values()
    }
    assert kinds == {None, "action", "llm", "parser", "tool"}
    missing = set()
    for span_id, span in live.items():
        copy = again[span_id]
        if span["name"].startswith("invoke_agent"):
            assert copy.pop("end") <= span.pop("end")
        missing |= span["attributes"].keys() - copy["attributes"].keys()
        kept = {name: span["attributes"][name] for name in copy["attributes"]}
        assert copy == {**span, "attributes": kept}
    assert missing - NOT_RECORDED == (OF_CONTENT if dialect == "native" else set())
