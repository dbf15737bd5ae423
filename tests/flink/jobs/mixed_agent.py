"""Agents of everything at once: equal events, several listeners, failures, memory.

They do not know of us, and their answers do not depend on who is faster.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import watched_calls
from flink_agents.api.decorators import action
from flink_agents.api.events.event import Event  # noqa: TC002  # checked
from flink_agents.api.runner_context import RunnerContext  # noqa: TC002  # checked

from chat_agents import ChatAgent, tool_named
from hosting import ON_INPUT, ON_NOTE, input_of, note, output, text_of

watched_calls.watch()


def measure(text: str, *extra: Any) -> int:
    return len(text) + len(extra)


class MixedAgent(ChatAgent):
    """One input has two listeners, three notes of which two are equal have two each."""

    @action(ON_INPUT)
    @staticmethod
    def remember(event: Event, ctx: RunnerContext) -> None:
        """Write to memory, and say the same twice."""
        text = text_of_input(event)
        memory = ctx.short_term_memory
        memory.set("seen", (memory.get("seen") or 0) + 1)
        memory.set(f"said.{text}", {"length": len(text), "ünï": [1, None, 2.5]})
        last = memory.new_object("last", overwrite=True)
        last.set("text", text)
        ctx.sensory_memory.set("now", text)
        ctx.send_event(note(text))
        ctx.send_event(note(text))

    @action(ON_INPUT)
    @staticmethod
    async def look_up(event: Event, ctx: RunnerContext) -> None:
        """Call durably, on a pool thread and on this one, with a method as argument."""
        text = text_of_input(event)
        method = tool_named(ctx, "double").call
        length = await ctx.durable_execute_async(measure, text, method)
        length += ctx.durable_execute(measure, text)
        ctx.short_term_memory.set("length", length)
        ctx.send_event(note(f"{text} of {length}"))

    @action(ON_NOTE)
    @staticmethod
    async def hear(event: Event, ctx: RunnerContext) -> None:
        """Be refused by a tool, and go on."""
        refuse = tool_named(ctx, "refuse").call
        try:
            await ctx.durable_execute_async(refuse, reason=text_of(event))
        except PermissionError as error:
            ctx.send_event(output(json.dumps({"answer": f"refused: {error}"})))

    @action(ON_NOTE)
    @staticmethod
    def report(event: Event, ctx: RunnerContext) -> None:
        """Say what is remembered now."""
        told = {"answer": text_of(event), "memory": flat(ctx.short_term_memory)}
        ctx.send_event(output(json.dumps(told)))


# The host takes actions from the class itself, not from its bases.
ACTIONS = [vars(MixedAgent)[name] for name in ("remember", "look_up", "hear", "report")]


class TableAgent(ChatAgent):
    """The same, for rows of a table."""

    remember, look_up, hear, report = ACTIONS


class FragileAgent(ChatAgent):
    """Its first attempt ends by an error in the middle, its second goes through."""

    remember, look_up, hear, report = ACTIONS

    @action(ON_NOTE)
    @staticmethod
    def break_once(event: Event, ctx: RunnerContext) -> None:
        """Fail where it is told to, once."""
        marker = Path(os.environ["SCRATCH"], "broken")
        if text_of(event) == "break" and not marker.exists():
            marker.touch()
            raise ValueError("broken once")


class FailingAgent(ChatAgent):
    """Fails on one of its inputs, and its job with it."""

    remember, look_up, hear, report = ACTIONS

    @action(ON_NOTE)
    @staticmethod
    async def fail(event: Event, ctx: RunnerContext) -> None:
        """Fail after a pause on a pool thread."""
        if await ctx.durable_execute_async(measure, text_of(event)) == len("break"):
            raise ValueError("broken for good")


class FullDiskAgent(ChatAgent):
    """The disk is full from its first action on, as far as the log is concerned."""

    remember, look_up, hear, report = ACTIONS

    @action(ON_NOTE)
    @staticmethod
    def fill(event: Event, ctx: RunnerContext) -> None:
        """Fill the disk."""
        watched_calls.fill_disk()


def text_of_input(event: Event) -> str:
    """The text of an input `(key, text)`, a pair or a row."""
    return str(input_of(event)[1])


def flat(memory: Any, prefix: str = "") -> dict[str, Any]:
    """All values of a memory object by their absolute paths."""
    found: dict[str, Any] = {}
    for name in memory.get_field_names():
        value = memory.get(name)
        if hasattr(value, "get_field_names"):
            found |= flat(value, f"{prefix}{name}.")
        else:
            found[f"{prefix}{name}"] = value
    return found
