"""Payloads of any kind as JSON: faithful where JSON can hold them, marked where not.

`to_plain` never raises, never runs an iterator and never asks an object how it
wants to be shown; ``str(key)`` of a mapping's key is the one exception.
"""

from __future__ import annotations

import json
from decimal import Decimal
from math import isfinite, isnan
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec

from flink_agents_eventlog.shapes import (
    Shape,
    key_text,
    shape_of,
    type_name,
    well_formed,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

Plain: TypeAlias = "dict[str, Any] | list[Any] | str | int | float | bool | None"

MAX_DEPTH: Final = 200
UNREPRESENTABLE: Final = "unrepresentable"

# What msgspec raises for values that are JSON but not to its liking: lone
# surrogates, integers beyond the interpreter's digit limit, great depth.
REJECTED: Final = (TypeError, ValueError, OverflowError, RecursionError)
# The same in the other direction; a text may hold lone surrogates itself, and msgspec
# before 0.23 says UnicodeDecodeError of bytes that are no UTF-8.
REFUSED: Final = (msgspec.DecodeError, RecursionError, UnicodeError)
# Python converts at most 4300 digits between int and str; Decimal has no limit.
_MANY_DIGITS: Final = 4000
_HUGE: Final = 10**_MANY_DIGITS
# Deeper than any stack: here only RecursionError ends the descent.
_AS_DEEP_AS_POSSIBLE: Final = 1_000_000
# Where the quick look gives up: more containers than this, or a cycle.
_MANY_CONTAINERS: Final = 100_000
_QUICK: Final = frozenset({dict, list})
_EXACT: Final = frozenset({int, bool, type(None), msgspec.Raw})

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


def to_plain(value: object) -> Plain:
    """Turn any value into what `encode_plain` can write.

    What is plain already comes back as it is, not as a copy.
    """
    if type(value) in _QUICK and _is_plain(value):
        return value  # type: ignore[return-value]
    try:
        return _Conversion(MAX_DEPTH).convert(value)  # type: ignore[no-any-return]
    except RecursionError:  # the caller itself stands at the end of the stack
        return {UNREPRESENTABLE: "object"}


def encode_plain(plain: Plain) -> bytes:
    """Write a plain value as compact JSON in UTF-8."""
    try:
        return _encode(plain)
    except REJECTED:
        return encode_mended(plain)


def encode_mended(plain: object) -> bytes:
    """Write what msgspec rejected: surrogates replaced, the deepest parts marked."""
    return _encode(_Mending(_AS_DEEP_AS_POSSIBLE).convert(plain))


def snapshot(value: object) -> msgspec.Raw:
    """Encode a value as it is now, ready to stand inside a record."""
    return msgspec.Raw(encode_plain(to_plain(value)))


def strict_snapshot(value: object) -> msgspec.Raw | None:
    """Encode a value as it is now; None if JSON cannot hold it without a mark."""
    if type(value) in _QUICK and _is_plain(value):
        return msgspec.Raw(encode_plain(value))  # type: ignore[arg-type]
    conversion = _Conversion(MAX_DEPTH)
    try:
        plain = conversion.convert(value)
    except RecursionError:
        return None
    return None if conversion.marked else msgspec.Raw(encode_plain(plain))


def decode_plain(text: bytes | str) -> Any:
    """Read JSON exactly: integers of any size, lone surrogates as U+FFFD.

    Raises:
        msgspec.DecodeError: If the text is not JSON.

    """
    try:
        return _decode(text)
    except REFUSED as refusal:
        return _decode_leniently(text, refusal)


def _decode_leniently(text: bytes | str, refusal: Exception) -> Any:
    """Ask the standard library about what msgspec refused."""
    try:
        if not isinstance(text, str):
            text = text.decode("utf-8", "surrogatepass")
        value = json.loads(
            text,
            parse_int=_exact_int,
            parse_float=_finite_float,
            parse_constant=_no_constant,
        )
    except RecursionError:
        raise msgspec.DecodeError("JSON is nested too deeply") from None
    except ValueError as error:
        if type(refusal) is msgspec.DecodeError:
            raise refusal from None
        raise msgspec.DecodeError(f"JSON is malformed: {error}") from None
    return _Conversion(_AS_DEEP_AS_POSSIBLE).convert(value)


def _exact_int(digits: str) -> int:
    return int(digits) if len(digits) < _MANY_DIGITS else int(Decimal(digits))


def _finite_float(digits: str) -> Any:
    number = float(digits)
    return number if isfinite(number) else _mark_float(number)


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is no JSON value")


def _mark(value: object) -> dict[str, Any]:
    return {UNREPRESENTABLE: type_name(value)}


def _mark_float(value: float) -> dict[str, Any]:
    if isnan(value):
        return {UNREPRESENTABLE: "NaN"}
    return {UNREPRESENTABLE: "Infinity" if value > 0 else "-Infinity"}


def _is_plain(value: Any) -> bool:
    """Whether a dict or list surely needs no change; a quick look without recursion.

    May say no where a closer look says yes, and says no to every cycle.
    """
    level, seen = [value], 0
    try:
        for _ in range(MAX_DEPTH):
            below: list[Any] = []
            if not all(_has_plain_members(each, below) for each in level):
                return False
            seen += len(below)
            if not below or seen > _MANY_CONTAINERS:
                return not below
            level = below
    except RuntimeError:  # changed by another thread; the closer look takes a copy
        return False
    return False


def _is_plain_key(key: object) -> bool:
    return type(key) is str and key.isascii()


def _has_plain_members(container: Any, containers: list[Any]) -> bool:
    members: Iterable[Any] = container
    if type(container) is dict:
        if not all(map(_is_plain_key, container)):
            return False
        members = container.values()
    for member in members:
        kind = type(member)
        if kind is str:
            if not member.isascii() and well_formed(member) is not member:
                return False
        elif kind is dict or kind is list:
            containers.append(member)
        elif kind is float:
            if not isfinite(member):
                return False
        elif kind not in _EXACT:
            return False
    return True


class _Conversion:
    """One walk through one value; `_open` are the containers it is inside of."""

    def __init__(self, max_depth: int) -> None:
        self._max_depth = max_depth
        self._open: set[int] = set()
        self.marked = False
        """Whether JSON cannot hold something of the value as it is."""

    # Two frames a level, `convert` and `_array` or `_object`: 200 levels must
    # fit below the default recursion limit together with the host's own stack.

    def convert(self, value: Any) -> Any:  # noqa: PLR0911 - one for each kind
        kind: Any = type(value)
        if kind is str:
            return value if value.isascii() else well_formed(value)
        if kind in _EXACT:
            return self._exact(value)
        if kind is float:
            return value if isfinite(value) else self._noted(_mark_float(value))
        here = id(value)
        try:
            shape, parts = shape_of(kind)
            if shape is Shape.LEAF:
                return self.convert(parts(value))
            if here in self._open or len(self._open) >= self._max_depth:
                return self._noted(_mark(value))
            self._open.add(here)
            try:
                if shape is Shape.OBJECT:
                    return self._object(parts(value))
                return self._array(parts(value), in_order=shape is Shape.ARRAY)
            finally:
                self._open.discard(here)
        except Exception:  # noqa: BLE001 - an object may raise anything
            return self._noted(_mark(value))

    def _noted(self, mark: dict[str, Any]) -> dict[str, Any]:
        self.marked = True
        return mark

    def _exact(self, value: Any) -> Any:
        return value

    def _array(self, elements: list[Any], *, in_order: bool) -> list[Any]:
        plain = []
        for each in elements:  # a comprehension would be a third frame
            plain.append(self.convert(each))  # noqa: PERF401
        return plain if in_order else sorted(plain, key=encode_plain)

    def _object(self, items: list[tuple[Any, Any]]) -> dict[str, Any]:
        plain: dict[str, Any] = {}
        try:
            for key, each in items:
                name = key if _is_plain_key(key) else key_text(key)
                plain[name] = self.convert(each)
        except Exception:  # noqa: BLE001 - str(key) may raise anything
            return self._pairs(items)
        return plain if len(plain) == len(items) else self._pairs(items)

    def _pairs(self, items: list[tuple[Any, Any]]) -> dict[str, Any]:
        pairs = [[self._key(key), self.convert(each)] for key, each in items]
        return self._noted({UNREPRESENTABLE: "dict", "items": pairs})

    def _key(self, key: Any) -> Any:
        plain = self.convert(key)
        if plain != _mark(key):
            return plain
        try:
            return key_text(key)
        except Exception:  # noqa: BLE001 - str(key) may raise anything
            return plain


class _Mending(_Conversion):
    """Makes the rest of what JSON can hold acceptable to msgspec."""

    def _exact(self, value: Any) -> Any:
        if type(value) is not int or -_HUGE < value < _HUGE:
            return value
        return msgspec.Raw(str(Decimal(value)).encode())
