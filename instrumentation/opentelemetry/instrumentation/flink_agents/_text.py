"""Strings that OTLP can carry, and the words for an error."""

from __future__ import annotations

from flink_agents_eventlog.shapes import well_formed as safe

__all__ = ["deepest_cause", "error_message", "error_type", "safe"]
# `safe` leaves no lone surrogate: one of them loses a whole OTLP batch.


def deepest_cause(error: BaseException) -> BaseException:
    """Return the end of the chain of explicit causes (`raise … from`) of `error`.

    A group of one, as task groups raise it, is what it holds.
    """
    seen = {id(error)}
    while True:
        cause = error.__cause__
        if cause is None:
            cause = _only_member(error)
        if cause is None or id(cause) in seen:
            return error
        error = cause
        seen.add(id(error))


def _only_member(error: BaseException) -> BaseException | None:
    # By its shape: before 3.11 groups are of a package.
    members = getattr(error, "exceptions", None)
    if not isinstance(members, tuple) or len(members) != 1:
        return None
    return members[0] if isinstance(members[0], BaseException) else None


def error_type(error: BaseException) -> str:
    """Return the name of the type of `error`: `ValueError`, `openai.RateLimitError`."""
    cls = type(error)
    if cls.__module__ == "builtins":
        return cls.__qualname__
    return f"{cls.__module__}.{cls.__qualname__}"


def error_message(error: BaseException) -> str:
    """Return the message of `error`, or nothing if it cannot say it."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001  # __str__ is anybody's code
        return ""
