"""The patches below a chat model: what its connection sends, what a provider answers.

The host keeps of an answer what its agents need. Why the model stopped, which model
it really was and the id of the answer are only in the provider's own: its client is
looked at too, while an execution of a chat model is under way and never else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flink_agents_eventlog import lifecycle
from opentelemetry.exporter.flink_agents._guard import guarded
from opentelemetry.instrumentation.flink_agents import semconv
from opentelemetry.instrumentation.flink_agents._core import current
from opentelemetry.instrumentation.flink_agents._inference import server_of
from opentelemetry.instrumentation.flink_agents._patching import Patch
from opentelemetry.instrumentation.flink_agents._text import safe

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry.instrumentation.flink_agents._executions import OpenExecution
    from opentelemetry.instrumentation.flink_agents._patching import Wrapper


def patches() -> list[Patch]:
    """Return the patches of this file."""
    clients = (
        (
            "openai.resources.chat.completions.completions",
            "Completions.create",
            _openai,
        ),
        ("anthropic.resources.messages.messages", "Messages.create", _anthropic),
        ("ollama._client", "Client.chat", _ollama),
    )
    return [
        Patch(
            "flink_agents.api.chat_models.chat_model",
            "BaseChatModelConnection.chat",
            _chat,
            overrides=True,
        ),
        *(Patch(module, name, _answered(read)) for module, name, read in clients),
    ]


def _chat(wrapped: Any, _: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    _asked(*args, **kwargs)
    return wrapped(*args, **kwargs)


@guarded
def _asked(
    connection: Any = None, messages: Any = None, tools: Any = None, **arguments: Any
) -> None:
    opened = _under_way()
    if opened is not None and opened.inference is not None:
        opened.inference.ask(opened, connection, messages, tools, arguments)


def _answered(read: Callable[[Any], dict[str, Any]]) -> Wrapper:
    """The wrapper of a provider's client: `read` returns an answer's attributes."""

    @guarded
    def asking(client: Any) -> OpenExecution | None:
        opened = _under_way()
        if opened is None or opened.inference is None:
            return None
        if semconv.SERVER_ADDRESS not in opened.attributes:
            # Each of these clients has a client of its own below it.
            url = getattr(getattr(client, "_client", None), "base_url", None)
            opened.annotate(server_of(str(url or "")))
        return opened

    @guarded
    def answered(opened: OpenExecution, response: Any) -> None:
        if opened.inference is not None:
            told = read(response)
            opened.inference.answer = {
                name: safe(value) if isinstance(value, str) else value
                for name, value in told.items()
                if value is not None
            }

    def wrapper(
        wrapped: Any, _: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        opened = asking(args[0] if args else None)
        response = wrapped(*args, **kwargs)
        if opened is not None:
            answered(opened, response)
        return response

    return wrapper


def _under_way() -> OpenExecution | None:
    """Return the chat model's execution that the caller is part of, if any."""
    opened = current()
    if opened is None or opened.execution.entity_type != lifecycle.LLM:
        return None
    return opened


def _openai(response: Any) -> dict[str, Any]:
    choices = getattr(response, "choices", None)
    if not isinstance(choices, list):
        return {}  # streamed, or raw: others may have wrapped it
    usage = response.usage
    details = getattr(usage, "prompt_tokens_details", None)
    return {
        semconv.GEN_AI_RESPONSE_ID: response.id,
        semconv.GEN_AI_RESPONSE_MODEL: response.model,
        semconv.GEN_AI_RESPONSE_FINISH_REASONS: _reasons(
            each.finish_reason for each in choices
        ),
        semconv.GEN_AI_USAGE_INPUT_TOKENS: getattr(usage, "prompt_tokens", None),
        semconv.GEN_AI_USAGE_OUTPUT_TOKENS: getattr(usage, "completion_tokens", None),
        semconv.GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS: (
            getattr(details, "cached_tokens", None) or None
        ),
    }


def _anthropic(response: Any) -> dict[str, Any]:
    usage = getattr(response, "usage", None)
    if usage is None or not hasattr(response, "stop_reason"):
        return {}
    read = getattr(usage, "cache_read_input_tokens", None) or 0
    written = getattr(usage, "cache_creation_input_tokens", None) or 0
    return {
        semconv.GEN_AI_RESPONSE_ID: response.id,
        semconv.GEN_AI_RESPONSE_MODEL: str(response.model),
        semconv.GEN_AI_RESPONSE_FINISH_REASONS: _reasons([response.stop_reason]),
        # GenAI conventions 1.41: the sum, of which the provider tells the parts.
        semconv.GEN_AI_USAGE_INPUT_TOKENS: usage.input_tokens + read + written,
        semconv.GEN_AI_USAGE_OUTPUT_TOKENS: usage.output_tokens,
        semconv.GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS: read or None,
    }


def _ollama(response: Any) -> dict[str, Any]:
    if not hasattr(response, "done_reason"):
        return {}
    return {
        semconv.GEN_AI_RESPONSE_MODEL: response.model,
        semconv.GEN_AI_RESPONSE_FINISH_REASONS: _reasons([response.done_reason]),
        semconv.GEN_AI_USAGE_INPUT_TOKENS: response.prompt_eval_count,
        semconv.GEN_AI_USAGE_OUTPUT_TOKENS: response.eval_count,
    }


def _reasons(found: Any) -> list[str] | None:
    return [safe(str(each)) for each in found if each] or None
