"""Reading Event Logs: files and folders to records, faults to findings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from flink_agents_eventlog import folder
from flink_agents_eventlog.dialect import NESTED
from flink_agents_eventlog.finding import OnFinding, finding
from flink_agents_eventlog.log_file import STDIN, Located, read_file, reason, unreadable

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator

    from flink_agents_eventlog.log_file import Watch
    from flink_agents_eventlog.record import Record

__all__ = ["STDIN", "Located", "files_of", "read_located", "read_records"]


def read_records(
    *paths: str | os.PathLike[str], on_finding: OnFinding | None = None
) -> Iterator[Record]:
    """Read files, folders and ``-`` (standard input) in the order given.

    Every dialect is read, also mixed in one file and pretty-printed. Within a
    folder the files of one writer come oldest first, and the host's own nested
    log is left out where ours of the same task is there too. What cannot be read
    goes to `on_finding` and everything else is still read.
    """
    for located in read_located(paths, on_finding or _ignore):
        yield located.record


def read_located(
    paths: Iterable[str | os.PathLike[str]],
    on_finding: OnFinding,
    watch: Watch | None = None,
) -> Iterator[Located]:
    """Read as `read_records` does, with the place of every record."""
    for file in files_of(paths, on_finding):
        yield from read_file(file, on_finding, watch)


def files_of(
    paths: Iterable[str | os.PathLike[str]], on_finding: OnFinding
) -> Iterator[str]:
    """Name the files that are read for `paths`, in the order in which they are."""
    named = [Path(path) for path in paths]
    for path in named:
        yield from map(str, _log_files(path, named, on_finding))


def _ignore(_: object) -> None:
    pass


def _log_files(path: Path, named: list[Path], on_finding: OnFinding) -> list[Path]:
    if str(path) == STDIN or not path.is_dir():
        return [path]
    try:
        files = folder.log_files(path)
    except OSError as error:
        on_finding(unreadable(str(path), reason(error)))
        return []
    if not files:
        message = "no events-*.jsonl or events-*.log in this folder"
        on_finding(unreadable(str(path), message))
    for file, ours in folder.doubled(files).items():
        if _is_nested(file):
            files.remove(file)
            if file not in named:
                message = f"{ours.name} has the same Events and more"
                on_finding(finding("HOST_LOG_SKIPPED", message, str(file)))
    return files


def _is_nested(file: Path) -> bool:
    """Whether the first record of a file is of the old nested form."""
    first = next(read_file(str(file), _ignore), None)
    return first is not None and first.record.dialect == NESTED
