"""Whatever provider is there, or none: the log is written and nothing global is set."""

import logging

import pytest
from flink_agents.runtime.local_runner import LocalRunner
from opentelemetry.instrumentation.utils import suppress_instrumentation
from opentelemetry.trace import NoOpTracer, NoOpTracerProvider

from hosting import brief, log_lines, output
from opentelemetry import trace
from opentelemetry.exporter.flink_agents import EventLogSpanProcessor
from opentelemetry.instrumentation.flink_agents import uninstrument
from probing import play
from processes import printed_by
from providing import MemoryProvider, ids_of, no_global_provider

STORY = [
    "_input_event",
    "action act started",
    "action act finished",
    "_output_event",
]


@pytest.fixture(autouse=True)
def _nothing_global():
    with no_global_provider():
        yield


def say_hello(_, ctx):
    ctx.send_event(output("hello"))


def assert_story_without_spans(folder):
    lines = log_lines(folder)
    assert brief(lines) == STORY
    assert {ids_of(line) for line in lines} == {(None, None)}


def test_without_a_provider_the_log_is_written_and_none_is_set(instrument, tmp_path):
    instrument()

    play(say_hello)

    lines = log_lines(tmp_path / "log")
    assert brief(lines) == STORY
    assert lines[1]["span_id"] == lines[2]["span_id"]
    assert trace._TRACER_PROVIDER is None
    assert isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)


def test_a_provider_that_was_set_before_gets_the_spans(instrument, tmp_path):
    provider = MemoryProvider()
    trace.set_tracer_provider(provider)
    instrument()

    play(say_hello)

    assert provider.span_names == ["action act", "invoke_agent Stage"]
    assert brief(log_lines(tmp_path / "log")) == STORY


def test_a_provider_that_is_set_later_gets_the_spans_from_the_next_run(
    instrument, tmp_path
):
    instrument()
    play(say_hello)
    provider = MemoryProvider()

    def work(_, ctx):
        trace.set_tracer_provider(provider)
        say_hello(_, ctx)

    play(work)
    before = provider.span_names
    play(say_hello)

    assert before == []
    assert provider.span_names == ["action act", "invoke_agent Stage"]
    assert brief(log_lines(tmp_path / "log")) == STORY * 3


def test_the_provider_that_is_given_wins(instrument):
    given, other = MemoryProvider(), MemoryProvider()
    trace.set_tracer_provider(other)
    instrument(tracer_provider=given)

    play(say_hello)

    assert given.span_names == ["action act", "invoke_agent Stage"]
    assert other.spans == []


def test_a_provider_given_later_is_used_from_the_next_run(instrument, tmp_path):
    first, second = MemoryProvider(), MemoryProvider()
    instrument(tracer_provider=first)
    play(say_hello)
    instrument(tracer_provider=second)
    play(say_hello)

    assert first.span_names == second.span_names == ["action act", "invoke_agent Stage"]
    assert brief(log_lines(tmp_path / "log")) == STORY * 2


@pytest.mark.parametrize("is_inside_a_span", [False, True])
def test_a_provider_that_does_nothing_leaves_a_log_without_spans(
    instrument, tmp_path, is_inside_a_span
):
    instrument(tracer_provider=NoOpTracerProvider())
    seen = []

    def work(_, ctx):
        seen.append(trace.get_current_span())
        say_hello(_, ctx)

    around = MemoryProvider().get_tracer("theirs").start_span("around")
    if not is_inside_a_span:
        around = trace.INVALID_SPAN
    with trace.use_span(around):
        play(work)

    assert_story_without_spans(tmp_path / "log")
    # The application's own span stays the current one.
    assert seen == [around]


class Foreign(trace.TracerProvider):
    """A provider that is not the SDK's and takes no processors."""

    def get_tracer(self, *_, **__):
        return NoOpTracer()


def test_a_provider_that_is_not_the_sdks_is_enough_for_the_log(instrument, tmp_path):
    instrument(tracer_provider=Foreign())

    runner = play(say_hello)

    assert runner.get_outputs() == [{"k": "hello"}]
    assert_story_without_spans(tmp_path / "log")


class EmptyProvider(MemoryProvider):
    def __len__(self):
        return 0


def test_a_provider_that_is_false_is_a_provider(instrument):
    provider = EmptyProvider()
    instrument(tracer_provider=provider)

    play(say_hello)

    assert provider.span_names == ["action act", "invoke_agent Stage"]


@pytest.mark.parametrize("word", ["true", "TRUE", " True "])
def test_a_disabled_sdk_means_that_nothing_happens(
    word, instrument, tmp_path, monkeypatch
):
    monkeypatch.setenv("OTEL_SDK_DISABLED", word)
    original = vars(LocalRunner)["run"]
    instrument()
    instrument(event_log=True)

    assert vars(LocalRunner)["run"] is original
    runner = play(say_hello)
    uninstrument()

    assert runner.get_outputs() == [{"k": "hello"}]
    assert not (tmp_path / "log").exists()


