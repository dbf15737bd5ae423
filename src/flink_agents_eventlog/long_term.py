"""The two shapes of long-term memory events, and the way from one to the other.

In the default dialect update and get are ``{"set.item": value}``, where null deletes
and ``"set": null`` clears; a search is ``{query: [hit]}``, each hit with its ``set``.
In the native dialect they are ``{set: {item: value}}``, with ``cleared_sets`` on
updates, and ``{set: {query: [hit]}}``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from flink_agents_eventlog import lifecycle

OnLoss: TypeAlias = Callable[[str], object]
Translation: TypeAlias = Callable[[dict[str, Any], OnLoss], dict[str, Any]]

GUESSED_SET: Final = "where the set of a long-term key ends, guessed at its first dot"
UNKNOWN_SET: Final = "the set of a long-term search, which the source does not name"
NO_ITEM: Final = "a long-term value without an item, kept under an empty item id"
SAME_KEY: Final = "long-term items whose flat keys are the same, only the last kept"
EMPTY_SEARCH: Final = "the set of a long-term search without hits"
EMPTY_SET: Final = "a long-term set without items"
ODD_SHAPE: Final = "long-term memory of an unexpected shape, left as it is"


def _nested_update(attributes: dict[str, Any], lost: OnLoss) -> dict[str, Any]:
    cleared: list[str] = []
    value = attributes.get("value")
    if not isinstance(value, dict):
        lost(ODD_SHAPE)
        return attributes
    items = {}
    for key, each in value.items():
        if each is None and "." not in key:
            cleared.append(key)
        else:
            items[key] = each
    nested = _nested(items, lost)
    return {**attributes, "value": nested, "cleared_sets": cleared}


def _nested_get(attributes: dict[str, Any], lost: OnLoss) -> dict[str, Any]:
    value = attributes.get("value")
    if not isinstance(value, dict):
        lost(ODD_SHAPE)
        return attributes
    return {**attributes, "value": _nested(value, lost)}


def _nested(items: dict[str, Any], lost: OnLoss) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for key, value in items.items():
        name, dot, item = key.partition(".")
        if not dot:
            lost(NO_ITEM)
        elif "." in item:
            lost(GUESSED_SET)
        nested.setdefault(name, {})[item] = value
    return nested


def _flat_update(attributes: dict[str, Any], lost: OnLoss) -> dict[str, Any]:
    cleared = attributes.get("cleared_sets", [])
    value = attributes.get("value")
    if not _is_by_set(value) or not _is_names(cleared):
        lost(ODD_SHAPE)
        return attributes
    flat: dict[str, Any] = dict.fromkeys(cleared)
    flat |= _flat(value, lost)
    others = {name: attributes[name] for name in attributes if name != "cleared_sets"}
    return {**others, "value": flat}


def _flat_get(attributes: dict[str, Any], lost: OnLoss) -> dict[str, Any]:
    value = attributes.get("value")
    if not _is_by_set(value):
        lost(ODD_SHAPE)
        return attributes
    return {**attributes, "value": _flat(value, lost)}


def _flat(by_set: Any, lost: OnLoss) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, items in by_set.items():
        if not items:
            lost(EMPTY_SET)
        for item, value in items.items():
            key = f"{name}.{item}" if item else name
            if key in flat:
                lost(SAME_KEY)
            flat[key] = value
    return flat


def _nested_search(attributes: dict[str, Any], lost: OnLoss) -> dict[str, Any]:
    value = attributes.get("value")
    if not isinstance(value, dict) or not all(map(_is_hits, value.values())):
        lost(ODD_SHAPE)
        return attributes
    nested: dict[str, Any] = {}
    for query, hits in value.items():
        if not hits:
            lost(UNKNOWN_SET)
            nested.setdefault("", {})[query] = []
        for hit in hits:
            name = hit.get("set")
            if not isinstance(name, str):
                lost(UNKNOWN_SET)
                name = ""
            others = {field: hit[field] for field in hit if field != "set"}
            nested.setdefault(name, {}).setdefault(query, []).append(others)
    return {**attributes, "value": nested}


def _flat_search(attributes: dict[str, Any], lost: OnLoss) -> dict[str, Any]:
    value: Any = attributes.get("value")
    if not _is_by_set(value) or not all(
        _is_hits(hits) for queries in value.values() for hits in queries.values()
    ):
        lost(ODD_SHAPE)
        return attributes
    flat: dict[str, Any] = {}
    for name, queries in value.items():
        for query, hits in queries.items():
            if not hits:
                lost(EMPTY_SEARCH)
            of_set = {"set": name} if name else {}
            flat.setdefault(query, []).extend({**hit, **of_set} for hit in hits)
    return {**attributes, "value": flat}


def _is_by_set(value: Any) -> bool:
    """Tell sets of items apart from the marker of a truncated value."""
    return isinstance(value, dict) and all(
        isinstance(items, dict) for items in value.values()
    )


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _is_hits(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(hit, dict) for hit in value)


NESTING: Final[dict[str, Translation]] = {
    lifecycle.LONG_TERM_UPDATE_EVENT: _nested_update,
    lifecycle.LONG_TERM_GET_EVENT: _nested_get,
    lifecycle.LONG_TERM_SEARCH_EVENT: _nested_search,
}
FLATTENING: Final[dict[str, Translation]] = {
    lifecycle.LONG_TERM_UPDATE_EVENT: _flat_update,
    lifecycle.LONG_TERM_GET_EVENT: _flat_get,
    lifecycle.LONG_TERM_SEARCH_EVENT: _flat_search,
}
