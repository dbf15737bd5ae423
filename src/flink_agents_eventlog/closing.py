"""Runs as they close, so that of a long log only few are in memory.

    records ──▶ open runs ──closed──▶ the last closed ones ──let go──▶ Run, findings
                    ▲                        │
                    └──── a later record ────┘

A run closes by the rule of the EVENT_LOG format: at its end event, or when the next
input of its key comes in the same file and nothing of it is open.
"""

from __future__ import annotations

from collections import OrderedDict
from functools import partial
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar

from flink_agents_eventlog import lifecycle
from flink_agents_eventlog.folder import history_of
from flink_agents_eventlog.run_draft import RunDraft
from flink_agents_eventlog.selection import Selection

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from flink_agents_eventlog.finding import OnFinding
    from flink_agents_eventlog.log_file import Located
    from flink_agents_eventlog.record import Record
    from flink_agents_eventlog.run import Run

MOST_CLOSED: Final = 1_024
"""Closed runs kept for a while: records that come late still find them there."""

MOST_OPEN: Final = 16_384
"""Runs followed at a time; of more, the one silent for longest counts as closed."""

ALL: Final = Selection()
CONTENT: Final = ("input", "output")


def closed_runs(
    records: Iterable[Located],
    on_finding: OnFinding,
    *,
    selection: Selection = ALL,
    with_content: bool = False,
    keep: Collection[str] = (),
) -> Iterator[Run]:
    """Give the chosen runs of a log, and report what is wrong in them.

    A log that closes no more than `MOST_CLOSED` runs is read to its end first: its runs
    come oldest first and do not depend on the order of records. Of a longer log they
    come as they close, file by file; what is recorded of a run after it was let go
    comes as one more `Run` of that id.

    `with_content` keeps what models, parsers and tools were given and gave back in
    `Execution.content`, which may be large; `keep` names other attributes to keep, also
    of Events.

    >>> from flink_agents_eventlog.log_file import Located
    >>> from flink_agents_eventlog.record import Record
    >>> record = Record(
    ...     timestamp="2026-01-01T00:00:00Z", input_run_id="run-1", event_id="1",
    ...     event_type="_input_event", event_attributes={},
    ... )
    >>> [run] = closed_runs([Located(record, "events-a.jsonl", 1)], print)
    >>> run.input_run_id, run.complete
    ('run-1', True)
    """
    names = (*(CONTENT if with_content else ()), *keep)
    runs = OpenRuns(partial(RunDraft, keep=names))
    for located in records:
        if selection.may_choose(located.record):
            runs.add(located)
        draft = runs.let_go()
        if draft is not None:
            yield from _chosen(draft, selection, on_finding)
    for draft in runs.rest():
        yield from _chosen(draft, selection, on_finding)


def _chosen(
    draft: RunDraft, selection: Selection, on_finding: OnFinding
) -> Iterator[Run]:
    run, findings = draft.build()
    if selection.chooses(run):
        for each in findings:
            on_finding(each)
        yield run


class Draft(Protocol):
    """What collects the records of one run."""

    def add(self, record: Record, path: str, line: int | None) -> None:
        """Take in a record."""

    @property
    def is_open(self) -> bool:
        """Whether something in it has started and not ended."""

    @property
    def age(self) -> tuple[bool, str, str]:
        """Sorts runs as they began."""


_Draft = TypeVar("_Draft", bound=Draft)


class OpenRuns(Generic[_Draft]):
    """The runs that are open, and those that closed lately."""

    def __init__(self, make: Callable[[str | None], _Draft]) -> None:
        self._make = make
        self._open: OrderedDict[str | None, _Draft] = OrderedDict()
        self._closed: OrderedDict[str | None, _Draft] = OrderedDict()
        # The run that a key is at, by file and key, and the same by run.
        self._run_at: dict[tuple[str, str], str | None] = {}
        self._place_of: dict[str | None, tuple[str, str]] = {}

    def add(self, located: Located) -> None:
        """Take in a record, and let its run or the one before it close."""
        record, path, line = located
        run = record.input_run_id
        draft = self._open.pop(run, None) or self._closed.pop(run, None)
        if draft is None:
            draft = self._make(run)
        self._open[run] = draft  # the latest, last
        draft.add(record, path, line)
        if record.event_type == lifecycle.AGENT_RUN_END_EVENT:
            self._close(run)
        elif record.event_type == lifecycle.INPUT_EVENT:
            self._begin(run, (history_of(path), record.business_key or ""))
        if len(self._open) > MOST_OPEN:
            self._close(next(iter(self._open)))

    def _begin(self, run: str | None, place: tuple[str, str]) -> None:
        before = self._run_at.get(place, run)
        if before != run:
            draft = self._open.get(before)
            if draft is not None and not draft.is_open:
                self._close(before)
        self._run_at[place] = run
        self._place_of[run] = place

    def _close(self, run: str | None) -> None:
        self._closed[run] = self._open.pop(run)
        place = self._place_of.pop(run, None)
        if place is not None and self._run_at.get(place) == run:
            del self._run_at[place]

    def let_go(self) -> _Draft | None:
        """Give the run that closed first, if too many have closed since."""
        if len(self._closed) <= MOST_CLOSED:
            return None
        return self._closed.popitem(last=False)[1]

    def held(self) -> Iterator[_Draft]:
        """Give the runs that are held, in no order to rely on."""
        yield from self._closed.values()
        yield from self._open.values()

    def rest(self) -> list[_Draft]:
        """Give the runs that are left, oldest first."""
        return sorted(self.held(), key=lambda draft: draft.age)