def test_after_a_disabled_sdk_it_can_be_instrumented(instrument, tmp_path, monkeypatch):
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    instrument()
    uninstrument()
    monkeypatch.setenv("OTEL_SDK_DISABLED", "false")
    instrument()

    play(say_hello)

    assert brief(log_lines(tmp_path / "log")) == STORY


def test_while_instrumentation_is_suppressed_only_the_log_is_kept(instrument, tmp_path):
    provider = MemoryProvider()
    instrument(tracer_provider=provider)

    with suppress_instrumentation():
        play(say_hello)

    assert provider.spans == []
    assert_story_without_spans(tmp_path / "log")


def test_a_scope_that_is_disabled_is_as_good_as_no_sdk(instrument, tmp_path):
    sdk = pytest.importorskip("opentelemetry.sdk.trace")
    if not hasattr(sdk.TracerProvider, "_set_tracer_configurator"):
        pytest.skip("this SDK cannot disable a scope")
    provider = MemoryProvider()
    provider._set_tracer_configurator(
        tracer_configurator=lambda _: sdk._TracerConfig(is_enabled=False)
    )
    instrument(tracer_provider=provider)

    with trace.use_span(MemoryProvider().get_tracer("theirs").start_span("around")):
        play(say_hello)

    assert provider.spans == []
    assert_story_without_spans(tmp_path / "log")


def event_logs(provider):
    return [
        each
        for each in provider._active_span_processor._span_processors
        if isinstance(each, EventLogSpanProcessor)
    ]


def test_instrumented_again_one_provider_has_one_active_processor(instrument, tmp_path):
    provider = MemoryProvider()
    for _ in range(3):
        instrument(tracer_provider=provider)
        play(say_hello)
        uninstrument()
        play(say_hello)
        assert [each.active for each in event_logs(provider) if each.active] == []
    instrument(tracer_provider=provider)
    play(say_hello)

    assert brief(log_lines(tmp_path / "log")) == STORY * 4
    assert provider.span_names == ["action act", "invoke_agent Stage"] * 4
    assert len([each for each in event_logs(provider) if each.active]) == 1


def test_many_runs_attach_one_processor(instrument):
    provider = MemoryProvider()
    instrument(tracer_provider=provider)
    for _ in range(5):
        play(say_hello)
        instrument(event_log=True)
        play(say_hello)

    assert len(event_logs(provider)) == 1


def test_without_an_event_log_there_are_only_spans(instrument, tmp_path):
    provider = MemoryProvider()
    instrument(tracer_provider=provider, event_log=False)

    play(say_hello)

    assert provider.span_names == ["action act", "invoke_agent Stage"]
    assert not (tmp_path / "log").exists()


def test_the_event_log_can_be_switched_from_run_to_run(instrument, tmp_path):
    provider = MemoryProvider()
    counts = []
    for event_log in (False, True, False, True):
        instrument(tracer_provider=provider, event_log=event_log)
        play(say_hello)
        counts.append(len(log_lines(tmp_path / "log")))

    assert counts == [0, 4, 4, 8]
    assert len(provider.spans) == 8


def test_instrumenting_creates_no_file_and_says_nothing(instrument, tmp_path, caplog):
    caplog.set_level(logging.INFO, "opentelemetry")

    instrument()
    instrument()

    assert list(tmp_path.iterdir()) == []
    assert caplog.messages == []


def test_first_runs_at_the_same_time_attach_one_processor(tmp_path):
    printed = printed_by(
        """
import os, threading
from hosting import local_runner
from opentelemetry.exporter.flink_agents import EventLogSpanProcessor
from opentelemetry.instrumentation.flink_agents import instrument
from probing import Stage, _BODY
from providing import MemoryProvider

provider = MemoryProvider()
instrument(tracer_provider=provider, event_log_dir=os.environ["LOG"])
_BODY.append(lambda *_: None)
barrier = threading.Barrier(8)
def run(key):
    runner = local_runner(Stage())
    barrier.wait()
    runner.run(key=key, value=1)
threads = [threading.Thread(target=run, args=(key,)) for key in range(8)]
for each in threads: each.start()
for each in threads: each.join()
processors = provider._active_span_processor._span_processors
print(sum(isinstance(each, EventLogSpanProcessor) for each in processors))
print(len(provider.spans))
""",
        LOG=tmp_path / "log",
    )

    assert printed == ["1", "16"]
    assert len(log_lines(tmp_path / "log")) == 24
