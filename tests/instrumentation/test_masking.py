"""What is to be hidden is hidden before anything of it is encoded or exported."""

import logging
import re

import pytest

from chat_agents import Asking, scripted
from hosting import brief, local_runner, log_lines, output
from opentelemetry.exporter.flink_agents import EventLogSpanProcessor
from opentelemetry.instrumentation.flink_agents import Masking, uninstrument
from probing import Stage, perform, play, tool
from providing import MemoryProvider
from scripted_llm import Reply

SECRET = "sk-secret"  # what must not leave


def attributes_of(folder):
    return [line["event_attributes"] for line in log_lines(folder)]


def text_of(folder):
    return "".join(path.read_text() for path in folder.iterdir())


def words_of(value):
    """Every string in plain data."""
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value
    inner = inner if isinstance(value, dict | list) else []
    return [word for each in inner for word in words_of(each)]


def fail(message):
    raise ValueError(message)


def test_a_function_gets_the_path_and_the_value_of_every_scalar(instrument, tmp_path):
    seen = []
    instrument(mask=lambda path, value: seen.append((path, value)))

    play(lambda *_: None, value={"user": {"tags": ["a", 1, True, None, 1.5]}})

    assert seen == [
        ("event_attributes.input.user.tags.0", "a"),
        ("event_attributes.input.user.tags.1", 1),
        ("event_attributes.input.user.tags.2", True),
        ("event_attributes.input.user.tags.3", None),
        ("event_attributes.input.user.tags.4", 1.5),
    ]
    assert attributes_of(tmp_path / "log")[0] == {
        "input": {"user": {"tags": [None] * 5}}
    }


def test_events_of_the_agent_are_masked(instrument, tmp_path):
    instrument(mask=Masking(keys=["card"], patterns=[r"sk-\w+"]))

    play(
        lambda _, ctx: ctx.send_event(output(f"your key is {SECRET}")),
        value={"card": {"number": 4111, "owner": ["x"]}, "Card": 1, "cards": 2},
    )

    received, *_, sent = attributes_of(tmp_path / "log")
    assert received == {
        "input": {
            "card": {"number": "***", "owner": ["***"]},
            "Card": "***",
            "cards": 2,
        }
    }
    assert sent == {"output": "your key is ***"}


def test_input_and_output_of_executions_are_masked(instrument, tmp_path):
    instrument(mask=Masking(keys=["query"], patterns=[r"sk-\w+"]))

    play(lambda *_: tool(lambda **_: SECRET).call(query="who?", limit=3))

    lines = [line for line in log_lines(tmp_path / "log") if "status" in line]
    _, started, finished, _ = lines
    assert started["event_attributes"] == {"input": {"query": "***", "limit": 3}}
    assert finished["event_attributes"] == {"output": "***"}


def test_messages_of_a_chat_are_masked_by_path(instrument, tmp_path):
    hidden = []

    def mask(path, value):
        if path == "event_attributes.input.0.content":
            hidden.append(value)
            return "hidden"
        return value

    instrument(mask=mask)
    with scripted(lambda _: Reply.text("an answer")):
        local_runner(Asking()).run(key="k", value="a question")

    [asked] = [
        line
        for line in log_lines(tmp_path / "log")
        if line.get("entity_type") == "llm" and line["status"] == "started"
    ]
    assert asked["event_attributes"]["input"][0]["content"] == "hidden"
    assert hidden[0] == "a question"


def test_error_messages_are_masked_in_the_log_and_on_spans(instrument, tmp_path):
    provider = MemoryProvider()
    instrument(tracer_provider=provider, mask=Masking(patterns=[r"sk-\w+"]))

    with pytest.raises(ValueError, match=SECRET):
        play(lambda *_: tool(fail).call(f"no such key: {SECRET}"))

    assert SECRET not in text_of(tmp_path / "log")
    failed = [each for each in attributes_of(tmp_path / "log") if "error_type" in each]
    assert (
        failed
        == [{"error_type": "ValueError", "error_message": "no such key: ***"}] * 2
    )
    assert [span.status.description for span in provider.spans] == [
        "no such key: ***"
    ] * 3
    assert SECRET not in "".join(span.to_json() for span in provider.spans)


