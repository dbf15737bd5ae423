"""An agent that answers with what the counters of its metric group say."""

from __future__ import annotations

from flink_agents.api.agents.agent import Agent
from flink_agents.api.decorators import action
from flink_agents.api.events.event import Event  # noqa: TC002  # checked
from flink_agents.api.runner_context import RunnerContext  # noqa: TC002  # checked

from hosting import ON_INPUT, output

COUNTERS = (
    "eventLogRecordsWritten",
    "eventLogRecordsLost",
    "instrumentationFaults",
)


class HealthAgent(Agent):
    """Answers with the counts of the runs before."""

    @action(ON_INPUT)
    @staticmethod
    def report(event: Event, ctx: RunnerContext) -> None:
        """Send what each counter says now."""
        counters = map(ctx.agent_metric_group.get_counter, COUNTERS)
        ctx.send_event(output(str([counter.get_count() for counter in counters])))
