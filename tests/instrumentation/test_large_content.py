"""However large the content is, the trace arrives."""

import json

import pytest
from flink_agents.api.chat_message import ChatMessage
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Status

from chat_agents import Asking, scripted
from hosting import local_runner, log_lines
from opentelemetry.instrumentation.flink_agents import _otlp
from probing import chat_model, play
from receiving import grpc_backend
from scripted_llm import Reply

CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
PROMPT = "every word counts " * 58_255  # 1 MiB
CALLS = 40


@pytest.fixture
def backend(monkeypatch):
    """A real grpc server with grpc's own limit of 4 MiB for a message."""
    with grpc_backend() as received:
        for name, value in received.variables.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        monkeypatch.setenv(CAPTURE, "SPAN_ONLY")
        yield received


def names(received):
    return [name for _, name in received.spans]


def test_a_trace_with_a_prompt_of_a_megabyte_arrives(instrument, backend, tmp_path):
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    instrument(tracer_provider=provider)

    with scripted(lambda _: Reply.text("fine")):
        local_runner(Asking()).run(key="k", value=PROMPT)
    provider.shutdown()

    assert sorted(names(backend)) == [
        "action ask",
        "action chat_model_action",
        "action reply",
        "chat scripted",
        "invoke_agent Asking",
    ]
    [prompt] = [
        line["event_attributes"]["input"]
        for line in log_lines(tmp_path / "log")
        if line["event_type"] == "_input_event"
    ]
    assert prompt == PROMPT


def test_many_of_them_arrive_in_batches_that_the_backend_takes(instrument, backend):
    provider = TracerProvider(shutdown_on_exit=False)
    instrument(tracer_provider=provider, otlp=True)
    model = chat_model(lambda *_: ChatMessage(content=PROMPT))

    def ask_often(*_):
        for _ in range(CALLS):
            model.chat([ChatMessage(content=PROMPT)])

    play(ask_often)
    provider.shutdown()

    assert sum(name.startswith("chat ") for name in names(backend)) == CALLS
    assert names(backend)[-1] == "invoke_agent Stage"


class Span:
    def __init__(self, size):
        self.attributes = {"text": "x" * size, "number": 1, "words": ("y",)}
        self.status = Status()


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([], [0]),
        ([1], [1]),
        ([10, 10, 10], [3]),
        ([2**18, 2**18, 1], [2, 1]),
        ([2**20, 2**20], [1, 1]),
        ([1, 2**20, 1, 1], [1, 1, 2]),
    ],
)
def test_batches_are_divided_by_what_they_weigh(sizes, expected):
    spans = [Span(size) for size in sizes]

    divided = [*_otlp.portions(spans)]

    assert [len(each) for each in divided] == expected
    assert [span for each in divided for span in each] == spans


def test_the_content_on_a_span_is_at_most_what_is_said(instrument, backend):
    provider = TracerProvider(shutdown_on_exit=False)
    seen = []

    class Keeping(BatchSpanProcessor):
        def on_end(self, span):
            seen.append(span)

    provider.add_span_processor(Keeping(OTLPSpanExporter()))
    instrument(tracer_provider=provider)
    play(lambda *_: chat_model(lambda *_: PROMPT).chat([{"content": [PROMPT] * 3}]))
    provider.shutdown()

    [attributes] = [each.attributes for each in seen if each.name[:4] == "chat"]
    texts = [
        attributes[f"gen_ai.{name}.messages"].encode() for name in ("input", "output")
    ]
    assert sum(map(len, texts)) <= 2**18
    assert all(json.loads(text) for text in texts)
