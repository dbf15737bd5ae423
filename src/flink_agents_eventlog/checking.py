"""Everything that is wrong or incomplete in a log, in one pass over its records.

What is inside a run is told when the run has closed, so that of a long log only few
runs are in memory.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from flink_agents_eventlog.closing import OpenRuns
from flink_agents_eventlog.file_order import FileOrder
from flink_agents_eventlog.folding import MEMORY_EVENT_TYPES
from flink_agents_eventlog.growing import Growing
from flink_agents_eventlog.key_memory import is_run_event
from flink_agents_eventlog.log_file import read_file
from flink_agents_eventlog.reader import files_of
from flink_agents_eventlog.run_check import EarlierRuns, RunCheck
from flink_agents_eventlog.split_history import SplitHistories
from flink_agents_eventlog.truncation import holds_truncated
from flink_agents_eventlog.verification import MemoryVerification

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator

    from flink_agents_eventlog.finding import Finding
    from flink_agents_eventlog.log_file import Located, Watch
    from flink_agents_eventlog.run import Run


@dataclass
class Checked:
    """What was looked at, and everything wrong with it in the order of the files."""

    records: int = 0
    runs: int = 0
    files: int = 0
    findings: list[Finding] = field(default_factory=list)

    def take(
        self, run: Run, found: list[Finding], on_run: Callable[[Run], object] | None
    ) -> None:
        """Count a run, and what is wrong in it."""
        self.findings += found
        self.runs += run.input_run_id is not None
        if on_run is not None:
            on_run(run)


def check_log(*paths: str | os.PathLike[str]) -> Checked:
    r"""Check files, folders and ``-`` by all codes of the EVENT_LOG format.

    >>> from tempfile import TemporaryDirectory
    >>> log = (
    ...     '{"timestamp":"2026-01-01T00:00:01Z","input_run_id":"r","event_id":"1",'
    ...     '"event_type":"_input_event","event_attributes":{}}\n'
    ...     'no record\n'
    ... )
    >>> with TemporaryDirectory() as folder:
    ...     with open(f"{folder}/events-a.jsonl", "w") as file:
    ...         _ = file.write(log)
    ...     checked = check_log(folder)
    >>> checked.records, checked.runs, checked.files
    (1, 1, 1)
    >>> [(each.code, each.line) for each in checked.findings]
    [('MALFORMED_RECORD', 2)]
    """
    return check_closely(paths)[0]


def check_closely(
    paths: Iterable[str | os.PathLike[str]],
    watch: Watch | None = None,
    on_run: Callable[[Run], object] | None = None,
) -> tuple[Checked, Check]:
    """Check, hand every run to `on_run`, and give the check itself too."""
    checked, check = Checked(), Check()
    order: dict[str, int] = {}
    for file in files_of(paths, checked.findings.append):
        checked.files += 1
        order.setdefault(file, len(order))
        for located in read_file(file, checked.findings.append, watch):
            checked.records += 1
            checked.findings += check.add(located)
            for run, found in check.let_go():
                checked.take(run, found, on_run)
    for run, found in check.end():
        checked.take(run, found, on_run)
    checked.findings += check.rest()
    checked.findings.sort(key=lambda each: (order.get(each.path, -1), each.line or 0))
    return checked, check


class Check:
    """All checks together: hand each record to `add`, in the order read."""

    def __init__(self) -> None:
        self._runs = OpenRuns(RunCheck)
        self._earlier = EarlierRuns()
        self._growing = Growing()
        self._order = FileOrder()
        self.memory = MemoryVerification()
        self._histories = SplitHistories()
        self._truncated: dict[str, tuple[int, Located]] = {}

    def add(self, located: Located) -> Iterator[Finding]:
        """Take in the next record and tell what is wrong with it; use it up."""
        self._runs.add(located)
        self._histories.add(located)
        self._note_truncated(located)
        backwards = self._order.add(located)
        if backwards is not None:
            yield backwards
        yield from self.memory.add(located)

    def let_go(self) -> Iterator[tuple[Run, list[Finding]]]:
        """Give a run that closed, if it is time to, and what is wrong in it."""
        check = self._runs.let_go()
        if check is not None:
            yield self._ended(check)

    def end(self) -> Iterator[tuple[Run, list[Finding]]]:
        """Give the runs that are left, each with what is wrong in it."""
        for check in self._runs.rest():
            yield self._ended(check)

    def rest(self) -> Iterator[Finding]:
        """Tell what is wrong in the log as a whole."""
        yield from self.memory.end()
        yield from self._histories.findings()
        yield from map(_cut_short, self._truncated.values())

    def _ended(self, check: RunCheck) -> tuple[Run, list[Finding]]:
        run, found = check.end(self._knows_event, self._knows_execution)
        found += self._earlier.take(check)
        return run, list(self._growing.open_run(run.input_run_id, found))

    def _knows_event(self, event_id: str) -> bool:
        return event_id in self._earlier.events or any(
            check.lineage.knows(event_id) for check in self._runs.held()
        )

    def _knows_execution(self, execution_id: str) -> bool:
        return execution_id in self._earlier.executions or any(
            check.lifecycle.knows(execution_id) for check in self._runs.held()
        )

    def _note_truncated(self, located: Located) -> None:
        record = located.record
        if record.event_type in MEMORY_EVENT_TYPES or is_run_event(record):
            return  # told for each path of memory
        if holds_truncated(record.event_attributes):
            count, first = self._truncated.get(located.path, (0, located))
            self._truncated[located.path] = (count + 1, first)


def _cut_short(truncated: tuple[int, Located]) -> Finding:
    count, first = truncated
    others = f", and so do {count - 1} more records of this file" if count > 1 else ""
    message = f"{first.record.event_type} holds values that were cut short{others}"
    return first.finding("TRUNCATED_VALUE", message)
