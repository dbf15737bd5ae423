"""What is known of the connection behind a session with an MCP server.

The patches of this file learn it: a session does not know its transport.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from opentelemetry import context as otel_context
from opentelemetry.exporter.flink_agents._guard import guarded
from opentelemetry.instrumentation.flink_agents import semconv
from opentelemetry.instrumentation.flink_agents._identity import IdentityMap
from opentelemetry.instrumentation.flink_agents._patching import Patch
from opentelemetry.instrumentation.flink_agents._text import (
    deepest_cause,
    error_type,
    safe,
)

if TYPE_CHECKING:
    from opentelemetry.instrumentation.flink_agents._core import Core
    from opentelemetry.instrumentation.flink_agents._metrics import Instruments

_WRITER = 3, "read_stream_writer"
"""Where `post_writer` is told which stream it hands on to."""
_PORTS = {"http": 80, "https": 443}


class Connection:
    """One session of a client, from its first request."""

    def __init__(self, instruments: Instruments) -> None:
        self.instruments = instruments
        self.started_ns = time.time_ns()
        self.protocol_version: str | None = None

    def about(self, transport: Any) -> dict[str, Any]:
        """Return what spans say of the connection.

        Args:
            transport: that of streamable HTTP; None where it is another or unknown.
        """
        found: dict[str, Any] = {}
        if self.protocol_version is not None:
            found[semconv.MCP_PROTOCOL_VERSION] = safe(self.protocol_version)
        if transport is not None:
            found.update(server_attributes(transport.url))
            if transport.session_id is not None:
                found[semconv.MCP_SESSION_ID] = safe(str(transport.session_id))
        return found


class Connections:
    """Connections by session, and transports by the stream that both hold."""

    def __init__(self) -> None:
        self._of_sessions: IdentityMap[Connection] = IdentityMap()
        self._transports: IdentityMap[Any] = IdentityMap()

    def of(self, session: Any, instruments: Instruments) -> Connection:
        """Return the connection of `session`, new at its first request in a run."""
        found = self._of_sessions.get(session)
        if found is None:
            found = Connection(instruments)
            self._of_sessions.set(session, found)
        return found

    @guarded
    def closing(self, session: Any, error: BaseException | None) -> None:
        """Measure a session that is about to close because of `error`, if any."""
        found = self._of_sessions.get(session)
        if found is None:
            return  # nothing was asked in it inside a run
        self._of_sessions.discard(session)
        attributes = found.about(self.transport_of(session))
        if error is not None:
            attributes[semconv.ERROR_TYPE] = safe(error_type(deepest_cause(error)))
        found.instruments.mcp_session_ended(
            attributes,
            time.time_ns() - found.started_ns,
            otel_context.get_current(),
        )

    @guarded
    def writes_to(self, transport: Any, stream: Any) -> None:
        """Take note that `transport` hands what it receives to `stream`."""
        self._transports.set(_state(stream), transport)

    def transport_of(self, session: Any) -> Any:
        """Return the streamable HTTP transport that `session` reads from, or None."""
        state = _state(getattr(session, "_read_stream", None))
        return None if state is None else self._transports.get(state)


def _state(stream: Any) -> Any:
    """What both ends of a memory stream of anyio hold."""
    return getattr(stream, "_state", None)


def server_attributes(url: str) -> dict[str, Any]:
    """Return what spans say of a server that is reached by streamable HTTP."""
    parts = urlsplit(url)
    found: dict[str, Any] = {
        semconv.NETWORK_TRANSPORT: semconv.NETWORK_TRANSPORT_TCP,
        semconv.NETWORK_PROTOCOL_NAME: "http",
    }
    if parts.hostname:
        found[semconv.SERVER_ADDRESS] = safe(parts.hostname)
        port = parts.port or _PORTS.get(parts.scheme)
        if port is not None:
            found[semconv.SERVER_PORT] = port
    return found


def server_facts(core: Core, server: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return metadata and attributes of a tool that lives on `server`.

    Args:
        core: the shared state.
        server: the host's `MCPServer`.
    """
    name = core.resource_names.get(server)
    metadata = {} if name is None else {"mcp_server": name}
    return metadata, server_attributes(str(server.endpoint))


def patches(connections: Connections) -> list[Patch]:
    """Return the patches of this file."""

    def close(
        wrapped: Any, _: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        session, _kind, error, *_rest = (*args, None, None, None)
        connections.closing(session, error)
        return wrapped(*args, **kwargs)

    def write(
        wrapped: Any, _: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        position, name = _WRITER
        stream = args[position] if len(args) > position else kwargs.get(name)
        if stream is not None:
            connections.writes_to(args[0], stream)
        return wrapped(*args, **kwargs)

    return [
        Patch("mcp.shared.session", "BaseSession.__aexit__", close),
        Patch(
            "mcp.client.streamable_http",
            "StreamableHTTPTransport.post_writer",
            write,
        ),
    ]
