"""The three forms a record has on disk, and the words in which they differ.

``snake`` is this package's: ``{"timestamp", "input_run_id", …, "event_attributes"}``;
``native`` is the host's from 0.4 on: ``{"timestamp", "logLevel", "inputRunId", …,
"eventAttributes"}``; ``nested`` the host's up to 0.3: ``{"timestamp", "event": {…}}``.
"""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

Dialect: TypeAlias = Literal["snake", "native", "nested"]

SNAKE: Final = "snake"
NATIVE: Final = "native"
NESTED: Final = "nested"


def camel(name: str) -> str:
    """Write a snake_case name in camelCase.

    >>> camel("tool_call_id")
    'toolCallId'
    """
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _both_ways(*names: str) -> tuple[dict[str, str], dict[str, str]]:
    native = {name: camel(name) for name in names}
    return native, {renamed: name for name, renamed in native.items()}


NATIVE_METADATA, SNAKE_METADATA = _both_ways(
    "tool_type",
    "mcp_server",
    "tool_call_id",
    "tool_request_event_id",
    "external_id",
    "skill_name",
    "skill_resource_path",
    "input_tokens",
    "output_tokens",
    "unrepresentable_paths",
    "oversized_paths",
)
NATIVE_ATTRIBUTES, SNAKE_ATTRIBUTES = _both_ways("error_type", "error_message")
# Fields that `Record` has no name for, but that exist in two spellings.
NATIVE_EXTRA, SNAKE_EXTRA = _both_ways("job_id", "task_name", "subtask_id")


def renamed(fields: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Rename fields in place, except where the new name is taken already."""
    return {
        name if names.get(name, name) in fields else names[name]: value
        for name, value in fields.items()
    }


def native_error_type(name: str) -> str:
    """Qualify a builtin exception as the host does: ``builtins.ValueError``."""
    return f"builtins.{name}" if _is_builtin_error(name) else name


def snake_error_type(name: str) -> str:
    """Take the qualification of a builtin exception away again."""
    short = name.removeprefix("builtins.")
    return short if _is_builtin_error(short) else name


def _is_builtin_error(name: str) -> bool:
    kind = getattr(builtins, name, None)
    return isinstance(kind, type) and issubclass(kind, BaseException)
