"""Strings that OTLP can carry, and the words for an error."""

from __future__ import annotations

from flink_agents_eventlog.shapes import well_formed as safe

__all__ = ["deepest_cause", "error_message", "error_type", "safe"]
# `safe` leaves no lone surrogate: one of them loses a whole OTLP batch.


def deepest_cause(error: BaseException) -> BaseException:
    """Return the end of the chain of explicit causes (`raise … from`) of `error`."""
    seen = {id(error)}
    while error.__cause__ is not None and id(error.__cause__) not in seen:
        error = error.__cause__
        seen.add(id(error))
    return error


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
