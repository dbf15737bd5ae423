"""What must not be written, said by key or by pattern."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from opentelemetry.exporter.flink_agents._masking import HIDDEN

if TYPE_CHECKING:
    from collections.abc import Iterable


class Masking:
    """A mask for `instrument(mask=…)`.

    Args:
        keys: names, compared without regard to case. Everything below a key of
            that name is replaced by `***`. A name with dots is a path from the
            root of the record, such as `event_attributes.input.card`.
        patterns: regular expressions. Each match inside a string is replaced by
            `***`.

    Raises:
        ValueError: a pattern is not a regular expression.
        NotImplementedError: `business_key` is named; masking it is not built yet.

    >>> mask = Masking(keys=["card"], patterns=[r"sk-[a-z0-9]+"])
    >>> mask("event_attributes.input.card.number", "4111")
    '***'
    >>> mask("event_attributes.output.content", "the key is sk-1234")
    'the key is ***'
    """

    def __init__(
        self,
        keys: Iterable[str] = (),
        patterns: Iterable[str | re.Pattern[str]] = (),
    ) -> None:
        lowered = {key.lower() for key in keys}
        if "business_key" in lowered:
            raise NotImplementedError("Masking of business_key is not built yet")
        self._paths = tuple(key for key in lowered if "." in key)
        self._names = lowered.difference(self._paths)
        self._patterns = [_compiled(pattern) for pattern in patterns]

    def __call__(self, path: str, value: Any) -> Any:
        """Return what may be written in place of `value` at `path`."""
        lowered = path.lower()
        if not self._names.isdisjoint(lowered.split(".")) or any(
            f"{lowered}.".startswith(f"{named}.") for named in self._paths
        ):
            return HIDDEN
        if isinstance(value, str):
            for pattern in self._patterns:
                value = pattern.sub(HIDDEN, value)
        return value


def _compiled(pattern: str | re.Pattern[str]) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        message = f"Masking pattern {pattern!r} is not a regular expression: {error}"
        raise ValueError(message) from None
