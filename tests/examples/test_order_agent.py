"""The demo's agent on the real local runner, without instrumentation."""

import json
import logging
from contextlib import ExitStack

import pytest
from flink_agents.runtime.local_execution_environment import LocalExecutionEnvironment

from hosting import TYPED_EVENTS

if TYPED_EVENTS:
    pytest.skip(
        "the examples are written for hosts with type strings, from 0.3",
        allow_module_level=True,
    )

from order_agent import PaymentRefusedError, process
from order_script import (
    FAILING_TOOL,
    FAILING_TOOL_REPLIES,
    LAMPS_ACCEPTED,
    MUG_DECLINED,
    ORDERS,
    REPLIES,
    TOOLS,
    TOOLS_REPLIES,
    UNPARSABLE,
    UNPARSABLE_REPLIES,
)
from scripted_llm import Reply, ScriptedLLM


@pytest.fixture(autouse=True)
def _own_settings(monkeypatch):
    for variable in ("OPENAI_API_KEY", "OPENAI_MODEL"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    # The host keeps one configuration for all local environments of a process.
    shared = LocalExecutionEnvironment().get_config()
    monkeypatch.setattr(shared, "conf_data", dict(shared.conf_data))


@pytest.fixture
def serve(monkeypatch):
    with ExitStack() as servers:

        def start(replies):
            server = servers.enter_context(ScriptedLLM(replies))
            monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
            return server

        yield start


def sent_messages(request):
    """Pairs of role and content; the system prompt, always first, is left out."""
    messages = request.body["messages"][1:]
    return [(message["role"], message["content"]) for message in messages]


def test_the_orders_of_the_demo_end_as_scripted(serve):
    server = serve(REPLIES)

    outputs = process([TOOLS, UNPARSABLE])
    with pytest.raises(PaymentRefusedError, match="the card of linus was refused"):
        process([FAILING_TOOL])

    assert outputs == [{"ada": LAMPS_ACCEPTED}, {"grace": MUG_DECLINED}]
    assert server.request_count == len(REPLIES) == 7


def test_a_failing_order_comes_last_in_one_job_too(serve):
    server = serve(REPLIES)

    with pytest.raises(PaymentRefusedError):
        process(ORDERS)

    assert server.request_count == 7


def test_both_tools_of_one_request_are_answered_in_one_message_list(serve):
    server = serve(TOOLS_REPLIES)

    process([TOOLS])

    first, second = server.requests
    assert [tool["function"]["name"] for tool in first.body["tools"]] == [
        "search_catalog",
        "check_stock",
        "charge_card",
    ]
    assert sent_messages(first) == [("user", "Two red lamps, please.")]
    assert sent_messages(second) == [
        ("user", "Two red lamps, please."),
        ("assistant", None),
        ("tool", "LAMP-RED: red desk lamp, 25 EUR"),
        ("tool", "7"),
    ]


def test_the_client_repeats_http_errors_and_the_host_an_unparsable_answer(
    serve, caplog
):
    server = serve(UNPARSABLE_REPLIES)

    with caplog.at_level(logging.WARNING, "flink_agents.plan.actions"):
        process([UNPARSABLE])

    attempts = [
        request.headers["x-stainless-retry-count"] for request in server.requests
    ]
    assert attempts == ["0", "1", "2", "0"]
    retries = [text for text in caplog.messages if "retrying" in text]
    assert len(retries) == 1
    assert "retrying 1 / 2, waiting 0 s" in retries[0]


def test_a_tool_that_throws_is_not_tried_again(serve):
    server = serve([*FAILING_TOOL_REPLIES, Reply.text("not asked for")])

    with pytest.raises(PaymentRefusedError):
        process([FAILING_TOOL])

    assert server.request_count == 1


def test_the_agent_remembers_what_a_customer_ordered(serve):
    server = serve(lambda _: Reply.text(json.dumps(LAMPS_ACCEPTED)))

    process([TOOLS, UNPARSABLE, TOOLS | {"value": "And a mug."}])

    prompts = [request.body["messages"][0]["content"] for request in server.requests]
    assert [
        prompt.split("earlier orders: ")[1].split(".")[0] for prompt in prompts
    ] == [
        "none",
        "none",
        "Two red lamps, please",
    ]


def test_the_model_is_named_by_the_environment(serve, monkeypatch):
    server = serve(TOOLS_REPLIES)
    monkeypatch.setenv("OPENAI_MODEL", "another-model")

    process([TOOLS])

    assert {request.body["model"] for request in server.requests} == {"another-model"}
