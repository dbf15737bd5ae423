"""The log in the host's own format of 0.4: `dialect="native"`."""

import math
import threading

import pytest
from opentelemetry.sdk.trace import TracerProvider

from flink_agents_eventlog import read_records
from hosting import local_runner, native_lines, output
from memory_agents import write_all
from native_reader import edges_of, warnings_of
from opentelemetry.exporter.flink_agents import EventLogSpanProcessor
from probing import Stage, perform, play

pytestmark = pytest.mark.memory

LONG = "x" * 30


def remember(_, ctx):
    ctx.short_term_memory.set("count", 1)
    ctx.send_event(output(LONG))


def fail(_, ctx):
    raise RuntimeError("outer") from ValueError("inner")


def brief(lines):
    return [
        (line["eventType"], line["status"]) if "status" in line else line["eventType"]
        for line in lines
    ]


def test_a_record_has_the_fields_of_the_host_in_its_order(instrument, tmp_path):
    instrument(dialect="native")
    play(remember)

    lines = native_lines(tmp_path / "log")
    assert brief(lines) == [
        "_input_event",
        ("_execution_started_event", "started"),
        ("_execution_finished_event", "success"),
        "_output_event",
        "_short_term_write_event",
    ]
    began, started, _, sent, wrote = lines
    assert list(sent) == [
        "timestamp",
        "logLevel",
        "inputRunId",
        "businessKey",
        "agentName",
        "executionId",
        "entityType",
        "entityName",
        "eventId",
        *(["sourceEventId"] if "sourceEventId" in sent else []),
        "eventType",
        "upstreamEventId",
        "upstreamActionName",
        "eventAttributes",
    ]
    assert (sent["logLevel"], sent["upstreamEventId"], sent["upstreamActionName"]) == (
        "STANDARD",
        began["eventId"],
        "act",
    )
    assert "upstreamEventId" not in began
    assert started["eventAttributes"] == {}
    assert wrote["eventAttributes"] == {"key": "k", "value": {"count": 1}}


def test_an_error_is_named_as_the_host_names_it(instrument, tmp_path):
    instrument(dialect="native")
    with pytest.raises(RuntimeError):
        play(fail)

    failed = native_lines(tmp_path / "log")[-1]
    assert (failed["status"], failed["problemCategory"], failed["eventAttributes"]) == (
        "failed",
        "action_execution_failed",
        {"errorType": "builtins.ValueError", "errorMessage": "inner"},
    )


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"event-log.level": "VERBOSE"},
        {
            "event-log.standard.max-string-length": 5,
            "event-log.type._input_event.level": "VERBOSE",
            "agent-run.begin-event": True,
        },
    ],
)
def test_the_reader_of_the_host_has_nothing_to_say(options, instrument, tmp_path):
    instrument(dialect="native", options=options)
    runner = play(remember)
    perform(runner, remember)  # an equal input
    with pytest.raises(RuntimeError):
        perform(runner, fail)
    perform(runner, remember)

    lines = native_lines(tmp_path / "log")
    assert warnings_of(lines) == []
    assert len(edges_of(lines)) >= 6


def test_the_begin_event_hangs_below_its_input(instrument, tmp_path):
    instrument(dialect="native", options={"agent-run.begin-event": True})
    play(remember)

    began, begin = native_lines(tmp_path / "log")[:2]
    assert begin["eventType"] == "_agent_run_begin_event"
    assert begin["upstreamEventId"] == began["eventId"]
    assert begin["upstreamActionName"] == "agent_run_begin_action"


def test_standard_cuts_payloads_and_never_identity(instrument, tmp_path):
    instrument(dialect="native", options={"event-log.standard.max-string-length": 3})
    play(remember, key="a long key")

    began, _, _, sent, _ = native_lines(tmp_path / "log")
    assert sent["eventAttributes"] == {
        "output": {"truncatedString": "xxx...", "omittedChars": 27}
    }
    assert sent["upstreamEventId"] == began["eventId"]
    assert (sent["businessKey"], len(sent["eventId"])) == ("a long key", 36)


@pytest.mark.parametrize("dialect", ["snake", "native"])
def test_verbose_keeps_payloads_whole_in_both_dialects(dialect, instrument, tmp_path):
    options = {
        "event-log.level": "VERBOSE",
        "event-log.standard.max-string-length": 3,
    }
    instrument(dialect=dialect, options=options)
    play(remember)

    [sent] = [
        each
        for each in read_records(tmp_path / "log")
        if each.event_type == "_output_event"
    ]
    assert sent.event_attributes == {"output": LONG}
    assert sent.log_level == ("VERBOSE" if dialect == "native" else None)


