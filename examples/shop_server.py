"""A shop's MCP server, which goes on with the traces of those who ask it.

    python examples/shop_server.py SPANS

prints its port, and appends each of its spans as a line of JSON to the file SPANS. A
service would export them; the demo reads them back.
"""

import contextlib
import json
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import uvicorn
from mcp.server.fastmcp import Context, FastMCP
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor

from opentelemetry import propagate, trace

STOCK = {"LAMP-RED": 7, "MUG-BLUE": 0}

server = FastMCP("shop", log_level="CRITICAL")


@server.tool()
def stock(sku: str, ctx: Context) -> int:
    """Say how many pieces of a product there are."""
    with going_on(ctx, "tools/call stock"):
        return STOCK[sku]


@contextlib.contextmanager
def going_on(ctx: Context, name: str) -> Iterator[None]:
    """Make a server span whose parent is what the request carries in `_meta`."""
    meta = ctx.request_context.meta
    carrier = meta.model_dump(exclude_none=True) if meta is not None else {}
    tracer = trace.get_tracer("shop")
    parent = propagate.extract(carrier)
    with tracer.start_as_current_span(name, parent, kind=trace.SpanKind.SERVER):
        yield


def line(span: ReadableSpan) -> str:
    """Return what the demo needs of a span."""
    parent = span.parent.span_id if span.parent is not None else None
    ids = {"trace": span.context.trace_id, "span": span.context.span_id}
    return json.dumps({"name": span.name, "parent": parent, **ids}) + "\n"


def main(spans: TextIO) -> None:
    """Serve until somebody ends the process."""
    provider = TracerProvider()
    exporter = ConsoleSpanExporter(out=spans, formatter=line)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    print(listening.getsockname()[1], flush=True)
    config = uvicorn.Config(server.streamable_http_app(), log_level="error")
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    with Path(sys.argv[1]).open("a", encoding="utf-8") as opened:
        main(opened)
