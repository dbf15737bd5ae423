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
    """What the host's reader says of these records, as `(code, event id)`.

    Of circles it only says that there is one: `("CYCLE_DETECTED", "")`.
    """
    business, found = _business(lines)
    nodes: dict[str, Any] = {}
    agreeing = []
    for line in business:
        said = (line["eventType"], _typed(line["eventAttributes"]))
        if nodes.setdefault(line["eventId"], said) == said:
            agreeing.append(line)
        else:
            found.append(("EVENT_ID_CONFLICT", line["eventId"]))
    found += [
        (code, line["eventId"])
        for line in agreeing
        for code in _lineage_warnings(line, nodes)
    ]
    if _has_circle(edges_of(lines)):
        found.append(("CYCLE_DETECTED", ""))
    return found


def edges_of(lines: list[dict[str, Any]]) -> set[tuple[str, str, str]]:
    """`(event, action, event that it led to)`, circles included.

    The first record of an event says what it is; others that say otherwise add
    nothing.
    """
    business, _ = _business(lines)
    nodes: dict[str, Any] = {}
    edges = set()
    for line in business:
        said = (line["eventType"], _typed(line["eventAttributes"]))
        nodes.setdefault(line["eventId"], said)
        edge = line.get("upstreamEventId"), line.get("upstreamActionName")
        is_root = line["eventType"] == "_input_event"
        if all(edge) and not is_root and nodes[line["eventId"]] == said:
            edges.add((*edge, line["eventId"]))
    return {edge for edge in edges if edge[0] in nodes}


def _business(
    lines: list[dict[str, Any]],
) -> tuple[list[dict[str, Any]], list[tuple[str, str]]]:
    """All lines but executions; what only looks like one is kept, with a warning."""
    kept = [
        line
        for line in lines
        if line["eventType"] not in _STATUS_OF_LIFECYCLE or not _is_lifecycle(line)
    ]
    return kept, [
        ("RESERVED_EVENT_TYPE", line["eventId"])
        for line in kept
        if line["eventType"] in _STATUS_OF_LIFECYCLE
    ]


def _has_circle(edges: set[tuple[str, str, str]]) -> bool:
    """Take away, again and again, what nothing leads to; a circle is what is left."""
    while edges:
        reached = {to for _, _, to in edges}
        rest = {edge for edge in edges if edge[0] in reached}
        if rest == edges:
            return True
        edges = rest
    return False


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
