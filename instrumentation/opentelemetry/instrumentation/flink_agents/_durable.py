"""The patches of durable calls: they announce tool calls and notice reused results.

They only look at `func`, never at what it is called with: the digests of both
decide what a recovered job reuses. An execution is opened by the called function
itself, on whichever thread it runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flink_agents_eventlog.lifecycle import REUSED
from opentelemetry.exporter.flink_agents._guard import guarded
from opentelemetry.instrumentation.flink_agents import _host, _vector_stores
from opentelemetry.instrumentation.flink_agents._chat_models import open_llm
from opentelemetry.instrumentation.flink_agents._core import current, current_action
from opentelemetry.instrumentation.flink_agents._patching import Patch
from opentelemetry.instrumentation.flink_agents._tools import open_tool

if TYPE_CHECKING:
    from opentelemetry.instrumentation.flink_agents._core import Core


class _Lookup:
    """One look for a kept result of a durable call; a kept error passes through it."""

    def __init__(self, core: Core, func: Any, args: Any) -> None:
        self._core = core
        self._func = func
        self._args = args

    def __enter__(self) -> None:
        return

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if error is not None:
            self._reused(error=error)

    @guarded
    def found(self, result: tuple[bool, Any]) -> None:
        """Write a reused execution if `result`, (whether, what), is one."""
        hit, value = result
        if hit:
            self._reused(value)

    @guarded
    def _reused(self, value: Any = None, error: BaseException | None = None) -> None:
        around = current()
        if around is None:
            return
        store = _host.store_of(self._func)
        if store is not None:
            _vector_stores.reused(self._core, store, self._args, value, error)
            return
        tool, model = _host.tool_of(self._func), _host.chat_model_of(self._func)
        if tool is not None:
            opened = open_tool(self._core, around, tool, status=REUSED)
        elif model is not None:
            opened = open_llm(self._core, around, model, status=REUSED)
        else:
            return
        opened.reuse(value, error)


def patches(core: Core) -> list[Patch]:
    """Return the patches of this file."""

    def durable(
        wrapped: Any, _: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        if len(args) > 1:
            _announce(args[1])
        return wrapped(*args, **kwargs)

    def cached(
        wrapped: Any, _: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        func = args[1] if len(args) > 1 else kwargs.get("func")
        given = args[2] if len(args) > 2 else kwargs.get("args")  # noqa: PLR2004
        lookup = _Lookup(core, func, given)
        with lookup:
            result = wrapped(*args, **kwargs)
        lookup.found(result)
        return result

    local = "flink_agents.runtime.local_runner"
    flink = "flink_agents.runtime.flink_runner_context"
    return [
        Patch(local, "LocalRunnerContext.durable_execute", durable),
        Patch(local, "LocalRunnerContext.durable_execute_async", durable),
        Patch(flink, "FlinkRunnerContext.durable_execute", durable),
        Patch(flink, "FlinkRunnerContext.durable_execute_async", durable),
        Patch(flink, "FlinkRunnerContext._try_get_cached_result", cached),
    ]


@guarded
def _announce(func: Any) -> None:
    tool = _host.tool_of(func)
    action = current_action() if tool is not None else None
    if action is not None and action.tool_calls is not None:
        action.tool_calls.announce(tool)
