"""The processor by hand: beside the instrumentation, and among other processors."""

import logging

import pytest
from opentelemetry.sdk.trace import (
    ConcurrentMultiSpanProcessor,
    SpanLimits,
    SpanProcessor,
)

from hosting import brief, log_lines, output
from opentelemetry.exporter.flink_agents import EventLogSpanProcessor
from opentelemetry.exporter.flink_agents._guard import faults
from probing import play
from processes import printed_by
from providing import MemoryProvider, ids, ids_of, no_global_provider

STORY = [
    "_input_event",
    "action act started",
    "action act finished",
    "_output_event",
]


def say_hello(_, ctx):
    ctx.send_event(output("hello"))


def test_it_is_a_span_processor_of_the_sdk(tmp_path):
    assert isinstance(EventLogSpanProcessor(tmp_path), SpanProcessor)


def test_added_by_hand_it_is_the_only_one_and_its_folder_wins(instrument, tmp_path):
    provider = MemoryProvider()
    processor = EventLogSpanProcessor(tmp_path / "by hand")
    provider.add_span_processor(processor)
    instrument(tracer_provider=provider)

    play(say_hello)

    assert brief(log_lines(tmp_path / "by hand")) == STORY
    assert not (tmp_path / "log").exists()
    assert (processor.written_records, processor.lost_records) == (4, 0)
    processors = provider._active_span_processor._span_processors
    assert [each for each in processors if isinstance(each, EventLogSpanProcessor)] == [
        processor
    ]


def test_records_carry_the_ids_of_their_spans(instrument, tmp_path):
    provider = MemoryProvider()
    instrument(tracer_provider=provider)

    play(say_hello)

    action, run = provider.spans
    entered, started, finished, sent = log_lines(tmp_path / "log")
    assert ids_of(entered) == ids(run)
    assert ids_of(started) == ids_of(finished) == ids(action)
    assert ids_of(sent) == (None, None)


def test_spans_that_mean_nothing_to_the_log_are_not_in_it(instrument, tmp_path):
    provider = MemoryProvider()
    instrument(tracer_provider=provider)
    tracer = provider.get_tracer("theirs")

    def work(_, ctx):
        with tracer.start_as_current_span("a query", attributes={"db": "x"}):
            ctx.send_event(output("hello"))

    with tracer.start_as_current_span("around"):
        play(work)

    assert brief(log_lines(tmp_path / "log")) == STORY
    assert provider.span_names == ["a query", "action act", *provider.span_names[2:]]


def test_records_that_come_after_its_shutdown_are_written_too(instrument, tmp_path):
    provider = MemoryProvider()
    instrument(tracer_provider=provider)

    play(say_hello)
    provider.shutdown()
    play(say_hello)

    assert brief(log_lines(tmp_path / "log")) == STORY + STORY


class Raising(SpanProcessor):
    """Raises where it is told to."""

    def __init__(self, *where):
        self.where = where

    def on_start(self, span, parent_context=None):
        self._hook("on_start")

    def on_end(self, span):
        self._hook("on_end")

    def _hook(self, name):
        if name in self.where:
            raise RuntimeError(name)


@pytest.mark.parametrize("where", [("on_start",), ("on_end",), ("on_start", "on_end")])
@pytest.mark.parametrize("comes_first", [True, False])
def test_a_processor_that_raises_takes_no_record_away(
    where, comes_first, instrument, tmp_path, monkeypatch
):
    monkeypatch.setattr(faults, "reraise", False)
    provider = MemoryProvider()
    if comes_first:
        provider.add_span_processor(Raising(*where))
    instrument(tracer_provider=provider)
    play_first = STORY if not comes_first else []
    if play_first:
        play(say_hello)  # ours is attached by the first run
        provider.add_span_processor(Raising(*where))

    runner = play(say_hello)

    assert runner.get_outputs() == [{"k": "hello"}]
    assert brief(log_lines(tmp_path / "log")) == [*play_first, *STORY]


def test_processors_that_run_in_threads_are_no_hindrance(instrument, tmp_path):
    provider = MemoryProvider(
        active_span_processor=ConcurrentMultiSpanProcessor(num_threads=2)
    )
    instrument(tracer_provider=provider)
    tracer = provider.get_tracer("theirs")

    def work(_, ctx):
        attributes = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
        with tracer.start_as_current_span("chat m", attributes=attributes):
            ctx.send_event(output("hello"))

    play(work)
    provider.shutdown()

    assert brief(log_lines(tmp_path / "log")) == [
        "_input_event",
        "action act started",
        "llm m started",
        "llm m finished",
        "action act finished",
        "_output_event",
    ]


