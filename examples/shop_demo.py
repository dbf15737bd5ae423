"""Run the shop agent with its MCP server, and show one trace of two processes.

    python examples/shop_demo.py [DIRECTORY]

The model is the scripted server beside this file.
"""

import contextlib
import json
import logging
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

from flink_agents.api.execution_environment import AgentsExecutionEnvironment
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from flink_agents_eventlog.commands import main as eventlog
from opentelemetry.instrumentation.flink_agents import instrument
from scripted_llm import Reply, ScriptedLLM
from shop_agent import ShopAgent

QUESTION = {"key": "ada", "value": "Three red lamps, please: what do they cost?"}
REPLIES = [
    Reply.tool_calls([("load_skill", {"name": "pricing"})]),
    Reply.tool_calls([("stock", {"sku": "LAMP-RED"})]),
    Reply.text("67.50 EUR for three; there are seven."),
]


def main(directory: Path) -> None:
    """Answer one question, then print the tree of the log and the trace."""
    for log in directory.glob("events-local-*.jsonl"):
        log.unlink()
    logging.basicConfig(level=logging.ERROR)
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    instrument(tracer_provider=provider, event_log_dir=str(directory))
    loopback = dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1")
    with patch.dict(os.environ, loopback), shop() as (endpoint, spans):
        with ScriptedLLM(REPLIES) as model:
            print(answer(SHOP_MCP=endpoint, OPENAI_BASE_URL=model.base_url))
        told = [json.loads(line) for line in spans.read_text().splitlines()]
    eventlog(["tree", str(directory)])
    print("\none trace of two processes:")
    show([*map(brief, exporter.get_finished_spans()), *told])


def answer(**variables: str) -> Any:
    """Run the agent on the local runner."""
    with patch.dict(os.environ, variables):
        env = AgentsExecutionEnvironment.get_execution_environment()
        outputs = env.from_list([QUESTION]).apply(ShopAgent()).to_list()
        env.execute()
    return outputs


@contextlib.contextmanager
def shop() -> Iterator[tuple[str, Path]]:
    """Run the MCP server; give its endpoint and the file of its spans."""
    server = Path(__file__).with_name("shop_server.py")
    with tempfile.TemporaryDirectory() as folder:
        spans = Path(folder, "spans.jsonl")
        process = subprocess.Popen(  # noqa: S603  # a file beside this one
            [sys.executable, str(server), str(spans)], stdout=subprocess.PIPE, text=True
        )
        try:
            port = process.stdout.readline().strip()
            yield f"http://127.0.0.1:{port}/mcp", spans
        finally:
            process.terminate()
            process.communicate()


def brief(span: Any) -> dict[str, Any]:
    """Return what the server tells of its spans, of one of ours."""
    parent = span.parent.span_id if span.parent is not None else None
    ids = {"trace": span.context.trace_id, "span": span.context.span_id}
    return {"name": span.name, "parent": parent, **ids}


def show(spans: list[dict[str, Any]], parent: int | None = None, at: int = 1) -> None:
    """Print spans inside one another; that of the server is marked."""
    for span in spans:
        if span["parent"] == parent:
            name = span["name"]
            where = "  <- in the server" if name.startswith("tools/call") else ""
            print("  " * at + name + where)
            show(spans, span["span"], at + 1)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "demo-log"))
