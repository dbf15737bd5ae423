"""Content leaves the process only where it is asked for, in the conventions' shape."""

import json
import logging

import pytest
from flink_agents.api.chat_message import ChatMessage, MessageRole
from flink_agents.api.decorators import action
from flink_agents.api.events.event import Event
from flink_agents.api.prompts.prompt import Prompt
from flink_agents.api.runner_context import RunnerContext
from opentelemetry.instrumentation.utils import suppress_instrumentation
from opentelemetry.trace import get_current_span

from chat_agents import (
    ON_ANSWER,
    Asking,
    ChatAgent,
    answer_of,
    chat_request,
    openai_setup,
    outcome,
)
from exporting import signals
from hosting import ON_INPUT, log_lines, output
from opentelemetry.exporter.flink_agents._guard import faults
from opentelemetry.instrumentation.flink_agents import Masking
from probing import chat_model, play, tool
from scripted_llm import Reply

CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
EMIT = "OTEL_INSTRUMENTATION_GENAI_EMIT_EVENT"
EVENT = "gen_ai.client.inference.operation.details"
INPUT, OUTPUT = "gen_ai.input.messages", "gen_ai.output.messages"
SYSTEM, TOOLS = "gen_ai.system_instructions", "gen_ai.tool.definitions"
ARGUMENTS, RESULT = "gen_ai.tool.call.arguments", "gen_ai.tool.call.result"
CONTENT = (INPUT, OUTPUT, SYSTEM, TOOLS, ARGUMENTS, RESULT)
CUT = "flink_agents.content.truncated"


@pytest.fixture
def exported():
    with signals() as made:
        yield made


def fine(_=None):
    return Reply.text("fine")


def text(role, content):
    return {"role": role, "parts": [{"type": "text", "content": content}]}


ASKED = [text("user", "hello")]
ANSWERED = [{**text("assistant", "fine"), "finish_reason": "stop"}]


def name_of(event):
    return getattr(event, "event_name", None) or event.attributes["event.name"]


def read(value):
    """Structure, whether the SDK takes that or JSON in its place."""
    return json.loads(value) if isinstance(value, str) else plain(value)


def plain(value):
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if hasattr(value, "items"):
        return {name: plain(each) for name, each in value.items()}
    return value


def of_span(span):
    return {name: span.attributes[name] for name in CONTENT if name in span.attributes}


def of_event(event):
    return {
        name: read(event.attributes[name])
        for name in CONTENT
        if name in event.attributes
    }


@pytest.mark.parametrize(
    ("mode", "on_span", "in_event"),
    [
        (None, False, None),
        ("", False, None),
        ("NO_CONTENT", False, None),
        ("SPAN_ONLY", True, None),
        ("EVENT_ONLY", False, True),
        ("SPAN_AND_EVENT", True, True),
        (" span_and_event ", True, True),
    ],
)
def test_the_mode_decides_where_messages_are(  # noqa: PLR0917
    mode, on_span, in_event, instrument, exported, monkeypatch
):
    if mode is not None:
        monkeypatch.setenv(CAPTURE, mode)
    instrument(**exported.providers)

    outcome(Asking, fine)

    found = of_span(exported.span("chat"))
    said = {INPUT: ASKED, OUTPUT: ANSWERED}
    assert {name: json.loads(found[name]) for name in found if name != TOOLS} == (
        said if on_span else {}
    )
    events = [of_event(event) for event in exported.events]
    assert events == ([said] if in_event else [])


@pytest.mark.parametrize("mode", ["true", "yes", "SPAN"])
def test_a_mode_that_does_not_exist_captures_nothing_and_says_so(
    mode, instrument, exported, monkeypatch, caplog
):
    monkeypatch.setenv(CAPTURE, mode)
    instrument(**exported.providers)

    outcome(Asking, fine)

    assert of_span(exported.span("chat")) == {}
    assert exported.events == []
    [said] = [each.message for each in caplog.records if each.levelno > logging.INFO]
    assert said == (
        f"{CAPTURE}={mode!r} is not allowed: use NO_CONTENT, SPAN_ONLY, EVENT_ONLY,"
        " SPAN_AND_EVENT; no content is captured"
    )


def test_an_event_belongs_to_its_span_and_says_what_it_says(
    instrument, exported, monkeypatch
):
    monkeypatch.setenv(CAPTURE, "EVENT_ONLY")
    instrument(**exported.providers)

    outcome(Asking, fine)

    [event] = exported.events
    span = exported.span("chat")
    assert name_of(event) == EVENT
    assert (event.trace_id, event.span_id) == (
        span.context.trace_id,
        span.context.span_id,
    )
    names = [name for name in span.attributes if not name.startswith("flink_agents.")]
    assert {name: event.attributes[name] for name in names} == {
        name: span.attributes[name] for name in names
    }


