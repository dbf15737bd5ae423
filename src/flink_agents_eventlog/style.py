"""How things look on a terminal: colours, durations, and texts that do no harm."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Final

from flink_agents_eventlog import lifecycle

COLOURS: Final = {
    lifecycle.FINISHED: "32",
    lifecycle.FAILED: "31",
    lifecycle.REUSED: "36",
    lifecycle.STARTED: "33",
    "complete": "32",
    "incomplete": "33",
}
DIM: Final = "2"
BOLD: Final = "1"
_SECOND: Final = 1000.0
_MINUTE: Final = 60 * _SECOND
_MILLISECOND_SHOWN_WHOLE: Final = 10.0


@dataclass(frozen=True)
class Style:
    """How a terminal can be drawn on."""

    unicode: bool = True
    colour: bool = False

    def paint(self, text: str, colour: str | None) -> str:
        """Colour a text, if this terminal has colours."""
        if not self.colour or not colour or not text:
            return text
        return f"\x1b[{colour}m{text}\x1b[0m"


def duration_text(milliseconds: float | None) -> str:
    """Write a duration for people; nothing for none.

    >>> [duration_text(each) for each in (1.25, 1204, 90_000)]
    ['1.2 ms', '1.204 s', '1.5 min']
    """
    if milliseconds is None:
        return ""
    if abs(milliseconds) < _MILLISECOND_SHOWN_WHOLE:
        return f"{milliseconds:.1f} ms"
    if abs(milliseconds) < _SECOND:
        return f"{milliseconds:.0f} ms"
    if abs(milliseconds) < _MINUTE:
        return f"{milliseconds / _SECOND:.3f} s"
    return f"{milliseconds / _MINUTE:.1f} min"


def shown(text: str) -> str:
    """Keep control characters of a payload away from who looks at it."""
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode()
        for each in text
    )


def width(text: str) -> int:
    """Count the columns that a text takes."""
    if text.isascii():
        return len(text)
    return sum(1 + (unicodedata.east_asian_width(each) in "WF") for each in text)
