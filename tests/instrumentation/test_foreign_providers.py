"""Providers that are not the SDK's, that are broken, or of which there are several."""

import logging

import pytest

from hosting import brief, log_lines, output
from opentelemetry import trace
from opentelemetry.exporter.flink_agents import EventLogSpanProcessor
from opentelemetry.instrumentation.flink_agents import uninstrument
from probing import play, tool
from providing import MemoryProvider, ids, ids_of

STORY = [
    "_input_event",
    "action act started",
    "tool probe started",
    "tool probe finished",
    "action act finished",
    "_output_event",
]
SPANS = ["execute_tool probe", "action act", "invoke_agent Stage"]


def work(_, ctx):
    tool(lambda: 1).call()
    ctx.send_event(output("hello"))


class WrappedSpan(trace.Span):
    """A span that hands everything on, as those of Logfire do."""

    def __init__(self, span):
        self._span = span
        for name in (
            "end",
            "add_event",
            "set_attributes",
            "set_attribute",
            "update_name",
            "is_recording",
            "set_status",
            "record_exception",
        ):
            setattr(self, name, getattr(span, name))

    def get_span_context(self):
        return self._span.get_span_context()


for _name in list(WrappedSpan.__abstractmethods__):
    setattr(WrappedSpan, _name, None)
WrappedSpan.__abstractmethods__ = frozenset()


class WrappingTracer(trace.Tracer):
    def __init__(self, tracer):
        self._tracer = tracer

    def start_span(self, *args, **kwargs):
        return WrappedSpan(self._tracer.start_span(*args, **kwargs))

    def start_as_current_span(self, *args, **kwargs):
        raise NotImplementedError


class WrappingProvider(trace.TracerProvider):
    """Not the SDK's, not hashable, and what it makes is recorded all the same."""

    __hash__ = None

    def __init__(self):
        self.wrapped = MemoryProvider()

    def __eq__(self, other):
        return isinstance(other, WrappingProvider)

    def get_tracer(self, *args, **kwargs):
        return WrappingTracer(self.wrapped.get_tracer(*args, **kwargs))


class TakingProvider(WrappingProvider):
    def add_span_processor(self, processor):
        self.wrapped.add_span_processor(processor)


@pytest.mark.parametrize("kind", [WrappingProvider, TakingProvider])
@pytest.mark.parametrize("otlp", [False, True])
def test_a_provider_around_the_sdks_gets_the_spans_and_the_log_is_complete(
    instrument, tmp_path, caplog, otlp, kind
):
    caplog.set_level(logging.INFO, "opentelemetry")
    provider = kind()
    instrument(tracer_provider=provider, otlp=otlp)

    play(work)

    ignored = "otlp=True is ignored: the tracer provider is not the SDK's"
    assert caplog.messages == [ignored] * otlp
    lines = log_lines(tmp_path / "log")
    assert brief(lines) == STORY
    assert provider.wrapped.span_names == SPANS
    tool_span, action, run = provider.wrapped.spans
    assert (tool_span.parent, action.parent) == (action.context, run.context)
    assert [ids_of(line) for line in lines[1:5]] == [
        ids(action),
        ids(tool_span),
        ids(tool_span),
        ids(action),
    ]


def test_what_takes_our_processor_has_it_once_and_shows_it_the_spans_of_others(
    instrument, tmp_path
):
    provider = TakingProvider()

    def ask(*_):
        attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": "gpt-x",
        }
        provider.wrapped.get_tracer("theirs").start_span(
            "x", attributes=attributes
        ).end()

    for event_log in (True, True, False, True):
        instrument(tracer_provider=provider, event_log=event_log)
        play(ask)

    assert (
        brief(log_lines(tmp_path / "log"))
        == [
            "_input_event",
            "action act started",
            "llm gpt-x started",
            "llm gpt-x finished",
            "action act finished",
        ]
        * 3
    )


class Unwilling(trace.TracerProvider):
    def get_tracer(self, *_, **__):
        raise RuntimeError("no tracer here")


def test_a_provider_that_gives_no_tracer_leaves_a_log_without_spans(
    instrument, tmp_path
):
    instrument(tracer_provider=Unwilling())

    runner = play(work)

    assert runner.get_outputs() == [{"k": "hello"}]
    lines = log_lines(tmp_path / "log")
    assert brief(lines) == STORY
    assert {ids_of(line) for line in lines} == {(None, None)}


def test_after_its_provider_was_shut_down_the_log_goes_on(instrument, tmp_path):
    provider = MemoryProvider()
    instrument(tracer_provider=provider)
    play(work)
    provider.shutdown()

    play(work)

    assert brief(log_lines(tmp_path / "log")) == STORY * 2


def test_each_of_several_providers_has_its_own_spans_and_its_own_log(
    instrument, tmp_path
):
    folders = [tmp_path / name for name in ("first", "second")]
    providers = []
    for folder in folders:
        provider = MemoryProvider()
        provider.add_span_processor(EventLogSpanProcessor(folder))
        providers.append(provider)

    for provider in [*providers, providers[0]]:
        instrument(tracer_provider=provider)
        play(work)
    uninstrument()

    assert [each.span_names for each in providers] == [SPANS * 2, SPANS]
    assert [brief(log_lines(folder)) for folder in folders] == [STORY * 2, STORY]
    assert not (tmp_path / "log").exists()


def test_a_run_keeps_the_provider_with_which_it_began(instrument, tmp_path):
    first, second = MemoryProvider(), MemoryProvider()
    instrument(tracer_provider=first)

    def switching(event, ctx):
        instrument(tracer_provider=second)
        work(event, ctx)

    play(switching)
    play(work)

    assert [first.span_names, second.span_names] == [SPANS, SPANS]
    assert brief(log_lines(tmp_path / "log")) == STORY * 2
