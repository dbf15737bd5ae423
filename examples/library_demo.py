"""Run the library agent and show what it asked of its vector store.

python examples/library_demo.py [DIRECTORY]
"""

import logging
import sys
from pathlib import Path

from flink_agents.api.execution_environment import AgentsExecutionEnvironment
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from flink_agents_eventlog import read_records
from library_agent import LibraryAgent
from opentelemetry.instrumentation.flink_agents import instrument

INPUTS = [
    {"key": "ada", "value": "open"},
    {"key": "ada", "value": "history of lamps"},
]


def main(directory: Path) -> None:
    """Fill the library and ask it, then print spans and counts."""
    for log in directory.glob("events-local-*.jsonl"):
        log.unlink()
    logging.basicConfig(level=logging.ERROR)
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    instrument(tracer_provider=provider, event_log_dir=str(directory))
    env = AgentsExecutionEnvironment.get_execution_environment()
    outputs = env.from_list(INPUTS).apply(LibraryAgent()).to_list()
    env.execute()
    print(outputs)
    spans = exporter.get_finished_spans()
    names = {span.context.span_id: span.name for span in spans}
    for span in spans:
        if span.name.startswith(("add", "retrieval", "embeddings")):
            print(f"{span.name}  in  {names[span.parent.span_id]}")
    for record in read_records(directory):
        if "operations" in record.entity_metadata:
            print(record.entity_name, record.entity_metadata["operations"])


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "demo-log"))
