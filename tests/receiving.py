"""A small OTLP backend on loopback, by grpc and by http/protobuf."""

import contextlib
import os
import threading
from collections.abc import Iterator
from concurrent import futures
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import (
    TraceServiceServicer,
    add_TraceServiceServicer_to_server,
)

if TYPE_CHECKING:
    from opentelemetry.proto.trace.v1.trace_pb2 import Span


class Received:
    """The spans that arrived, as `(scope, name)`, in order."""

    def __init__(self, variables: dict[str, str]) -> None:
        self.variables = variables
        """What an application sets to send its spans here."""
        self.spans: list[tuple[str, str]] = []
        self.whole: list[Span] = []
        """The same spans, with all that they say."""
        self.requests = 0
        """How many came, also those that were not taken."""
        self.dies_at: int | None = None
        """The number of the request from which on it says nothing more (http only)."""
        self.resources: list[dict[str, object]] = []
        """What sent them, request by request."""

    def in_force(self) -> Any:
        """Let this process send its spans here, inside a `with`."""
        loopback = dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1")
        return patch.dict(os.environ, {**self.variables, **loopback})

    def is_dead(self) -> bool:
        """Count a request; whether nobody is there to take it."""
        self.requests += 1
        return self.dies_at is not None and self.requests >= self.dies_at

    def take(self, request: ExportTraceServiceRequest) -> None:
        for resource in request.resource_spans:
            self.resources.append(attributes_of(resource.resource))
            for scope in resource.scope_spans:
                self.spans += [(scope.scope.name, span.name) for span in scope.spans]
                self.whole += scope.spans


def attributes_of(message: Any) -> dict[str, Any]:
    """Attributes as OTLP has them, as plain values."""
    return {each.key: _plain(each.value) for each in message.attributes}


def _plain(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_plain(each) for each in value.array_value.values]
    return getattr(value, kind) if kind else None


@contextlib.contextmanager
def grpc_backend() -> Iterator[Received]:
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=2))
    port = server.add_insecure_port("127.0.0.1:0")
    received = Received(
        {
            "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{port}",
        }
    )

    class Servicer(TraceServiceServicer):
        def Export(self, request, context):  # noqa: N802  # named by gRPC
            received.take(request)
            return ExportTraceServiceResponse()

    add_TraceServiceServicer_to_server(Servicer(), server)
    server.start()
    try:
        yield received
    finally:
        server.stop(None).wait()


@contextlib.contextmanager
def http_backend() -> Iterator[Received]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # named by the library
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if received.is_dead():
                self.close_connection = True
                return
            received.take(ExportTraceServiceRequest.FromString(body))
            self.send_response(200 if self.path == "/v1/traces" else 404)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    received = Received(
        {
            "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{server.server_port}",
        }
    )
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield received
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
