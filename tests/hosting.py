"""The real host, version by version: agents, inputs and the log that they leave.

Tests say what an agent does with `ON_INPUT`, `note(...)` and `ON_NOTE`, and run on
0.2, which routes events by class, as on 0.3, which routes them by a type string.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from flink_agents.api.events.event import Event, InputEvent, OutputEvent
from flink_agents.plan.configuration import AgentConfiguration
from flink_agents.runtime.local_runner import LocalRunner

from flink_agents_eventlog import Conversion, encode, read_records

in_both_dialects = pytest.mark.parametrize(
    "instrument", ["snake", "native"], indirect=True
)

TYPED_EVENTS = not hasattr(InputEvent, "EVENT_TYPE")

if TYPED_EVENTS:

    class NoteEvent(Event):
        text: Any = None

    ON_INPUT, ON_NOTE = InputEvent, NoteEvent
    NOTE_TYPE = f"{NoteEvent.__module__}.{NoteEvent.__qualname__}"

    def note(text: Any) -> Event:
        return NoteEvent(text=text)

    def text_of(event: Event) -> Any:
        return event.text

    def input_of(event: Event) -> Any:
        return event.input

else:
    ON_INPUT, ON_NOTE = InputEvent.EVENT_TYPE, "note"
    NOTE_TYPE = ON_NOTE

    def note(text: Any) -> Event:
        return Event(type=ON_NOTE, attributes={"text": text})

    def text_of(event: Event) -> Any:
        return event.attributes["text"]

    def input_of(event: Event) -> Any:
        return InputEvent.from_event(event).input


def output(value: Any) -> Event:
    return OutputEvent(output=value)


def local_runner(agent: Any, **configuration: Any) -> LocalRunner:
    """The local runner itself: unlike an environment it can run, and fail, often."""
    return LocalRunner(agent, AgentConfiguration(dict(configuration)))


def log_lines(directory: Path) -> list[dict[str, Any]]:
    """All records in the folder, file by file, as plain JSON."""
    paths = sorted(Path(directory).glob("events-*.jsonl"))
    return [
        json.loads(line) for path in paths for line in path.read_bytes().splitlines()
    ]


def native_lines(directory: Path) -> list[dict[str, Any]]:
    """All records of a log in the native dialect, as plain JSON."""
    [path] = Path(directory).iterdir()
    assert path.name.startswith("events-local-")
    assert path.name.endswith("-otel.log")
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def told_lines(directory: Path) -> list[dict[str, Any]]:
    """All records in the words of the default dialect, whichever they are written in.

    Not for values of long-term memory, which have a shape for each dialect.
    """
    words = Conversion("snake")
    records = [words.convert(each).record for each in read_records(directory)]
    return [json.loads(encode(each)) for each in records]


def brief(lines: list[dict[str, Any]]) -> list[str]:
    """A log as a reader would tell it: one short line for each record."""
    return [
        f"{line['entity_type']} {line['entity_name']} {line['status']}"
        if "status" in line
        else line["event_type"]
        for line in lines
    ]
