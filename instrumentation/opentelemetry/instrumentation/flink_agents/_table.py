"""Everything that is patched, in one table that drives apply and revert."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opentelemetry.instrumentation.flink_agents import (
    _actions,
    _agents,
    _chat_models,
    _connections,
    _durable,
    _embeddings,
    _flink_context,
    _local_runner,
    _long_term_memory,
    _mcp,
    _parsers,
    _resources,
    _tools,
    _vector_stores,
)

if TYPE_CHECKING:
    from opentelemetry.instrumentation.flink_agents._core import ContextState, Core
    from opentelemetry.instrumentation.flink_agents._patching import Patch


def patches(core: Core) -> list[Patch]:
    """Return the table.

    A run passes through it in this order: `LocalRunner.run` or, on Flink, the
    first action; `send_event`; `PythonFunction.__call__` for each action;
    `durable_execute`; `chat`, `_generate_structured_output` or `Tool.call`.
    """

    def state_of(context: Any) -> ContextState | None:
        return core.states.get(context) or _flink_context.adopt(core, context)

    return [
        *_agents.patches(core),
        *_local_runner.patches(core),
        *_flink_context.patches(core),
        *_actions.patches(state_of),
        *_resources.patches(core),
        *_durable.patches(core),
        *_chat_models.patches(core),
        *_connections.patches(),
        *_parsers.patches(),
        *_tools.patches(core),
        *_mcp.patches(core),
        *_long_term_memory.patches(),
        *_embeddings.patches(),
        *_vector_stores.patches(core),
    ]
