"""What a reader stepped over: findings, their codes and severities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

ERROR: Final = "error"
WARNING: Final = "warning"
INFO: Final = "info"

_CODES: Final = {
    ERROR: (
        "MALFORMED_RECORD",
        "UNREADABLE_FILE",
        "EVENT_ID_CONFLICT",
        "TERMINAL_CONFLICT",
        "CYCLE_DETECTED",
    ),
    WARNING: (
        "MISSING_START",
        "MISSING_END",
        "MISSING_PARENT",
        "MISSING_ACTION_NAME",
        "MISSING_SNAPSHOT",
        "UNLINKED_EVENT",
        "RESERVED_EVENT_TYPE",
        "INVALID_ROOT_LINEAGE",
        "TIME_REVERSED",
        "SPLIT_HISTORY",
        "UNRECORDED_WRITES",
        "STATE_MISMATCH",
    ),
    INFO: (
        "TORN_TAIL",
        "TRUNCATED_VALUE",
        "HOST_LOG_SKIPPED",
        "RUN_OPEN",
    ),
}
SEVERITY: Final = {
    code: severity for severity, codes in _CODES.items() for code in codes
}


@dataclass(frozen=True)
class Finding:
    """Something in a log that is not as it should be, and where."""

    code: str
    severity: str
    message: str
    path: str
    line: int | None = None
    json_path: str | None = None
    event_id: str | None = None

    def __str__(self) -> str:
        place = self.path if self.line is None else f"{self.path}:{self.line}"
        inside = f" (at {self.json_path})" if self.json_path else ""
        return f"{place}: {self.severity} {self.code}: {self.message}{inside}"

    def as_json(self) -> dict[str, Any]:
        """Give the fields that are known, in the order of the JSON forms."""
        return {name: value for name, value in vars(self).items() if value is not None}


OnFinding: TypeAlias = Callable[[Finding], object]


def finding(
    code: str,
    message: str,
    path: str,
    *,
    line: int | None = None,
    json_path: str | None = None,
    event_id: str | None = None,
) -> Finding:
    """Make a finding with the severity that belongs to its code."""
    return Finding(code, SEVERITY[code], message, path, line, json_path, event_id)
