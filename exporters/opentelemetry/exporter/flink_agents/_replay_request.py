"""Sending one request with spans, and hearing why it was refused."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING

from opentelemetry.context import (
    _SUPPRESS_HTTP_INSTRUMENTATION_KEY,
    _SUPPRESS_INSTRUMENTATION_KEY,
    attach,
    detach,
    get_current,
    set_value,
)
from opentelemetry.sdk.trace.export import SpanExportResult

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.trace.export import SpanExporter

# Instrumentations look for one or the other.
_SUPPRESSED = (
    _SUPPRESS_INSTRUMENTATION_KEY,
    _SUPPRESS_HTTP_INSTRUMENTATION_KEY,
    "suppress_instrumentation",
)
_EXPORTERS = logging.getLogger("opentelemetry.exporter.otlp")
_LONGEST_REASON = 500


class Refused(Exception):  # noqa: N818  # it says what happened
    """The backend has not taken a request; says why."""


def send(exporter: SpanExporter, spans: Sequence[ReadableSpan]) -> None:
    """Send one request, with whatever patience the exporter has.

    Raises:
        Refused: it was not taken, or nobody knows.
    """
    with _suppressed(), _heard() as words:
        try:
            result = exporter.export(spans)
        except Exception as error:
            raise Refused(_short(f"{type(error).__name__}: {error}")) from error
    if result is not SpanExportResult.SUCCESS:
        # The first says what happened, the last what became of it.
        told = dict.fromkeys([*words[:1], *words[-1:]])
        raise Refused(_short("; ".join(told) or "no reason given"))


@contextmanager
def _suppressed() -> Iterator[None]:
    """No instrumentation traces what happens inside."""
    context = get_current()
    for key in _SUPPRESSED:
        context = set_value(key, True, context)  # noqa: FBT003
    token = attach(context)
    try:
        yield
    finally:
        detach(token)


@contextmanager
def _heard() -> Iterator[list[str]]:
    """What exporters say, which they do by logging alone, is heard and not printed."""
    words: list[str] = []
    ear = _Ear(words)
    propagates, _EXPORTERS.propagate = _EXPORTERS.propagate, False
    _EXPORTERS.addHandler(ear)
    try:
        yield words
    finally:
        _EXPORTERS.removeHandler(ear)
        _EXPORTERS.propagate = propagates


class _Ear(logging.Handler):
    def __init__(self, words: list[str]) -> None:
        super().__init__(logging.WARNING)
        self._words = words

    def emit(self, record: logging.LogRecord) -> None:
        self._words.append(record.getMessage())


def _short(reason: str) -> str:
    line = " ".join(reason.split())
    return line if len(line) <= _LONGEST_REASON else f"{line[:_LONGEST_REASON]}…"
