"""The patches of chat models: each call of `chat`, and the loop that retries it.

The host retries a failed call inside `chat_model_action.chat`. By default that
loop is one logical call: a failed attempt stays pending, the next attempt joins
it, and leaving the loop settles it (`llm_attempts="logical"`).
"""

from __future__ import annotations

import inspect
import time
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

from opentelemetry.context import create_key, get_value, set_value

from flink_agents_eventlog import lifecycle
from opentelemetry import context as otel_context
from opentelemetry.exporter.flink_agents._attributes import (
    USAGE,
    span_kind,
    span_name,
    start_attributes,
)
from opentelemetry.exporter.flink_agents._execution import Attempt, Execution
from opentelemetry.exporter.flink_agents._guard import guarded
from opentelemetry.instrumentation.flink_agents import _host, semconv
from opentelemetry.instrumentation.flink_agents._core import current
from opentelemetry.instrumentation.flink_agents._coroutines import driven
from opentelemetry.instrumentation.flink_agents._inference import (
    Inference,
    server_attributes,
)
from opentelemetry.instrumentation.flink_agents._options import LLM_ATTEMPTS
from opentelemetry.instrumentation.flink_agents._patching import Patch
from opentelemetry.instrumentation.flink_agents._shared_inference import (
    shared_inference,
)
from opentelemetry.instrumentation.flink_agents._text import (
    deepest_cause,
    error_message,
    error_type,
    safe,
)

if TYPE_CHECKING:
    from opentelemetry.instrumentation.flink_agents._core import Core
    from opentelemetry.instrumentation.flink_agents._executions import OpenExecution

_LOOP = create_key("flink-agents-chat-loop")


class ChatLoop:
    """One call of `chat_model_action.chat`, in which attempts follow one another."""

    def __init__(self, around: OpenExecution, model: str, *, structured: bool) -> None:
        self.around = around
        self.model = model
        self.structured = structured
        self.joins = around.run.session.settings[LLM_ATTEMPTS] == "logical"
        self.pending: OpenExecution | None = None
        self.error: BaseException | None = None

    def fail(self, opened: OpenExecution, error: BaseException) -> None:
        """Keep a failed attempt for the next one to join, or settle it at once."""
        if self.joins and not isinstance(error, GeneratorExit):
            self.pending, self.error = opened, error
        else:
            opened.ended_by(error)

    @guarded
    def settle(self, left_by: BaseException | None) -> None:
        """End what is still pending as its last attempt ended."""
        opened, self.pending = self.pending, None
        error, self.error = self.error, None
        if opened is None or error is None:
            return
        if isinstance(left_by, GeneratorExit):
            opened.abandon()
        else:
            opened.fail(error, opened.execution.attempts[-1].ended_ns)


class _Call:
    """One attempt of a chat model, which may join an earlier one."""

    def __init__(self, opened: OpenExecution, loop: ChatLoop | None) -> None:
        self._opened = opened
        self._loop = loop
        self._token: Any = None
        self._shared = shared_inference() if opened.has_span else None
        attempts = opened.execution.attempts
        attempt = Attempt(time.time_ns())
        if attempts and attempts[-1].ended_ns is not None:
            wait = attempt.started_ns - attempts[-1].ended_ns
            attempt.wait_seconds = max(wait, 0) / 1e9
        attempts.append(attempt)

    @guarded
    def __enter__(self) -> None:
        context = self._opened.context
        if self._shared is not None:
            context = self._shared.within(context)
        self._token = otel_context.attach(context)

    @guarded
    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        otel_context.detach(self._token)
        self._ended(error)

    @guarded
    def answered(self, response: Any) -> None:
        """Keep the answer and what it says of its cost."""
        execution = self._opened.execution
        execution.output = self._opened.run.content("output", response)
        attributes = self._told(response)
        for metadata, attribute in USAGE:
            if attribute in attributes:
                execution.metadata[metadata] = attributes[attribute]
        self._opened.annotate(attributes)

    def _told(self, response: Any) -> dict[str, Any]:
        """What is known of the answer: the nearer to the provider, the better."""
        extra = response.extra_args if _host.is_chat_message(response) else {}
        told = {
            attribute: extra[name]
            for name, (_, attribute) in zip(_TOKENS, USAGE, strict=True)
            if isinstance(extra.get(name), int)
        }
        if isinstance(extra.get("model_name"), str):
            told[semconv.GEN_AI_RESPONSE_MODEL] = safe(extra["model_name"])
        if self._shared is not None:
            told.update(self._shared.attributes())
        if self._opened.inference is not None:
            told.update(self._opened.inference.answer)
        return told

    @guarded
    def _ended(self, error: BaseException | None) -> None:
        attempt = self._opened.execution.attempts[-1]
        attempt.ended_ns = time.time_ns()
        _annotate(self._opened)
        if error is None:
            self._opened.finish()
            return
        cause = deepest_cause(error)
        attempt.error_type = error_type(cause)
        attempt.error_message = error_message(cause)
        if self._loop is not None:
            self._loop.fail(self._opened, error)
        else:
            self._opened.ended_by(error)


