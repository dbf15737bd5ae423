"""A call of a tool on an MCP server is one execution; the agent sees no difference."""

import asyncio
import contextlib
import json
from datetime import timedelta
from inspect import signature

import pytest
from flink_agents.api.resource import ResourceType
from mcp.client.session import ClientSession
from mcp.client.streamable_http import streamablehttp_client
from mcp.shared.exceptions import McpError
from mcp.types import (
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    ClientRequest,
)
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

import receiving
from hosting import local_runner, log_lines
from mcp_agents import Equipped, equipped, for_a_session, outcome, served
from opentelemetry import baggage, context, propagate
from opentelemetry.exporter.flink_agents._guard import faults
from opentelemetry.instrumentation.flink_agents import uninstrument
from probing import perform, play
from telling import ended, tracing


@pytest.fixture(scope="module")
def endpoint():
    with served() as (url, _):
        yield url


@pytest.fixture
def calling(endpoint):
    """Call a tool of the server, as an agent's own action does; return its outcome."""

    def call(name, *, url=endpoint, timeout=30, **arguments):
        with equipped(url, timeout):
            return called(local_runner(Equipped()), name, arguments)

    return call


def called(runner, name, arguments):
    seen = []

    def act(_, ctx):
        tool = ctx.get_resource(name, ResourceType.TOOL)
        seen.append(outcome(lambda: tool.call(**arguments)))

    perform(runner, act)
    return seen[0]


def inputs(lines):
    """What tools were called with, which their first records say."""
    return [
        line["event_attributes"]["input"]
        for line in lines
        if line.get("entity_type") == "tool" and line["status"] == "started"
    ]


def brief(line):
    return {
        name: line.get(name)
        for name in ("entity_name", "status", "problem_category", "entity_metadata")
    } | {
        name: line["event_attributes"].get(name)
        for name in ("error_type", "error_message")
    }


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (("add", {"a": 1, "b": 2}), None),
        (("picture", {}), None),
        (("fill", {"size": 5 * 2**20}), None),
        (
            ("refuse", {"reason": "too late"}),
            ("tool_error", "Error executing tool refuse: too late"),
        ),
    ],
)
def test_a_call_is_one_execution_and_gives_what_it_gave_before(
    calling, instrument, tmp_path, call, error
):
    name, arguments = call
    before = calling(name, **arguments)
    instrument()

    assert calling(name, **arguments) == before

    [tool] = ended(log_lines(tmp_path / "log"), "tool")
    kind, message = error or (None, None)
    assert brief(tool) == {
        "entity_name": name,
        "status": "failed" if error else "finished",
        "problem_category": "tool_call_failed" if error else None,
        "entity_metadata": {"tool_type": "mcp", "mcp_server": "toolbox"},
        "error_type": kind,
        "error_message": message,
    }


def renamed(runner, name, arguments):
    """Call a tool that the server does not have."""
    seen = []

    def act(_, ctx):
        tool = ctx.get_resource("add", ResourceType.TOOL)
        server = tool.mcp_server
        seen.append(
            outcome(lambda: asyncio.run(server.call_tool_async(name, **arguments)))
        )

    perform(runner, act)
    return seen[0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (("nothing", {}), "Unknown tool: nothing"),
        (("add", {"a": "one"}), "validation error"),
    ],
)
def test_a_call_that_the_server_cannot_make_failed_without_an_exception(
    endpoint, instrument, tmp_path, call, message
):
    name, arguments = call
    with equipped(endpoint):
        before = renamed(local_runner(Equipped()), name, arguments)
        instrument()
        assert renamed(local_runner(Equipped()), name, arguments) == before

    [tool] = ended(log_lines(tmp_path / "log"), "tool")
    told = brief(tool)
    assert message in told.pop("error_message")
    assert told == {
        "entity_name": name,
        "status": "failed",
        "problem_category": "tool_call_failed",
        "entity_metadata": {"tool_type": "mcp", "mcp_server": "toolbox"},
        "error_type": "tool_error",
    }


def test_a_call_that_takes_too_long_raises_what_it_raised_before(
    calling, instrument, tmp_path
):
    before = calling("wait", timeout=1, seconds=30)
    provider, exporter = tracing()
    instrument(tracer_provider=provider)

    assert calling("wait", timeout=1, seconds=30) == before

    [tool] = ended(log_lines(tmp_path / "log"), "tool")
    told = brief(tool)
    assert "Timed out" in told.pop("error_message")
    assert told == {
        "entity_name": "wait",
        "status": "failed",
        "problem_category": "tool_call_failed",
        "entity_metadata": {"tool_type": "mcp", "mcp_server": "toolbox"},
        "error_type": f"{McpError.__module__}.McpError",
    }
    [span] = [each for each in exporter.get_finished_spans() if "wait" in each.name]
    assert span.attributes["rpc.response.status_code"] == "408"