@pytest.mark.parametrize(
    ("mode", "emit", "events"),
    [
        ("NO_CONTENT", "true", [{}]),
        ("SPAN_ONLY", "TRUE", [{}]),
        ("EVENT_ONLY", "false", []),
        ("EVENT_ONLY", "", [{INPUT: ASKED, OUTPUT: ANSWERED}]),
    ],
)
def test_events_can_be_had_without_content_and_the_other_way(  # noqa: PLR0917
    mode, emit, events, instrument, exported, monkeypatch
):
    monkeypatch.setenv(CAPTURE, mode)
    monkeypatch.setenv(EMIT, emit)
    instrument(**exported.providers)

    outcome(Asking, fine)

    assert [of_event(event) for event in exported.events] == events


class Shopping(ChatAgent):
    """Has a prompt, and a model that calls a tool."""

    def __init__(self) -> None:
        prompt = Prompt.from_messages(
            [ChatMessage(role=MessageRole.SYSTEM, content="You can calculate.")]
        )
        super().__init__(openai_setup(prompt=prompt, tools=["double"]))

    @action(ON_INPUT)
    @staticmethod
    def ask(event: Event, ctx: RunnerContext) -> None:
        ctx.send_event(chat_request("twice 21?"))

    @action(ON_ANSWER)
    @staticmethod
    def reply(event: Event, ctx: RunnerContext) -> None:
        ctx.send_event(output(answer_of(event).content))


REPLIES = [Reply.tool_calls([("double", {"number": 21})]), Reply.text("42")]


def test_a_conversation_with_tools_is_told_in_parts(instrument, exported, monkeypatch):
    monkeypatch.setenv(CAPTURE, "SPAN_ONLY")
    instrument(**exported.providers)

    assert outcome(Shopping, REPLIES).outputs == ["42"]

    first, second = (
        {name: json.loads(value) for name, value in of_span(span).items()}
        for span in exported.spans
        if span.name.startswith("chat")
    )
    [call] = first[OUTPUT][0]["parts"]
    system = text("system", "You can calculate.")
    assert call == {
        "type": "tool_call",
        "id": "call_1",
        "name": "double",
        "arguments": {"number": 21},
    }
    assert first[OUTPUT][0]["finish_reason"] == "tool_call"
    assert first[INPUT] == [system, text("user", "twice 21?")]
    assert second[INPUT] == [
        *first[INPUT],
        {"role": "assistant", "parts": [call]},
        {
            "role": "tool",
            "parts": [{"type": "tool_call_response", "id": "call_1", "response": "42"}],
        },
    ]
    [definition] = first[TOOLS]
    assert (definition["type"], definition["name"]) == ("function", "double")
    assert definition["parameters"]["properties"]["number"]["type"] == "integer"
    called = of_span(exported.span("execute_tool"))
    assert called == {ARGUMENTS: '{"number":21}', RESULT: "42"}


def test_what_a_tool_says_as_text_stays_text(instrument, exported, monkeypatch):
    monkeypatch.setenv(CAPTURE, "SPAN_ONLY")
    instrument(**exported.providers)

    play(lambda *_: tool(lambda **_: 'it is "sunny"').call(city="Ürümqi"))

    called = of_span(exported.span("execute_tool"))
    assert called == {ARGUMENTS: '{"city":"Ürümqi"}', RESULT: 'it is "sunny"'}


def test_what_fails_has_what_it_was_asked(instrument, exported, monkeypatch):
    monkeypatch.setenv(CAPTURE, "SPAN_AND_EVENT")
    instrument(**exported.providers)

    outcome(Asking, lambda _: Reply.status(500))

    assert of_span(exported.span("chat")) == {
        INPUT: json.dumps(ASKED, separators=(",", ":"))
    }
    [event] = exported.events
    assert of_event(event) == {INPUT: ASKED}
    assert event.attributes["error.type"] == "openai.InternalServerError"


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("just text", [text("user", "just text")]),
        ([{"role": "user"}], [text("user", '{"role":"user"}')]),
        ([ChatMessage(content="")], [text("user", "")]),
        (None, [text("user", "null")]),
    ],
)
def test_messages_of_any_form_are_told(asked, told, instrument, exported, monkeypatch):
    monkeypatch.setenv(CAPTURE, "SPAN_ONLY")
    instrument(**exported.providers)

    play(lambda *_: chat_model(lambda *_: {"odd": [1]}).chat(asked))

    found = of_span(exported.span("chat"))
    if asked is not None:  # what is not given is not known
        assert json.loads(found[INPUT]) == told
    assert json.loads(found[OUTPUT]) == [
        {**text("assistant", '{"odd":[1]}'), "finish_reason": "stop"}
    ]


