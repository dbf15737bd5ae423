"""The patch of embedding models: a span for each call, wherever it comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opentelemetry import context as otel_context
from opentelemetry.exporter.flink_agents._guard import guarded
from opentelemetry.instrumentation.flink_agents import semconv
from opentelemetry.instrumentation.flink_agents._core import current
from opentelemetry.instrumentation.flink_agents._operation_spans import (
    OperationSpan,
    count_in_action,
)
from opentelemetry.instrumentation.flink_agents._patching import Patch
from opentelemetry.instrumentation.flink_agents._text import safe

if TYPE_CHECKING:
    from opentelemetry.context import Context

_MODULE = "flink_agents.api.embedding_models.embedding_model"
_EMBEDDING = otel_context.create_key("flink-agents-embedding-model")


def patches() -> list[Patch]:
    """Return the patch of this file."""

    @guarded
    def start(model: Any) -> OperationSpan | None:
        around = current()
        if around is None or otel_context.get_value(_EMBEDDING) is model:
            return None  # outside a run, or super().embed(): the same call
        name = str(getattr(model, "model", None) or type(model).__name__)
        attributes = {
            semconv.GEN_AI_OPERATION_NAME: semconv.OPERATION_EMBEDDINGS,
            semconv.GEN_AI_PROVIDER_NAME: type(model).__name__,
            semconv.GEN_AI_REQUEST_MODEL: safe(name),
        }
        count_in_action(semconv.OPERATION_EMBEDDINGS)
        context: Context = otel_context.set_value(_EMBEDDING, model)
        return OperationSpan(around, f"embeddings {name}", attributes, context)

    def embed(
        wrapped: Any, _: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        span = start(args[0]) if args else None
        if span is None:
            return wrapped(*args, **kwargs)
        with span:
            return wrapped(*args, **kwargs)

    return [Patch(_MODULE, "BaseEmbeddingModelSetup.embed", embed, overrides=True)]
