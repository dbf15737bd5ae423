"""One Jaeger for all tests, and the demo's agent."""

from __future__ import annotations

import logging

import pytest
from flink_agents.runtime.local_execution_environment import LocalExecutionEnvironment

import binaries
from order_agent import PaymentRefusedError, process
from order_script import (
    FAILING_TOOL,
    FAILING_TOOL_REPLIES,
    TOOLS,
    TOOLS_REPLIES,
    UNPARSABLE,
    UNPARSABLE_REPLIES,
)
from scripted_llm import ScriptedLLM

SCRIPTS = {
    "fine": (TOOLS, TOOLS_REPLIES),
    "repeated": (UNPARSABLE, UNPARSABLE_REPLIES),
    "failed": (FAILING_TOOL, FAILING_TOOL_REPLIES),
}


@pytest.fixture(scope="session")
def jaeger(tmp_path_factory):
    with binaries.jaeger(tmp_path_factory.mktemp("jaeger")) as running:
        yield running


@pytest.fixture
def sending(monkeypatch):
    """Let `otlp=True` send to a receiver."""

    def to(receiver: binaries.Receiver, protocol: str = "grpc") -> None:
        for name, value in receiver.variables(protocol).items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    return to


@pytest.fixture
def order(monkeypatch):
    """Run the order agent once: `fine`, `repeated` or `failed`."""
    logging.getLogger("flink_agents").setLevel(logging.CRITICAL)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    # The host keeps one configuration for all local environments of a process.
    shared = LocalExecutionEnvironment().get_config()
    monkeypatch.setattr(shared, "conf_data", dict(shared.conf_data))

    def run(how: str) -> None:
        question, replies = SCRIPTS[how]
        with ScriptedLLM(replies) as server:
            monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
            try:
                process([question])
            except PaymentRefusedError:
                assert how == "failed"

    return run
