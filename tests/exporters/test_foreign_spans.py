"""Spans of other GenAI instrumentations are executions, alone and inside our runs."""

import contextlib

import pytest
from flink_agents.api.chat_message import ChatMessage
from opentelemetry.trace import Status, StatusCode

from hosting import brief, log_lines, output
from opentelemetry.exporter.flink_agents import EventLogSpanProcessor
from opentelemetry.instrumentation.flink_agents import uninstrument
from probing import ProbeModel, chat_model, play
from providing import MemoryProvider, ids

CHAT = {
    "gen_ai.operation.name": "chat",
    "gen_ai.request.model": "gpt-x",
    "gen_ai.provider.name": "openai",
    "gen_ai.agent.name": "Theirs",
}
TOOL = {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "search",
    "gen_ai.tool.call.id": "call-1",
}


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "alone"


@pytest.fixture
def alone(folder):
    """A provider with the processor and none of our patches."""
    provider = MemoryProvider()
    provider.add_span_processor(EventLogSpanProcessor(folder))
    return provider


def span(provider, name, attributes=None):
    tracer = provider.get_tracer("opentelemetry.instrumentation.theirs")
    return tracer.start_as_current_span(name, attributes=attributes)


def without(line, *names):
    return {name: value for name, value in line.items() if name not in names}


def test_a_chat_span_alone_is_an_execution_of_its_traces_run(alone, folder):
    with span(alone, "chat gpt-x", CHAT) as chat:
        chat.set_attributes(
            {"gen_ai.usage.input_tokens": 3, "gen_ai.usage.output_tokens": 4}
        )

    trace_id, span_id = ids(alone.spans[0])
    started, finished = log_lines(folder)
    same = {
        "input_run_id": trace_id,
        "agent_name": "Theirs",
        "execution_id": started["execution_id"],
        "entity_type": "llm",
        "entity_name": "gpt-x",
        "trace_id": trace_id,
        "span_id": span_id,
        "event_attributes": {},
    }
    metadata = {"model": "gpt-x", "provider": "openai"}
    assert without(started, "timestamp", "event_id") == same | {
        "entity_metadata": metadata,
        "event_type": "_execution_started_event",
        "status": "started",
    }
    assert without(finished, "timestamp", "event_id") == same | {
        "entity_metadata": {**metadata, "input_tokens": 3, "output_tokens": 4},
        "event_type": "_execution_finished_event",
        "status": "finished",
    }


@pytest.mark.parametrize("operation", ["chat", "generate_content", "text_completion"])
def test_every_operation_of_a_model_is_an_llm_execution(alone, folder, operation):
    with span(alone, "a call", {"gen_ai.operation.name": operation}):
        pass

    assert brief(log_lines(folder)) == ["llm a call started", "llm a call finished"]


@pytest.mark.parametrize("operation", ["invoke_agent", "embeddings", "other", 7])
def test_other_operations_are_none(alone, folder, operation):
    with span(alone, "a call", {"gen_ai.operation.name": operation}):
        pass

    assert log_lines(folder) == []


def test_a_tool_that_calls_a_model_is_its_parent_also_across_other_spans(alone, folder):
    with (
        span(alone, "execute_tool search", TOOL),
        span(alone, "POST /v1"),
        span(alone, "retrying"),
        span(alone, "chat gpt-x", CHAT),
    ):
        pass

    lines = log_lines(folder)
    assert brief(lines) == [
        "tool search started",
        "llm gpt-x started",
        "llm gpt-x finished",
        "tool search finished",
    ]
    assert lines[0]["entity_metadata"] == {"tool_call_id": "call-1"}
    assert lines[1]["parent_execution_id"] == lines[0]["execution_id"]
    assert "parent_execution_id" not in lines[0]


@pytest.mark.parametrize("between", [(), ("POST /v1", "retrying")])
def test_a_model_span_inside_a_model_span_is_the_same_call(alone, folder, between):
    with contextlib.ExitStack() as stack:
        stack.enter_context(span(alone, "chat gpt-x", CHAT))
        for name in between:
            stack.enter_context(span(alone, name))
        stack.enter_context(span(alone, "chat inner", CHAT))

    assert brief(log_lines(folder)) == ["llm gpt-x started", "llm gpt-x finished"]


def test_what_says_only_at_its_end_what_it_is_is_recorded_with_its_own_times(
    alone, folder
):
    with span(alone, "execute_tool search", TOOL), span(alone, "call") as call:
        call.set_attributes(CHAT)

    lines = log_lines(folder)
    assert brief(lines) == [
        "tool search started",
        "llm gpt-x started",
        "llm gpt-x finished",
        "tool search finished",
    ]
    [llm] = [each for each in alone.spans if each.name == "call"]
    expected = [f"{ns // 1000 % 10**6:06d}Z" for ns in (llm.start_time, llm.end_time)]
    assert [line["timestamp"].split(".")[1] for line in lines[1:3]] == expected
    assert lines[1]["parent_execution_id"] == lines[0]["execution_id"]


