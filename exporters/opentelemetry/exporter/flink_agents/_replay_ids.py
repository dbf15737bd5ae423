"""The ids of replayed spans: those recorded, else always the same ones.

So a log that is replayed again adds nothing: its spans are known by their ids.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

from opentelemetry.trace import SpanContext, TraceFlags

if TYPE_CHECKING:
    from flink_agents_eventlog.run import Execution

_TRACE_BYTES, _SPAN_BYTES = 16, 8
_SAMPLED = TraceFlags(TraceFlags.SAMPLED)


class Ids:
    """The ids of one run and of its executions.

    Args:
        run_id: its `input_run_id`.
        trace_id: the trace that its records name, if they do.
    """

    def __init__(self, run_id: str, trace_id: str | None) -> None:
        self.run_id = run_id
        self._recorded = _recorded(trace_id, _TRACE_BYTES)
        self._trace_id = self._recorded or _derived(_TRACE_BYTES, "trace", run_id)

    def are_recorded(self, span_id: str | None) -> bool:
        """Whether a span with this id is known by ids of the log alone."""
        return bool(self._recorded and _recorded(span_id, _SPAN_BYTES))

    def of_run(self, span_id: str | None) -> SpanContext:
        """Return the ids of the run's own span."""
        return self._context(self._trace_id, span_id, "run", self.run_id)

    def of_execution(self, execution: Execution) -> SpanContext:
        """Return the ids of the span of an execution."""
        trace_id = _recorded(execution.trace_id, _TRACE_BYTES) or self._trace_id
        names = ("execution", self.run_id, execution.execution_id)
        return self._context(trace_id, execution.span_id, *names)

    @staticmethod
    def _context(trace_id: int, span_id: str | None, *names: str) -> SpanContext:
        number = _recorded(span_id, _SPAN_BYTES) or _derived(_SPAN_BYTES, *names)
        return SpanContext(trace_id, number, is_remote=False, trace_flags=_SAMPLED)


def _recorded(text: str | None, size: int) -> int | None:
    """Read an id; None for what is none, and for 0, which OpenTelemetry forbids."""
    try:
        number = int(text or "", 16)
    except ValueError:
        return None
    return number if 0 < number < 1 << 8 * size else None


def _derived(size: int, *names: str) -> int:
    text = "\0".join(names).encode("utf-8", "surrogatepass")
    digest = blake2b(text, digest_size=size, person=b"flink-agents").digest()
    return int.from_bytes(digest, "big") or 1
