"""An OpenAI-compatible server on loopback that answers from a script.

Agents can be shown and tested through the real OpenAI SDK, without a key, without
a network, and with the failures a real endpoint has only on bad days:

    with ScriptedLLM([Reply.status(429), Reply.text("hello")]) as server:
        client = OpenAI(base_url=server.base_url, api_key="unused")

A list of replies is consumed in order. Where the order of requests is not known
(several threads, retries) give a function from the body of a request to its reply.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import sys
import threading
from collections import deque
from dataclasses import dataclass, replace
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from typing_extensions import Self

    Call = tuple[str, Mapping[str, Any] | str]
    Usage = tuple[int, int]

MAX_BODY = 64 * 1024 * 1024
USAGE = (20, 10)
USAGE_FIELDS = ("prompt_tokens", "completion_tokens", "total_tokens")


@dataclass(frozen=True)
class Reply:
    """One answer of the model, or of the server in front of it."""

    content: str | None = None
    calls: tuple[Call, ...] = ()
    usage: Usage = USAGE
    code: int = HTTPStatus.OK
    retry_after: float | None = None
    delay: float = 0.0

    @classmethod
    def text(cls, content: str, *, usage: Usage = USAGE) -> Reply:
        """Answer with a text; ``usage`` is (prompt tokens, completion tokens)."""
        return cls(content=content, usage=usage)

    @classmethod
    def tool_calls(
        cls, calls: Sequence[Call], content: str | None = None, *, usage: Usage = USAGE
    ) -> Reply:
        """Ask for tools; arguments given as a string are sent as they are."""
        return cls(content=content, calls=tuple(calls), usage=usage)

    @classmethod
    def status(
        cls, code: int, retry_after: float | None = 0, message: str | None = None
    ) -> Reply:
        """Fail with an HTTP status; without ``retry_after`` the client chooses."""
        return cls(code=code, retry_after=retry_after, content=message)

    @classmethod
    def slow(cls, seconds: float, reply: Reply) -> Reply:
        """Give a reply after some time."""
        return replace(reply, delay=seconds)


class Request(NamedTuple):
    """What a client sent; the names of the headers are in lower case."""

    body: dict[str, Any]
    headers: dict[str, str]


class ScriptedLLM:
    """The server, as a context manager.

    It keeps the newest ``keep`` requests; ``request_count`` counts all of them.
    """

    def __init__(
        self,
        replies: Iterable[Reply] | Callable[[dict[str, Any]], Reply],
        *,
        keep: int = 1_000,
    ) -> None:
        self._reply_to = replies if callable(replies) else _in_order(replies)
        self._requests: deque[Request] = deque(maxlen=keep)
        self._lock = threading.Lock()
        self._completions = itertools.count(1)
        self._calls = itertools.count(1)
        self.closing = threading.Event()
        self.request_count = 0

    def __enter__(self) -> Self:
        self._http = _Server(("127.0.0.1", 0), _Handler)
        self._http.llm = self
        # The default interval would make every close wait half a second.
        self._thread = threading.Thread(
            target=self._http.serve_forever, args=(0.02,), daemon=True
        )
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def base_url(self) -> str:
        """What an OpenAI client takes as its ``base_url``."""
        return f"http://127.0.0.1:{self._http.server_port}/v1"

    @property
    def requests(self) -> list[Request]:
        """The requests so far, repeated ones of a retrying client included."""
        with self._lock:
            return list(self._requests)

    def reply_to(self, request: Request) -> Reply:
        """Record a request and find its reply."""
        with self._lock:
            self._requests.append(request)
            self.request_count += 1
        try:
            return self._reply_to(request.body)
        except Exception as error:  # noqa: BLE001 - the client is to see it
            # 400, because a client would try anything from 500 on again.
            message = f"{type(error).__name__}: {error}"
            return Reply.status(HTTPStatus.BAD_REQUEST, None, message)

    def completion(self, reply: Reply, model: str) -> dict[str, Any]:
        """Dress a reply as the API does, with ids that count from 1."""
        with self._lock:
            number = next(self._completions)
            calls = [_tool_call(next(self._calls), *call) for call in reply.calls]
        usage = (*reply.usage, sum(reply.usage))
        message = {"role": "assistant", "content": reply.content}
        choice = {
            "index": 0,
            "message": message | ({"tool_calls": calls} if calls else {}),
            "finish_reason": "tool_calls" if calls else "stop",
        }
        return {
            "id": f"chatcmpl-{number}",
            "object": "chat.completion",
            "created": 0,
            "model": model,
            "choices": [choice],
            "usage": dict(zip(USAGE_FIELDS, usage, strict=True)),
        }


def _in_order(replies: Iterable[Reply]) -> Callable[[dict[str, Any]], Reply]:
    script = tuple(replies)
    left = deque(script)

    def next_reply(_: dict[str, Any]) -> Reply:
        with contextlib.suppress(IndexError):
            return left.popleft()
        raise LookupError(f"script exhausted: all {len(script)} replies are used")

    return next_reply


def _tool_call(number: int, name: str, arguments: Any) -> dict[str, Any]:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    function = {"name": name, "arguments": text}
    return {"id": f"call_{number}", "type": "function", "function": function}


def _retry_headers(seconds: float | None) -> dict[str, str]:
    if seconds is None:
        return {}
    # The SDK takes "retry after 0 seconds" for "no advice" and backs off by half a
    # second or more; the milliseconds are read first and must be above zero.
    return {
        "retry-after": str(int(seconds)),
        "retry-after-ms": str(max(1, int(seconds * 1000))),
    }


class _Server(ThreadingHTTPServer):
    request_queue_size = 128
    llm: ScriptedLLM

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Be silent about clients that went away, as they do after a timeout."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    # HTTP/1.0, the default here, closes every connection after its answer. Flink
    # Agents never closes the OpenAI clients of its local runner, so kept-alive
    # connections would end as unclosed sockets.
    server: _Server
    timeout = 30  # for clients that connect and say nothing

    def do_POST(self) -> None:
        if self.path != "/v1/chat/completions":
            self._fail(HTTPStatus.NOT_FOUND, f"no such path: {self.path}")
            return
        try:
            body = self._body()
        except ValueError as error:
            self._fail(HTTPStatus.BAD_REQUEST, str(error))
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        self._answer(body, self.server.llm.reply_to(Request(body, headers)))

    def _body(self) -> dict[str, Any]:
        length = int(self.headers.get("content-length", 0))
        if length > MAX_BODY:
            raise ValueError(f"{length} bytes are more than {MAX_BODY}")
        body = json.loads(self.rfile.read(length))
        if not isinstance(body, dict) or body.get("stream"):
            raise ValueError("the body must be an object, and streaming is not built")
        return body

    def _answer(self, body: dict[str, Any], reply: Reply) -> None:
        # Not time.sleep(): closing the server ends the waiting.
        self.server.llm.closing.wait(reply.delay)
        if reply.code == HTTPStatus.OK:
            model = str(body.get("model", "scripted"))
            self._send(reply.code, self.server.llm.completion(reply, model), {})
        else:
            message = reply.content or f"scripted status {reply.code}"
            self._fail(reply.code, message, reply.retry_after)

    def _fail(self, code: int, message: str, retry_after: float | None = None) -> None:
        error = {"message": message, "type": f"scripted_{code}"}
        self._send(code, {"error": error}, _retry_headers(retry_after))

    def _send(self, code: int, body: Any, headers: Mapping[str, str]) -> None:
        payload = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(payload)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(payload)

    def log_message(self, *_: object) -> None:
        """Say nothing: the requests are kept, not printed."""
