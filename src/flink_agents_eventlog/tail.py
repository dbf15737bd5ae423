"""Following files that grow: records as soon as their line is whole.

Files are known by what they are, not by their names: a rotated file is read to its
end, and what takes its place from the beginning.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from flink_agents_eventlog.log_file import Reading, reason, unreadable
from flink_agents_eventlog.reader import files_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from flink_agents_eventlog.finding import Finding, OnFinding
    from flink_agents_eventlog.log_file import Located

_Identity: TypeAlias = "tuple[int, int]"
_STEP: Final = 1024 * 1024


class Tail:
    """Follows files, and the logs of folders, also those that come later.

    Call `grown` as often as you like, and `close` in the end. What the files hold at
    the first call is stepped over, unless `from_start`. Compressed files do not grow
    and are left out.
    """

    def __init__(
        self,
        paths: Iterable[str | os.PathLike[str]],
        on_finding: OnFinding,
        *,
        from_start: bool = False,
    ) -> None:
        self._paths = list(paths)
        self._on_finding = on_finding
        self._steps_over = not from_start
        self._is_first = True
        self._files: dict[_Identity, _GrowingFile] = {}
        self._told: set[Finding] = set()

    def grown(self) -> Iterator[Located]:
        """Read what has been written since the last call."""
        left = self._files.keys() - set(self._look())
        self._is_first = False
        for identity, file in list(self._files.items()):
            yield from file.grown()
            if identity in left:
                yield from self._files.pop(identity).rest()

    def close(self) -> None:
        """Close all files."""
        for file in self._files.values():
            file.close()

    def _look(self) -> Iterator[_Identity]:
        """Find the files that are there, the new ones too."""
        for path in files_of(self._paths, self._tell_once):
            if path.endswith(".gz"):
                continue
            try:
                yield self._identity(path)
            except FileNotFoundError as error:  # later, it is between two names
                if self._is_first:
                    self._tell_once(unreadable(path, f"{reason(error)}, waiting"))
            except OSError as error:
                self._tell_once(unreadable(path, reason(error)))

    def _identity(self, path: str) -> _Identity:
        status = Path(path).stat()
        identity = (status.st_dev, status.st_ino)
        file = self._files.get(identity)
        if file is None:
            file = self._files[identity] = _GrowingFile(path, self._on_finding)
            if self._is_first and self._steps_over:
                file.step_over()
        file.rename(path)
        return identity

    def _tell_once(self, finding: Finding) -> None:
        if finding not in self._told:
            self._told.add(finding)
            self._on_finding(finding)


class _GrowingFile:
    """One file, open as long as it has a name we know."""

    def __init__(self, path: str, on_finding: OnFinding) -> None:
        self._file = Path(path).open("rb")  # noqa: SIM115 - for as long as it grows
        self._on_finding = on_finding
        self._reading = Reading(path, on_finding)
        self._half = b""
        self._is_over = False
        self._is_inside = False

    def step_over(self) -> None:
        """Go on after the last whole line."""
        lines = whole = 0
        for block in iter(partial(self._file.read, _STEP), b""):
            lines += block.count(b"\n")
            if b"\n" in block:
                whole = self._file.tell() - len(block) + block.rindex(b"\n") + 1
        self._file.seek(whole)
        self._reading.line = lines
        self._is_inside = True  # of a record over several lines, it may be

    def rename(self, path: str) -> None:
        """Have records and findings name another path."""
        self._reading.path = path

    def grown(self) -> Iterator[Located]:
        """Read all whole lines that are new."""
        try:
            if os.fstat(self._file.fileno()).st_size < self._file.tell():
                self._begin_anew()
            yield from self._reading.records(self)
        except (OSError, UnicodeError) as error:
            self._on_finding(unreadable(self._reading.path, reason(error)))

    def rest(self) -> Iterator[Located]:
        """Read what is left of a file that grows no more, and close it."""
        self._is_over = True
        yield from self.grown()
        self._reading.end()
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def readline(self, limit: int, /) -> bytes:
        """Give the next line if it is whole."""
        text = self._whole_line(limit)
        while self._is_inside and text and not text.startswith(b"{"):
            self._reading.line += 1
            text = self._whole_line(limit)
        self._is_inside = self._is_inside and not text
        return text

    def _whole_line(self, limit: int) -> bytes:
        text = self._half + self._file.readline(limit - len(self._half))
        is_whole = text.endswith(b"\n") or len(text) == limit or self._is_over
        self._half = b"" if is_whole else text
        return text if is_whole else b""

    def _begin_anew(self) -> None:
        """Read what was written after somebody emptied the file."""
        self._file.seek(0)
        self._half = b""
        self._is_inside = False
        self._reading = Reading(self._reading.path, self._on_finding)
