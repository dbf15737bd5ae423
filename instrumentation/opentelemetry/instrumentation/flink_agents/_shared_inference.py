"""One span for one model call, also where another GenAI instrumentation sees it too.

Instrumentations on `opentelemetry-util-genai` (1.0 and later) keep what they know of a
call in the Context. A call inside another one adds to that, and has neither a span
nor metrics of its own: tokens are counted once. Ours takes part, if the library is
there at all.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from opentelemetry.context import set_value

from opentelemetry.exporter.flink_agents._guard import guarded
from opentelemetry.instrumentation.flink_agents import semconv
from opentelemetry.instrumentation.flink_agents._text import safe

if TYPE_CHECKING:
    from opentelemetry.context import Context

_LIBRARY = "opentelemetry.util.genai.invocation"

# What another instrumentation knows better than the host does.
_ATTRIBUTES = (
    ("response_id", semconv.GEN_AI_RESPONSE_ID),
    ("response_model", semconv.GEN_AI_RESPONSE_MODEL),
    ("response_finish_reasons", semconv.GEN_AI_RESPONSE_FINISH_REASONS),
    ("server_address", semconv.SERVER_ADDRESS),
    ("server_port", semconv.SERVER_PORT),
    ("usage_input_tokens", semconv.GEN_AI_USAGE_INPUT_TOKENS),
    ("usage_output_tokens", semconv.GEN_AI_USAGE_OUTPUT_TOKENS),
)


class SharedInference:
    """What the instrumentations inside one attempt of a model call tell of it."""

    def __init__(self, key: str, data: Any) -> None:
        self._key = key
        self._data = data

    def within(self, context: Context) -> Context:
        """Return `context` as those inside are to see it."""
        return set_value(self._key, self._data, context)

    def attributes(self) -> dict[str, Any]:
        """Return what they told, as attributes of our span."""
        told = {name: getattr(self._data, field, None) for field, name in _ATTRIBUTES}
        return {
            name: safe(value) if isinstance(value, str) else value
            for name, value in told.items()
            if value is not None
        }


@guarded
def shared_inference() -> SharedInference | None:
    """Return what instrumentations inside can add to; None if none of them is there."""
    library = sys.modules.get(_LIBRARY)
    key = getattr(library, "CLIENT_INFERENCE_CONTEXT_KEY", None)
    data = getattr(library, "InferenceData", None)
    return None if key is None or data is None else SharedInference(key, data())