# Names in the answer's extra_args, in the order of USAGE.
_TOKENS = ("promptTokens", "completionTokens")


def patches(core: Core) -> list[Patch]:
    """Return the patches of this file."""

    @guarded
    def start(model: Any, messages: Any) -> _Call | None:
        around = current()
        if around is None or around.execution.subject is model:
            return None  # outside a run, or super().chat(): the same call
        loop = _loop_of(around)
        if loop is not None and loop.pending is not None:
            opened, loop.pending = loop.pending, None
            return _Call(opened, loop)
        return _Call(open_llm(core, around, model, messages), loop)

    def chat(
        wrapped: Any, _: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        messages = args[1] if len(args) > 1 else kwargs.get("messages")
        call = start(args[0], messages) if args else None
        if call is None:
            return wrapped(*args, **kwargs)
        with call:
            response = wrapped(*args, **kwargs)
            call.answered(response)
        return response

    @guarded
    def start_loop(args: tuple[Any, ...], kwargs: dict[str, Any]) -> ChatLoop | None:
        around = current()
        if around is None:
            return None
        bound = _host.chat_arguments(args, kwargs)
        return ChatLoop(
            around, str(bound["model"]), structured=bound["output_schema"] is not None
        )

    def loop_chat(
        wrapped: Any, _: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        loop = start_loop(args, kwargs)
        result = wrapped(*args, **kwargs)
        if loop is None or not inspect.iscoroutine(result):
            return result
        context = copy_context()
        context.run(otel_context.attach, set_value(_LOOP, loop))
        return driven(result, context, loop.settle)

    return [
        Patch(
            "flink_agents.api.chat_models.chat_model",
            "BaseChatModelSetup.chat",
            chat,
            overrides=True,
        ),
        Patch("flink_agents.plan.actions.chat_model_action", "chat", loop_chat),
    ]


def open_llm(
    core: Core,
    around: OpenExecution,
    model: Any,
    messages: Any = None,
    *,
    status: str | None = None,
) -> OpenExecution:
    """Start an execution of the chat model `model` inside `around`.

    Args:
        core: the shared state.
        around: the execution that calls it.
        model: the chat model setup.
        messages: what it is asked; None where that is not known.
        status: `reused` if it is not going to run.
    """
    loop = _loop_of(around)
    known = loop.model if loop is not None else core.resource_names.get(model)
    execution = Execution(
        run=around.run.run,
        entity_type=lifecycle.LLM,
        entity_name=known or type(model).__name__,
        parent=around.execution,
        trigger_event_id=around.execution.trigger_event_id,
        metadata={"provider": _host.provider_of(model)},
        subject=model,
        status=status,
    )
    if isinstance(getattr(model, "model", None), str):
        execution.metadata["model"] = model.model
    if messages is not None:
        execution.input = around.run.content("input", messages)
    opened = around.open_child(
        execution,
        span_name(execution),
        kind=span_kind(execution),
        attributes={**_attributes(execution, loop), **_server(model)},
    )
    opened.inference = Inference()
    return opened


def _server(model: Any) -> dict[str, Any]:
    """Where the model is asked; known at the start from 0.3 of the host."""
    return server_attributes(getattr(model, "_resolved_connection", None))


def _attributes(execution: Execution, loop: ChatLoop | None) -> dict[str, Any]:
    attributes = start_attributes(execution)
    if loop is not None and loop.structured:
        attributes[semconv.GEN_AI_OUTPUT_TYPE] = semconv.OUTPUT_TYPE_JSON
    return attributes


def _loop_of(around: OpenExecution) -> ChatLoop | None:
    """The loop that `around` runs itself, not one further out."""
    loop = get_value(_LOOP)
    return loop if isinstance(loop, ChatLoop) and loop.around is around else None


def _annotate(opened: OpenExecution) -> None:
    count = len(opened.execution.attempts)
    opened.describe(attempts=count)
    opened.annotate({semconv.FLINK_AGENTS_LLM_ATTEMPTS: count})
