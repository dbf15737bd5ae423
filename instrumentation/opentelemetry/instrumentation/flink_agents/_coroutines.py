"""Runs a coroutine of the host in a context of its own, as a native coroutine.

The host tells coroutines from generators, and Pemja turns a generator into a
Java iterator: what a wrapper returns has to be a real coroutine.
"""

from __future__ import annotations

from contextvars import copy_context
from typing import TYPE_CHECKING, Any, Protocol

from opentelemetry import context as otel_context

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator
    from contextvars import Context

    from opentelemetry.context import Context as OtelContext

_NAMES = ("__name__", "__qualname__")


class Observer(Protocol):
    """What follows one call. Its methods must not raise."""

    @property
    def context(self) -> OtelContext:
        """Where the call is to run."""

    def returned(self, value: Any) -> None:
        """Take note of what the call returned."""

    def ended_by(self, error: BaseException | None) -> None:
        """Take note of the end of the call, by `error` or a return."""


class _Steps:
    """Awaiting it drives `coroutine`, each step inside `context`."""

    __slots__ = ("_context", "_coroutine", "_started")

    def __init__(self, coroutine: Coroutine[Any, Any, Any], context: Context) -> None:
        self._coroutine = coroutine
        self._context = context
        self._started = False

    def attach(self, context: OtelContext) -> None:
        """Let its steps run where it is awaited now, but inside `context`."""
        self._context = copy_context()
        self._context.run(otel_context.attach, context)

    def __del__(self) -> None:
        # Given up before its first step: Python is to warn of the coroutine around
        # it only, once and not twice.
        if not self._started:
            self._coroutine.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        self._started = True
        run, send = self._context.run, self._coroutine.send
        step: Callable[[Any], Any] = send
        argument: Any = None
        while True:
            try:
                yielded = run(step, argument)
            except StopIteration as stop:
                return stop.value
            # No logging and no allocation here: Flink polls thousands of times a
            # second.
            try:
                argument = yield yielded
            except BaseException as error:  # noqa: BLE001  # handed to the coroutine
                step, argument = self._coroutine.throw, error
            else:
                step = send
                continue
            # Outside of `except`, where the error would become a context.
            if isinstance(argument, GeneratorExit):
                run(self._coroutine.close)
                raise argument


def driven(
    coroutine: Coroutine[Any, Any, Any],
    context: Context,
    ended: Callable[[BaseException | None], object],
) -> Coroutine[Any, Any, Any]:
    """Return a coroutine that does what `coroutine` does, inside `context`.

    Args:
        coroutine: a coroutine that has not started.
        context: where its steps run; nothing that it sets there leaks out.
        ended: called once with what ended it, None for a return. It must not
            raise.
    """
    outer = _drive(_Steps(coroutine, context), _Ending(ended))
    for name in _NAMES:
        setattr(outer, name, getattr(coroutine, name))
    return outer


def observed(
    coroutine: Coroutine[Any, Any, Any], begin: Callable[[], Observer | None]
) -> Coroutine[Any, Any, Any]:
    """Return a coroutine that does what `coroutine` does, with an observer.

    Args:
        coroutine: a coroutine that has not started.
        begin: called once when the first step is made, which may be never; None
            if there is nothing to observe. It must not raise.
    """
    outer = _observe(coroutine, begin)
    for name in _NAMES:
        setattr(outer, name, getattr(coroutine, name))
    return outer


class _Ending:
    def __init__(self, ended: Callable[[BaseException | None], object]) -> None:
        self._ended = ended

    def __enter__(self) -> None:
        return

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        self._ended(error)


async def _drive(steps: _Steps, ending: _Ending) -> Any:
    with ending:
        return await steps


def _observe(
    coroutine: Coroutine[Any, Any, Any], begin: Callable[[], Observer | None]
) -> Coroutine[Any, Any, Any]:
    # Its own context, so that nothing has to be detached by an abandoned coroutine.
    steps = _Steps(coroutine, copy_context())

    async def observe() -> Any:
        observer = begin()
        if observer is None:
            return await steps
        steps.attach(observer.context)
        with _Ending(observer.ended_by):
            result = await steps
            observer.returned(result)
        return result

    return observe()
