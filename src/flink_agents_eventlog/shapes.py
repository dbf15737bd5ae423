"""How values of known types come apart: leaves, mappings and sequences.

Everything goes through the base type's own methods, so that an overriding
``__str__``, ``__iter__`` or ``__getattribute__`` of a subclass is never run.
"""

from __future__ import annotations

from binascii import b2a_base64
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields as dataclass_fields
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum, auto
from functools import lru_cache, partial
from pathlib import PurePath
from typing import Any, Final, TypeAlias
from uuid import UUID

Item: TypeAlias = "tuple[Any, Any]"

_name_of = type.__dict__["__name__"].__get__
_attribute = object.__getattribute__


class Shape(Enum):
    """What JSON makes of a type."""

    LEAF = auto()
    OBJECT = auto()
    ARRAY = auto()
    SET = auto()


def type_name(value: object) -> str:
    """Name of a value's type, whatever its metaclass says."""
    return well_formed(_name_of(type(value)))


def well_formed(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot hold, by U+FFFD."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        # By way of UTF-16 two halves that belong together become one character.
        halves = text.encode("utf-16-le", "surrogatepass")
        return halves.decode("utf-16-le", "replace")
    return text


def key_text(key: Any) -> str:
    """Text of a mapping's key; runs the key's ``__str__`` and may raise."""
    kind = type(key)
    text = key if issubclass(kind, str) else str(key)
    return well_formed(str.__str__(text))


@lru_cache(maxsize=512)
def shape_of(kind: type) -> tuple[Shape, Callable[[Any], Any]]:
    """Tell what a type becomes and how its values come apart.

    The parts are a simpler value (leaf), a list of items (object) or a list
    (array and set), not yet plain themselves.

    Raises:
        TypeError: If values of this type have no JSON form; iterators have none.

    """
    for base, plain in _LEAVES:
        if issubclass(kind, base):
            return Shape.LEAF, plain
    for shape, base in _COLLECTIONS:
        if issubclass(kind, base):
            return shape, partial(_elements, base.__iter__)
    return Shape.OBJECT, _items_of(kind)


def _items_of(kind: type) -> Callable[[Any], list[Item]]:
    if kind is dict:
        return _dict_items
    if issubclass(kind, dict | Mapping):
        return _mapping_items
    if kind.__name__ == "Row" and kind.__module__.startswith("pyflink."):
        return _row_items
    if getattr(kind, "__dataclass_fields__", None) is not None:
        return _dataclass_items
    for name in ("__pydantic_fields__", "model_fields"):
        if isinstance(getattr(kind, name, None), Mapping):
            return _model_items
    raise TypeError(f"{kind.__name__} has no JSON form")


def _dict_items(value: dict[Any, Any]) -> list[Item]:
    # Another thread may be at work on it; only the copy is one step.
    return list(value.copy().items())


def _mapping_items(value: Mapping[Any, Any]) -> list[Item]:
    return list(value.items())


def _elements(iterate: Callable[[Any], Iterator[Any]], value: Any) -> list[Any]:
    return list(iterate(value))


def _row_items(row: Any) -> list[Item]:
    parts = [("type", "Row"), ("values", list(_attribute(row, "_values")))]
    names = _present(row, "_fields")
    if names is not _ABSENT and names:
        parts.append(("fields", list(names)))
    return parts


def _dataclass_items(value: Any) -> list[Item]:
    names = [field.name for field in dataclass_fields(value)]
    found = [(name, _present(value, name)) for name in names]
    return [item for item in found if item[1] is not _ABSENT]


def _model_items(model: Any) -> list[Item]:
    kind = type(model)
    fields = getattr(kind, "__pydantic_fields__", None) or kind.model_fields
    # Cached properties live in __dict__ too, hence only the declared names.
    values = _attribute(model, "__dict__")
    found = [(name, values[name]) for name in fields if name in values]
    extra = _present(model, "__pydantic_extra__")
    return [*found, *extra.items()] if type(extra) is dict else found


def _present(value: Any, name: str) -> Any:
    try:
        return _attribute(value, name)
    except AttributeError:  # declared but never set
        return _ABSENT


def _base64(value: bytes | bytearray | memoryview) -> str:
    return b2a_base64(memoryview(value).tobytes(), newline=False).decode()


def _datetime(value: datetime) -> str:
    return _utc_as_z(datetime.isoformat(value))


def _time(value: time) -> str:
    return _utc_as_z(time.isoformat(value))


def _utc_as_z(text: str) -> str:
    return f"{text[:-6]}Z" if text.endswith("+00:00") else text


def _class(value: type) -> str:
    return f"{value.__module__}.{value.__qualname__}"


def _enum(value: Enum) -> Any:
    return _attribute(value, "_value_")


_ABSENT: Final = object()
_COLLECTIONS: Final[tuple[tuple[Shape, Any], ...]] = (
    (Shape.ARRAY, list),
    (Shape.ARRAY, tuple),
    (Shape.ARRAY, deque),
    (Shape.SET, set),
    (Shape.SET, frozenset),
)

# Order matters: an Enum may be a str or an int as well, a datetime is a date.
_LEAVES: Final[tuple[tuple[Any, Callable[[Any], Any]], ...]] = (
    (Enum, _enum),
    (str, str.__str__),
    (int, int.__int__),
    (float, float.__float__),
    ((bytes, bytearray, memoryview), _base64),
    (UUID, UUID.__str__),
    (datetime, _datetime),
    (date, date.isoformat),
    (time, _time),
    (Decimal, Decimal.__str__),
    (PurePath, PurePath.__str__),
    (type, _class),
)
