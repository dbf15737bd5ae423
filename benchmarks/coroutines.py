"""One poll of a suspended coroutine, which Flink does thousands of times a second."""

from __future__ import annotations

from contextvars import copy_context
from types import coroutine
from typing import TYPE_CHECKING

from benchmarks.rounds import Ratio, fastest

from opentelemetry.instrumentation.flink_agents._coroutines import driven

if TYPE_CHECKING:
    from collections.abc import Generator


@coroutine
def _suspended() -> Generator[None, None, None]:
    while True:
        yield


async def _waiting() -> None:
    await _suspended()


def ratios() -> list[Ratio]:
    """Compare a poll of ours with a bare `send` through `Context.run`."""
    context = copy_context()
    bare, ours = _waiting(), driven(_waiting(), copy_context(), lambda _: None)
    run, send, send_ours = context.run, bare.send, ours.send
    best = fastest(
        {"ours": lambda: send_ours(None), "bare": lambda: run(send, None)},
        calls=20_000,
    )
    bare.close()
    ours.close()
    return [
        Ratio("a coroutine poll", best["ours"] / best["bare"], 2.0, best["ours"] * 1e6)
    ]
