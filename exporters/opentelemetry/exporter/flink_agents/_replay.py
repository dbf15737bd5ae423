"""Sends a log as traces: what ran then, at the times and with the ids of then.

```
PATH ─read_located─▶ records ─closed_runs─▶ Run ─RunSpans─▶ spans ─Batches─▶ OTLP
                                                              Position ◀─taken─┘
```
A run is sent when it has closed, so that memory is bounded by the open ones.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace
from opentelemetry.sdk.resources import SERVICE_INSTANCE_ID, Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from flink_agents_eventlog import lifecycle
from flink_agents_eventlog.closing import ALL, closed_runs
from flink_agents_eventlog.growing import Growing
from flink_agents_eventlog.log_file import Located
from flink_agents_eventlog.reader import read_located
from opentelemetry.exporter.flink_agents._content import MOST_BYTES, captured
from opentelemetry.exporter.flink_agents._endpoint import endpoint, span_exporter
from opentelemetry.exporter.flink_agents._execution import SCOPE, version
from opentelemetry.exporter.flink_agents._replay_batches import Batches
from opentelemetry.exporter.flink_agents._replay_position import (
    Position,
    position_file,
)
from opentelemetry.exporter.flink_agents._replay_spans import RunSpans
from opentelemetry.exporter.flink_agents._replayed import Replayed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from opentelemetry.sdk.trace.export import SpanExporter

    from flink_agents_eventlog.finding import Finding
    from flink_agents_eventlog.record import Record
    from flink_agents_eventlog.run import Run
    from flink_agents_eventlog.selection import Selection

_ERROR_MESSAGES = "OTEL_PYTHON_FLINK_AGENTS_OTLP_ERROR_MESSAGES"
_CONTENT_BYTES = "OTEL_PYTHON_FLINK_AGENTS_OTLP_CONTENT_BYTES"
_NO = ("false", "0", "no", "off")
# Of the content of an execution, which may be large, what its span says.
_SAID_OF = {
    lifecycle.PARSER: ("input", "schema"),
    lifecycle.LLM: ("output", "extra_args", "model_name"),
}
_STEP = 500
"""Records from one word on progress to the next."""


def replay(
    *paths: str | os.PathLike[str],
    url: str | None = None,
    exporter: SpanExporter | None = None,
    selection: Selection = ALL,
    resume_from: str | os.PathLike[str] | None = None,
    anew: bool = False,
    dry_run: bool = False,
    on_finding: Callable[[Finding], object] = lambda _: None,
    on_progress: Callable[[Replayed], object] = lambda _: None,
) -> Replayed:
    """Send the runs of a log, of any dialect, as traces over OTLP.

    Spans have the times of the log and the ids that it recorded, else such as always
    come out the same: a backend that knows spans by their ids gains nothing by the
    same log once more. What never ended is marked and takes no time.

    Args:
        *paths: files, folders and `-`, as for `read_records`.
        url: an OTLP endpoint; by default that of the standard
            `OTEL_EXPORTER_OTLP_*` variables, which say all the rest, too.
        exporter: sends the spans, in place of an OTLP exporter; it is not shut down.
        selection: which runs.
        resume_from: file that says how far an earlier replay came, kept until one has
            come to its end; by default one beside the log.
        anew: send also what an earlier replay has sent.
        dry_run: send nothing, only count.
        on_finding: called with what is wrong in the log.
        on_progress: called now and then with what was done so far.

    Raises:
        BackendError: the backend did not take a request; called again with the same
            arguments, what it has taken is not sent again.
        ImportError: there is no OTLP exporter for the protocol asked for.
        PositionError: the file of the position cannot be read or written.
        ValueError: the protocol of the standard variables does not exist.
    """
    names = [os.fspath(path) for path in paths]
    batches = Batches(Replayed())
    if not dry_run:
        where = type(exporter).__qualname__
        if exporter is None:
            there = endpoint(url)
            where = str(there)
            batches.owned = span_exporter(
                there.protocol, None if url is None else there.url
            )
        file = position_file(names, where) if resume_from is None else Path(resume_from)
        batches.begin(exporter or batches.owned, where, Position(file, anew=anew))
    try:
        _Replay(batches, on_finding, on_progress).go_through(names, selection)
    finally:
        batches.close()
    return batches.replayed


class _Replay:
    def __init__(
        self,
        batches: Batches,
        on_finding: Callable[[Finding], object],
        on_progress: Callable[[Replayed], object],
    ) -> None:
        self._batches = batches
        self._replayed = batches.replayed
        self._on_finding = on_finding
        self._on_progress = on_progress
        self._of_run: list[Finding] = []
        self._growing = Growing()
        on_spans, _ = captured()
        self._small = _as_it_is if on_spans else _without_content
        self._spans = RunSpans(
            batches.replayed,
            _resource(),
            InstrumentationScope(SCOPE, version()),
            error_messages=os.environ.get(_ERROR_MESSAGES, "").lower() not in _NO,
            content_bytes=_content_bytes() if on_spans else None,
        )

    def go_through(self, paths: list[str], selection: Selection) -> None:
        records = self._counted(read_located(paths, self._on_finding))
        for run in closed_runs(
            records, self._of_run.append, selection=selection, with_content=True
        ):
            self._send(run)
        self._batches.flush()
        self._batches.finish()
        self._on_progress(self._replayed)

    def _send(self, run: Run) -> None:
        findings = list(self._growing.open_run(run.input_run_id, self._of_run))
        self._of_run.clear()
        for each in findings:
            self._on_finding(each)
        if any(each.code == "RUN_OPEN" for each in findings):
            self._replayed.still_open += 1
            return
        spans = self._spans.of(run)
        if spans:
            self._replayed.runs += 1
            self._batches.add(run.input_run_id or "", spans)

    def _counted(self, records: Iterator[Located]) -> Iterator[Located]:
        for located in records:
            self._replayed.records += 1
            if self._replayed.records % _STEP == 0:
                self._on_progress(self._replayed)
            record = self._small(located.record)
            yield located if record is located.record else Located(record, *located[1:])


def _without_content(record: Record) -> Record:
    """Drop what spans do not say of content, which may be large."""
    attributes = record.event_attributes
    name, *inside = _SAID_OF.get(record.entity_type or "", ("",))
    if record.execution_id is None or name not in attributes:
        return record
    return replace(
        record, event_attributes={**attributes, **_only(attributes, name, *inside)}
    )


def _as_it_is(record: Record) -> Record:
    return record


def _only(value: Any, name: str, *inside: str) -> Any:
    if not isinstance(value, dict) or name not in value:
        return {}
    return {name: _only(value[name], *inside) if inside else value[name]}


def _content_bytes() -> int:
    with suppress(ValueError):
        return max(int(os.environ.get(_CONTENT_BYTES, "")), 0)
    return MOST_BYTES


def _resource() -> Resource:
    """What sends: by the standard variables, and the same for every replay."""
    resource = Resource.create()
    named = os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    if SERVICE_INSTANCE_ID in named:
        return resource
    attributes = dict(resource.attributes)
    attributes.pop(SERVICE_INSTANCE_ID, None)  # at random, from SDK 1.45 on
    return Resource(attributes, resource.schema_url)
