"""Calls of a chat model that the host repeats: one execution, or one for each attempt.

Parsing and retrying are the host's: an answer that cannot be parsed makes it ask again.
"""

import asyncio
import logging

import pytest
from flink_agents.api.decorators import action
from flink_agents.api.events.event import Event
from flink_agents.api.runner_context import RunnerContext
from flink_agents.integrations.chat_models.openai.openai_chat_model import (
    OpenAIChatModelSetup,
)

from chat_agents import (
    RETRYING,
    Asking,
    ChatAgent,
    Structured,
    chat_request,
    openai_setup,
    outcome,
)
from hosting import ON_INPUT, TYPED_EVENTS, brief, log_lines
from opentelemetry.instrumentation.flink_agents import uninstrument
from scripted_llm import Reply
from telling import ended, story, told_spans, tracing

DOWN = Reply.status(500, message="down")
BUSY = Reply.status(429, message="busy")
DOWN_ERROR = {
    "error_type": "openai.InternalServerError",
    "error_message": "Error code: 500 - down",
}
BUSY_ERROR = {
    "error_type": "openai.RateLimitError",
    "error_message": "Error code: 429 - busy",
}


def attempts_of(line):
    """The attempts of a terminal record, checked for their times and without them."""
    attempts = [dict(attempt) for attempt in line["event_attributes"]["attempts"]]
    times = []
    for number, attempt in enumerate(attempts):
        times += [attempt.pop("started_at"), attempt.pop("ended_at")]
        if number:
            assert attempt.pop("wait_seconds") >= 0
    assert times == sorted(times)
    if line["status"] == "failed":
        assert times[-1] == line["timestamp"]
    else:
        assert times[-1] <= line["timestamp"]
    return attempts


CHAT = [
    "e1 _input_event",
    "x1 action ask started because e1",
    "x1 action ask finished because e1",
    "e2 _chat_request_event from x1 because e1",
    "x2 action chat_model_action started because e2",
]


def test_attempts_that_fail_before_one_succeeds_are_one_call(instrument, tmp_path):
    provider, exporter = tracing()
    instrument(tracer_provider=provider)

    seen = outcome(Asking, [DOWN, BUSY, Reply.text("fine")], **RETRYING)

    assert seen.outputs == ["fine"]
    assert len(seen.requests) == 3
    lines = log_lines(tmp_path / "log")
    assert story(lines) == [
        *CHAT,
        "x3 llm model started in x2 because e2",
        "x3 llm model finished in x2 because e2",
        "x2 action chat_model_action finished because e2",
        "e3 _chat_response_event from x2 because e2",
        "x4 action reply started because e3",
        "x4 action reply finished because e3",
        "e4 _output_event from x4 because e3",
    ]
    [llm] = ended(lines, "llm")
    assert llm["entity_metadata"] == {
        "provider": "openai",
        "model": "scripted",
        "input_tokens": 20,
        "output_tokens": 10,
        "attempts": 3,
    }
    assert attempts_of(llm) == [DOWN_ERROR, BUSY_ERROR, {}]
    assert set(llm["event_attributes"]) == {"output", "attempts"}
    [chat] = [span for span in exporter.get_finished_spans() if "chat scr" in span.name]
    assert chat.attributes["flink_agents.llm.attempts"] == 3
    assert chat.status.status_code.name == "UNSET"
    assert "error.type" not in chat.attributes


def test_a_call_whose_attempts_all_fail_ends_as_the_last_of_them(instrument, tmp_path):
    provider, exporter = tracing()
    instrument(tracer_provider=provider)

    seen = outcome(Asking, [BUSY, BUSY, DOWN], **RETRYING)

    assert seen.error == f"InternalServerError: {DOWN_ERROR['error_message']}"
    lines = log_lines(tmp_path / "log")
    assert story(lines) == [
        *CHAT,
        "x3 llm model started in x2 because e2",
        "x3 llm model failed in x2 because e2",
        "x2 action chat_model_action failed because e2",
    ]
    [llm] = ended(lines, "llm")
    assert llm["problem_category"] == "model_call_failed"
    assert llm["entity_metadata"]["attempts"] == 3
    assert attempts_of(llm) == [BUSY_ERROR, BUSY_ERROR, DOWN_ERROR]
    attributes = dict(llm["event_attributes"])
    del attributes["attempts"]
    assert attributes == DOWN_ERROR
    assert lines[-1]["event_attributes"] == DOWN_ERROR
    assert told_spans(exporter) == [
        "> invoke_agent Asking: ERROR",
        "invoke_agent Asking > action ask: UNSET",
        "invoke_agent Asking > action chat_model_action: ERROR",
        "action chat_model_action > chat scripted: ERROR",
    ]


