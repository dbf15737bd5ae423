"""Agents with tools on a real MCP server, and the server's process."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
from flink_agents.api.agents.agent import Agent
from flink_agents.api.decorators import action, mcp_server
from flink_agents.api.events.event import Event
from flink_agents.api.resource import ResourceDescriptor, ResourceName
from flink_agents.api.runner_context import RunnerContext
from mcp.client.session import ClientSession
from mcp.client.streamable_http import streamablehttp_client

import probing
from hosting import ON_INPUT, TYPED_EVENTS
from processes import environment

# The first SDK with this transport: the host needs the next, and a server of it
# takes one session.
IS_FIRST = "auth" not in signature(streamablehttp_client).parameters
_SERVER = Path(__file__).with_name("mcp_server.py")
_ENDPOINT: list[tuple[str, int]] = []


class Equipped(Agent):
    """Has the tools of the server in force, and does what a test says."""

    @mcp_server
    @staticmethod
    def toolbox() -> ResourceDescriptor:
        endpoint, timeout = _ENDPOINT[-1]
        clazz = getattr(ResourceName.MCP_SERVER, "value", ResourceName.MCP_SERVER)
        return ResourceDescriptor(clazz=clazz, endpoint=endpoint, timeout=timeout)

    @action(ON_INPUT)
    @staticmethod
    def act(event: Event, ctx: RunnerContext) -> None:
        probing.body()(event, ctx)


@contextlib.contextmanager
def served(
    code: str | None = None, **variables: object
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Run a server; give its endpoint and its process."""
    what = [str(_SERVER)] if code is None else ["-c", code]
    process = subprocess.Popen(
        [sys.executable, *what],
        env=environment(**variables),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        port = int(process.stdout.readline())
        yield f"http://127.0.0.1:{port}/mcp", process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@contextlib.contextmanager
def for_a_session(endpoint: str) -> Iterator[str]:
    """Give where a session can be opened: at `endpoint` if it takes many."""
    if not IS_FIRST:
        yield endpoint
        return
    with served() as (another, _):
        yield another


@contextlib.contextmanager
def equipped(endpoint: str, timeout: int = 30) -> Iterator[None]:
    """Let agents made inside have the tools of the server at `endpoint`."""
    if IS_FIRST or (
        not TYPED_EVENTS and not hasattr(ClientSession, "get_server_capabilities")
    ):
        pytest.skip("this host's own client needs a later mcp")
    _ENDPOINT.append((endpoint, timeout))
    # A proxy, if one is configured, cannot reach the loopback address.
    before = os.environ.get("NO_PROXY")
    os.environ["NO_PROXY"] = "127.0.0.1"
    try:
        yield
    finally:
        _ENDPOINT.pop()
        os.environ.pop("NO_PROXY")
        if before is not None:
            os.environ["NO_PROXY"] = before


def outcome(body: Any) -> Any:
    """What `body` gives or raises, in a form that can be compared."""
    try:
        return body()
    except BaseException as error:  # noqa: BLE001  # compared with the same without us
        return _told(error)


def _told(error: BaseException) -> Any:
    members = getattr(error, "exceptions", ())
    return type(error), str(error), [_told(each) for each in members]
