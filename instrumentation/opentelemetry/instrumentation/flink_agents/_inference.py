"""What the parts of the host below a chat model tell of one call of it.

```
BaseChatModelSetup.chat ─▶ BaseChatModelConnection.chat ─▶ the provider's client
                            what really is asked           what it answered
```
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from opentelemetry.instrumentation.flink_agents import semconv
from opentelemetry.instrumentation.flink_agents._text import safe

if TYPE_CHECKING:
    from collections.abc import Mapping

    import msgspec

    from opentelemetry.instrumentation.flink_agents._executions import OpenExecution

# Argument of a connection's chat(), attribute, type.
_REQUEST: tuple[tuple[str, str, type], ...] = (
    ("temperature", semconv.GEN_AI_REQUEST_TEMPERATURE, float),
    ("top_p", semconv.GEN_AI_REQUEST_TOP_P, float),
    ("frequency_penalty", semconv.GEN_AI_REQUEST_FREQUENCY_PENALTY, float),
    ("presence_penalty", semconv.GEN_AI_REQUEST_PRESENCE_PENALTY, float),
    ("max_tokens", semconv.GEN_AI_REQUEST_MAX_TOKENS, int),
    ("num_predict", semconv.GEN_AI_REQUEST_MAX_TOKENS, int),
    ("seed", semconv.GEN_AI_REQUEST_SEED, int),
    ("top_k", semconv.GEN_AI_REQUEST_TOP_K, int),
)
_TOO_LARGE = 2**63
"""What OTLP has no number for."""
# Fields of the host's connections that hold an address.
_ADDRESSES = ("api_base_url", "azure_endpoint", "base_url")
_PORTS = {"http": 80, "https": 443}


class Inference:
    """One call of a chat model. Of several below it the last one counts."""

    def __init__(self) -> None:
        self.asked: msgspec.Raw | None = None
        """The messages that went to the provider, with prompt and skills."""
        self.tools: msgspec.Raw | None = None
        """The tools that it may call, in the shape of the conventions."""
        self.answer: dict[str, Any] = {}
        """What the provider said of its answer, as attributes."""

    @property
    def finish_reason(self) -> str | None:
        """Why the model stopped, in the words of its provider."""
        reasons = self.answer.get(semconv.GEN_AI_RESPONSE_FINISH_REASONS)
        return reasons[0] if reasons else None

    def ask(
        self,
        opened: OpenExecution,
        connection: Any,
        messages: Any,
        tools: Any,
        arguments: Mapping[str, Any],
    ) -> None:
        """Take note of what a connection is about to send."""
        self.answer = {}
        opened.annotate(
            {**request_attributes(arguments), **server_attributes(connection)}
        )
        if not opened.run.session.content.is_wanted:
            return
        snapshot = opened.run.session.processor.snapshot
        self.asked = snapshot("event_attributes.input", messages)
        if tools:
            definitions = [_definition(each.metadata) for each in tools]
            self.tools = snapshot("event_attributes.tools", definitions)


def request_attributes(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a request says beside its messages, as attributes."""
    attributes: dict[str, Any] = {}
    for name, attribute, kind in _REQUEST:
        value: Any = arguments.get(name)
        is_number = isinstance(value, int | kind) and not isinstance(value, bool)
        if is_number and abs(value) < _TOO_LARGE:
            attributes[attribute] = kind(value)
    choices = arguments.get("n")
    if isinstance(choices, int) and 1 < choices < _TOO_LARGE:
        attributes[semconv.GEN_AI_REQUEST_CHOICE_COUNT] = choices
    stop = arguments.get("stop")
    sequences = [stop] if isinstance(stop, str) else stop
    if isinstance(sequences, list) and all(isinstance(each, str) for each in sequences):
        attributes[semconv.GEN_AI_REQUEST_STOP_SEQUENCES] = [
            safe(each) for each in sequences
        ]
    form = arguments.get("response_format")
    if isinstance(form, dict) and str(form.get("type")).startswith("json"):
        attributes[semconv.GEN_AI_OUTPUT_TYPE] = semconv.OUTPUT_TYPE_JSON
    return attributes


def server_attributes(connection: Any) -> dict[str, Any]:
    """Return where a connection of the host's leads, as far as it says so."""
    for name in _ADDRESSES:
        url = getattr(connection, name, None)
        if isinstance(url, str) and url:
            return server_of(url)
    return {}


def server_of(url: str) -> dict[str, Any]:
    """Return host and port of an address, as attributes."""
    return dict(_server(url))


@lru_cache(maxsize=64)
def _server(url: str) -> tuple[tuple[str, Any], ...]:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or _PORTS.get(parts.scheme)
    except ValueError:  # no address at all
        return ()
    if host is None:
        return ()
    told: tuple[tuple[str, Any], ...] = ((semconv.SERVER_ADDRESS, safe(host)),)
    return told if port is None else (*told, (semconv.SERVER_PORT, port))


def _definition(metadata: Any) -> dict[str, Any]:
    return {
        "type": "function",
        "name": metadata.name,
        "description": metadata.description,
        "parameters": metadata.get_parameters_dict(),
    }
