"""Sampling thins what is exported, never the Event Log, and only as it was told to."""

import pytest
from opentelemetry.sdk.trace import SpanProcessor
from opentelemetry.sdk.trace.sampling import (
    ALWAYS_OFF,
    ALWAYS_ON,
    Decision,
    ParentBased,
    Sampler,
    SamplingResult,
    TraceIdRatioBased,
)
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags

from hosting import brief, log_lines, output
from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.instrumentation.flink_agents import (
    FlinkAgentsInstrumentor,
)
from probing import play
from providing import MemoryProvider

SCOPE = "opentelemetry.instrumentation.flink_agents"
UNSAMPLED = SpanContext(0x1234, 0x5678, is_remote=True, trace_flags=TraceFlags(0))


def say_hello(_, ctx):
    ctx.send_event(output("hello"))


def our_tracer(provider):
    """The tracer of the session in force."""
    return FlinkAgentsInstrumentor()._core.providers.session()._tracer


def assert_log_is_complete(folder):
    lines = log_lines(folder)
    assert brief(lines) == [
        "_input_event",
        "action act started",
        "action act finished",
        "_output_event",
    ]
    entered, started, finished, _ = lines
    assert started["trace_id"] == finished["trace_id"] == entered["trace_id"]
    assert started["span_id"] == finished["span_id"] != entered["span_id"]
    return lines


@pytest.mark.parametrize(
    "sampler",
    [ALWAYS_OFF, TraceIdRatioBased(0), ParentBased(ALWAYS_OFF)],
    ids=["always off", "ratio 0", "parent based"],
)
def test_a_sampler_that_drops_everything_leaves_the_log_complete(
    sampler, instrument, tmp_path
):
    provider = MemoryProvider(sampler=sampler)
    instrument(tracer_provider=provider)

    play(say_hello)

    assert_log_is_complete(tmp_path / "log")
    assert provider.spans == []


def test_an_unsampled_caller_leaves_the_log_complete_and_in_its_trace(
    instrument, tmp_path
):
    provider = MemoryProvider(sampler=ParentBased(ALWAYS_ON))
    instrument(tracer_provider=provider)
    token = otel_context.attach(trace.set_span_in_context(NonRecordingSpan(UNSAMPLED)))
    try:
        play(say_hello)
    finally:
        otel_context.detach(token)

    lines = assert_log_is_complete(tmp_path / "log")
    assert lines[0]["trace_id"] == f"{0x1234:032x}"
    assert provider.spans == []


def test_what_a_sampler_drops_no_processor_is_told_but_it_is_passed_on(instrument):
    provider = MemoryProvider(sampler=ALWAYS_OFF)
    told = []
    provider.add_span_processor(Told(told))
    instrument(tracer_provider=provider)
    seen = []

    play(lambda *_: seen.append(trace.get_current_span()))

    [span] = seen
    context = span.get_span_context()
    assert (context.is_valid, context.trace_flags.sampled) == (True, False)
    assert not span.is_recording()
    assert told == []


class Told(SpanProcessor):
    def __init__(self, told):
        self.told = told

    def on_start(self, span, parent_context=None):
        self.told.append(span.name)


def test_other_tracers_are_sampled_as_before(instrument):
    provider = MemoryProvider(sampler=ParentBased(ALWAYS_OFF))
    early = provider.get_tracer("early")
    instrument(tracer_provider=provider)
    recorded = []

    def work(*_):
        for tracer in (early, provider.get_tracer("late")):
            with tracer.start_as_current_span("theirs") as span:
                recorded.append(span.is_recording())

    play(work)
    with provider.get_tracer("outside").start_as_current_span("theirs") as span:
        recorded.append(span.is_recording())

    assert recorded == [False, False, False]
    assert (
        provider.sampler.get_description() == ParentBased(ALWAYS_OFF).get_description()
    )


class Choosy(Sampler):
    """Decides by identity and keeps what it was asked."""

    def __init__(self):
        self.asked = []

    def should_sample(  # noqa: PLR0917  # the SDK's signature
        self,
        parent_context,
        trace_id,
        name,
        kind=None,
        attributes=None,
        links=None,
        trace_state=None,
    ):
        self.asked.append((name, dict(attributes)))
        is_kept = attributes.get("flink_agents.business_key") == "vip"
        decision = Decision.RECORD_AND_SAMPLE if is_kept else Decision.DROP
        return SamplingResult(decision, {**attributes, "by": "choosy"})

    def get_description(self):
        return "Choosy"


def test_a_sampler_sees_the_identity_and_its_yes_stands(instrument, tmp_path):
    sampler = Choosy()
    provider = MemoryProvider(sampler=sampler)
    instrument(tracer_provider=provider)

    play(say_hello, key="vip")
    play(say_hello, key="other")

    assert provider.span_names == ["action act", "invoke_agent Stage"]
    assert {span.attributes["by"] for span in provider.spans} == {"choosy"}
    assert len(log_lines(tmp_path / "log")) == 8
    names, attributes = zip(*sampler.asked, strict=True)
    assert names == ("invoke_agent Stage", "action act") * 2
    run, action = attributes[:2]
    line = log_lines(tmp_path / "log")[1]
    assert run == {
        "flink_agents.input_run_id": line["input_run_id"],
        "flink_agents.business_key": "vip",
        "flink_agents.agent.name": "Stage",
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "Stage",
    }
    assert {
        name: value
        for name, value in action.items()
        if name.startswith(("flink_agents.execution", "flink_agents.entity"))
    } == {
        "flink_agents.execution.id": line["execution_id"],
        "flink_agents.entity.type": "action",
        "flink_agents.entity.name": "act",
    }


def test_the_sampler_is_never_touched(instrument):
    sampler = TraceIdRatioBased(0)
    provider = MemoryProvider(sampler=sampler)
    instrument(tracer_provider=provider)

    play(say_hello)

    assert our_tracer(provider).sampler is sampler
    assert provider.sampler is sampler
