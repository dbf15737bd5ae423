"""Levels and limits, through the writer, in both dialects: CASES F, G and H."""

import json

import pytest
from flink_agents.api.agents.agent import Agent
from flink_agents.api.decorators import action
from flink_agents.api.events.event import Event
from flink_agents.api.runner_context import RunnerContext

from hosting import (
    NOTE_TYPE,
    ON_INPUT,
    ON_NOTE,
    TYPED_EVENTS,
    in_both_dialects,
    input_of,
    local_runner,
    note,
    output,
    told_lines,
)
from memory_agents import of_type, remembered
from native_reader import warnings_of
from probing import Stage, perform, play
from telling import Names

pytestmark = pytest.mark.memory

STANDARD = {"event-log.level": "STANDARD"}
LONG = "This is a very long string that exceeds the limit"
FACE, ACCENT = "\N{GRINNING FACE}", "\N{COMBINING ACUTE ACCENT}"

if TYPED_EVENTS:

    class Paid(Event):
        text: str = ""

    class Sent(Event):
        text: str = ""

    NAMESPACE = f"{Paid.__module__}."
    EVENTS = Paid(text=LONG), Sent(text=LONG)
    ON_ANY = Paid, Sent
else:
    NAMESPACE = "com.example.events."
    ON_ANY = f"{NAMESPACE}Paid", f"{NAMESPACE}Sent"
    EVENTS = tuple(Event(type=name, attributes={"text": LONG}) for name in ON_ANY)


class Sender(Agent):
    """Sends an event of each of two types of one namespace."""

    @action(ON_INPUT)
    @staticmethod
    def send(event: Event, ctx: RunnerContext) -> None:
        for each in EVENTS:
            ctx.send_event(each.model_copy(deep=True))

    @action(*ON_ANY)
    @staticmethod
    def receive(event: Event, ctx: RunnerContext) -> None:
        ctx.send_event(output("received"))


class Relay(Agent):
    """Three events, each of which leads to the next."""

    @action(ON_INPUT)
    @staticmethod
    def action1(event: Event, ctx: RunnerContext) -> None:
        ctx.short_term_memory.set("a.long.path", [LONG])
        ctx.send_event(note(input_of(event)))

    @action(ON_NOTE)
    @staticmethod
    def action2(event: Event, ctx: RunnerContext) -> None:
        ctx.send_event(output(LONG))


def limits(string, array, depth):
    values = {
        "max-string-length": string,
        "max-array-elements": array,
        "max-depth": depth,
    }
    return STANDARD | {
        f"event-log.standard.{name}": value for name, value in values.items()
    }


def echo(event, ctx):
    ctx.send_event(output(input_of(event)))


def cut(kept, omitted):
    return {"truncatedString": f"{kept}...", "omittedChars": omitted}


@pytest.mark.parametrize(
    ("given", "of", "logged"),
    [
        ({"content": LONG}, (10, 0, 0), {"content": cut("This is a ", 39)}),
        (
            [f"item{at}" for at in range(7)],
            (0, 3, 0),
            {"truncatedList": ["item0", "item1", "item2"], "omittedElements": 4},
        ),
        (
            {"data": {"scalar": "s", "number": 42, "object": {"a": 1}, "array": ["a"]}},
            (0, 0, 3),
            {
                "data": {
                    "truncatedObject": {"scalar": "s", "number": 42},
                    "omittedFields": 2,
                }
            },
        ),
        ({"a": "short", "b": [1, 2]}, (100, 10, 5), {"a": "short", "b": [1, 2]}),
        ("x" * 10_000, (0, 0, 0), "x" * 10_000),
        (
            {"eventType": "a-long-type", "id": "a-long-id", "attributes": "a-long-one"},
            (5, 0, 0),
            {
                "eventType": cut("a-lon", 6),
                "id": cut("a-lon", 4),
                "attributes": cut("a-lon", 5),
            },
        ),
        (None, (1, 1, 1), None),
        # The cut goes through a character of two units, or through a cluster.
        (FACE * 2, (2, 0, 0), cut(FACE, 2)),
        (FACE * 2, (3, 0, 0), cut(f"{FACE}\ufffd", 1)),
        (FACE, (1, 0, 0), cut("\ufffd", 1)),
        (FACE, (2, 0, 0), FACE),
        (f"e{ACCENT}e{ACCENT}", (1, 0, 0), cut("e", 3)),
        (f"e{ACCENT}e{ACCENT}", (3, 0, 0), cut(f"e{ACCENT}e", 1)),
        (
            [FACE * 2, LONG],
            (2, 1, 0),
            {"truncatedList": [cut(FACE, 2)], "omittedElements": 1},
        ),
    ],
)
@in_both_dialects
def test_payloads_are_cut_to_the_limits(instrument, tmp_path, given, of, logged):
    instrument(options=limits(*of))
    play(echo, value=given)

    assert of_type(tmp_path / "log", "_output_event") == [{"output": logged}]
    assert of_type(tmp_path / "log", "_input_event") == [{"input": logged}]