@pytest.mark.parametrize("dialect", ["snake", "native"])
def test_levels_hold_by_type_in_both_dialects(
    dialect, instrument, tmp_path, monkeypatch
):
    variable = "OTEL_PYTHON_FLINK_AGENTS_EVENT_LOG_TYPE__OUTPUT_EVENT_LEVEL"
    monkeypatch.setenv(variable, "verbose")
    instrument(
        dialect=dialect,
        options={
            "event-log.level": "STANDARD",
            "event-log.standard.max-string-length": 10,
            "event-log.type._short_term_write_event.level": "Off",
        },
    )
    play(remember, value=LONG)

    records = list(read_records(tmp_path / "log"))
    attributes = {each.event_type: each.event_attributes for each in records}
    assert "_short_term_write_event" not in attributes
    assert attributes["_output_event"]["output"] == LONG
    assert attributes["_input_event"]["input"] == {
        "truncatedString": "x" * 10 + "...",
        "omittedChars": 20,
    }


def test_a_log_that_is_off_has_no_file(instrument, tmp_path):
    instrument(dialect="native", options={"event-log.level": "OFF"})
    play(remember)

    assert not (tmp_path / "log").exists()


def test_the_agents_own_configuration_has_levels_too(instrument, tmp_path):
    instrument(dialect="native")
    runner = local_runner(Stage(), **{"event-log.type._output_event.level": "OFF"})
    perform(runner, remember)

    lines = native_lines(tmp_path / "log")
    assert "_output_event" not in [line["eventType"] for line in lines]


def test_without_trace_there_are_events_and_what_led_to_them(instrument, tmp_path):
    instrument(dialect="native", options={"event-log.trace.enabled": False})
    play(remember)

    began, sent, wrote = native_lines(tmp_path / "log")
    assert set(began) - {"sourceEventId"} == {
        "timestamp",
        "logLevel",
        "eventId",
        "eventType",
        "eventAttributes",
    }
    assert (sent["upstreamEventId"], wrote["upstreamActionName"]) == (
        began["eventId"],
        "act",
    )


def test_a_record_may_be_spread_over_lines(instrument, tmp_path):
    instrument(dialect="native", options={"prettyPrint": True})
    play(remember)

    [path] = (tmp_path / "log").iterdir()
    assert path.read_text().startswith('{\n  "timestamp"')
    assert [each.event_type for each in read_records(path)] == [
        "_input_event",
        "_execution_started_event",
        "_execution_finished_event",
        "_output_event",
        "_short_term_write_event",
    ]


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ({"bad": math.nan, "good": "v"}, [{"good": "v"}]),
        ({"bad": math.inf}, []),
        ({"in": [math.nan]}, []),
    ],
)
def test_what_json_cannot_hold_is_just_absent(instrument, tmp_path, written, told):
    instrument(dialect="native")
    play(lambda _, ctx: write_all(ctx.short_term_memory, written))

    lines = native_lines(tmp_path / "log")[3:]
    assert [line["eventAttributes"]["value"] for line in lines] == told
    assert not any("entityMetadata" in line for line in lines)


def test_attributes_called_like_fields_stay_inside(instrument, tmp_path):
    def pay(_, ctx):
        ctx.send_event(output({"status": "paid", "problemCategory": "none"}))

    instrument(dialect="native")
    play(pay)

    sent = native_lines(tmp_path / "log")[-1]
    assert {"status", "problemCategory"}.isdisjoint(sent)
    assert sent["eventAttributes"] == {
        "output": {"status": "paid", "problemCategory": "none"}
    }


def test_an_event_from_a_thread_without_context_has_nothing_that_led_to_it(
    instrument, tmp_path
):
    def hand_over(_, ctx):
        thread = threading.Thread(target=ctx.send_event, args=[output("x")])
        thread.start()
        thread.join()

    instrument(dialect="native")
    play(hand_over)

    lines = native_lines(tmp_path / "log")
    [sent] = [line for line in lines if line["eventType"] == "_output_event"]
    assert warnings_of(lines) == [("UNLINKED_EVENT", sent["eventId"])]


def test_a_processor_of_the_applications_own_decides_the_dialect(instrument, tmp_path):
    provider = TracerProvider()
    processor = EventLogSpanProcessor(tmp_path / "own", dialect="native")
    provider.add_span_processor(processor)
    instrument(tracer_provider=provider)
    play(remember)
    provider.shutdown()

    lines = native_lines(tmp_path / "own")
    assert brief(lines)[1] == ("_execution_started_event", "started")
    assert lines[0]["logLevel"] == "STANDARD"
