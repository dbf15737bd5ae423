"""The scripted server, asked through the real OpenAI SDK."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import openai
import pytest

from scripted_llm import Reply, ScriptedLLM


@contextmanager
def scripted(replies, **options):
    with (
        ScriptedLLM(replies) as server,
        openai.OpenAI(base_url=server.base_url, api_key="unused", **options) as client,
    ):
        yield server, client


def ask(client, text="hello"):
    return client.chat.completions.create(
        model="some-model", messages=[{"role": "user", "content": text}]
    )


def answer(client, text="hello"):
    return ask(client, text).choices[0].message.content


def test_a_text_is_answered_as_the_api_does():
    with scripted([Reply.text("hi", usage=(7, 3))]) as (_, client):
        completion = ask(client)

    assert completion.model_dump(exclude_none=True) == {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": "some-model",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": "hi"},
            }
        ],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
    }


def test_tool_calls_have_ids_that_count_over_all_replies():
    first = Reply.tool_calls([("search", {"query": "lamp"}), ("stock", {})])
    second = Reply.tool_calls([("charge", '{"amount": ')], "not JSON, as asked")
    with scripted([first, second]) as (_, client):
        choices = [ask(client).choices[0] for _ in range(2)]

    calls = [call for choice in choices for call in choice.message.tool_calls]
    assert [(call.id, call.function.name) for call in calls] == [
        ("call_1", "search"),
        ("call_2", "stock"),
        ("call_3", "charge"),
    ]
    assert [call.function.arguments for call in calls] == [
        '{"query": "lamp"}',
        "{}",
        '{"amount": ',
    ]
    assert [choice.message.content for choice in choices] == [
        None,
        "not JSON, as asked",
    ]
    assert {choice.finish_reason for choice in choices} == {"tool_calls"}


@pytest.mark.parametrize("code", [429, 500])
def test_the_client_repeats_a_request_at_once(code):
    begin = time.monotonic()
    with scripted([Reply.status(code), Reply.text("hi")]) as (server, client):
        text = answer(client)

    assert text == "hi"
    assert time.monotonic() - begin < 0.4  # its own backoff is 0.375 s at least
    attempts = [
        request.headers["x-stainless-retry-count"] for request in server.requests
    ]
    assert attempts == ["0", "1"]


def test_an_error_reaches_the_caller_when_the_client_may_not_repeat():
    with (
        scripted([Reply.status(500, message="no luck")], max_retries=0) as (_, client),
        pytest.raises(openai.InternalServerError, match="no luck") as caught,
    ):
        ask(client)

    assert caught.value.body == {"message": "no luck", "type": "scripted_500"}


def test_a_slow_reply_takes_its_time():
    begin = time.monotonic()
    with scripted([Reply.slow(0.2, Reply.text("at last"))]) as (_, client):
        text = answer(client)

    assert text == "at last"
    assert time.monotonic() - begin >= 0.2


def test_a_client_that_gives_up_leaves_the_server_working(capfd):
    replies = [Reply.slow(0.3, Reply.text("x" * 1_000_000)), Reply.text("hi")]
    with scripted(replies, max_retries=0) as (_, client):
        with pytest.raises(openai.APITimeoutError):
            ask(client.with_options(timeout=0.1))
        time.sleep(0.4)
        text = answer(client)

    assert text == "hi"
    assert capfd.readouterr().err == ""


def test_closing_does_not_wait_for_slow_replies():
    replies = [Reply.slow(60, Reply.text("never"))]
    with scripted(replies, max_retries=0, timeout=0.1) as (_, client):
        with pytest.raises(openai.APITimeoutError):
            ask(client)
        begin = time.monotonic()

    assert time.monotonic() - begin < 5


def test_an_exhausted_script_says_so_and_is_not_asked_again():
    with scripted([Reply.text("hi")]) as (server, client):
        ask(client)
        with pytest.raises(openai.BadRequestError, match="all 1 replies are used"):
            ask(client)

    assert server.request_count == 2


def test_a_function_answers_by_content_from_many_threads():
    def echo(body):
        return Reply.text(body["messages"][-1]["content"].upper())

    texts = [f"order {number}" for number in range(40)]
    with scripted(echo) as (server, client), ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda text: answer(client, text), texts))

    assert answers == [text.upper() for text in texts]
    assert len(server.requests) == 40


def test_threads_share_a_list_without_losing_a_reply():
    replies = [Reply.text(str(number)) for number in range(40)]
    with scripted(replies) as (_, client), ThreadPoolExecutor(2) as pool:
        completions = list(pool.map(lambda _: ask(client), range(40)))

    ids = {completion.id for completion in completions}
    texts = {completion.choices[0].message.content for completion in completions}
    assert ids == {f"chatcmpl-{number}" for number in range(1, 41)}
    assert texts == {str(number) for number in range(40)}


def test_an_error_of_the_function_is_shown_to_the_client():
    with (
        scripted(lambda body: body["nothing"]) as (_, client),
        pytest.raises(openai.BadRequestError, match="KeyError: 'nothing'"),
    ):
        ask(client)


def test_only_the_newest_requests_are_kept():
    server = ScriptedLLM(lambda _: Reply.text("hi"), keep=2)
    with server, openai.OpenAI(base_url=server.base_url, api_key="unused") as client:
        for number in range(5):
            ask(client, str(number))

    kept = [request.body["messages"][0]["content"] for request in server.requests]
    assert (kept, server.request_count) == (["3", "4"], 5)


def test_what_is_not_a_chat_completion_is_refused():
    with scripted([]) as (server, client):
        with pytest.raises(openai.NotFoundError, match="/v1/embeddings"):
            client.embeddings.create(model="some-model", input="hello")
        with pytest.raises(openai.BadRequestError, match="streaming is not built"):
            client.chat.completions.create(model="m", messages=[], stream=True)

    assert server.requests == []
