"""One write of short-term memory, with its event on and off, on the local runner.

Annotations are not postponed: the host reads those of actions.
"""

import copy
import logging
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks.rounds import Ratio, fastest
from flink_agents.api.agents.agent import Agent
from flink_agents.api.decorators import action
from flink_agents.api.events.event import Event
from flink_agents.api.runner_context import RunnerContext
from flink_agents.plan.configuration import AgentConfiguration
from flink_agents.runtime.local_memory_object import LocalMemoryObject
from flink_agents.runtime.local_runner import LocalRunner

from opentelemetry.instrumentation.flink_agents import instrument, uninstrument

VALUE = {"orders": [{"sku": f"SKU-{number}", "pieces": number} for number in range(40)]}
CALLS = 300
_measured: dict[str, float] = {}

logging.disable(logging.WARNING)


class Writer(Agent):
    @action("_input_event")
    @staticmethod
    def write(event: Event, ctx: RunnerContext) -> None:  # noqa: ARG004
        memory = ctx.short_term_memory
        bare = LocalMemoryObject.set
        bare = getattr(bare, "__wrapped__", bare)
        functions: dict[str, Callable[[], object]] = {
            "ours": lambda: memory.set("value", VALUE),
            "bare": lambda: bare(memory, "value", VALUE),
            "copy": lambda: copy.deepcopy(VALUE),
        }
        _measured.update(fastest(functions, calls=CALLS))


def ratios() -> list[Ratio]:
    """Compare what a write costs beyond the bare one with a deep copy of its value."""
    with _measuring({}):
        added = _measured["ours"] - _measured["bare"]
        on = Ratio(
            "a memory write, event on",
            (added - 3e-6) / _measured["copy"],
            1.5,
            _measured["ours"] * 1e6,
        )
    with _measuring({"memory.generate-event": False}):
        off = Ratio(
            "a memory write, event off",
            _measured["ours"] / _measured["bare"],
            1.02,
            _measured["ours"] * 1e6,
        )
    return [on, off]


@contextmanager
def _measuring(options: dict[str, Any]) -> Iterator[None]:
    with tempfile.TemporaryDirectory() as folder:
        instrument(event_log_dir=folder, options=options)
        LocalRunner(Writer(), AgentConfiguration()).run(key="key", value="")
        yield
        uninstrument()
