"""Agents that use memory, and what their log says of it."""

from pathlib import Path
from typing import Any

from flink_agents.api.agents.agent import Agent
from flink_agents.api.decorators import action
from flink_agents.api.events.event import Event
from flink_agents.api.runner_context import RunnerContext

from flink_agents_eventlog import read_records
from flink_agents_eventlog.folding import MEMORY_EVENT_TYPES
from hosting import ON_INPUT, TYPED_EVENTS, input_of, told_lines
from opentelemetry.instrumentation.flink_agents.events import (
    AgentRunBeginEvent,
    AgentRunEndEvent,
    SensoryWriteEvent,
    ShortTermReadEvent,
    ShortTermWriteEvent,
)

HEARD: list[tuple[Event, RunnerContext]] = []
"""What listening actions were called with; a test empties it before it begins."""


def listening(cls: Any) -> Any:
    """What an action names to be called for events of `cls`."""
    return cls if TYPED_EVENTS else cls.EVENT_TYPE


def write_all(memory: Any, entries: dict[str, Any]) -> None:
    for path, value in entries.items():
        memory.set(path, value)


class Observer(Agent):
    """Writes what its input says; another action listens to that."""

    @action(ON_INPUT)
    @staticmethod
    def write(event: Event, ctx: RunnerContext) -> None:
        write_all(ctx.short_term_memory, input_of(event))

    @action(listening(ShortTermWriteEvent))
    @staticmethod
    def observe(event: Event, ctx: RunnerContext) -> None:
        HEARD.append((event, ctx))
        if len(HEARD) > 2_000:
            raise RecursionError("its own writes wake the action again and again")
        ctx.short_term_memory.set("observed", "yes")
        ctx.short_term_memory.get("observed")
        ctx.sensory_memory.set("observed", "yes")


class SeveralObserver(Agent):
    """Two actions listen to one type, and one to three others."""

    @action(ON_INPUT)
    @staticmethod
    def write(event: Event, ctx: RunnerContext) -> None:
        write_all(ctx.short_term_memory, input_of(event))
        write_all(ctx.sensory_memory, input_of(event))
        for path in input_of(event):
            ctx.short_term_memory.get(path)

    @action(listening(ShortTermWriteEvent))
    @staticmethod
    def first(event: Event, ctx: RunnerContext) -> None:
        HEARD.append((event, ctx))

    @action(listening(ShortTermWriteEvent))
    @staticmethod
    def second(event: Event, ctx: RunnerContext) -> None:
        HEARD.append((event, ctx))

    @action(
        listening(SensoryWriteEvent),
        listening(ShortTermReadEvent),
        listening(AgentRunEndEvent),
    )
    @staticmethod
    def others(event: Event, ctx: RunnerContext) -> None:
        HEARD.append((event, ctx))


class Beginner(Agent):
    """Takes note that its run begins, before it does what its input says."""

    @action(listening(AgentRunBeginEvent))
    @staticmethod
    def begin(event: Event, ctx: RunnerContext) -> None:
        HEARD.append((event, ctx))
        ctx.short_term_memory.set("run.begin.seen", value=True)

    @action(ON_INPUT)
    @staticmethod
    def write(event: Event, ctx: RunnerContext) -> None:
        write_all(ctx.short_term_memory, input_of(event))


def memory_lines(folder: Path) -> list[dict[str, Any]]:
    """The memory events of a log, whole."""
    lines = told_lines(folder)
    return [line for line in lines if line["event_type"] in MEMORY_EVENT_TYPES]


def remembered(folder: Path) -> list[tuple[str, dict[str, Any]]]:
    """The memory events of a log, in any dialect, as `(type, value)`."""
    return [
        (record.event_type, record.event_attributes["value"])
        for record in read_records(folder)
        if record.event_type in MEMORY_EVENT_TYPES
    ]


def of_type(folder: Path, event_type: str) -> list[dict[str, Any]]:
    """The attributes of all events of a type, in any dialect."""
    return [
        record.event_attributes
        for record in read_records(folder)
        if record.event_type == event_type
    ]
