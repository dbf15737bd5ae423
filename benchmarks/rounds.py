"""Interleaved rounds: the only clock of the benchmarks."""

from __future__ import annotations

import gc
import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class Ratio(NamedTuple):
    """One figure: how many times as long `what` takes as what it is compared with."""

    what: str
    value: float
    budget: float
    microseconds: float


def fastest(
    functions: Mapping[str, Callable[[], object]], *, calls: int, rounds: int = 25
) -> dict[str, float]:
    """Return the seconds of one call of each function, from its fastest round."""
    best = dict.fromkeys(functions, float("inf"))
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            for name, function in functions.items():
                begin = time.thread_time()
                for _ in range(calls):
                    function()
                took = (time.thread_time() - begin) / calls
                best[name] = min(best[name], took)
    finally:
        gc.enable()
    return best