@pytest.mark.memory
def test_a_mask_is_applied_once_wherever_the_value_goes(instrument, tmp_path):
    provider = MemoryProvider()
    instrument(
        tracer_provider=provider,
        mask=lambda _, value: f"{value}!" if isinstance(value, str) else value,
    )
    runner = local_runner(Stage())

    def work(_, ctx):
        ctx.short_term_memory.set("path", "value")
        tool(lambda word: word).call(word="argument")

    def fail_after_sending(_, ctx):
        ctx.send_event(output("left"))
        fail("boom")

    perform(runner, work, value="input")
    with pytest.raises(ValueError, match="boom"):
        perform(runner, fail_after_sending, value="input")
    perform(runner, lambda *_: None, value="input")

    told = words_of(attributes_of(tmp_path / "log"))
    assert {word.rstrip("!") for word in told} == {
        *("input", "k", "value", "argument", "left", "boom", "ValueError")
    }
    assert {word[len(word.rstrip("!")) :] for word in told} == {"!"}
    said = {span.status.description for span in provider.spans}
    assert said == {None, "boom!"}


def test_error_messages_can_be_kept_from_spans_altogether(instrument, monkeypatch):
    monkeypatch.setenv("OTEL_PYTHON_FLINK_AGENTS_OTLP_ERROR_MESSAGES", "false")
    provider = MemoryProvider()
    instrument(tracer_provider=provider)

    with pytest.raises(ValueError, match=SECRET):
        play(lambda *_: fail(SECRET))

    assert {span.status.description for span in provider.spans} == {None}
    assert {span.attributes["error.type"] for span in provider.spans} == {"ValueError"}


def test_metadata_of_an_entity_is_masked(instrument, tmp_path):
    instrument(mask=Masking(keys=["entity_metadata.tool_type"]))

    play(lambda *_: tool(lambda: 1).call())

    metadata = [
        line["entity_metadata"]
        for line in log_lines(tmp_path / "log")
        if line.get("entity_type") == "tool"
    ]
    assert metadata == [{"tool_type": "***"}] * 2


def test_identity_is_never_masked(instrument, tmp_path):
    def story(mask):
        instrument(mask=mask, event_log_dir=str(tmp_path / str(bool(mask))))
        play(lambda _, ctx: ctx.send_event(output(1)))
        uninstrument()
        identity = [
            "input_run_id",
            "business_key",
            "agent_name",
            "entity_name",
            "event_type",
            "status",
        ]
        lines = log_lines(tmp_path / str(bool(mask)))
        runs = {line["input_run_id"] for line in lines}
        assert len(runs) == 1
        return [[line.get(name) for name in identity[1:]] for line in lines]

    assert story(lambda *_: "hidden") == story(None)


def test_patterns_hide_in_the_names_of_fields_too_and_lose_none(instrument, tmp_path):
    instrument(mask=Masking(patterns=[r"sk-\w+"]))

    play(lambda *_: None, value={"sk-one": 1, "sk-two": 2, "id": {"of sk-three": 3}})

    assert attributes_of(tmp_path / "log")[0] == {
        "input": {"***": 1, "****": 2, "id": {"of ***": 3}}
    }


def test_a_mask_that_fails_hides_the_value_and_is_said_once(
    instrument, tmp_path, caplog
):
    def mask(path, value):
        if value == "a":
            raise KeyError(path)
        return value

    instrument(mask=mask)
    runner = play(lambda _, ctx: ctx.send_event(output("b")), value=["a", "b", "a"])

    assert runner.get_outputs() == [{"k": "b"}]
    assert attributes_of(tmp_path / "log")[0] == {"input": ["***", "b", "***"]}
    said = [each for each in caplog.records if each.levelno >= logging.WARNING]
    assert len(said) <= 1  # once per process


class Odd:
    def __repr__(self):
        raise RuntimeError


@pytest.mark.parametrize(
    ("returned", "written"),
    [
        (None, None),
        ({"any": {1, 2}}, {"any": [1, 2]}),
        (float("nan"), {"unrepresentable": "NaN"}),
        (b"bytes", "Ynl0ZXM="),
        ("a\ud83db", "a\ufffdb"),
        (2**70, 2**70),
    ],
)
def test_what_a_mask_returns_is_written_as_any_payload(
    returned, written, instrument, tmp_path
):
    instrument(mask=lambda *_: returned)

    play(lambda *_: None, value="x")

    assert attributes_of(tmp_path / "log")[0] == {"input": written}


