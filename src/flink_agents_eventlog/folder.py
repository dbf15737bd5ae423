"""The log files of a folder: which they are, and in which order they were written."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

# events-x.1.jsonl is older than events-x.2.jsonl, events-x.jsonl is the newest.
# The native dialect is ours in events-x-otel.log and the host's in events-x.log.
_FILE_NAME: Final = re.compile(
    r"events-(?P<writer>.+?)(?P<native>-otel)?(?:\.(?P<number>[0-9]+))?"
    r"\.(?:(?P<snake>jsonl)|log)(?:\.(?P<last_number>[0-9]+))?(?:\.gz)?"
)


def log_files(folder: Path) -> list[Path]:
    """List the logs of a folder, those of one writer together and oldest first.

    Raises:
        OSError: If the folder cannot be read.

    """
    found = [file for file in folder.iterdir() if _FILE_NAME.fullmatch(file.name)]
    return sorted(found, key=_age)


def is_of_host(file: Path) -> bool:
    """Whether a file has the name that the host's own logger gives."""
    match = _FILE_NAME.fullmatch(file.name)
    return match is not None and not (match["native"] or match["snake"])


def doubled(files: Iterable[Path]) -> dict[Path, Path]:
    """Find the host's logs of tasks that have a log of ours too; values are ours."""
    ours: dict[str, Path] = {}
    hosts: list[Path] = []
    for file in files:
        if is_of_host(file):
            hosts.append(file)
        else:
            ours[_writer(file)] = file
    return {file: ours[_writer(file)] for file in hosts if _writer(file) in ours}


def history_of(path: str) -> str:
    """Name what a file is a piece of: all that one writer wrote, rotated or not.

    >>> history_of("logs/events-a.1.jsonl"), history_of("logs/events-a.jsonl.gz")
    ('logs/events-a.jsonl', 'logs/events-a.jsonl')
    """
    folder, slash, name = path.rpartition("/")
    match = _FILE_NAME.fullmatch(name)
    if match is None:
        return path
    ending = "jsonl" if match["snake"] else "log"
    return f"{folder}{slash}events-{match['writer']}{match['native'] or ''}.{ending}"


def _writer(file: Path) -> str:
    match = _FILE_NAME.fullmatch(file.name)
    return match["writer"] if match else file.name


def _age(file: Path) -> tuple[str, bool, bool, bool, int, str]:
    match = _FILE_NAME.fullmatch(file.name)
    assert match is not None  # noqa: S101 - only such files are sorted
    number = match["number"] or match["last_number"]
    return (
        match["writer"],
        bool(match["native"]),
        bool(match["snake"]),
        number is None,
        int(number or 0),
        file.name,
    )
