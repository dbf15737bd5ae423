"""What tools and chat models ask of others over HTTP continues our trace.

The clients' own instrumentations send the context; ours puts it where they look.
"""

from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
import requests
from flink_agents.api.chat_message import ChatMessage
from opentelemetry.instrumentation.httpx import HTTPXClientInstrumentor
from opentelemetry.instrumentation.requests import RequestsInstrumentor
from opentelemetry.instrumentation.threading import ThreadingInstrumentor
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

from hosting import brief, log_lines
from opentelemetry.instrumentation.flink_agents._flink_context import CarryingExecutor
from probing import CoroutineStage, chat_model, play, tool
from providing import ids

CLIENTS = {
    "httpx": (HTTPXClientInstrumentor, lambda url: httpx.get(url).text),
    "requests": (RequestsInstrumentor, lambda url: requests.get(url, timeout=9).text),
}


@pytest.fixture(params=CLIENTS)
def ask(request, beside, service):
    """Ask the service by a client that is instrumented; gives "ok"."""
    instrumentor, get = CLIENTS[request.param]
    beside(instrumentor())
    return lambda: get(service.url)


@pytest.fixture
def asked_below(provider, service, tenant):
    """Assert that the service was asked once, below the span of that name."""

    def check(name):
        [asked] = service.asked
        [client] = [span for span in provider.spans if span.name == "GET"]
        [around] = [span for span in provider.spans if span.name == name]
        assert asked == (ids(client), tenant)
        assert client.parent == around.context
        assert len({span.context.trace_id for span in provider.spans}) == 1

    return check


def test_out_of_a_tool(instrument, provider, ask, asked_below):
    instrument(tracer_provider=provider)

    play(lambda *_: tool(ask).call())

    asked_below("execute_tool probe")


def test_out_of_a_chat_model(instrument, provider, ask, asked_below):
    instrument(tracer_provider=provider)
    model = chat_model(lambda _: ChatMessage(content=ask()))

    play(lambda *_: model.chat([]))

    asked_below("chat probe-1")


def test_out_of_an_action_itself(instrument, provider, ask, asked_below):
    instrument(tracer_provider=provider)

    play(lambda *_: ask())

    asked_below("action act")


def test_out_of_a_durable_call(instrument, provider, ask, asked_below):
    instrument(tracer_provider=provider)

    async def body(_, ctx):
        await ctx.durable_execute_async(tool(ask).call)

    play(body, agent=CoroutineStage)

    asked_below("execute_tool probe")


def test_out_of_a_thread_of_the_hosts_executor(instrument, provider, ask, asked_below):
    instrument(tracer_provider=provider)

    def body(*_):
        with ThreadPoolExecutor(1) as pool:
            # As the Flink context has it while it is instrumented.
            assert CarryingExecutor(pool).submit(tool(ask).call).result() == "ok"

    play(body)

    asked_below("execute_tool probe")


def test_out_of_a_pool_of_the_users_beside_the_instrumentation_of_threads(  # noqa: PLR0917
    instrument, provider, beside, ask, asked_below, tmp_path
):
    beside(ThreadingInstrumentor())
    instrument(tracer_provider=provider)

    def body(*_):
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(tool(ask).call).result() == "ok"

    play(body)

    asked_below("execute_tool probe")
    assert brief(log_lines(tmp_path / "log")) == [
        "_input_event",
        "action act started",
        "tool probe started",
        "tool probe finished",
        "action act finished",
    ]


def test_a_run_that_is_not_sampled_says_so_to_whom_it_asks(
    instrument, provider, ask, service, tenant
):
    provider.sampler = ALWAYS_OFF
    instrument(tracer_provider=provider)

    play(lambda *_: tool(ask).call())

    assert provider.spans == []
    [asked] = service.asked
    assert asked.baggage == tenant
