"""The agent of the cluster tests: it counts what it has seen of its key."""

from __future__ import annotations

from flink_agents.api.agents.agent import Agent
from flink_agents.api.decorators import action
from flink_agents.api.events.event import Event, InputEvent, OutputEvent
from flink_agents.api.runner_context import RunnerContext  # noqa: TC002  # checked

TYPED_EVENTS = not hasattr(InputEvent, "EVENT_TYPE")
ON_INPUT = InputEvent if TYPED_EVENTS else InputEvent.EVENT_TYPE


class CountAgent(Agent):
    @action(ON_INPUT)
    @staticmethod
    def count(event: Event, ctx: RunnerContext) -> None:
        """Count, and give key, number and count."""
        asked = event.input if TYPED_EVENTS else InputEvent.from_event(event).input
        memory = ctx.short_term_memory
        count = (memory.get("count") or 0) + 1
        memory.set("count", count)
        ctx.send_event(OutputEvent(output=f"{asked[0]} {asked[1]} {count}"))
