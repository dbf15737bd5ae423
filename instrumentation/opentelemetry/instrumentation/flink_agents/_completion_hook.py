"""The completion hook of the conventions: somebody else's way to keep content.

Hooks belong to `opentelemetry-util-genai`, which also finds the one that
`OTEL_INSTRUMENTATION_GENAI_COMPLETION_HOOK` names; without that library they get
plain dictionaries of the same shape.
"""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Any

from opentelemetry.exporter.flink_agents._guard import faults

if TYPE_CHECKING:
    from types import ModuleType

    Message = dict[str, Any]

VARIABLE = "OTEL_INSTRUMENTATION_GENAI_COMPLETION_HOOK"

logger = logging.getLogger(__name__)


class CompletionHook:
    """A hook, and the types that it expects.

    Args:
        hook: has a method `on_completion(*, inputs, outputs, system_instruction,
            tool_definitions, span, log_record)`.
    """

    def __init__(self, hook: Any) -> None:
        self._hook = hook
        self._types = _types()

    def completed(  # what the protocol of hooks has
        self,
        *,
        inputs: list[Message],
        outputs: list[Message],
        system: list[Message],
        tools: list[Message],
        span: Any,
        log_record: Any,
    ) -> None:
        """Hand over one model call; a fault of the hook stops here."""
        try:
            self._hook.on_completion(
                inputs=[self._message("InputMessage", each) for each in inputs],
                outputs=[self._message("OutputMessage", each) for each in outputs],
                system_instruction=[self._part(each) for each in system],
                tool_definitions=[self._tool(each) for each in tools] or None,
                span=span,
                log_record=log_record,
            )
        except Exception as error:  # noqa: BLE001  # a hook is the user's code
            faults.caught("completion hook", error, own=False)

    def _message(self, kind: str, message: Message) -> Any:
        if self._types is None:
            return message
        parts = [self._part(each) for each in message["parts"]]
        return getattr(self._types, kind)(**{**message, "parts": parts})

    def _part(self, part: Message) -> Any:
        name = _PARTS.get(part["type"], "")
        cls = getattr(self._types, name, None)
        fields = {key: value for key, value in part.items() if key != "type"}
        return part if cls is None else cls(**fields)

    def _tool(self, tool: Message) -> Any:
        cls = getattr(self._types, "FunctionToolDefinition", None)
        fields = {key: value for key, value in tool.items() if key != "type"}
        return tool if cls is None else cls(**fields)


# The names that all versions of the library have.
_PARTS = {
    "text": "Text",
    "reasoning": "Reasoning",
    "tool_call": "ToolCallRequest",
    "tool_call_response": "ToolCallResponse",
}


def completion_hook(given: Any = None) -> CompletionHook | None:
    """Return the hook that is `given` or configured by the environment, if any."""
    if given is not None:
        return CompletionHook(given)
    if not os.environ.get(VARIABLE):
        return None
    try:
        from opentelemetry.util.genai.completion_hook import (  # noqa: PLC0415
            load_completion_hook,
        )
    except ImportError:
        logger.warning("%s needs opentelemetry-util-genai; it is ignored", VARIABLE)
        return None
    return CompletionHook(load_completion_hook())


def _types() -> ModuleType | None:
    try:
        from opentelemetry.util.genai import (  # noqa: PLC0415
            types,
        )
    except ImportError:
        return None
    return types  # type: ignore[no-any-return,unused-ignore]
