"""Cutting payloads to size, each cut marked by an object in place of the value."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from flink_agents_eventlog.shapes import well_formed

_MARKERS: Final = {
    "truncatedString": (str, "omittedChars"),
    "truncatedList": (list, "omittedElements"),
    "truncatedObject": (dict, "omittedFields"),
}


class Limits(NamedTuple):
    """How much of a payload is kept; 0 means all."""

    max_string_length: int = 2000
    """In UTF-16 units, as the host counts."""
    max_array_elements: int = 20
    max_depth: int = 5


DEFAULT_LIMITS: Final = Limits()


def truncate(plain: Any, limits: Limits) -> tuple[Any, bool]:
    """Cut the attributes of an Event to the limits and tell whether anything was cut.

    Nothing is changed in place, and without any cut the value itself comes back.

    >>> truncate({"text": "abcdef"}, Limits(4, 0, 0))
    ({'text': {'truncatedString': 'abcd...', 'omittedChars': 2}}, True)
    """
    if not any(limits):
        return plain, False
    cutting = _Cutting(limits)
    result = cutting.cut(plain)
    return (result, True) if cutting.truncated else (plain, False)


def may_exceed(encoded: bytes, limits: Limits) -> bool:
    """Whether `truncate` may find something to cut in this JSON, at a glance."""
    longest, most, deepest = limits
    return (
        # A character is at least as long in UTF-8 as it is in UTF-16 units.
        (0 < longest < len(encoded))
        or (0 < most <= encoded.count(b","))
        or (0 < deepest <= encoded.count(b"{") + encoded.count(b"["))
    )


def is_truncated(value: Any) -> bool:
    """Whether a value is the mark of one that was cut."""
    if type(value) is not dict or len(value) != 2:  # noqa: PLR2004 - both fields
        return False
    for name, (kind, omitted) in _MARKERS.items():
        if type(value.get(name)) is kind and type(value.get(omitted)) is int:
            return True
    return False


def holds_truncated(value: Any) -> bool:
    """Whether a value was cut, or any value inside it, however deep.

    >>> holds_truncated({"list": [{"truncatedString": "ab...", "omittedChars": 3}]})
    True
    """
    todo = [value]
    while todo:
        inner = todo.pop()
        if is_truncated(inner):
            return True
        if type(inner) is dict:
            todo += inner.values()
        elif type(inner) is list:
            todo += inner
    return False


class _Cutting:
    """One walk through one value, with a stack of its own: data may be deep."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._todo: list[tuple[Any, Any, int]] = []
        self.truncated = False

    def cut(self, plain: Any) -> Any:
        result = self._begun(plain, 1)
        while self._todo:
            source, target, depth = self._todo.pop()
            if type(source) is dict:
                for name, value in source.items():
                    target[name] = self._begun(value, depth + 1)
            else:
                for value in source:
                    # Only an array inside an array is a level of its own.
                    inner = depth + 1 if type(value) is list else depth
                    target.append(self._begun(value, inner))
        return result

    def _begun(self, value: Any, depth: int) -> Any:
        """Give a value's replacement; a container's is filled later."""
        kind = type(value)
        if kind is str:
            return self._string(value)
        if kind is dict:
            return self._object(value, depth)
        if kind is list:
            return self._array(value, depth)
        return value

    def _string(self, text: str) -> Any:
        limit = self._limits.max_string_length
        if not limit or len(text) * 2 <= limit:
            return text
        length = len(text) if text.isascii() else len(_utf_16(text)) // 2
        if length <= limit:
            return text
        self.truncated = True
        # The cut may go through the middle of a character.
        units = _utf_16(text[:limit])[: 2 * limit]
        kept = well_formed(units.decode("utf-16-le", "surrogatepass"))
        return {"truncatedString": f"{kept}...", "omittedChars": length - limit}

    def _array(self, array: list[Any], depth: int) -> Any:
        limit = self._limits.max_array_elements
        kept: list[Any] = []
        if not limit or len(array) <= limit:
            self._todo.append((array, kept, depth))
            return kept
        self.truncated = True
        self._todo.append((array[:limit], kept, depth))
        return {"truncatedList": kept, "omittedElements": len(array) - limit}

    def _object(self, mapping: dict[str, Any], depth: int) -> Any:
        kept: dict[str, Any] = {}
        limit = self._limits.max_depth
        if not limit or depth < limit:
            self._todo.append((mapping, kept, depth))
            return kept
        for name, value in mapping.items():
            if type(value) is not dict and type(value) is not list:
                kept[name] = self._begun(value, depth)
        omitted = len(mapping) - len(kept)
        if not omitted:
            return kept
        self.truncated = True
        return {"truncatedObject": kept, "omittedFields": omitted}


def _utf_16(text: str) -> bytes:
    return text.encode("utf-16-le", "surrogatepass")
