"""Events of the conventions: log records with a name, on every version of the API.

Their attributes are structured where the SDK takes that, else JSON.
"""

from __future__ import annotations

import inspect
import time
from typing import TYPE_CHECKING, Any

from opentelemetry._logs import (
    Logger,
    LogRecord,
    NoOpLogger,
    SeverityNumber,
    get_logger_provider,
)
from opentelemetry.trace import get_current_span

from flink_agents_eventlog.payload import encode_plain
from opentelemetry.exporter.flink_agents._execution import SCOPE
from opentelemetry.exporter.flink_agents._guard import faults

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opentelemetry._logs import LoggerProvider
    from opentelemetry.context import Context

# From 1.38 the API's own record is what an SDK takes, with a name and structure.
_NAMED = "event_name" in inspect.signature(Logger.emit).parameters


def logger_of(provider: LoggerProvider | None, version: str) -> Logger:
    """Our logger; one that does nothing if `provider`, anybody's code, has none.

    Args:
        provider: where it comes from; None for the global one.
        version: ours.
    """
    try:
        if provider is None:
            provider = get_logger_provider()
        return provider.get_logger(SCOPE, version)
    except Exception as error:  # noqa: BLE001  # the agent runs without events
        faults.caught("get_logger", error, own=False)
        return NoOpLogger(SCOPE, version)


def new_event(
    logger: Logger,
    name: str,
    attributes: Mapping[str, Any],
    context: Context,
    *,
    body: str | None = None,
    timestamp: int | None = None,
    severity: SeverityNumber | None = None,
) -> Any:
    """Return a log record for `logger.emit()`.

    Args:
        logger: where it is going to.
        name: name of the event.
        attributes: plain JSON data.
        context: with the span that it belongs to.
        body: what it says, if that is not in its attributes.
        timestamp: when it happened, in epoch nanoseconds; by default now.
        severity: how bad it is.
    """
    common: dict[str, Any] = {
        "timestamp": timestamp or time.time_ns(),
        "body": body,
    }
    if _NAMED:
        return LogRecord(
            **common,
            severity_number=severity,
            context=context,
            event_name=name,
            attributes={name: _structured(attributes[name]) for name in attributes},
        )
    return _old_event(
        logger, name, attributes, context, severity=severity, common=common
    )


def _structured(value: Any) -> Any:
    """Return `value` with a text for each number that OTLP cannot hold."""
    if isinstance(value, dict):
        return {name: _structured(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_structured(each) for each in value]
    is_large = isinstance(value, int) and not -(2**63) <= value < 2**63
    return str(value) if is_large else value


def _old_event(
    logger: Logger,
    name: str,
    attributes: Mapping[str, Any],
    context: Context,
    *,
    severity: SeverityNumber | None,
    common: Mapping[str, Any],
) -> Any:
    from opentelemetry.sdk._logs import (  # type: ignore[attr-defined]  # noqa: PLC0415
        LogRecord as Record,
    )

    span = get_current_span(context).get_span_context()
    return Record(
        **common,
        # The exporter of that time takes no record without it.
        severity_number=severity or SeverityNumber.UNSPECIFIED,
        trace_id=span.trace_id,
        span_id=span.span_id,
        trace_flags=span.trace_flags,
        resource=getattr(logger, "resource", None),
        attributes={
            "event.name": name,
            **{key: _flat(value) for key, value in attributes.items()},
        },
    )


def _flat(value: Any) -> Any:
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return value
    return encode_plain(value).decode() if isinstance(value, list | dict) else value