@pytest.mark.parametrize(
    ("message", "limit", "logged"),
    [
        ("ab\ud83dcd", 3, cut("ab\ufffd", 2)),
        ("ab\ud83dcd", 2, cut("ab", 3)),
        ("\ude00abc", 2, cut("\ufffda", 2)),
        ("ab\ud83d", 3, "ab\ufffd"),
        (f"a\ud83d{FACE}", 3, cut("a\ufffd\ufffd", 1)),
    ],
)
@in_both_dialects
def test_half_a_character_at_the_cut_does_not_break_the_record(
    instrument, tmp_path, message, limit, logged
):
    def fail(_, ctx):
        raise ValueError(message)

    instrument(options=limits(limit, 0, 0))
    with pytest.raises(ValueError):  # noqa: PT011  # its message is the payload
        play(fail)

    [attributes] = of_type(tmp_path / "log", "_execution_failed_event")
    named = attributes.get("errorMessage", attributes.get("error_message"))
    assert named == logged


@in_both_dialects
def test_memory_is_cut_by_its_paths_and_its_snapshot_too(instrument, tmp_path):
    instrument(options=limits(4, 0, 0) | {"agent-run.begin-event": True})
    runner = local_runner(Stage())
    for _ in range(2):
        perform(runner, lambda _, ctx: ctx.short_term_memory.set("path", FACE * 3))

    value = {"path": cut(FACE * 2, 2)}
    assert remembered(tmp_path / "log") == [("_short_term_write_event", value)] * 2
    begun = of_type(tmp_path / "log", "_agent_run_begin_event")
    assert [attributes["value"] for attributes in begun] == [{}, value]


@in_both_dialects
def test_identity_and_lineage_are_never_cut(instrument, tmp_path):
    logs = []
    for options in ({"event-log.level": "VERBOSE"}, limits(1, 1, 1)):
        folder = tmp_path / options["event-log.level"]
        options |= {"agent-run.begin-event": False}
        instrument(event_log_dir=str(folder), options=options)
        local_runner(Relay()).run(key="a long key", value=LONG)
        # Only payloads and the name of the level may be different.
        without = {"event_attributes": {}, "log_level": None}
        logs.append(Names().records([line | without for line in told_lines(folder)]))

    whole, truncated = logs
    assert whole == truncated
    began, middle, _, answer = (each for each in whole if "status" not in each)
    assert {each["business_key"] for each in whole} == {"a long key"}
    assert "action_trigger_event_id" not in began
    assert [
        (each["action_trigger_event_id"], each["entity_name"])
        for each in (middle, answer)
    ] == [(began["event_id"], "action1"), (middle["event_id"], "action2")]


@in_both_dialects
def test_the_level_of_a_type_beats_that_of_its_namespace(instrument, tmp_path):
    paid, sent = f"{NAMESPACE}Paid", f"{NAMESPACE}Sent"
    levels = {
        f"event-log.type.{NAMESPACE.removesuffix('.')}.level": "OFF",
        f"event-log.type.{paid}.level": "VERBOSE",
    }
    instrument(options=limits(10, 0, 0) | levels)
    local_runner(Sender()).run(key="k", value=LONG)

    assert of_type(tmp_path / "log", paid) == [{"text": LONG}]
    assert of_type(tmp_path / "log", sent) == []
    assert of_type(tmp_path / "log", "_input_event") == [
        {"input": cut("This is a ", 39)}
    ]


@in_both_dialects
def test_a_namespace_without_a_level_of_its_own_has_the_root_s(instrument, tmp_path):
    levels = {"event-log.type.com.level": "off", "event-log.level": "verbose"}
    instrument(options=limits(10, 0, 0) | levels)
    play(echo, value=LONG)

    assert of_type(tmp_path / "log", "_output_event") == [{"output": LONG}]


def native_warnings(folder):
    [path] = folder.iterdir()
    return warnings_of([json.loads(line) for line in path.read_bytes().splitlines()])


@pytest.mark.parametrize(
    "levels",
    [
        {"_input_event": "VERBOSE"},
        {NOTE_TYPE: "VERBOSE", "_input_event": "STANDARD"},
        {"_short_term_write_event": "VERBOSE", "_output_event": "OFF"},
        {"_execution_started_event": "OFF", "_execution_finished_event": "OFF"},
        {"_short_term_write_event": "OFF", "_output_event": "VERBOSE"},
    ],
    ids=lambda levels: ", ".join(f"{name} {level}" for name, level in levels.items()),
)
def test_levels_that_differ_by_type_give_the_host_s_reader_nothing_to_say(
    levels, instrument, tmp_path
):
    options = {f"event-log.type.{name}.level": level for name, level in levels.items()}
    instrument(dialect="native", options=limits(3, 1, 1) | options)
    runner = local_runner(Relay())
    for _ in range(2):  # equal inputs
        runner.run(key="k", value=LONG)

    assert native_warnings(tmp_path / "log") == []


@pytest.mark.parametrize(("off", "orphans"), [("_input_event", 2), (NOTE_TYPE, 1)])
def test_what_a_type_that_is_off_led_to_has_lost_its_parent_as_in_the_host_s_own_log(
    off, orphans, instrument, tmp_path
):
    options = {f"event-log.type.{off}.level": "OFF"}
    instrument(dialect="native", options=options)
    local_runner(Relay()).run(key="k", value="hello")

    warnings = native_warnings(tmp_path / "log")
    assert [code for code, _ in warnings] == ["MISSING_PARENT"] * orphans
