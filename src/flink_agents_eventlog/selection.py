"""Which runs of a log are wanted: one answer for every command that shows runs.

>>> from flink_agents_eventlog.run import Execution, Run
>>> search = Execution("x", "tool", "search", status="failed")
>>> run = Run("run-1", "order-7", executions=[search])
>>> Selection(key="order-7", failed=True).chooses(run)
True
>>> Selection(entity="tool:check_stock").chooses(run)
False
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from flink_agents_eventlog import lifecycle
from flink_agents_eventlog.masking import names_of_key
from flink_agents_eventlog.record import timestamp_ns
from flink_agents_eventlog.run import executions_of

if TYPE_CHECKING:
    from flink_agents_eventlog.record import Record
    from flink_agents_eventlog.run import Execution, Run

_ALWAYS: Final = 1 << 63


@dataclass(frozen=True)
class Selection:
    """Chooses runs that are everything asked for; all runs if nothing is.

    Raises:
        ValueError: If a time is not RFC 3339.

    """

    run: str | None = None
    """How the id of the run begins."""
    key: str | None = None
    """Its business key, as it is or masked (see `masking.names_of_key`)."""
    failed: bool = False
    """Something in it failed, handled or not."""
    entity: str | None = None
    """A type (``tool``), a name (``search``) or both (``tool:search``) that ran in it.

    Together with `failed` it is this that failed.
    """
    since: str | None = None
    until: str | None = None
    """RFC 3339; part of the run lies between them, both included."""

    def __post_init__(self) -> None:
        """Refuse what is no time."""
        _ = self._span

    @property
    def is_name(self) -> bool:
        """Whether it only names runs, so that to find none is somebody's mistake."""
        has_name = (self.run, self.key) != (None, None)
        return has_name and self == Selection(run=self.run, key=self.key)

    def may_choose(self, record: Record) -> bool:
        """Whether the run of a record can be chosen; if not, drop the record."""
        return self.run is None or (record.input_run_id or "").startswith(self.run)

    def chooses(self, run: Run) -> bool:
        """Whether a run is chosen, by all that is known of it."""
        return (
            (self.run is None or (run.input_run_id or "").startswith(self.run))
            and (self._keys is None or run.business_key in self._keys)
            and (not self._asks_for_execution or self._has_execution(run))
            and (self._span == (-_ALWAYS, _ALWAYS) or self._overlaps(run))
        )

    @cached_property
    def _keys(self) -> frozenset[str] | None:
        return None if self.key is None else names_of_key(self.key)

    @cached_property
    def _span(self) -> tuple[int, int]:
        return (
            -_ALWAYS if self.since is None else timestamp_ns(self.since),
            _ALWAYS if self.until is None else timestamp_ns(self.until),
        )

    @property
    def _asks_for_execution(self) -> bool:
        return self.failed or self.entity is not None

    def _has_execution(self, run: Run) -> bool:
        return any(
            (not self.failed or each.status == lifecycle.FAILED)
            and (self.entity is None or self.entity in _names(each))
            for each in executions_of(run)
        )

    def _overlaps(self, run: Run) -> bool:
        since, until = self._span
        with suppress(ValueError):  # what has no time is at none
            began, ended = run.started_at or "", run.ended_at or ""
            return timestamp_ns(began) <= until and timestamp_ns(ended) >= since
        return False


def _names(execution: Execution) -> tuple[str, str, str]:
    kind, name = execution.entity_type or "", execution.entity_name or ""
    return kind, name, f"{kind}:{name}"