def test_limits_of_the_sdk_do_not_cut_the_log(instrument, tmp_path, caplog):
    caplog.set_level(logging.CRITICAL, "opentelemetry.sdk")  # it tells every cut
    limits = SpanLimits(
        max_span_attributes=1,
        max_events=1,
        max_links=1,
        max_span_attribute_length=2,
        max_attribute_length=2,
    )
    provider = MemoryProvider(span_limits=limits)
    instrument(tracer_provider=provider)

    play(say_hello, key="a long key", value="a long value")

    entered, started, _, sent = log_lines(tmp_path / "log")
    assert entered["event_attributes"] == {"input": "a long value"}
    assert sent["event_attributes"] == {"output": "hello"}
    assert {started["business_key"], sent["business_key"]} == {"a long key"}
    assert {len(span.attributes) for span in provider.spans} == {1}


def test_a_dialect_that_does_not_exist_is_refused(tmp_path):
    with pytest.raises(ValueError, match="dialect='camel'"):
        EventLogSpanProcessor(tmp_path, dialect="camel")


def test_a_fault_of_its_own_reaches_nobody(instrument, tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(faults, "reraise", False)
    monkeypatch.setattr(faults, "_kinds", set())
    monkeypatch.setattr(
        "opentelemetry.exporter.flink_agents._lines.encode", lambda _: 1 / 0
    )
    before = faults.count
    instrument(tracer_provider=MemoryProvider())

    runner = play(say_hello)

    assert runner.get_outputs() == [{"k": "hello"}]
    assert faults.count > before
    said = [each for each in caplog.records if each.levelno >= logging.WARNING]
    assert len(said) == len({each.getMessage() for each in said})
    assert all("the agent is not affected" in each.getMessage() for each in said)


AGENT = """
import os
from pathlib import Path
from hosting import brief, log_lines, output
from opentelemetry.instrumentation.flink_agents import FlinkAgentsInstrumentor
from opentelemetry.instrumentation.flink_agents import instrument
from probing import play

def work(_, ctx):
    ctx.send_event(output("hello"))

def logged():
    paths = sorted(Path(os.environ["LOG"]).iterdir())
    return {int(each.stem.rsplit("-", 1)[1]): each.read_text().count("\\n")
            for each in paths}

instrument(event_log_dir=os.environ["LOG"])
"""


def test_a_forked_child_logs_its_runs_to_a_file_of_its_own(tmp_path):
    printed = printed_by(
        f"""{AGENT}
play(work)
child = os.fork()
if child == 0:
    play(work)
    play(work)
    [processor] = FlinkAgentsInstrumentor()._core.providers.processors
    os._exit(processor.written_records)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
play(work)
print(logged() == {{os.getpid(): 8, child: 8}})
""",
        LOG=tmp_path / "log",
    )

    assert printed == ["8", "True"]


def test_a_child_can_log_although_the_lock_was_held_when_it_was_forked(tmp_path):
    printed = printed_by(
        f"""{AGENT}
import threading
[processor] = FlinkAgentsInstrumentor()._core.providers.processors
held, done = threading.Event(), threading.Event()
def hold():
    with processor._writers._lock:
        held.set()
        done.wait()
threading.Thread(target=hold).start()
held.wait()
child = os.fork()
if child == 0:
    play(work)
    os._exit(processor.written_records)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
done.set()
""",
        LOG=tmp_path / "log",
    )

    assert printed == ["4"]


def test_it_works_alone_beside_a_provider_without_instrumentation(tmp_path):
    with no_global_provider():
        provider = MemoryProvider()
        provider.add_span_processor(EventLogSpanProcessor(tmp_path / "log"))
        with provider.get_tracer("theirs").start_as_current_span("GET /"):
            pass

    assert log_lines(tmp_path / "log") == []


def vanish(folder):
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()


def block(folder):
    vanish(folder)
    folder.write_text("a file in the way")


@pytest.mark.parametrize(("happen", "lost"), [(vanish, 0), (block, 2)])
def test_what_happens_to_the_folder_during_a_run_does_not_reach_the_agent(
    happen, lost, instrument, tmp_path, caplog
):
    provider = MemoryProvider()
    processor = EventLogSpanProcessor(tmp_path / "log")
    provider.add_span_processor(processor)
    instrument(tracer_provider=provider)

    def work(_, ctx):
        happen(tmp_path / "log")
        ctx.send_event(output("hello"))

    runner = play(work)
    if lost:
        (tmp_path / "log").unlink()
    play(say_hello)

    assert runner.get_outputs() == [{"k": "hello"}]
    assert brief(log_lines(tmp_path / "log")) == [*STORY[2 + lost :], *STORY]
    assert (processor.written_records, processor.lost_records) == (8 - lost, lost)
    said = [each for each in caplog.records if each.levelno >= logging.WARNING]
    assert len(said) == (1 if lost else 0)
