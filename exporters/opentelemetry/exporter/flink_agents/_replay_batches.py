"""Spans of many runs gathered into requests, each noted once it was taken."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from opentelemetry.exporter.flink_agents._endpoint import MOST_CHARACTERS, size_of
from opentelemetry.exporter.flink_agents._replay_position import Position
from opentelemetry.exporter.flink_agents._replay_request import Refused, send
from opentelemetry.exporter.flink_agents._replayed import BackendError

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.trace.export import SpanExporter

    from opentelemetry.exporter.flink_agents._replayed import Replayed

_MOST_SPANS = 512
_REMEMBERED = 65_536
"""Runs that may go on after they were sent."""


class Batches:
    """Sends what is added, once it has begun; before that it only drops it.

    Args:
        replayed: where sent spans are counted.
    """

    def __init__(self, replayed: Replayed) -> None:
        self.replayed = replayed
        self.owned: SpanExporter | None = None
        """An exporter to shut down in the end."""
        self._exporter: SpanExporter | None = None
        self._where = ""
        self._position = Position(None)
        self._spans: list[ReadableSpan] = []
        self._size = 0
        self._taken: dict[str, int] = {}
        """Of each run in the batch, the number of its spans once that is taken."""
        self._seen: OrderedDict[str, int] = OrderedDict()

    def begin(
        self, exporter: SpanExporter | None, where: str, position: Position
    ) -> None:
        """Send to `exporter` what is not in `position`; `where` is its name."""
        self._exporter, self._where, self._position = exporter, where, position

    def add(self, run_id: str, spans: list[ReadableSpan]) -> None:
        """Send the next spans of a run, unless they were sent before.

        Raises:
            BackendError: the backend does not take them.
            PositionError: what was sent cannot be kept.
        """
        if self._exporter is None:
            return
        taken = self._position.taken(run_id)
        number = self._seen.pop(run_id, 0)
        for span in spans:
            number += 1
            if number <= taken:
                self.replayed.sent_before += 1
                continue
            size = size_of(span)
            if self._is_full(size):
                self.flush()
            self._spans.append(span)
            self._size += size
            self._taken[run_id] = number
        self._seen[run_id] = number
        if len(self._seen) > _REMEMBERED:
            self._seen.popitem(last=False)

    def flush(self) -> None:
        """Send what waits.

        Raises:
            BackendError: the backend does not take it.
            PositionError: what was sent cannot be kept.
        """
        spans, self._spans, self._size = self._spans, [], 0
        taken, self._taken = self._taken, {}
        if not spans or self._exporter is None:
            return
        try:
            send(self._exporter, spans)
        except Refused as error:
            raise BackendError(
                f"{self._where} does not take spans: {error}",
                self.replayed,
                self._position.path,
            ) from error
        self.replayed.sent += len(spans)
        self._position.note(taken)

    def finish(self) -> None:
        """Forget the position: everything was sent."""
        self._position.finish()

    def close(self) -> None:
        """Give back what is open."""
        self._position.close()
        if self.owned is not None:
            self.owned.shutdown()

    def _is_full(self, more: int) -> bool:
        return len(self._spans) >= _MOST_SPANS or (
            bool(self._spans) and self._size + more > MOST_CHARACTERS
        )
