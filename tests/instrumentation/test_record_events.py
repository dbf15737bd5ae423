"""`event_log_otlp=True`: each record is an OpenTelemetry log event too."""

import json

import pytest
from opentelemetry.instrumentation.utils import suppress_instrumentation

from chat_agents import RETRYING, Asking, Structured, outcome
from exporting import signals
from flink_agents_eventlog import timestamp_ns
from hosting import log_lines, output
from opentelemetry.exporter.flink_agents._guard import faults
from opentelemetry.instrumentation.flink_agents._log_events import _NAMED
from probing import play
from providing import ids
from scripted_llm import Reply

CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
SECRET = "the moon is made of cheese"
CONTENT = ("input", "output", "attributes")


def name_of(event):
    return event.event_name if _NAMED else event.attributes["event.name"]


def bodies(told):
    return [json.loads(event.body) for event in told.events]


def ids_of(event):
    return f"{event.trace_id:032x}", f"{event.span_id:016x}"


def attributes_of(event):
    return {
        name: value for name, value in event.attributes.items() if name != "event.name"
    }


def say_hello(_, ctx):
    ctx.short_term_memory.set("said", SECRET)
    ctx.send_event(output(SECRET))


def fail(_, ctx):
    raise RuntimeError("outer") from ValueError(SECRET)


def test_each_record_is_an_event_with_its_name_its_time_and_its_span(
    instrument, tmp_path
):
    with signals() as told:
        instrument(**told.providers, event_log_otlp=True)
        play(say_hello)

        lines = log_lines(tmp_path / "log")
        events = told.events
        assert [name_of(event) for event in events] == [
            "_input_event",
            "_execution_started_event",
            "_execution_finished_event",
            "_output_event",
        ]
        assert [event.timestamp for event in events] == [
            timestamp_ns(line["timestamp"]) for line in lines
        ]
        run, act = ids(told.span("invoke_agent")), ids(told.span("action"))
        assert [ids_of(event) for event in events] == [run, act, act, act]
        assert attributes_of(events[2]) == {
            "flink_agents.input_run_id": lines[2]["input_run_id"],
            "flink_agents.business_key": "k",
            "flink_agents.agent.name": "Stage",
            "flink_agents.execution.id": lines[2]["execution_id"],
            "flink_agents.execution.status": "finished",
            "flink_agents.entity.type": "action",
            "flink_agents.entity.name": "act",
            "flink_agents.event.id": lines[2]["event_id"],
            "flink_agents.event.trigger.id": lines[0]["event_id"],
        }


@pytest.mark.memory
@pytest.mark.parametrize("dialect", ["snake", "native"])
def test_the_body_is_the_line_of_the_log_without_content(dialect, instrument, tmp_path):
    with signals() as told:
        instrument(**told.providers, event_log_otlp=True, dialect=dialect)
        play(say_hello)
        replies = [Reply.text("no json"), Reply.text('{"result": 3}')]
        outcome(Structured, replies, **RETRYING)

        [path] = (tmp_path / "log").iterdir()
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        name = "event_attributes" if dialect == "snake" else "eventAttributes"
        for line in lines:
            is_execution = "status" in line
            line[name] = {
                each: value
                for each, value in line[name].items()
                if is_execution and each not in CONTENT
            }
        assert bodies(told) == lines
        assert SECRET.encode() not in told.raw()
        assert b"result" not in told.raw()


@pytest.mark.memory
@pytest.mark.parametrize("mode", ["EVENT_ONLY", "SPAN_AND_EVENT"])
def test_content_is_in_the_body_where_events_may_have_it(
    mode, instrument, tmp_path, monkeypatch
):
    monkeypatch.setenv(CAPTURE, mode)
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_EMIT_EVENT", "false")
    with signals() as told:
        instrument(**told.providers, event_log_otlp=True)
        play(say_hello)
        outcome(Asking, [Reply.text("fine")])

        assert bodies(told) == log_lines(tmp_path / "log")


