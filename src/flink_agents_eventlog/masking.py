"""The stable text that stands for a business key that is not to be read.

The same secret and key give the same text in every process, so that a log can be
read by key without holding one. Without the secret the text says nothing.
"""

from __future__ import annotations

import os
from typing import Final

MASKING_SECRET: Final = "OTEL_PYTHON_FLINK_AGENTS_MASKING_SECRET"  # noqa: S105
"""Environment variable of the secret, for who writes a log and who reads it."""

_PREFIX: Final = "masked:"
_DIGITS: Final = 32


def masked_key(key: str, secret: str) -> str:
    """Return what stands for `key`: `masked:` and 32 hexadecimal digits.

    They are the first 128 bits of HMAC-SHA-256 (RFC 2104) over UTF-8.

    >>> masked_key("customer-7", "a secret")
    'masked:c8983c1ac142f24c833d055cfd9a99a0'
    """
    # Needed by few: it would slow down the start of every command.
    import hashlib  # noqa: PLC0415
    import hmac  # noqa: PLC0415

    digest = hmac.new(_bytes(secret), _bytes(key), hashlib.sha256).hexdigest()
    return _PREFIX + digest[:_DIGITS]


def names_of_key(key: str) -> frozenset[str]:
    """Return what `key` may be called in a log: itself, or masked.

    The secret is that of the environment variable `MASKING_SECRET`; without it
    there is only the key itself.
    """
    secret = os.environ.get(MASKING_SECRET)
    return frozenset({key, masked_key(key, secret)} if secret else {key})


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