def test_a_server_that_dies_in_the_middle_of_a_call_fails_it_and_no_other(
    instrument, tmp_path
):
    def dying():
        with served() as (url, _), equipped(url, timeout=5):
            runner = local_runner(Equipped())
            first = called(runner, "add", {"a": 1, "b": 2})
            return first, called(runner, "die", {}), called(runner, "add", {"a": 1})

    before = dying()
    instrument()

    after = dying()

    assert types_of(after) == types_of(before)
    added, died, unreachable = ended(log_lines(tmp_path / "log"), "tool")
    assert [each["status"] for each in (added, died, unreachable)] == [
        "finished",
        "failed",
        "failed",
    ]
    assert unreachable["event_attributes"]["error_type"] == "httpcore.ConnectError"
    assert {each["entity_metadata"]["mcp_server"] for each in (died, unreachable)} == {
        "toolbox"
    }


def types_of(outcomes):
    """Outcomes without messages, which name ports."""
    return [
        (each[0], types_of(each[2])) if isinstance(each, tuple) else each
        for each in outcomes
    ]


def test_fifty_calls_at_once_are_fifty_executions_of_one_action(
    endpoint, instrument, tmp_path
):
    provider, exporter = tracing()
    instrument(tracer_provider=provider)
    answers = []

    async def call_all(server):
        answers.extend(
            await asyncio.gather(
                *(server.call_tool_async("add", a=n, b=n) for n in range(50))
            )
        )

    def act(_, ctx):
        asyncio.run(call_all(ctx.get_resource("toolbox", ResourceType.MCP_SERVER)))

    with equipped(endpoint):
        perform(local_runner(Equipped()), act)

    assert answers == [[str(2 * n)] for n in range(50)]
    lines = log_lines(tmp_path / "log")
    tools = ended(lines, "tool")
    assert sorted(each["a"] for each in inputs(lines)) == [*range(50)]
    assert {tool["entity_metadata"]["mcp_server"] for tool in tools} == {"toolbox"}
    spans = exporter.get_finished_spans()
    by_id = {span.context.span_id: span for span in spans}
    parents = {
        by_id[span.parent.span_id].name
        for span in spans
        if span.name == "execute_tool add"
    }
    assert parents == {"action act"}
    # Each opened a session of its own, inside its own span.
    handshakes = [span.parent.span_id for span in spans if span.name == "initialize"]
    assert len(set(handshakes)) == len(tools)


MCP = ("mcp.", "network.", "server.", "jsonrpc.", "rpc.", "gen_ai.", "error.")


def said(span):
    """What a span says by the conventions, ids and ports named."""
    found = {
        name: value
        for name, value in span.attributes.items()
        if name.startswith(MCP) and name != "gen_ai.agent.name"
    }
    for name in ("mcp.session.id", "server.port"):
        if name in found:
            found[name] = name
    return found


HTTP = {
    "network.protocol.name": "http",
    "network.transport": "tcp",
    "server.address": "127.0.0.1",
    "server.port": "server.port",
}
CONNECTED = {
    **HTTP,
    "mcp.protocol.version": "PROTOCOL",
    "mcp.session.id": "mcp.session.id",
}


def connected(spans):
    versions = {
        span.attributes["mcp.protocol.version"]
        for span in spans
        if "mcp.protocol.version" in span.attributes
    }
    assert len(versions) == 1
    return CONNECTED | {"mcp.protocol.version": versions.pop()}


def test_the_span_of_the_tool_is_the_span_of_the_request(calling, instrument):
    provider, exporter = tracing()
    instrument(tracer_provider=provider)

    calling("add", a=1, b=2)

    spans = exporter.get_finished_spans()
    known = connected(spans)
    assert {span.name: (span.kind.name, said(span)) for span in spans} == {
        "initialize": (
            "CLIENT",
            {"mcp.method.name": "initialize", "jsonrpc.request.id": "0", **known},
        ),
        "tools/list": (
            "CLIENT",
            {"mcp.method.name": "tools/list", "jsonrpc.request.id": "2", **known},
        ),
        "execute_tool add": (
            "INTERNAL",
            {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": "add",
                "gen_ai.tool.type": "extension",
                "mcp.method.name": "tools/call",
                "jsonrpc.request.id": "1",
                **known,
            },
        ),
        "action act": ("INTERNAL", {}),
        "invoke_agent Equipped": (
            "INTERNAL",
            {"gen_ai.operation.name": "invoke_agent"},
        ),
    }


