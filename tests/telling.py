"""What a log and its spans say, with ids and times replaced by names.

`Names` gives each id a name in the order of its appearance, so that a whole log can
stand in a test as a literal. `story` is the short form: who ran, inside what,
because of what.
"""

import re
from collections import Counter
from typing import Any

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from flink_agents_eventlog.dialect import camel
from hosting import NOTE_TYPE

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")

_KINDS = {
    "input_run_id": "run",
    "execution_id": "execution",
    "parent_execution_id": "execution",
    "action_trigger_event_id": "event",
    "tool_request_event_id": "event",
    "event_id": "event",
    "source_event_id": "content",
    "trace_id": "trace",
    "span_id": "span",
    "flink_agents.input_run_id": "run",
    "flink_agents.execution.id": "execution",
    "flink_agents.event.trigger.id": "event",
    "upstreamEventId": "event",
}
# The native dialect has the same in its own spelling.
_KINDS |= {camel(name): kind for name, kind in _KINDS.items()}


class Names:
    """Names for ids, `event 1`, `event 2`, … in the order in which they are met."""

    def __init__(self):
        self._names: dict[str, str] = {}
        self._counts: Counter[str] = Counter()

    def of(self, found: str, kind: str = "id") -> str:
        """The name of the id `found`; `kind` counts where it is met first."""
        if found not in self._names:
            self._counts[kind] += 1
            self._names[found] = f"{kind} {self._counts[kind]}"
        return self._names[found]

    def records(self, lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """All fields of all records."""
        return [self.value(line) for line in lines]

    def spans(self, exporter: InMemorySpanExporter) -> list[dict[str, Any]]:
        """All that is ours to say of each span, in the order of their starts."""
        spans = sorted(exporter.get_finished_spans(), key=lambda span: span.start_time)
        return [self._span(span) for span in spans]

    def value(self, value: Any, kind: str = "id") -> Any:
        """Any JSON value, ids and times in it replaced."""
        if isinstance(value, dict):
            return {
                self.value(key): self.value(item, _KINDS.get(key, "id"))
                for key, item in value.items()
            }
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if not isinstance(value, str):
            return value
        if kind != "id" or _UUID.fullmatch(value):
            return self.of(value, kind)
        return "T" if _TIME.fullmatch(value) else value

    def _span(self, span: Any) -> dict[str, Any]:
        told = {
            "span": self.of(f"{span.context.span_id:016x}", "span"),
            "trace": self.of(f"{span.context.trace_id:032x}", "trace"),
            "name": span.name,
            "kind": span.kind.name,
            "status": span.status.status_code.name,
            "attributes": self.value(_without_port(span.attributes)),
        }
        if span.parent is not None:
            told["parent"] = self.of(f"{span.parent.span_id:016x}", "span")
        if span.status.description is not None:
            told["description"] = span.status.description
        if span.links:
            told["links"] = [
                self.of(f"{link.context.span_id:016x}", "span") for link in span.links
            ]
        return told


def _without_port(attributes: Any) -> dict[str, Any]:
    """Attributes with a name for the port: a loopback server has another each time."""
    found = {name: _listed(value) for name, value in attributes.items()}
    return {**found, "server.port": "port"} if "server.port" in found else found


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def story(lines: list[dict[str, Any]]) -> list[str]:
    """One line for each record: `x2 llm model finished in x1 because e2`.

    `e` numbers the events, `x` the executions; `r2` begins the lines of a second run.
    """
    names = Names()

    def short(found: str, kind: str) -> str:
        name, number = names.of(found, kind).split()
        return f"{name[0]}{number}"

    def tell(line: dict[str, Any]) -> str:
        run = short(line["input_run_id"], "run")
        words = [] if run == "r1" else [run]
        execution = line.get("execution_id")
        if "status" in line:
            words += [short(execution, "x"), line["entity_type"], line["entity_name"]]
            words += [line["status"]]
            if "parent_execution_id" in line:
                words += ["in", short(line["parent_execution_id"], "x")]
        else:
            event_type = line["event_type"]
            words += [short(line["event_id"], "event")]
            words += ["note" if event_type == NOTE_TYPE else event_type]
            if execution is not None:
                words += ["from", short(execution, "x")]
        if "action_trigger_event_id" in line:
            words += ["because", short(line["action_trigger_event_id"], "event")]
        return " ".join(words)

    return [tell(line) for line in lines]


def ended(lines: list[dict[str, Any]], entity_type: str) -> list[dict[str, Any]]:
    """The terminal records of the executions of one type."""
    return [
        line
        for line in lines
        if line.get("entity_type") == entity_type
        and line.get("status", "started") != "started"
    ]


def tracing() -> tuple[TracerProvider, InMemorySpanExporter]:
    """A real provider and what it exports."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return provider, exporter


def told_spans(exporter: InMemorySpanExporter) -> list[str]:
    """One line for each span in the order of their starts: `parent > name: STATUS`."""
    spans = sorted(exporter.get_finished_spans(), key=lambda span: span.start_time)
    names = {span.context.span_id: span.name for span in spans}
    return [
        f"{names[span.parent.span_id] if span.parent else ''} > {span.name}:"
        f" {span.status.status_code.name}".lstrip()
        for span in spans
    ]
