"""Facts about Flink Agents, and every difference between its versions (0.2 to 0.4)."""

from __future__ import annotations

import os
import sys
from importlib import util
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Any

from flink_agents_eventlog import lifecycle

if TYPE_CHECKING:
    from collections.abc import Mapping

_API = "flink_agents.api.events"

# 0.2 routes events by class; the log names its built-in classes as 0.3 does.
_BUILT_IN_TYPES = {
    f"{_API}.event.InputEvent": lifecycle.INPUT_EVENT,
    f"{_API}.event.OutputEvent": lifecycle.OUTPUT_EVENT,
    f"{_API}.chat_event.ChatRequestEvent": "_chat_request_event",
    f"{_API}.chat_event.ChatResponseEvent": "_chat_response_event",
    f"{_API}.tool_event.ToolRequestEvent": "_tool_request_event",
    f"{_API}.tool_event.ToolResponseEvent": "_tool_response_event",
    f"{_API}.context_retrieval_event.ContextRetrievalRequestEvent": (
        "_context_retrieval_request_event"
    ),
    f"{_API}.context_retrieval_event.ContextRetrievalResponseEvent": (
        "_context_retrieval_response_event"
    ),
}
TOOL_CALL_ACTION = "tool_call_action"
# Parts of the module names of the host's integrations; the first match counts.
_PROVIDERS = {
    "anthropic": "anthropic",
    "azure.azure_openai": "azure.ai.openai",
    "azure": "azure.ai.inference",
    "ollama": "ollama",
    "openai": "openai",
    "tongyi": "dashscope",
}
BUILT_IN_ACTIONS = frozenset(
    {"chat_model_action", "context_retrieval_action", TOOL_CALL_ACTION}
)


def records_executions_itself() -> bool:
    """Whether the installed host (from 0.4) writes execution records itself.

    Looked up without importing anything of the host.
    """
    try:
        host = util.find_spec("flink_agents")
    except (ImportError, ValueError):
        return False
    places = (host.submodule_search_locations if host is not None else None) or ()
    api = [os.path.join(place, "api") for place in places]  # noqa: PTH118  # as sys.path
    return PathFinder.find_spec("flink_agents.api.trace", api) is not None


def is_instance(value: object, module: str, name: str) -> bool:
    """Whether `value` is a `module.name`, without importing `module` to find out."""
    loaded = sys.modules.get(module)
    cls = getattr(loaded, name, None) if loaded is not None else None
    # Not isinstance(): pydantic's own asks the value for its attributes.
    return isinstance(cls, type) and issubclass(type(value), cls)


def is_event(value: object) -> bool:
    """Whether `value` is an event of the host's."""
    return is_instance(value, f"{_API}.event", "Event")


def is_chat_message(value: object) -> bool:
    """Whether `value` is a message of the host's: a model may answer anything."""
    return is_instance(value, "flink_agents.api.chat_message", "ChatMessage")


def is_input_event(event: Any) -> bool:
    """Whether `event` is what a run begins with."""
    return record_type(event) == lifecycle.INPUT_EVENT


def routing_type(event: Any) -> str:
    """Return the key under which the host looks up the actions for `event`."""
    if hasattr(event, "get_type"):
        return str(event.get_type())
    cls = type(event)
    return f"{cls.__module__}.{cls.__name__}"


def record_type(event: Any) -> str:
    """Return the `event_type` of `event` in the log."""
    routed = routing_type(event)
    if hasattr(event, "get_type"):
        return routed
    cls = type(event)
    return _BUILT_IN_TYPES.get(routed) or f"{cls.__module__}.{cls.__qualname__}"


def attributes_of(event: Any) -> Mapping[str, Any]:
    """Return the attributes of `event`; on 0.2 those are its fields."""
    if hasattr(event, "get_type"):
        attributes: Mapping[str, Any] = event.attributes
        return attributes
    fields = {**vars(event), **(event.__pydantic_extra__ or {})}
    fields.pop("id", None)
    return fields


def tool_calls_of(event: Any) -> list[dict[str, Any]]:
    """Return the tool calls that a tool request event asks for."""
    calls = attributes_of(event).get("tool_calls")
    return list(calls) if isinstance(calls, list) else []


def action_name_of(context: Any) -> str:
    """Return the name of the action being called; on Flink only on the task thread."""
    java = getattr(context, "_j_runner_context", None)
    return str(context.action_name if java is None else java.getActionName())


def private_name(cls: str, name: str) -> str:
    """Return the name that a class body gives to `__name`.

    Interned: each new string would take an entry of Python's method cache.
    """
    return sys.intern(f"_{cls}__{name}")


def plan_of(context: Any) -> Any:
    """Return the agent plan of a runner context, or None."""
    for cls in type(context).__mro__:
        plan = getattr(context, private_name(cls.__name__, "agent_plan"), None)
        if plan is not None:
            return plan
    return None


