"""Names of the files of the Event Log: one per subtask, or per process."""

from __future__ import annotations

import hashlib
import os
import re
import socket
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from flink_agents_eventlog.dialect import NATIVE, SNAKE

if TYPE_CHECKING:
    from pathlib import Path

_NOT_IN_NAMES = re.compile(r'[\\/:*?"<>|\x00-\x1f\x7f]')

# File systems allow 255 bytes; the rest is for "-otel.<number>.log" and a child's pid.
_LONGEST_STEM = 220


@dataclass(frozen=True)
class Subtask:
    """The place in a Flink job that a record comes from."""

    job_id: str
    task_name: str
    index: int


@dataclass(frozen=True)
class LogFile:
    """One file of the Event Log: of a subtask, or of this process without one."""

    directory: Path
    subtask: Subtask | None = None
    child: int | None = None
    dialect: str = SNAKE

    @property
    def path(self) -> Path:
        """The file's path; a local one names the process that asks."""
        # Never the name of the host's own log, which may lie beside it.
        ending = "-otel.log" if self.dialect == NATIVE else ".jsonl"
        return self.directory / f"{_short(_clean(self._stem()))}{ending}"

    def of_child(self, pid: int) -> LogFile:
        """The file of a forked child: its own, never the parent's."""
        return replace(self, child=pid)

    def _stem(self) -> str:
        if self.subtask is None:
            return f"events-local-{socket.gethostname()}-{os.getpid()}"
        subtask = self.subtask
        stem = f"events-{subtask.job_id}-{subtask.task_name}-{subtask.index}"
        return stem if self.child is None else f"{stem}-{self.child}"


def _clean(name: str) -> str:
    return _NOT_IN_NAMES.sub("_", name).encode("utf-8", "replace").decode()


def _short(stem: str) -> str:
    """Cut a long name (Flink's task names list every operator) but keep it unique."""
    encoded = stem.encode()
    if len(encoded) <= _LONGEST_STEM:
        return stem
    digest = hashlib.sha256(encoded).hexdigest()[:12]
    end = stem.rsplit("-", 1)[-1][-20:]
    kept = encoded[: _LONGEST_STEM - len(digest) - len(end.encode()) - 2]
    return f"{kept.decode('utf-8', 'ignore')}-{digest}-{end}"
