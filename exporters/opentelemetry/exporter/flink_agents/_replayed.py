"""What a replay did."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

RUN: Final = "run"
ABSENT: Final = "memory, embedding and retrieval spans"
"""What no log holds."""


@dataclass
class Replayed:
    """What a log gave, and what of it was sent.

    `spans` counts those of the chosen runs by kind (`run`, `action`, `llm`, `parser`,
    `tool`), `sent` those that were sent now and `sent_before` those that an earlier,
    broken replay had sent. `incomplete` counts those whose start or end the log does
    not have. `still_open` counts runs that go on while they are read: they are not
    sent. `lacking` says what the log does not, and of how many spans.
    """

    records: int = 0
    runs: int = 0
    spans: Counter[str] = field(default_factory=Counter)
    sent: int = 0
    sent_before: int = 0
    incomplete: int = 0
    still_open: int = 0
    lacking: Counter[str] = field(default_factory=Counter)

    def lacks(self, kind: str, what: str, count: int = 1) -> None:
        """Take note of what the log does not say of something."""
        if count:
            self.lacking[f"{kind}: {what}"] += count


class BackendError(Exception):
    """A backend does not take spans; `replayed` is what was done until then.

    `position` is the file from which the same call goes on, None if there is none.
    """

    def __init__(self, message: str, replayed: Replayed, position: Path | None) -> None:
        super().__init__(message)
        self.replayed = replayed
        self.position = position
