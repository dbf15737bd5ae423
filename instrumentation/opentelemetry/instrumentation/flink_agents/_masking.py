"""What must not be written, said by key or by pattern."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from flink_agents_eventlog.masking import MASKING_SECRET, masked_key
from opentelemetry.exporter.flink_agents._masking import HIDDEN
from opentelemetry.instrumentation.flink_agents import _secrets

if TYPE_CHECKING:
    from collections.abc import Iterable

_BUSINESS_KEY = "business_key"


class Masking:
    """A mask for `instrument(mask=…)`.

    Args:
        keys: names, compared without regard to case. Everything below a key of
            that name is replaced by `***`. A name with dots is a path from the
            root of the record, such as `event_attributes.input.card`. If
            `business_key` is among them, a keyed hash stands for the key of a run:
            the same for the same key and secret, in every process.
        patterns: regular expressions. Each match inside a string, and inside the
            name of a field, is replaced by `***`.
        secret: the key of that hash; by default the environment variable
            `OTEL_PYTHON_FLINK_AGENTS_MASKING_SECRET`.

    Raises:
        ValueError: a pattern is not a regular expression, or `business_key` is
            named and there is no secret.

    >>> mask = Masking(keys=["card"], patterns=[r"sk-[a-z0-9]+"])
    >>> mask("event_attributes.input.card.number", "4111")
    '***'
    >>> mask("event_attributes.output.content", "the key is sk-1234")
    'the key is ***'
    >>> Masking(keys=["business_key"], secret="a secret").business_key("customer-7")
    'masked:c8983c1ac142f24c833d055cfd9a99a0'
    """

    def __init__(
        self,
        keys: Iterable[str] = (),
        patterns: Iterable[str | re.Pattern[str]] = (),
        *,
        secret: str | None = None,
    ) -> None:
        lowered = {key.lower() for key in keys}
        self._paths = tuple(key for key in lowered if "." in key)
        self._names = lowered.difference(self._paths)
        self._patterns = [_compiled(pattern) for pattern in patterns]
        self._secret = _secret(secret) if _BUSINESS_KEY in lowered else None

    @classmethod
    def secrets(
        cls,
        keys: Iterable[str] = (),
        patterns: Iterable[str | re.Pattern[str]] = (),
        *,
        secret: str | None = None,
    ) -> Masking:
        """Return a mask of common secrets, and of what is named besides.

        It knows passwords, tokens and API keys by the names of their fields and by
        how they look, private keys, and e-mail addresses. What it cannot see
        stands in docs/masking.md.

        >>> Masking.secrets()("event_attributes.input", "ask jo@example.com")
        'ask ***'
        """
        return cls(
            [*_secrets.KEYS, *keys], [*_secrets.PATTERNS, *patterns], secret=secret
        )

    def __call__(self, path: str, value: Any) -> Any:
        """Return what may be written in place of `value` at `path`."""
        lowered = path.lower()
        if not self._names.isdisjoint(lowered.split(".")) or any(
            f"{lowered}.".startswith(f"{named}.") for named in self._paths
        ):
            return HIDDEN
        return self.field_name(value) if isinstance(value, str) else value

    def field_name(self, name: str) -> str:
        """Return how the name of a field is written: a search query may be one."""
        for pattern in self._patterns:
            name = pattern.sub(HIDDEN, name)
        return name

    def business_key(self, key: str) -> str:
        """Return what stands for the business key `key`; itself if it is not named."""
        return key if self._secret is None else masked_key(key, self._secret)


def _compiled(pattern: str | re.Pattern[str]) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        message = f"Masking pattern {pattern!r} is not a regular expression: {error}"
        raise ValueError(message) from None


def _secret(given: str | None) -> str:
    secret = given or os.environ.get(MASKING_SECRET)
    if not secret:
        raise ValueError(
            "Masking of business_key needs a secret, so that nobody can guess keys"
            f" from their hashes: give secret=, or set {MASKING_SECRET}"
        )
    return secret
