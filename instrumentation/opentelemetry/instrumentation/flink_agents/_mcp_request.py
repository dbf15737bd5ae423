"""One request to an MCP server: what its span says, and the context that it carries.

MCP semantic conventions 1.41: the span of a tool that is traced already takes the
attributes of the request; every other request has a client span of its own.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import wrapt
from opentelemetry.instrumentation.utils import is_instrumentation_enabled

from opentelemetry import context as otel_context
from opentelemetry import propagate
from opentelemetry.exporter.flink_agents._guard import guarded
from opentelemetry.instrumentation.flink_agents import semconv
from opentelemetry.instrumentation.flink_agents._operation_spans import OperationSpan
from opentelemetry.instrumentation.flink_agents._text import (
    deepest_cause,
    error_type,
    safe,
)

if TYPE_CHECKING:
    from opentelemetry.instrumentation.flink_agents._executions import OpenExecution
    from opentelemetry.instrumentation.flink_agents._mcp_connection import Connections

# By method: attribute, and where the request has it.
_TARGETS = {
    semconv.METHOD_TOOLS_CALL: (semconv.GEN_AI_TOOL_NAME, "name"),
    "prompts/get": (semconv.GEN_AI_PROMPT_NAME, "name"),
}
_RESOURCES = frozenset({"resources/read", "resources/subscribe"})


class CarryingRequest(wrapt.ObjectProxy):  # type: ignore[type-arg,unused-ignore]
    """A request that carries the current context when it is written down.

    The request itself, which is the application's, stays as it is.
    """

    def model_dump(self, *args: Any, **kwargs: Any) -> Any:
        """Return what the request says, with the context in `params._meta`."""
        data = self.__wrapped__.model_dump(*args, **kwargs)
        _carry(data)
        return data


@guarded
def _carry(data: dict[str, Any]) -> None:
    if not is_instrumentation_enabled():
        return
    carrier: dict[str, str] = {}
    propagate.inject(carrier)
    if carrier:
        meta = data.setdefault("params", {}).setdefault("_meta", {})
        for key, value in carrier.items():
            meta.setdefault(key, value)  # the application's own stays


class McpRequest:
    """Follows one request of a session inside a run.

    Args:
        connections: what is known of sessions.
        session: the client session.
        request: what is sent.
        around: the innermost execution.
        tool: the execution of this very call of a tool; None for other requests.
        opened: the same if it ends with the request.
    """

    def __init__(
        self,
        connections: Connections,
        session: Any,
        request: Any,
        around: OpenExecution,
        *,
        tool: OpenExecution | None,
        opened: OpenExecution | None,
    ) -> None:
        self._session, self._connections = session, connections
        self._instruments = around.run.session.instruments
        self._connection = connections.of(session, self._instruments)
        self._tool, self._opened = tool, opened
        self._started_ns = time.time_ns()
        name, self._attributes = _described(request, session)
        self._attributes.update(self._about())
        self._span: OperationSpan | None = None
        self.context = otel_context.get_current()
        if tool is not None:
            tool.show(self._attributes)
            self.context = tool.context
        else:
            self._span = OperationSpan(
                around, name, dict(self._attributes), self.context
            )
            self.context = self._span.context

    def _about(self) -> dict[str, Any]:
        return self._connection.about(self._connections.transport_of(self._session))

    @guarded
    def returned(self, value: Any) -> None:
        """Read the answer: an error of a tool is a failure that is not raised."""
        if self._opened is not None:
            self._opened.returned(value)
        version = getattr(value, "protocolVersion", None)
        if version is not None:
            self._connection.protocol_version = str(version)
        if getattr(value, "isError", None) is True:
            self._attributes[semconv.ERROR_TYPE] = semconv.ERROR_TYPE_TOOL_ERROR
            if self._tool is not None:
                self._tool.failure = semconv.ERROR_TYPE_TOOL_ERROR, _text_of(value)

    @guarded
    def ended_by(self, error: BaseException | None) -> None:
        """Say how it ended, and how long it took."""
        self._attributes.update(self._about())
        if self._tool is not None:
            self._tool.show(self._attributes)
        elif self._span is not None:
            self._span.show(self._attributes)
        if error is not None:
            self._name_error(deepest_cause(error))
        took = time.time_ns() - self._started_ns
        self._instruments.mcp_request_ended(self._attributes, took, self.context)
        if self._opened is not None:
            self._opened.ended_by(error)
        elif self._span is not None:
            self._span.ended_by(error, self._attributes.get(semconv.ERROR_TYPE))

    def _name_error(self, cause: BaseException) -> None:
        code = getattr(getattr(cause, "error", None), "code", None)
        if isinstance(code, int):
            told = {semconv.RPC_RESPONSE_STATUS_CODE: str(code)}
            self._attributes.update(told)
            self._attributes[semconv.ERROR_TYPE] = str(code)
            if self._tool is not None:
                self._tool.show(told)
            elif self._span is not None:
                self._span.show(told)
        else:
            self._attributes[semconv.ERROR_TYPE] = safe(error_type(cause))


def _described(request: Any, session: Any) -> tuple[str, dict[str, Any]]:
    """Return name and attributes of the span of a request."""
    name = method = str(request.method)
    attributes: dict[str, Any] = {semconv.MCP_METHOD_NAME: safe(method)}
    params: Any = getattr(request, "params", None)
    if method in _TARGETS:
        key, field = _TARGETS[method]
        target = safe(str(getattr(params, field)))
        name, attributes[key] = f"{method} {target}", target
    if method == semconv.METHOD_TOOLS_CALL:
        attributes[semconv.GEN_AI_OPERATION_NAME] = semconv.OPERATION_EXECUTE_TOOL
    if method in _RESOURCES:
        attributes[semconv.MCP_RESOURCE_URI] = safe(str(params.uri))
    number = getattr(session, "_request_id", None)
    if number is not None:
        attributes[semconv.JSONRPC_REQUEST_ID] = str(number)
    return name, attributes


def _text_of(result: Any) -> str:
    """Return what a result of a tool says in words."""
    texts = (getattr(item, "text", None) for item in result.content)
    return "\n".join(text for text in texts if isinstance(text, str))
