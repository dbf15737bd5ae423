"""Runs a coroutine of the host in a context of its own, as a native coroutine.

The host tells coroutines from generators, and Pemja turns a generator into a
Java iterator: what a wrapper returns has to be a real coroutine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator
    from contextvars import Context


class _Steps:
    """Awaiting it drives `coroutine`, each step inside `context`."""

    __slots__ = ("_context", "_coroutine", "_started")

    def __init__(self, coroutine: Coroutine[Any, Any, Any], context: Context) -> None:
        self._coroutine = coroutine
        self._context = context
        self._started = False

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
    for name in ("__name__", "__qualname__"):
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