def test_content_that_is_too_large_is_shortened_and_marked(
    instrument, tmp_path, monkeypatch
):
    monkeypatch.setenv(CAPTURE, "EVENT_ONLY")
    monkeypatch.setenv("OTEL_PYTHON_FLINK_AGENTS_OTLP_CONTENT_BYTES", "200")
    with signals() as told:
        instrument(**told.providers, event_log_otlp=True)
        play(say_hello, value="x" * 1000)

        first = told.events[0]
        assert first.attributes["flink_agents.content.truncated"] is True
        assert len(json.loads(first.body)["event_attributes"]["input"]) < 200
        line = log_lines(tmp_path / "log")[0]
        assert line["event_attributes"] == {"input": "x" * 1000}


@pytest.mark.parametrize("has_messages", [True, False])
def test_a_failure_is_an_error_with_its_type_and_perhaps_its_message(
    has_messages, instrument, monkeypatch
):
    variable = "OTEL_PYTHON_FLINK_AGENTS_OTLP_ERROR_MESSAGES"
    monkeypatch.setenv(variable, str(has_messages))
    with signals() as told:
        instrument(**told.providers, event_log_otlp=True)
        with pytest.raises(RuntimeError):
            play(fail)
        down = Reply.status(500, message=SECRET)
        outcome(Asking, [down, down, down], **RETRYING)

        failed = [event for event in told.events if "failed" in name_of(event)]
        assert [event.severity_number.name for event in failed] == ["ERROR"] * 3
        assert {event.severity_number.name for event in told.events} == {
            "INFO",
            "ERROR",
        }
        first = failed[0]
        assert first.attributes["error.type"] == "ValueError"
        assert first.attributes["flink_agents.problem_category"] == (
            "action_execution_failed"
        )
        error = json.loads(first.body)["event_attributes"]
        assert error.get("error_message") == (SECRET if has_messages else None)
        assert (SECRET.encode() in told.raw()) is has_messages


def test_it_needs_no_file(instrument, tmp_path):
    with signals() as told:
        instrument(**told.providers, event_log=False, event_log_otlp=True)
        play(say_hello)

        assert len(told.events) == 4
        assert not (tmp_path / "log").exists()


def test_it_is_off_by_default(instrument):
    with signals() as told:
        instrument(**told.providers)
        play(say_hello)

        assert told.events == []


def test_it_applies_from_the_next_run(instrument, tmp_path):
    with signals() as told:
        for is_on in (False, True, False):
            instrument(**told.providers, event_log_otlp=is_on)
            play(say_hello)

        assert len(told.events) == 4
        assert len(log_lines(tmp_path / "log")) == 12


def test_what_is_switched_off_or_masked_is_so_here_too(instrument):
    with signals() as told:
        instrument(
            **told.providers,
            event_log_otlp=True,
            mask=lambda path, value: "***" if "error" in path else value,
            options={"event-log.type._execution_started_event.level": "OFF"},
        )
        with pytest.raises(RuntimeError):
            play(fail)

        assert [name_of(event) for event in told.events] == [
            "_input_event",
            "_execution_failed_event",
        ]
        assert bodies(told)[1]["event_attributes"]["error_message"] == "***"


def test_nothing_leaves_while_instrumentation_is_suppressed(instrument, tmp_path):
    with signals() as told:
        instrument(**told.providers, event_log_otlp=True)
        with suppress_instrumentation():
            play(say_hello)

        assert told.events == []
        assert len(log_lines(tmp_path / "log")) == 4


def test_a_logger_that_raises_costs_no_record_and_no_run(
    instrument, tmp_path, monkeypatch
):
    monkeypatch.setattr(faults, "reraise", False)

    class Broken:
        def emit(self, *_, **__):
            raise RuntimeError("broken")

    class Provider:
        def get_logger(self, *_, **__):
            return Broken()

    instrument(logger_provider=Provider(), event_log_otlp=True)
    runner = play(say_hello)

    assert runner.get_outputs() == [{"k": SECRET}]
    assert len(log_lines(tmp_path / "log")) == 4