@pytest.mark.skipif(TYPED_EVENTS, reason="the host waits between attempts from 0.3")
def test_the_wait_of_the_host_stands_on_the_attempt_after_it(instrument, tmp_path):
    instrument()

    outcome(
        Asking, [DOWN, Reply.text("fine")], **(RETRYING | {"retry-wait-interval": 1})
    )

    [llm] = ended(log_lines(tmp_path / "log"), "llm")
    first, second = llm["event_attributes"]["attempts"]
    assert "wait_seconds" not in first
    assert second["wait_seconds"] > 0.9


def test_a_single_failure_under_the_fail_strategy_has_no_list_of_attempts(
    instrument, tmp_path
):
    instrument()

    seen = outcome(Asking, [DOWN], **{"error-handling-strategy": "fail"})

    assert seen.error == f"InternalServerError: {DOWN_ERROR['error_message']}"
    lines = log_lines(tmp_path / "log")
    assert story(lines)[5:] == [
        "x3 llm model started in x2 because e2",
        "x3 llm model failed in x2 because e2",
        "x2 action chat_model_action failed because e2",
    ]
    [llm] = ended(lines, "llm")
    assert llm["entity_metadata"]["attempts"] == 1
    assert llm["event_attributes"] == DOWN_ERROR


def test_an_ignored_failure_fails_the_model_and_not_the_action(instrument, tmp_path):
    provider, exporter = tracing()
    instrument(tracer_provider=provider)

    seen = outcome(Asking, [DOWN], **{"error-handling-strategy": "ignore"})

    assert (seen.outputs, seen.error) == ([], None)
    lines = log_lines(tmp_path / "log")
    assert story(lines)[5:] == [
        "x3 llm model started in x2 because e2",
        "x3 llm model failed in x2 because e2",
        "x2 action chat_model_action finished because e2",
    ]
    [llm] = ended(lines, "llm")
    assert llm["problem_category"] == "model_call_failed"
    assert llm["event_attributes"] == DOWN_ERROR
    assert told_spans(exporter) == [
        "> invoke_agent Asking: UNSET",
        "invoke_agent Asking > action ask: UNSET",
        "invoke_agent Asking > action chat_model_action: UNSET",
        "action chat_model_action > chat scripted: ERROR",
    ]


def test_each_attempt_can_be_an_execution(instrument, tmp_path):
    provider, exporter = tracing()
    instrument(tracer_provider=provider, llm_attempts="each")

    outcome(Asking, [DOWN, BUSY, Reply.text("fine")], **RETRYING)

    lines = log_lines(tmp_path / "log")
    assert story(lines)[5:12] == [
        "x3 llm model started in x2 because e2",
        "x3 llm model failed in x2 because e2",
        "x4 llm model started in x2 because e2",
        "x4 llm model failed in x2 because e2",
        "x5 llm model started in x2 because e2",
        "x5 llm model finished in x2 because e2",
        "x2 action chat_model_action finished because e2",
    ]
    calls = ended(lines, "llm")
    assert [call["entity_metadata"]["attempts"] for call in calls] == [1, 1, 1]
    assert [call["event_attributes"] for call in calls[:2]] == [DOWN_ERROR, BUSY_ERROR]
    assert set(calls[2]["event_attributes"]) == {"output"}
    assert told_spans(exporter)[3:6] == [
        "action chat_model_action > chat scripted: ERROR",
        "action chat_model_action > chat scripted: ERROR",
        "action chat_model_action > chat scripted: UNSET",
    ]


