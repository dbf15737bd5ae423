"""Is a run still going on, or did it break off? By when its files last grew."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from flink_agents_eventlog.finding import Finding, finding
from flink_agents_eventlog.folder import history_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

GROWING_SECONDS: Final = 60
"""An open execution of a file that grew so lately is still running."""


class Growing:
    """Tells what still runs from what broke off, by when its files last grew."""

    def __init__(self) -> None:
        self._is_growing: dict[str, bool] = {}

    def open_run(
        self, run_id: str | None, findings: Iterable[Finding]
    ) -> Iterator[Finding]:
        """Replace missing ends by one word that the run goes on, if it does."""
        is_told = False
        for each in findings:
            if each.code != "MISSING_END" or not self._grows(each.path):
                yield each
            elif not is_told:
                is_told = True
                message = f"run {run_id} is still being written"
                yield finding(
                    "RUN_OPEN",
                    message,
                    each.path,
                    line=each.line,
                    event_id=each.event_id,
                )

    def _grows(self, path: str) -> bool:
        if path not in self._is_growing:
            # What began in a rotated file goes on in the newest of its writer.
            newest = max(_changed_at(path), _changed_at(history_of(path)))
            self._is_growing[path] = time.time() - newest < GROWING_SECONDS
        return self._is_growing[path]


def _changed_at(path: str) -> float:
    with suppress(OSError):
        return Path(path).stat().st_mtime
    return 0.0