def test_reasoning_is_a_part(instrument, exported, monkeypatch):
    monkeypatch.setenv(CAPTURE, "SPAN_ONLY")
    instrument(**exported.providers)
    answer = ChatMessage(
        role=MessageRole.ASSISTANT, content="42", extra_args={"reasoning": "6 * 7"}
    )

    play(lambda *_: chat_model(lambda *_: answer).chat([]))

    [said] = json.loads(of_span(exported.span("chat"))[OUTPUT])
    assert said["parts"] == [
        {"type": "reasoning", "content": "6 * 7"},
        {"type": "text", "content": "42"},
    ]


def test_content_is_masked_as_in_the_log(instrument, exported, monkeypatch, tmp_path):
    monkeypatch.setenv(CAPTURE, "SPAN_AND_EVENT")
    mask = Masking(keys=["event_attributes.input.0.content"], patterns=["fine"])
    instrument(mask=mask, **exported.providers)

    outcome(Asking, fine)

    [event] = exported.events
    told = {
        INPUT: [text("user", "***")],
        OUTPUT: [{**text("assistant", "***"), "finish_reason": "stop"}],
    }
    found = of_span(exported.span("chat"))
    assert {name: json.loads(value) for name, value in found.items()} == told
    assert of_event(event) == told


def test_a_mask_is_asked_once_for_the_log_and_for_the_span(
    instrument, exported, monkeypatch
):
    monkeypatch.setenv(CAPTURE, "SPAN_ONLY")
    asked = []

    def mask(path, value):
        if value == "secret":
            asked.append(path)
        return value

    instrument(mask=mask, **exported.providers)

    play(lambda *_: tool(lambda **_: None).call(word="secret"), value=1)

    assert asked == ["event_attributes.input.word"]


def test_the_log_without_content_does_not_get_what_spans_get(
    instrument, exported, monkeypatch, tmp_path
):
    monkeypatch.setenv(CAPTURE, "SPAN_ONLY")
    instrument(options={"event-log.execution-content": False}, **exported.providers)

    outcome(Asking, fine)

    assert json.loads(of_span(exported.span("chat"))[INPUT]) == ASKED
    lines = log_lines(tmp_path / "log")
    assert [line["event_attributes"] for line in lines if "status" in line] == [{}] * 8


def test_without_a_log_there_is_content_on_spans(instrument, exported, monkeypatch):
    monkeypatch.setenv(CAPTURE, "SPAN_ONLY")
    instrument(event_log=False, **exported.providers)

    outcome(Asking, fine)

    assert json.loads(of_span(exported.span("chat"))[INPUT]) == ASKED


def test_nothing_leaves_while_instrumentation_is_suppressed(
    instrument, exported, monkeypatch, tmp_path
):
    monkeypatch.setenv(CAPTURE, "SPAN_AND_EVENT")
    hook = Hook()
    instrument(completion_hook=hook, **exported.providers)

    with suppress_instrumentation():
        outcome(Asking, fine)

    assert (exported.spans, exported.events, hook.seen) == ([], [], [])
    assert len(log_lines(tmp_path / "log")) == 12


class Hook:
    """Keeps what it is called with."""

    def __init__(self):
        self.seen = []

    def on_completion(self, **arguments):
        self.seen.append(arguments)
        arguments["span"].set_attribute("gen_ai.input.messages_ref", "file:///x")


def test_a_completion_hook_gets_all_of_it_whatever_the_mode(instrument, exported):
    hook = Hook()
    instrument(completion_hook=hook, **exported.providers)

    outcome(Shopping, REPLIES)

    first, second = hook.seen
    assert [each["role"] for each in first["inputs"]] == ["system", "user"]
    assert second["outputs"] == [{**text("assistant", "42"), "finish_reason": "stop"}]
    assert (second["system_instruction"], second["log_record"]) == ([], None)
    assert second["tool_definitions"][0]["name"] == "double"
    spans = [each for each in exported.spans if each.name.startswith("chat")]
    assert [of_span(span) for span in spans] == [{}, {}]
    assert {span.attributes["gen_ai.input.messages_ref"] for span in spans} == {
        "file:///x"
    }