def test_an_error_status_is_a_failure_with_its_type_and_message(alone, folder):
    with span(alone, "chat gpt-x", CHAT) as chat:
        chat.set_attribute("error.type", "openai.RateLimitError")
        chat.set_status(Status(StatusCode.ERROR, "slow down"))
    with span(alone, "execute_tool search", TOOL) as tool:
        tool.set_status(Status(StatusCode.ERROR))

    failures = [line for line in log_lines(folder) if line["status"] == "failed"]
    assert [
        (line["problem_category"], line["event_attributes"]) for line in failures
    ] == [
        (
            "model_call_failed",
            {"error_type": "openai.RateLimitError", "error_message": "slow down"},
        ),
        ("tool_call_failed", {"error_type": "_OTHER", "error_message": ""}),
    ]


def test_a_mask_sees_what_other_instrumentations_say(folder):
    provider = MemoryProvider()
    provider.add_span_processor(
        EventLogSpanProcessor(folder, mask=lambda path, _: f"<{path}>")
    )
    with span(provider, "chat gpt-x", CHAT) as chat:
        chat.set_status(Status(StatusCode.ERROR, "the key is sk-1"))

    _, failed = log_lines(folder)
    assert failed["entity_metadata"] == {
        "model": "<entity_metadata.model>",
        "provider": "<entity_metadata.provider>",
    }
    assert failed["event_attributes"]["error_message"] == (
        "<event_attributes.error_message>"
    )


def test_inside_a_run_of_ours_they_are_executions_of_the_action(instrument, tmp_path):
    provider = MemoryProvider()
    instrument(tracer_provider=provider)

    def work(_, ctx):
        with span(provider, "POST /v1"), span(provider, "chat gpt-x", CHAT):
            ctx.send_event(output("hello"))

    play(work)

    lines = log_lines(tmp_path / "log")
    assert brief(lines) == [
        "_input_event",
        "action act started",
        "llm gpt-x started",
        "llm gpt-x finished",
        "action act finished",
        "_output_event",
    ]
    run, action, llm = lines[0], lines[1], lines[2]
    assert {line["input_run_id"] for line in lines} == {run["input_run_id"]}
    assert {line["business_key"] for line in lines} == {"k"}
    assert llm["agent_name"] == "Stage"
    assert llm["parent_execution_id"] == action["execution_id"]
    assert llm["action_trigger_event_id"] == run["event_id"]


@pytest.mark.parametrize("is_told_at_start", [True, False])
def test_inside_a_model_call_of_ours_they_are_the_same_call(
    instrument, tmp_path, is_told_at_start
):
    provider = MemoryProvider()
    instrument(tracer_provider=provider)

    def answer(*_, **__):
        with span(provider, "POST /v1"):
            attributes = CHAT if is_told_at_start else None
            with span(provider, "chat gpt-x", attributes) as chat:
                chat.set_attributes(CHAT)
        with span(provider, "execute_tool search", TOOL):
            return ChatMessage(content="an answer")

    probe = chat_model(answer)
    play(lambda *_: probe.chat([]))

    assert brief(log_lines(tmp_path / "log")) == [
        "_input_event",
        "action act started",
        f"llm {ProbeModel.__name__} started",
        "tool search started",
        "tool search finished",
        f"llm {ProbeModel.__name__} finished",
        "action act finished",
    ]


def test_outside_a_run_of_ours_they_are_none_once_the_patches_are_there(
    instrument, tmp_path
):
    provider = MemoryProvider()
    instrument(tracer_provider=provider)
    play(lambda *_: None)
    before = log_lines(tmp_path / "log")

    with span(provider, "chat gpt-x", CHAT):
        pass

    assert log_lines(tmp_path / "log") == before


def test_a_processor_by_hand_takes_them_alone_again_after_uninstrument(
    instrument, alone, folder
):
    instrument(tracer_provider=alone)
    play(lambda *_: None)
    before = len(log_lines(folder))
    with span(alone, "chat ignored", CHAT):
        pass
    during = len(log_lines(folder))
    uninstrument()
    with span(alone, "chat gpt-x", CHAT):
        pass

    assert during == before
    assert brief(log_lines(folder)[before:]) == [
        "llm gpt-x started",
        "llm gpt-x finished",
    ]


def test_no_span_is_remembered_beyond_its_end(alone):
    processor = alone._active_span_processor._span_processors[-1]
    for _ in range(50):
        with (
            span(alone, "execute_tool search", TOOL),
            span(alone, "between"),
            span(alone, "chat gpt-x", CHAT),
        ):
            pass

    assert processor._open == {}
