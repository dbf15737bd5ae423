"""Executions counted: how many, how many failed, how long they took.

>>> from flink_agents_eventlog.run import Execution, Run
>>> stats = Stats()
>>> for number in (1, 2, 3):
...     llm = Execution("x", "llm", "small", duration_ms=100.0 * number)
...     stats.add(Run("r", agent_name="Shop", executions=[llm]))
>>> [group] = stats.groups()
>>> group.count, group.failed, group.percentile_ms(0.5), group.max_ms
(3, 0, 200.0, 300.0)
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from flink_agents_eventlog import lifecycle
from flink_agents_eventlog.run import executions_of

if TYPE_CHECKING:
    from flink_agents_eventlog.run import Execution, Run

_KINDS: Final = (lifecycle.ACTION, lifecycle.LLM, lifecycle.PARSER, lifecycle.TOOL)


@dataclass
class Group:
    """All executions of one entity of one agent.

    `attempts` are calls that were really made: several for a model that was asked
    again, none for what was reused. `is_open` counts what has no terminal record.
    """

    entity_type: str | None
    entity_name: str | None
    agent_name: str | None
    count: int = 0
    failed: int = 0
    reused: int = 0
    is_open: int = 0
    attempts: int = 0
    input_tokens: int | None = None
    """None where no record tells."""
    output_tokens: int | None = None
    max_ms: float | None = None
    by_problem: Counter[str] = field(default_factory=Counter)
    _durations: Counter[float] = field(default_factory=Counter)

    def add(self, execution: Execution) -> None:
        """Count an execution."""
        metadata = execution.entity_metadata
        self.count += 1
        self.failed += execution.status == lifecycle.FAILED
        self.reused += execution.status == lifecycle.REUSED
        self.is_open += execution.status == lifecycle.STARTED
        if execution.problem_category is not None:
            self.by_problem[execution.problem_category] += 1
        self.input_tokens = _sum(self.input_tokens, metadata.get("input_tokens"))
        self.output_tokens = _sum(self.output_tokens, metadata.get("output_tokens"))
        if execution.status != lifecycle.REUSED:
            self._ran(execution.duration_ms, metadata.get("attempts"))

    def _ran(self, duration_ms: float | None, attempts: Any) -> None:
        self.attempts += attempts if type(attempts) is int else 1
        if duration_ms is not None:
            # So there are some thousand different ones at most, however long the log.
            self._durations[float(f"{duration_ms:.3g}")] += 1
            self.max_ms = max(duration_ms, self.max_ms or duration_ms)

    def percentile_ms(self, share: float) -> float | None:
        """Give the duration, to three digits, that this share did not exceed.

        Only what ran and ended counts; None if nothing did.
        """
        wanted = share * sum(self._durations.values())
        for duration in sorted(self._durations):
            wanted -= self._durations[duration]
            if wanted <= 0:
                return min(duration, self.max_ms or duration)
        return None


class Stats:
    """Counts runs one by one."""

    def __init__(self) -> None:
        self.runs = 0
        self.complete = 0
        self._groups: dict[tuple[str | None, str | None, str | None], Group] = {}

    def add(self, run: Run) -> None:
        """Count a run and all that ran in it."""
        self.runs += 1
        self.complete += run.complete
        for each in executions_of(run):
            name = (each.entity_type, each.entity_name, run.agent_name)
            group = self._groups.get(name)
            if group is None:
                group = self._groups[name] = Group(*name)
            group.add(each)

    def groups(self) -> list[Group]:
        """Give what was counted: by agent, then actions, models, parsers, tools."""
        return sorted(self._groups.values(), key=_order)


def _sum(known: int | None, more: Any) -> int | None:
    return known if type(more) is not int else (known or 0) + more


def _order(group: Group) -> tuple[str, int, str, str]:
    kind = group.entity_type or ""
    rank = _KINDS.index(kind) if kind in _KINDS else len(_KINDS)
    return (group.agent_name or "", rank, kind, group.entity_name or "")
