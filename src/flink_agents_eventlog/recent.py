"""What was met lately, in a memory that does not grow with the log."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

_Name = TypeVar("_Name")


class Recent(Generic[_Name]):
    """Names met lately; more than so many, and the first ones are forgotten."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._names: OrderedDict[_Name, None] = OrderedDict()

    def again(self, name: _Name) -> bool:
        """Take note of a name; whether it was met before."""
        is_known = name in self._names
        self._names[name] = None
        if len(self._names) > self._most:
            self._names.popitem(last=False)
        return is_known
