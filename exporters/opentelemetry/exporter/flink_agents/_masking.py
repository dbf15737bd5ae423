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
            `event_attributes.input.0.content`, and the scalar.
        path: where in the record `value` stands.
        value: plain JSON data; raw JSON in it is masked already.
    """
    if isinstance(value, dict):
        return {key: masked(mask, f"{path}.{key}", item) for key, item in value.items()}
    if isinstance(value, list):
        return [masked(mask, f"{path}.{i}", item) for i, item in enumerate(value)]
    if isinstance(value, msgspec.Raw):
        return value
    try:
        return to_plain(mask(path, value))
    except Exception as error:  # noqa: BLE001  # a mask is the user's code
        faults.caught("mask", error, own=False)
        return HIDDEN
