"""When two JSON values are the same: but for the order of keys, and true is not 1."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, Final

import msgspec

from flink_agents_eventlog.payload import REJECTED, decode_plain, encode_mended

_encode: Final = msgspec.json.Encoder(order="sorted").encode


def canonical(value: Any) -> bytes:
    """Write a JSON value so that equal ones are written alike."""
    try:
        return _encode(value)
    except REJECTED:
        return encode_mended(value)


def same_json(one: Any, other: Any) -> bool:
    """Whether two values are the same JSON.

    >>> same_json({"a": 1, "b": 2}, {"b": 2, "a": 1}), same_json(1, True)
    (True, False)
    """
    return canonical(one) == canonical(other)


def fingerprint(attributes: Any) -> bytes:
    """Digest a JSON value, encoded or not; equal ones have the same digest."""
    if isinstance(attributes, msgspec.Raw):
        attributes = decode_plain(bytes(attributes))
    return blake2b(canonical(attributes), digest_size=16).digest()
