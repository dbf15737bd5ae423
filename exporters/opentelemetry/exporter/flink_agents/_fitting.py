"""Makes JSON small enough for a span by shortening it inside, so that it stays JSON.

Limits of the SDK cut a text wherever they end, and a backend refuses a whole batch
over one span that is too large.
"""

from __future__ import annotations

from typing import Any

from flink_agents_eventlog.payload import encode_plain

_SHORTEST = 32
"""Strings of this length stay as they are; then it is too many of them."""


class Room:
    """How much content one span, or one event, still has room for.

    Args:
        size: bytes of all content together; 0 is no limit.
        length: the longest single value, None for any.
    """

    def __init__(self, size: int, length: int | None = None) -> None:
        self._left = size or None
        self._length = length
        self.has_cut = False
        """Whether something was shortened or left out."""

    def json(self, plain: Any, *, share: float = 1) -> tuple[Any, str] | None:
        """Return `plain` as far as it fits, and as JSON; None if nothing of it does.

        Args:
            plain: plain JSON data.
            share: how much of what is left it may take.
        """
        limit = self._limit(share)
        text = encode_plain(plain)
        if limit is not None and len(text) > limit:
            self.has_cut = True
            fitted = _fitted(plain, limit)
            if fitted is None:
                return None
            plain, text = fitted
        self._take(len(text))
        return plain, text.decode()

    def text(self, text: str, *, share: float = 1) -> str:
        """Return as much of `text` as fits."""
        limit = self._limit(share)
        size = len(text) if text.isascii() else len(text.encode())
        if limit is not None and size > limit:
            self.has_cut = True
            text = text.encode()[:limit].decode(errors="ignore")
            size = limit
        self._take(size)
        return text

    def _limit(self, share: float) -> int | None:
        limits = [self._length] if self._length is not None else []
        if self._left is not None:
            limits.append(int(self._left * share))
        return min(limits, default=None)

    def _take(self, size: int) -> None:
        if self._left is not None:
            self._left -= size


def _fitted(plain: Any, limit: int) -> tuple[Any, bytes] | None:
    """Shorten the strings in `plain`, then leave out the oldest elements of a list."""
    length = limit
    while length > _SHORTEST:
        length //= 2
        plain = _shortened(plain, length)
        text = encode_plain(plain)
        if len(text) <= limit:
            return plain, text
    while isinstance(plain, list) and len(plain) > 1:
        plain = plain[len(plain) // 2 :]
        text = encode_plain(plain)
        if len(text) <= limit:
            return plain, text
    return None


def _shortened(plain: Any, length: int) -> Any:
    if isinstance(plain, str):
        return plain if len(plain) <= length else f"{plain[: length - 1]}…"
    if isinstance(plain, dict):
        return {name: _shortened(each, length) for name, each in plain.items()}
    if isinstance(plain, list):
        return [_shortened(each, length) for each in plain]
    return plain
