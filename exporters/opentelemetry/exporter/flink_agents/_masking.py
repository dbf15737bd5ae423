"""Applies a mask to what a record says, before anything of it is encoded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from flink_agents_eventlog.payload import to_plain
from opentelemetry.exporter.flink_agents._guard import faults

if TYPE_CHECKING:
    from collections.abc import Callable

    Mask = Callable[[str, Any], Any]

HIDDEN = "***"
"""Stands for a value that is masked, or whose mask failed: hidden, never leaked."""


def masked(mask: Mask, path: str, value: Any) -> Any:
    """Return `value` with `mask(path, scalar)` in place of each scalar.

    Args:
        mask: gets the dotted path of a scalar in its record, such as
            `event_attributes.input.0.content`, and the scalar. If it has a method
            `field_name(name)`, that says how the name of a field is written.
        path: where in the record `value` stands.
        value: plain JSON data; raw JSON in it is masked already.
    """
    if isinstance(value, dict):
        items = {name: masked(mask, f"{path}.{name}", value[name]) for name in value}
        return _renamed(getattr(mask, "field_name", None), items)
    if isinstance(value, list):
        return [masked(mask, f"{path}.{i}", item) for i, item in enumerate(value)]
    if isinstance(value, msgspec.Raw):
        return value
    try:
        return to_plain(mask(path, value))
    except Exception as error:  # noqa: BLE001  # a mask is the user's code
        faults.caught("mask", error, own=False)
        return HIDDEN


def masked_key(mask: Mask, key: str) -> str:
    """Return the business key as it may be written.

    It is identity: only a mask that has a method `business_key(key)` is asked.
    """
    return _word(getattr(mask, "business_key", None), key)


def _renamed(
    rename: Callable[[str], str] | None, items: dict[str, Any]
) -> dict[str, Any]:
    if rename is None:
        return items
    renamed: dict[str, Any] = {}
    for name, item in items.items():
        word = _word(rename, name)
        while word in renamed:  # nothing is lost where two are hidden alike
            word += "*"
        renamed[word] = item
    return renamed


def _word(change: Callable[[str], str] | None, word: str) -> str:
    if change is None:
        return word
    try:
        return str(change(word))
    except Exception as error:  # noqa: BLE001  # a mask is the user's code
        faults.caught("mask", error, own=False)
        return HIDDEN
