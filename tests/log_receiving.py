"""A small backend for OTLP logs by HTTP, as Collectors send them."""

import contextlib
import gzip
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsServiceRequest,
)
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord


class ReceivedLogs:
    """The log records that arrived, as plain values."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint
        self.records: list[dict[str, Any]] = []
        self.refusing = False
        """Answer 503, as a backend does that is down for a while."""

    def take(self, request: ExportLogsServiceRequest) -> None:
        self.records += [
            _told(record)
            for resource in request.resource_logs
            for scope in resource.scope_logs
            for record in scope.log_records
        ]


@contextlib.contextmanager
def log_backend() -> Iterator[ReceivedLogs]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # named by the library
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if not received.refusing:
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                received.take(ExportLogsServiceRequest.FromString(body))
            self.send_response(503 if received.refusing else 200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    received = ReceivedLogs(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield received
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _told(record: LogRecord) -> dict[str, Any]:
    return {
        "time": record.time_unix_nano,
        "severity": record.severity_text,
        "trace_id": record.trace_id.hex() or None,
        "span_id": record.span_id.hex() or None,
        "body": _plain(record.body),
        "attributes": {each.key: _plain(each.value) for each in record.attributes},
    }


def _plain(value: AnyValue) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_plain(each) for each in value.array_value.values]
    if kind == "kvlist_value":
        return {each.key: _plain(each.value) for each in value.kvlist_value.values}
    return getattr(value, kind) if kind else None
