"""Execution trees: who ran inside whom, rebuilt from records in any order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flink_agents_eventlog.run import Event, Execution, Run
from flink_agents_eventlog.run_draft import RunDraft

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from flink_agents_eventlog.finding import Finding, OnFinding
    from flink_agents_eventlog.record import Record

__all__ = ["Event", "Execution", "ExecutionForest", "Run", "execution_forest"]


def execution_forest(
    records: Iterable[Record], *, on_finding: OnFinding | None = None
) -> list[Run]:
    """Rebuild the runs of a log, oldest first.

    The order of records does not matter, duplicates merge, and a missing record
    leaves all others standing: what has lost its parent stands at the root.
    """
    forest = ExecutionForest()
    for record in records:
        forest.add(record)
    runs = []
    for run, findings in forest.runs():
        runs.append(run)
        if on_finding is not None:
            for each in findings:
                on_finding(each)
    return runs


class ExecutionForest:
    """Collects records one by one; `runs` builds what is known so far."""

    def __init__(self) -> None:
        self._runs: dict[str | None, RunDraft] = {}

    def add(self, record: Record, path: str = "", line: int | None = None) -> None:
        """Take in a record; findings about it will point to `path` and `line`."""
        draft = self._runs.get(record.input_run_id)
        if draft is None:
            draft = self._runs[record.input_run_id] = RunDraft(record.input_run_id)
        draft.add(record, path, line)

    def runs(self) -> Iterator[tuple[Run, list[Finding]]]:
        """Build the runs, oldest first, each with what is wrong in it."""
        for draft in sorted(self._runs.values(), key=lambda draft: draft.age):
            yield draft.build()
