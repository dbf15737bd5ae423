"""The runs that the arguments of a command choose."""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING

from flink_agents_eventlog.closing import closed_runs
from flink_agents_eventlog.commands.arguments import refuse_no_run, selection_of
from flink_agents_eventlog.reader import read_located

if TYPE_CHECKING:
    import argparse
    from collections.abc import Collection, Iterator

    from flink_agents_eventlog.commands.progress import Progress
    from flink_agents_eventlog.finding import Finding
    from flink_agents_eventlog.run import Run


def chosen_runs(
    args: argparse.Namespace,
    findings: list[Finding],
    progress: Progress,
    *,
    keep: Collection[str] = (),
) -> Iterator[Run]:
    """Read the runs that are chosen (see `closed_runs`), and collect what is wrong.

    The first one has been read when this returns.

    Raises:
        CommandError: If no run has the name that was asked for.

    """
    selection = selection_of(args)
    records = read_located(args.paths, findings.append, progress.watch)
    runs = closed_runs(records, findings.append, selection=selection, keep=keep)
    first = list(islice(runs, 1))
    if not first:
        refuse_no_run(selection, args, findings)
    return chain(first, runs)