def test_a_completion_hook_may_change_the_event(instrument, exported, monkeypatch):
    class Stamping(Hook):
        def on_completion(self, **arguments):
            arguments["log_record"].attributes["stamped"] = True

    monkeypatch.setenv(CAPTURE, "EVENT_ONLY")
    instrument(completion_hook=Stamping(), **exported.providers)

    outcome(Asking, fine)

    [event] = exported.events
    assert event.attributes["stamped"] is True


def test_a_hook_that_fails_costs_nothing_else(
    instrument, exported, monkeypatch, tmp_path
):
    class Failing:
        def on_completion(self, **_):
            raise OSError("no space left")

    monkeypatch.setenv(CAPTURE, "SPAN_AND_EVENT")
    before = faults.count
    instrument(completion_hook=Failing(), **exported.providers)

    assert outcome(Asking, fine).outputs == ["fine"]

    assert faults.count == before + 1
    assert json.loads(of_span(exported.span("chat"))[INPUT]) == ASKED
    assert len(exported.events) == 1
    assert len(log_lines(tmp_path / "log")) == 12


def test_a_hook_of_the_environment_needs_its_library(instrument, monkeypatch, caplog):
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_COMPLETION_HOOK", "upload")

    instrument()

    [said] = [each.message for each in caplog.records if each.levelno > logging.INFO]
    assert said == (
        "OTEL_INSTRUMENTATION_GENAI_COMPLETION_HOOK needs opentelemetry-util-genai;"
        " it is ignored"
    )


def test_the_users_own_spans_get_none_of_it(instrument, exported, monkeypatch):
    monkeypatch.setenv(CAPTURE, "SPAN_ONLY")
    instrument(**exported.providers)

    def act(*_):
        get_current_span().set_attribute("mine", 1)
        tool(lambda: 1).call()

    play(act)

    assert of_span(exported.span("action")) == {}
    assert exported.span("action").attributes["mine"] == 1


LARGE = "words and words " * 65_536  # 1 MiB


def test_a_large_prompt_is_shortened_inside_and_stays_json(
    instrument, exported, monkeypatch
):
    monkeypatch.setenv(CAPTURE, "SPAN_AND_EVENT")
    instrument(**exported.providers)
    asked = [ChatMessage(content=LARGE), ChatMessage(content="short")]

    play(lambda *_: chat_model(lambda *_: ChatMessage(content=LARGE)).chat(asked))

    span = exported.span("chat")
    found = {name: json.loads(value) for name, value in of_span(span).items()}
    [first, second] = found[INPUT]
    assert first["parts"][0]["content"][:15] == "words and words"
    assert first["parts"][0]["content"].endswith("…")
    assert second == text("user", "short")
    assert found[OUTPUT][0]["finish_reason"] == "stop"
    assert sum(len(value.encode()) for value in of_span(span).values()) <= 256 * 1024
    assert span.attributes[CUT] is True
    [event] = exported.events
    assert of_event(event) == found
    assert event.attributes[CUT] is True


@pytest.mark.parametrize("limit", [0, 1, 50, 100, 1_000])
def test_the_limits_of_the_sdk_leave_json(limit, instrument, monkeypatch):
    monkeypatch.setenv(CAPTURE, "SPAN_ONLY")
    monkeypatch.setenv("OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", str(limit))
    with signals() as exported:
        instrument(**exported.providers)
        asked = [ChatMessage(content=f"question {n} " * 20) for n in range(20)]
        play(lambda *_: chat_model(lambda *_: ChatMessage(content="ok")).chat(asked))
        play(
            lambda *_: tool(lambda **_: ["é" * 99] * 9).call(
                some={"deep": "thing" * 99}
            )
        )

        for span in exported.spans:
            for value in of_span(span).values():
                assert len(value) <= limit
                json.loads(value)
        assert exported.span("chat").attributes[CUT] is True


def test_without_a_limit_everything_is_told(instrument, exported, monkeypatch):
    monkeypatch.setenv(CAPTURE, "SPAN_ONLY")
    monkeypatch.setenv("OTEL_PYTHON_FLINK_AGENTS_OTLP_CONTENT_BYTES", "0")
    instrument(**exported.providers)

    play(lambda *_: chat_model(lambda *_: None).chat([ChatMessage(content=LARGE)]))

    span = exported.span("chat")
    assert json.loads(of_span(span)[INPUT]) == [text("user", LARGE)]
    assert CUT not in span.attributes