def configuration_of(context: Any) -> Mapping[str, Any]:
    """Return the agent configuration of a runner context as a flat mapping."""
    data = getattr(getattr(context, "config", None), "conf_data", None)
    return data if isinstance(data, dict) else {}


def listeners(plan: Any, event: Any) -> list[str]:
    """Return the names of the actions of `plan` that `event` goes to."""
    if record_type(event) == lifecycle.OUTPUT_EVENT:
        return []  # leaves the agent
    found = getattr(plan, "actions_by_event", {}).get(routing_type(event))
    return list(found or ())


_EVENTS = "opentelemetry.instrumentation.flink_agents.events"


def listens(plan: Any, *event_types: str) -> bool:
    """Whether an action of `plan` listens to one of these types of ours."""
    routed = getattr(plan, "actions_by_event", {})
    if any(event_type in routed for event_type in event_types):
        return True
    # 0.2 routes by class: whoever listens has imported ours.
    events = sys.modules.get(_EVENTS)
    return events is not None and any(
        f"{_EVENTS}.{events.EVENT_CLASSES[event_type].__name__}" in routed
        for event_type in event_types
    )


def typed_event(event_type: str, attributes: Mapping[str, Any]) -> Any:
    """Return an event of ours as the host's own type of it."""
    from opentelemetry.instrumentation.flink_agents import events  # noqa: PLC0415

    return events.EVENT_CLASSES[event_type](**attributes)


def agent_class_name(plan: Any) -> str:
    """Return the class part of the first user action's name, or `unknown`."""
    for name, action in getattr(plan, "actions", {}).items():
        qualname = getattr(action.exec, "qualname", "")
        if name not in BUILT_IN_ACTIONS and "." in qualname:
            return str(qualname).rsplit(".", 1)[0].rsplit(".", 1)[-1]
    return "unknown"


def mcp_server_name(plan: Any, server: Any) -> str | None:
    """Return the name under which `plan` has an MCP server, or None.

    What lives on a server has a copy of it; nothing in it says whose.
    """
    for kind, providers in getattr(plan, "resource_providers", {}).items():
        if getattr(kind, "value", kind) != "mcp_server":
            continue
        for name, provider in providers.items():
            given = provider.descriptor.arguments
            if all(getattr(server, key, None) == given[key] for key in given):
                return str(name)
    return None


def store_system_of(store: Any) -> str:
    """Return what a vector store is: `chroma`, or the name of a class of nobody's."""
    for cls in type(store).__mro__:
        _, found, rest = cls.__module__.partition("integrations.vector_stores.")
        if found:
            return rest.split(".")[0]
    return type(store).__name__


def store_of(func: Any) -> Any:
    """Return the vector store whose `query` is `func`, or None."""
    module = "flink_agents.api.vector_stores.vector_store"
    return _owner(func, "query", module, "BaseVectorStore")


def schema_name(output_schema: Any) -> str:
    """Return the name of the class, or the fields of the row, that is to be parsed."""
    schema = getattr(output_schema, "output_schema", output_schema)
    if isinstance(schema, type):
        return f"{schema.__module__}.{schema.__qualname__}"
    names = getattr(schema, "get_field_names", None)
    return f"Row({', '.join(names())})" if names is not None else type(schema).__name__


def provider_of(chat_model: Any) -> str:
    """Return `gen_ai.provider.name` of a chat model (GenAI conventions 1.41).

    Providers that the convention does not list keep the name by which they are
    known. A subclass of an integration of the host's has its provider; any other
    class is its own.
    """
    for cls in type(chat_model).__mro__:
        for part, provider in _PROVIDERS.items():
            if f"chat_models.{part}" in cls.__module__:
                return provider
    return type(chat_model).__name__


def chat_arguments(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return model and schema that `chat_model_action.chat` is called with.

    0.3 puts `prompt_args` before `output_schema`; the host itself passes
    everything by keyword.
    """
    found = {"model": None, "output_schema": None, **kwargs}
    names = ("initial_request_id", "model", "messages")
    found.update(zip(names, args, strict=False))
    return found


def tool_of(func: Any) -> Any:
    """Return the tool whose `call` is `func`, or None."""
    return _owner(func, "call", "flink_agents.api.tools.tool", "Tool")


def chat_model_of(func: Any) -> Any:
    """Return the chat model whose `chat` is `func`, or None."""
    module = "flink_agents.api.chat_models.chat_model"
    return _owner(func, "chat", module, "BaseChatModelSetup")


def _owner(func: Any, name: str, module: str, base: str) -> Any:
    owner = getattr(func, "__self__", None)
    if owner is None or getattr(func, "__name__", None) != name:
        return None
    return owner if is_instance(owner, module, base) else None
