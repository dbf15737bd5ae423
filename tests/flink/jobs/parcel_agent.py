"""The agent of the Flink tests; it runs unchanged on every supported pair of versions.

In a module of its own, since the task manager imports actions by name.
"""

from __future__ import annotations

import time
from typing import Any

from flink_agents.api.agents.agent import Agent
from flink_agents.api.decorators import action, tool
from flink_agents.api.events.event import Event, InputEvent, OutputEvent
from flink_agents.api.resource import ResourceType
from flink_agents.api.runner_context import RunnerContext  # noqa: TC002  # checked

from opentelemetry.instrumentation.flink_agents import instrument
from opentelemetry.instrumentation.flink_agents.events import ShortTermWriteEvent

TYPED_EVENTS = not hasattr(InputEvent, "EVENT_TYPE")
"""0.2 routes events by class, later versions by a type string."""

if TYPED_EVENTS:

    class WeighedEvent(Event):
        parcel: str
        grams: int

    ON_INPUT, ON_WEIGHED, ON_WRITE = InputEvent, WeighedEvent, ShortTermWriteEvent

    def weighed(parcel: str, grams: int) -> Event:
        return WeighedEvent(parcel=parcel, grams=grams)

    def fields(event: Event) -> dict[str, Any]:
        return {"parcel": event.parcel, "grams": event.grams}

else:
    ON_INPUT, ON_WEIGHED = InputEvent.EVENT_TYPE, "weighed"
    ON_WRITE = ShortTermWriteEvent.EVENT_TYPE

    def weighed(parcel: str, grams: int) -> Event:
        return Event(type=ON_WEIGHED, attributes={"parcel": parcel, "grams": grams})

    def fields(event: Event) -> dict[str, Any]:
        return event.attributes


def read_scale(parcel: str) -> int:
    time.sleep(0.01)
    return 100 * len(parcel)


class ParcelAgent(Agent):
    """Weighs parcels: a durable call on a pool thread, a tool, two listeners."""

    @tool
    @staticmethod
    def postage(grams: int) -> int:
        """Price a parcel.

        Parameters
        ----------
        grams : int
            What it weighs.
        """
        return grams // 50

    @action(ON_INPUT)
    @staticmethod
    async def weigh(event: Event, ctx: RunnerContext) -> None:
        """Weigh the parcel asynchronously, and remember how many there were."""
        parcel = InputEvent.from_event(event).input if not TYPED_EVENTS else event.input
        grams = await ctx.durable_execute_async(read_scale, parcel[1])
        memory = ctx.short_term_memory
        memory.set("parcels.count", (memory.get("parcels.count") or 0) + 1)
        last = memory.new_object("last", overwrite=True)
        last.set("grams", grams)
        last.new_object("detail", overwrite=True)
        ctx.send_event(weighed(parcel[1], grams))

    @action(ON_WEIGHED)
    @staticmethod
    async def price(event: Event, ctx: RunnerContext) -> None:
        """Price it with a tool, on a pool thread, and send it off."""
        found = fields(event)
        tool = ctx.get_resource("postage", ResourceType.TOOL)
        price = await ctx.durable_execute_async(tool.call, grams=found["grams"])
        ctx.send_event(OutputEvent(output=f"{found['parcel']}: {price}"))

    @action(ON_WEIGHED)
    @staticmethod
    def audit(event: Event, ctx: RunnerContext) -> None:
        """Listen too, without any effect."""

    @action(ON_WRITE)
    @staticmethod
    def observe(event: Event, ctx: RunnerContext) -> None:
        """Be told what the agent remembers; what is written here triggers nothing."""
        written = ShortTermWriteEvent.from_event(event)
        ctx.short_term_memory.set("observed", written.value["parcels.count"])


instrument()