@pytest.mark.parametrize("llm_attempts", ["logical", "each"])
def test_the_call_after_an_unparsable_answer_is_a_new_one(
    instrument, tmp_path, llm_attempts
):
    provider, exporter = tracing()
    instrument(tracer_provider=provider, llm_attempts=llm_attempts)

    seen = outcome(
        Structured,
        [Reply.text("not-json"), Reply.text('{"result": 42}')],
        **(RETRYING | {"max-retries": 1}),
    )

    assert seen.outputs == [42]
    lines = log_lines(tmp_path / "log")
    assert story(lines)[5:14] == [
        "x3 llm model started in x2 because e2",
        "x3 llm model finished in x2 because e2",
        "x4 parser structured_output started in x2 because e2",
        "x4 parser structured_output failed in x2 because e2",
        "x5 llm model started in x2 because e2",
        "x5 llm model finished in x2 because e2",
        "x6 parser structured_output started in x2 because e2",
        "x6 parser structured_output finished in x2 because e2",
        "x2 action chat_model_action finished because e2",
    ]
    assert [call["entity_metadata"]["attempts"] for call in ended(lines, "llm")] == [
        1,
        1,
    ]
    assert told_spans(exporter)[3:7] == [
        "action chat_model_action > chat scripted: UNSET",
        "action chat_model_action > parse structured_output: ERROR",
        "action chat_model_action > chat scripted: UNSET",
        "action chat_model_action > parse structured_output: UNSET",
    ]


def test_failed_attempts_after_an_unparsable_answer_belong_to_the_new_call(
    instrument, tmp_path
):
    instrument()

    outcome(
        Structured,
        [DOWN, Reply.text("not-json"), BUSY, Reply.text('{"result": 42}')],
        **(RETRYING | {"max-retries": 3}),
    )

    first, second = ended(log_lines(tmp_path / "log"), "llm")
    assert attempts_of(first) == [DOWN_ERROR, {}]
    assert attempts_of(second) == [BUSY_ERROR, {}]


def test_the_loops_of_two_requests_do_not_join(instrument, tmp_path):
    instrument()

    outcome(TwoRequests, [DOWN, Reply.text("1"), BUSY, Reply.text("2")], **RETRYING)

    lines = log_lines(tmp_path / "log")
    assert brief(lines)[3:] == [
        "_chat_request_event",
        "_chat_request_event",
        "action chat_model_action started",
        "llm model started",
        "llm model finished",
        "action chat_model_action finished",
        "_chat_response_event",
        "action chat_model_action started",
        "llm second started",
        "llm second finished",
        "action chat_model_action finished",
        "_chat_response_event",
    ]
    assert [attempts_of(llm) for llm in ended(lines, "llm")] == [
        [DOWN_ERROR, {}],
        [BUSY_ERROR, {}],
    ]


class TwoRequests(ChatAgent):
    def __init__(self):
        super().__init__(second=openai_setup())

    @action(ON_INPUT)
    @staticmethod
    def ask(event: Event, ctx: RunnerContext) -> None:
        ctx.send_event(chat_request("first"))
        ctx.send_event(chat_request("second", model="second"))


class InterruptedModel(OpenAIChatModelSetup):
    """Fails as a model does, then is interrupted by what `RAISED` says."""

    def chat(self, messages, *args, **kwargs):
        if RAISED:
            error = RAISED.pop(0)
            raise error
        return super().chat(messages, *args, **kwargs)


RAISED = []


class InterruptibleAsking(ChatAgent):
    def __init__(self):
        super().__init__(openai_setup(f"{__name__}.InterruptedModel"))

    @action(ON_INPUT)
    @staticmethod
    def ask(event: Event, ctx: RunnerContext) -> None:
        ctx.send_event(chat_request("hello"))


@pytest.mark.parametrize(
    ("error", "error_type"),
    [
        (KeyboardInterrupt("stop"), "KeyboardInterrupt"),
        (asyncio.CancelledError("stop"), "asyncio.exceptions.CancelledError"),
        (SystemExit("stop"), "SystemExit"),
    ],
)
def test_what_interrupts_a_repeated_call_is_its_last_attempt(
    instrument, tmp_path, error, error_type
):
    instrument()
    RAISED[:] = [ValueError("first"), error]

    with pytest.raises(type(error)):
        outcome(InterruptibleAsking, [], **RETRYING)

    lines = log_lines(tmp_path / "log")
    assert story(lines)[5:] == [
        "x3 llm model started in x2 because e2",
        "x3 llm model failed in x2 because e2",
        "x2 action chat_model_action failed because e2",
    ]
    [llm] = ended(lines, "llm")
    assert attempts_of(llm) == [
        {"error_type": "ValueError", "error_message": "first"},
        {"error_type": error_type, "error_message": "stop"},
    ]


