"""All that can be wrong inside one run, and what later runs may refer to."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final, TypeVar

from flink_agents_eventlog.lifecycle_check import LifecycleCheck
from flink_agents_eventlog.lineage import Lineage
from flink_agents_eventlog.log_file import Located
from flink_agents_eventlog.run_draft import RunDraft

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from flink_agents_eventlog.finding import Finding
    from flink_agents_eventlog.record import Record
    from flink_agents_eventlog.run import Run

MOST_IDS: Final = 65_536
"""Events and executions of earlier runs that are remembered, the latest."""

_RESERVED: Final = "RESERVED_EVENT_TYPE"
_Value = TypeVar("_Value")


class RunCheck:
    """Collects the records of one run, in any order; `end` tells what is wrong."""

    def __init__(self, input_run_id: str | None) -> None:
        self._draft = RunDraft(input_run_id)
        self.lineage = Lineage()
        self.lifecycle = LifecycleCheck()

    @property
    def is_open(self) -> bool:
        """Whether something in it has started and not ended."""
        return self._draft.is_open

    @property
    def age(self) -> tuple[bool, str, str]:
        """Sorts runs as they began."""
        return self._draft.age

    def add(self, record: Record, path: str, line: int | None) -> None:
        """Take in a record; findings about it will point to `path` and `line`."""
        self._draft.add(record, path, line)
        self.lineage.add(record, path, line)
        self.lifecycle.add(Located(record, path, line or 0))

    def end(
        self, knows_event: Callable[[str], bool], knows_execution: Callable[[str], bool]
    ) -> tuple[Run, list[Finding]]:
        """Build the run, and tell what is wrong; other runs may know more ids."""
        run, found = self._draft.build()
        # The lineage tells of every Event of a reserved type, and why.
        found = [each for each in found if each.code != _RESERVED]
        forest = self.lineage.forest(found.append, knows_event)
        found += self.lifecycle.findings(
            lambda event_id: event_id in forest.events or knows_event(event_id),
            knows_execution,
        )
        return run, found


class EarlierRuns:
    """What runs were let go with: later ones may refer to it, or contradict it.

    What a failed action leaves in the queue belongs to the next run of the key, and
    after recovery a run goes on under another id.
    """

    def __init__(self) -> None:
        self.events: OrderedDict[str, bytes] = OrderedDict()
        self.executions: OrderedDict[str, None] = OrderedDict()

    def take(self, check: RunCheck) -> Iterator[Finding]:
        """Remember a run; tell which of its Events were other ones earlier."""
        for event_id, content in check.lineage.contents():
            if self.events.setdefault(event_id, content) != content:
                message = f"records of {event_id} differ in type or content"
                yield check.lineage.finding("EVENT_ID_CONFLICT", event_id, message)
            _forget(self.events)
        for execution_id in check.lifecycle.names():
            self.executions[execution_id] = None
            _forget(self.executions)


def _forget(known: OrderedDict[str, _Value]) -> None:
    if len(known) > MOST_IDS:
        known.popitem(last=False)
