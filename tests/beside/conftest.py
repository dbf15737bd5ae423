"""Instrumentations of others, installed beside ours for one test."""

import contextlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

import pytest

from opentelemetry import baggage
from opentelemetry import context as otel_context
from providing import MemoryProvider


@pytest.fixture
def provider():
    return MemoryProvider()


@pytest.fixture
def beside(provider):
    """Install an instrumentor on `provider` until the test ends."""
    with contextlib.ExitStack() as stack:

        def install(instrumentor: Any) -> None:
            instrumentor.instrument(tracer_provider=provider)
            stack.callback(instrumentor.uninstrument)

        yield install


class Asked(NamedTuple):
    """What arrived with a request: trace and span id, and baggage."""

    ids: tuple[str, str]
    baggage: str | None


class Service:
    """A service on loopback that answers "ok", and what it was asked with."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.asked: list[Asked] = []


@pytest.fixture
def service(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with _served() as served:
        yield served


@contextlib.contextmanager
def _served() -> Iterator[Service]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # named by the library
            _, *ids, _ = self.headers["traceparent"].split("-")
            found.asked.append(Asked(tuple(ids), self.headers["baggage"]))
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found = Service(f"http://127.0.0.1:{server.server_port}/")
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def tenant():
    """Baggage that is there before the agent runs."""
    token = otel_context.attach(baggage.set_baggage("tenant", "blue"))
    yield "tenant=blue"
    otel_context.detach(token)