def test_prompts_and_lists_are_client_spans_and_no_executions(
    endpoint, instrument, tmp_path
):
    provider, exporter = tracing()
    instrument(tracer_provider=provider)
    messages = []

    def act(_, ctx):
        server = ctx.get_resource("toolbox", ResourceType.MCP_SERVER)
        messages.extend(server.get_prompt("greeting", {"name": "Ada"}))
        messages.append(outcome(lambda: server.get_prompt("nothing")))
        server.list_tools()

    with equipped(endpoint):
        perform(local_runner(Equipped()), act)

    assert messages[0].content == "Greet Ada."
    spans = {
        span.name: (span.kind.name, span.status.status_code.name, said(span))
        for span in exporter.get_finished_spans()
    }
    known = connected(exporter.get_finished_spans())
    asked = {"mcp.method.name": "prompts/get", "jsonrpc.request.id": "1", **known}
    assert spans["prompts/get greeting"] == (
        "CLIENT",
        "UNSET",
        {**asked, "gen_ai.prompt.name": "greeting"},
    )
    kind, status, attributes = spans["prompts/get nothing"]
    code = attributes.pop("rpc.response.status_code")
    assert (kind, status, attributes) == (
        "CLIENT",
        "ERROR",
        {**asked, "gen_ai.prompt.name": "nothing", "error.type": code},
    )
    assert spans["tools/list"][0] == "CLIENT"
    assert ended(log_lines(tmp_path / "log"), "tool") == []


@contextlib.asynccontextmanager
async def session_at(endpoint):
    async with (
        streamablehttp_client(endpoint) as (read, write, _),
        ClientSession(read, write) as session,
    ):
        await session.initialize()
        yield session


LATE = timedelta(seconds=20)
WAYS = {
    "by position": lambda session: session.call_tool("add", {"a": 1, "b": 2}, LATE),
    "by name": lambda session: session.call_tool(
        name="add", arguments={"a": 1, "b": 2}, read_timeout_seconds=LATE
    ),
    "as a request": lambda session: session.send_request(
        ClientRequest(
            CallToolRequest(
                method="tools/call",
                params=CallToolRequestParams(name="add", arguments={"a": 1, "b": 2}),
            )
        ),
        CallToolResult,
    ),
    "as a request by name": lambda session: session.send_request(
        result_type=CallToolResult,
        request=ClientRequest(
            CallToolRequest(
                method="tools/call",
                params=CallToolRequestParams(name="add", arguments={"a": 1, "b": 2}),
            )
        ),
    ),
}


def in_session(endpoint, body):
    """Run `body` with a session that an action of the user's opens; its result."""
    seen = []

    async def use(url):
        async with session_at(url) as session:
            return await body(session)

    with for_a_session(endpoint) as url:
        play(lambda *_: seen.append(outcome(lambda: asyncio.run(use(url)))))
    return seen[0]


@pytest.mark.parametrize("way", WAYS)
def test_a_session_of_the_users_own_works_as_before_and_its_calls_are_executions(
    endpoint, instrument, tmp_path, monkeypatch, way
):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    before = in_session(endpoint, WAYS[way])
    provider, exporter = tracing()
    instrument(tracer_provider=provider)

    assert in_session(endpoint, WAYS[way]) == before

    lines = log_lines(tmp_path / "log")
    [tool] = ended(lines, "tool")
    assert (tool["entity_name"], tool["status"]) == ("add", "finished")
    assert tool["entity_metadata"] == {"tool_type": "mcp"}
    assert inputs(lines) == [{"a": 1, "b": 2}]
    names = sorted(span.name for span in exporter.get_finished_spans())
    assert [name for name in names if "add" in name] == ["execute_tool add"]


def carried(session, **arguments):
    return session.call_tool("carried", **arguments)


def meta_of(result):
    """What the server found in `_meta`."""
    return json.loads(result.content[0].text)


