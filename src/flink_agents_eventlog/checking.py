"""Everything that is wrong or incomplete in a log, in one pass over its records."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from flink_agents_eventlog.execution import ExecutionForest
from flink_agents_eventlog.file_order import FileOrder
from flink_agents_eventlog.folding import MEMORY_EVENT_TYPES
from flink_agents_eventlog.growing import Growing
from flink_agents_eventlog.key_memory import is_run_event
from flink_agents_eventlog.lifecycle_check import LifecycleCheck
from flink_agents_eventlog.lineage import Lineage
from flink_agents_eventlog.log_file import read_file
from flink_agents_eventlog.reader import files_of
from flink_agents_eventlog.split_history import SplitHistories
from flink_agents_eventlog.truncation import holds_truncated
from flink_agents_eventlog.verification import MemoryVerification

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator

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
    paths: Iterable[str | os.PathLike[str]], watch: Watch | None = None
) -> tuple[Checked, list[Run], Check]:
    """Check, and give what was built on the way: the runs, and the check itself."""
    checked, runs, check = Checked(), [], Check()
    order: dict[str, int] = {}
    for file in files_of(paths, checked.findings.append):
        checked.files += 1
        order.setdefault(file, len(order))
        for located in read_file(file, checked.findings.append, watch):
            checked.records += 1
            checked.findings += check.add(located)
    for run, found in check.end():
        checked.findings += found
        if run is not None:
            runs.append(run)
            checked.runs += run.input_run_id is not None
    checked.findings.sort(key=lambda each: (order.get(each.path, -1), each.line or 0))
    return checked, runs, check


class Check:
    """All checks together: hand each record to `add`, in the order read."""

    def __init__(self) -> None:
        self._executions = ExecutionForest()
        self._lineage = Lineage()
        self._lifecycle = LifecycleCheck()
        self._order = FileOrder()
        self.memory = MemoryVerification()
        self._histories = SplitHistories()
        self._truncated: dict[str, tuple[int, Located]] = {}

    def add(self, located: Located) -> Iterator[Finding]:
        """Take in the next record and tell what is wrong with it; use it up."""
        record, path, line = located
        self._executions.add(record, path, line)
        self._lineage.add(record, path, line)
        self._lifecycle.add(located)
        self._histories.add(located)
        self._note_truncated(located)
        backwards = self._order.add(located)
        if backwards is not None:
            yield backwards
        yield from self.memory.add(located)

    def end(self) -> Iterator[tuple[Run | None, list[Finding]]]:
        """Give the runs, each with what is wrong in it, and last what is of none."""
        rest: list[Finding] = []
        forest = self._lineage.forest(rest.append)
        rest += self._lifecycle.findings(forest.events.keys())
        rest += self.memory.end()
        rest += self._histories.findings()
        rest += map(_cut_short, self._truncated.values())
        growing = Growing()
        for run, findings in self._executions.runs():
            # The lineage tells of every Event of a reserved type, and why.
            told = [each for each in findings if each.code != _RESERVED]
            yield run, list(growing.open_run(run.input_run_id, told))
        yield None, rest

    def _note_truncated(self, located: Located) -> None:
        record = located.record
        if record.event_type in MEMORY_EVENT_TYPES or is_run_event(record):
            return  # told for each path of memory
        if holds_truncated(record.event_attributes):
            count, first = self._truncated.get(located.path, (0, located))
            self._truncated[located.path] = (count + 1, first)


_RESERVED: Final = "RESERVED_EVENT_TYPE"


def _cut_short(truncated: tuple[int, Located]) -> Finding:
    count, first = truncated
    others = f", and so do {count - 1} more records of this file" if count > 1 else ""
    message = f"{first.record.event_type} holds values that were cut short{others}"
    return first.finding("TRUNCATED_VALUE", message)
