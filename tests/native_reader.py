"""The rules of the host's trace-tree reader (EVENT_LOG format, 7.11), on their own.

Written from the description of the format and not from our reader, to check what we
write with somebody else's eyes.
"""

from typing import Any

_STATUS_OF_LIFECYCLE = {
    "_execution_started_event": "started",
    "_execution_finished_event": "success",
    "_execution_failed_event": "failed",
    "_execution_reused_event": "reused",
}


def warnings_of(lines: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """What the host's reader says of these records, as `(code, event id)`."""
    found, nodes = [], {}
    for line in lines:
        event_id, event_type = line["eventId"], line["eventType"]
        if event_type in _STATUS_OF_LIFECYCLE:
            if _is_lifecycle(line):
                continue
            found.append(("RESERVED_EVENT_TYPE", event_id))
        said = (event_type, _typed(line["eventAttributes"]))
        if nodes.setdefault(event_id, said) != said:
            found.append(("EVENT_ID_CONFLICT", event_id))
    return found + [
        (code, line["eventId"])
        for line in lines
        if line["eventType"] not in _STATUS_OF_LIFECYCLE
        for code in _lineage_warnings(line, nodes)
    ]


def edges_of(lines: list[dict[str, Any]]) -> set[tuple[str, str, str]]:
    """`(event, action, event that it led to)` for every business event."""
    return {
        (line["upstreamEventId"], line["upstreamActionName"], line["eventId"])
        for line in lines
        if "upstreamEventId" in line
    }


def _is_lifecycle(line: dict[str, Any]) -> bool:
    names = [line.get(name) for name in ("executionId", "entityType", "entityName")]
    return line.get("status") == _STATUS_OF_LIFECYCLE[line["eventType"]] and all(
        isinstance(name, str) and name for name in names
    )


def _lineage_warnings(line: dict[str, Any], nodes: dict[str, Any]) -> list[str]:
    upstream, action = line.get("upstreamEventId"), line.get("upstreamActionName")
    if line["eventType"] == "_input_event":
        return ["INVALID_ROOT_LINEAGE"] if upstream or action else []
    if not upstream:
        return ["UNLINKED_EVENT"]
    warnings = [] if upstream in nodes else ["MISSING_PARENT"]
    return warnings if action else [*warnings, "MISSING_ACTION_NAME"]


def _typed(value: Any) -> Any:
    """A form in which `true` is not `1` but the order of keys is nothing."""
    if isinstance(value, dict):
        return frozenset((key, _typed(item)) for key, item in value.items())
    if isinstance(value, list):
        return tuple(map(_typed, value))
    return type(value).__name__, value