def test_a_call_abandoned_between_its_attempts_has_no_terminal_record(
    instrument, tmp_path
):
    provider, exporter = tracing()
    instrument(tracer_provider=provider)
    RAISED[:] = [ValueError("first"), GeneratorExit()]

    with pytest.raises(GeneratorExit):
        outcome(InterruptibleAsking, [], **RETRYING)

    assert story(log_lines(tmp_path / "log")) == [
        *CHAT,
        "x3 llm model started in x2 because e2",
    ]
    for span in exporter.get_finished_spans():
        if span.name in {"chat scripted", "action chat_model_action"}:
            assert span.attributes["flink_agents.execution.incomplete"] is True
            assert span.status.status_code.name == "UNSET"


class Interruption(logging.Handler):
    """Interrupts the host where it says that it is going to try again."""

    def __init__(self, error):
        super().__init__()
        self.error = error

    def emit(self, record):
        if "retrying" in record.getMessage():
            raise self.error


@pytest.fixture
def interrupt_between_attempts(caplog):
    name = "flink_agents.plan.actions.chat_model_action"
    logger = logging.getLogger(name)
    added = []

    def interrupt(error):
        added.append(Interruption(error))
        logger.addHandler(added[0])

    with caplog.at_level(logging.WARNING, name):
        yield interrupt
    logger.removeHandler(added[0])


def test_an_interrupt_between_two_attempts_leaves_the_call_as_the_last_one_ended(
    instrument, tmp_path, interrupt_between_attempts
):
    instrument()
    interrupt_between_attempts(KeyboardInterrupt("stop"))

    with pytest.raises(KeyboardInterrupt):
        outcome(Asking, [DOWN], **RETRYING)

    lines = log_lines(tmp_path / "log")
    assert story(lines)[5:] == [
        "x3 llm model started in x2 because e2",
        "x3 llm model failed in x2 because e2",
        "x2 action chat_model_action failed because e2",
    ]
    assert lines[-2]["event_attributes"] == DOWN_ERROR
    assert lines[-1]["event_attributes"] == {
        "error_type": "KeyboardInterrupt",
        "error_message": "stop",
    }


def test_a_call_closed_between_two_attempts_is_abandoned(
    instrument, tmp_path, interrupt_between_attempts
):
    provider, exporter = tracing()
    instrument(tracer_provider=provider)
    interrupt_between_attempts(GeneratorExit())

    with pytest.raises(GeneratorExit):
        outcome(Asking, [DOWN], **RETRYING)

    assert story(log_lines(tmp_path / "log")) == [
        *CHAT,
        "x3 llm model started in x2 because e2",
    ]
    [chat] = [span for span in exporter.get_finished_spans() if "chat scr" in span.name]
    assert chat.attributes["flink_agents.execution.incomplete"] is True
    assert chat.status.status_code.name == "UNSET"


@pytest.mark.parametrize("strategy", ["retry", "ignore", "fail"])
@pytest.mark.parametrize("agent", [Asking, Structured])
@pytest.mark.parametrize(
    "replies",
    [
        [Reply.text('{"result": 42}')],
        [DOWN, Reply.text('{"result": 42}')],
        [DOWN, BUSY, Reply.text('{"result": 42}')],
        [DOWN, DOWN, DOWN],
        [Reply.text("not-json"), Reply.text('{"result": 42}')],
        [Reply.text("not-json")] * 3,
    ],
    ids=["fine", "1 failure", "2 failures", "3 failures", "unparsable", "hopeless"],
)
def test_the_host_repeats_and_fails_as_it_does_without_us(
    instrument, strategy, agent, replies
):
    configuration = RETRYING | {"error-handling-strategy": strategy}
    without = outcome(agent, replies, **configuration)

    instrument()
    assert outcome(agent, replies, **configuration) == without
    instrument(llm_attempts="each")
    assert outcome(agent, replies, **configuration) == without
    uninstrument()
    assert outcome(agent, replies, **configuration) == without
