"""What OTLP cannot carry, and an SDK that keeps next to nothing: no batch is lost."""

import pytest
from flink_agents.api.chat_message import ChatMessage, MessageRole
from flink_agents.api.tools.tool import ToolMetadata
from opentelemetry.sdk.trace import SpanLimits

from exporting import signals
from hosting import log_lines
from probing import NoArguments, chat_model, play, tool

HALF = "\ud83d"
MADE_UP = "openai\ud83d.Error"
IDENTITY = [
    "flink_agents.input_run_id",
    "flink_agents.business_key",
    "flink_agents.agent.name",
    "flink_agents.execution.id",
    "flink_agents.entity.type",
    "flink_agents.entity.name",
]


class HalfError(Exception):
    """An error whose type and message both hold a lone surrogate."""


HalfError.__qualname__ = f"Half{HALF}Error"


def say_halves(_, ctx):
    """Lone surrogates wherever the agent, the model or the tool can put one."""
    model = chat_model(
        lambda *_: ChatMessage(
            role=MessageRole.ASSISTANT,
            content=HALF,
            extra_args={"model_name": f"m{HALF}", HALF: HALF},
        )
    )
    if hasattr(model, "model"):  # host 0.2 has no such field
        model.model = f"probe{HALF}"
    model.chat([ChatMessage(content=HALF)])
    ctx.short_term_memory.set("said", HALF)
    probe = tool(lambda **_: {HALF: [HALF]})
    probe.metadata = ToolMetadata(
        name=f"probe{HALF}", description=HALF, args_schema=NoArguments
    )
    probe.call(**{"text": HALF, f"t{HALF}": 1})
    raise HalfError(HALF)


def test_lone_surrogates_anywhere_lose_nothing_of_the_batch(instrument, monkeypatch):
    monkeypatch.setenv(
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "SPAN_AND_EVENT"
    )
    with signals() as exported:
        instrument(**exported.providers)

        with pytest.raises(HalfError):
            play(say_halves, key=HALF)

        assert sorted(span.name for span in exported.spans) == [
            "action act",
            exported.span("chat").name,
            "execute_tool probe�",
            "invoke_agent Stage",
        ]
        assert exported.span("action").attributes["error.type"] == (
            f"{HalfError.__module__}.Half�Error"
        )
        assert exported.span("action").status.description == "�"
        assert len(exported.events) == 1
        raw = exported.raw()  # the encoder refuses what is no UTF-8
        for name in (b"chat ", b"execute_tool", b"gen_ai.client.operation"):
            assert name in raw


@pytest.mark.parametrize("limit", [1, 3, 6, 8])
def test_identity_survives_the_smallest_limit_of_attributes(
    limit, instrument, monkeypatch, tmp_path
):
    monkeypatch.setenv(
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "SPAN_AND_EVENT"
    )
    with signals(span_limits=SpanLimits(max_span_attributes=limit)) as exported:
        instrument(**exported.providers)

        play(
            lambda *_: chat_model(lambda *_: ChatMessage(content="ok")).chat(
                [ChatMessage(content="hello")]
            )
        )

        for beginning in ("chat", "action"):
            attributes = exported.span(beginning).attributes
            assert list(attributes)[:6] == IDENTITY[:limit]
            assert len(attributes) <= limit
        assert exported.events
    ids = [line.get("execution_id") for line in log_lines(tmp_path / "log")]
    if limit >= 6:
        assert exported.span("chat").attributes["flink_agents.execution.id"] in ids


@pytest.mark.parametrize("length", [0, 1, 4])
def test_the_smallest_limit_of_lengths_costs_no_span(length, instrument):
    limits = SpanLimits(max_span_attribute_length=length)
    with signals(span_limits=limits) as exported:
        instrument(**exported.providers)

        play(lambda *_: tool(lambda **_: 1).call())

        assert sorted(span.name for span in exported.spans) == [
            "action act",
            "execute_tool probe",
            "invoke_agent Stage",
        ]
        assert list(exported.span("action").attributes)[:6] == IDENTITY