def test_a_request_carries_the_context_of_its_tool(endpoint, instrument, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    provider, exporter = tracing()
    instrument(tracer_provider=provider)

    meta = meta_of(in_session(endpoint, carried))

    [span] = [each for each in exporter.get_finished_spans() if "carried" in each.name]
    ids = f"{span.context.trace_id:032x}-{span.context.span_id:016x}"
    assert list(meta) == ["traceparent"]
    assert meta["traceparent"].startswith(f"00-{ids}-")


@pytest.mark.skipif(
    "meta" not in signature(ClientSession.call_tool).parameters,
    reason="calls take `meta` from mcp 1.19",
)
def test_what_the_application_puts_into_a_request_stays(
    endpoint, instrument, monkeypatch
):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    instrument()
    meta = {"traceparent": "theirs", "tenant": "shop"}

    seen = in_session(endpoint, lambda session: carried(session, meta=meta))

    assert meta_of(seen) == {"traceparent": "theirs", "tenant": "shop"}
    assert meta == {"traceparent": "theirs", "tenant": "shop"}


def test_baggage_is_carried_too(endpoint, instrument, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    provider, _ = tracing()
    instrument(tracer_provider=provider)

    async def with_baggage(session):
        token = context.attach(baggage.set_baggage("tenant", "shop"))
        try:
            return await carried(session)
        finally:
            context.detach(token)

    meta = meta_of(in_session(endpoint, with_baggage))

    assert meta["baggage"] == "tenant=shop"


def test_outside_a_run_nothing_is_carried_and_nothing_is_recorded(
    endpoint, instrument, tmp_path, monkeypatch
):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    provider, exporter = tracing()
    instrument(tracer_provider=provider)

    async def use(url):
        async with session_at(url) as session:
            return await carried(session)

    with for_a_session(endpoint) as url:
        assert meta_of(asyncio.run(use(url))) == {}
    assert exporter.get_finished_spans() == ()
    assert not (tmp_path / "log").exists()


def test_requests_and_sessions_are_measured(endpoint, instrument):
    reader = InMemoryMetricReader()
    instrument(meter_provider=MeterProvider([reader], shutdown_on_exit=False))

    def act(_, ctx):
        ctx.get_resource("refuse", ResourceType.TOOL).call(reason="no")

    with equipped(endpoint):
        perform(local_runner(Equipped()), act)

    found = {
        metric.name: [
            (point.count, dict(point.attributes)) for point in metric.data.data_points
        ]
        for resource in reader.get_metrics_data().resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
        if metric.name.startswith("mcp.")
    }
    sessions = found["mcp.client.session.duration"]
    requests = {
        attributes["mcp.method.name"]: (count, attributes)
        for count, attributes in found["mcp.client.operation.duration"]
    }
    assert sessions[0][0] == 1
    assert set(requests) == {"initialize", "tools/call"}
    count, attributes = requests["tools/call"]
    assert count == 1
    assert attributes["error.type"] == "tool_error"
    assert attributes["gen_ai.tool.name"] == "refuse"
    assert "mcp.session.id" not in attributes


def test_a_propagator_that_fails_costs_the_context_and_not_the_call(
    endpoint, instrument, monkeypatch
):
    monkeypatch.setattr(faults, "reraise", False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    provider, exporter = tracing()
    instrument(tracer_provider=provider)

    def inject(*_):
        raise RuntimeError("a fault of a propagator")

    monkeypatch.setattr(propagate, "inject", inject)

    assert meta_of(in_session(endpoint, carried)) == {}

    assert "execute_tool carried" in {
        span.name for span in exporter.get_finished_spans()
    }


SERVER = """
from opentelemetry import propagate, trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from mcp.server.fastmcp import Context
import mcp_server

provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter()))
tracer = provider.get_tracer("a server")

@mcp_server.server.tool()
def look_up(ctx: Context) -> str:
    meta = ctx.request_context.meta.model_dump()
    with tracer.start_as_current_span("look up", propagate.extract(meta)):
        return "found"

mcp_server.main()
"""


def test_a_server_in_another_process_goes_on_with_the_trace(instrument):
    with receiving.http_backend() as backend:
        variables = dict(backend.variables, NO_PROXY="127.0.0.1")
        with backend.in_force(), served(SERVER, **variables) as (url, _), equipped(url):
            instrument(otlp=True)

            assert called(local_runner(Equipped()), "look_up", {}) == ["found"]
            uninstrument()

    spans = {span.name: span for span in backend.whole}
    assert {span.trace_id for span in spans.values()} == {
        spans["invoke_agent Equipped"].trace_id
    }
    assert spans["look up"].parent_span_id == spans["execute_tool look_up"].span_id
    assert spans["execute_tool look_up"].parent_span_id == spans["action act"].span_id