def test_an_odd_object_from_a_mask_is_marked(instrument, tmp_path):
    instrument(mask=lambda *_: Odd())

    play(lambda *_: None, value="x")

    [marked] = attributes_of(tmp_path / "log")[0].values()
    assert [*marked] == ["unrepresentable"]


def test_an_odd_object_from_a_mask_does_not_break_a_spans_status(instrument):
    provider = MemoryProvider()
    instrument(tracer_provider=provider, mask=lambda *_: ["odd", 1])

    with pytest.raises(ValueError, match=SECRET):
        play(lambda *_: fail(SECRET))

    assert {span.status.description for span in provider.spans} == {"['odd', 1]"}


def test_a_mask_does_not_change_what_the_agent_sees(instrument):
    instrument(mask=lambda *_: "hidden")
    value = {"card": ["4111"]}

    runner = play(lambda _, ctx: ctx.send_event(output(value)), value=value)

    assert runner.get_outputs() == [{"k": {"card": ["4111"]}}]
    assert value == {"card": ["4111"]}


def test_a_processor_by_hand_keeps_its_own_mask(instrument, tmp_path):
    provider = MemoryProvider()
    by_hand = EventLogSpanProcessor(tmp_path / "log", mask=lambda *_: "by hand")
    provider.add_span_processor(by_hand)
    instrument(tracer_provider=provider, mask=lambda *_: "argument")

    play(lambda *_: None)

    assert attributes_of(tmp_path / "log")[0] == {"input": "by hand"}


def test_a_processor_by_hand_without_a_mask_takes_the_one_that_is_given(
    instrument, tmp_path
):
    provider = MemoryProvider()
    by_hand = EventLogSpanProcessor(tmp_path / "log")
    provider.add_span_processor(by_hand)
    for word in ("first", "second"):
        instrument(tracer_provider=provider, mask=lambda *_, word=word: word)
        play(lambda *_: None)
    uninstrument()

    assert attributes_of(tmp_path / "log")[::3] == [
        {"input": "first"},
        {"input": "second"},
    ]
    assert by_hand.mask is None


def test_leftovers_of_a_failed_run_are_masked(instrument, tmp_path):
    instrument(mask=Masking(patterns=[r"sk-\w+"]))

    def fail_after_sending(_, ctx):
        ctx.send_event(output(SECRET))
        fail(SECRET)

    runner = local_runner(Stage())
    with pytest.raises(ValueError, match=SECRET):
        perform(runner, fail_after_sending)
    perform(runner, lambda *_: None)

    assert "_output_event" in brief(log_lines(tmp_path / "log"))
    assert SECRET not in text_of(tmp_path / "log")


@pytest.mark.parametrize(
    ("keys", "path", "is_hidden"),
    [
        (["card"], "event_attributes.input.card", True),
        (["CARD"], "event_attributes.input.card.number", True),
        (["card"], "event_attributes.input.Card", True),
        (["card"], "event_attributes.input.cards", False),
        (["event_attributes.input"], "event_attributes.input.0.content", True),
        (["event_attributes.input"], "event_attributes.input", True),
        (["event_attributes.input"], "event_attributes.input_id", False),
        (["input.card"], "event_attributes.input.card", False),
        ([], "event_attributes.input.card", False),
    ],
)
def test_a_name_hides_at_any_depth_and_a_path_from_the_root(keys, path, is_hidden):
    assert Masking(keys=keys)(path, 1) == ("***" if is_hidden else 1)


def test_patterns_replace_every_match_in_strings_only():
    mask = Masking(patterns=[r"\d{4}", re.compile("secret", re.IGNORECASE)])

    assert mask("p", "1234 and 56789, Secret") == "*** and ***9, ***"
    assert mask("p", 1234) == 1234


def test_a_pattern_that_is_none_is_refused():
    with pytest.raises(ValueError, match=r"Masking pattern '\(' is not a regular"):
        Masking(patterns=["("])
