"""The one place where faults of our own end: logged once, counted, never raised.

Every statement of ours that can fail runs under `guarded`. Calls of the host
never do.
"""

from __future__ import annotations

import functools
import itertools
import logging
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
R = TypeVar("R")

logger = logging.getLogger(__name__)


class Faults:
    """Faults caught in our own code since the process started."""

    def __init__(self) -> None:
        self.reraise = False
        """True in our own tests: a fault there is a failure of the test."""
        self._kinds: set[tuple[str, type]] = set()
        self._numbers = itertools.count(1)
        self._count = 0

    @property
    def count(self) -> int:
        """How many faults were caught."""
        return self._count

    def caught(self, where: str, error: Exception, *, own: bool = True) -> None:
        """Count `error`; say it the first time that its kind appears at `where`.

        Args:
            where: the function of ours in which it was caught.
            error: what was caught.
            own: False for a fault of code that a user gave us, such as a mask.
        """
        # next() is atomic where += is not.
        self._count = max(self._count, next(self._numbers))
        kind = (where, type(error))
        if kind not in self._kinds:
            self._kinds.add(kind)
            logger.error(
                "Fault in the Flink Agents instrumentation at %s; the agent is not"
                " affected, its telemetry may be incomplete.",
                where,
                exc_info=error,
            )
        if self.reraise and own:
            raise error


faults = Faults()


def guarded(function: Callable[P, R]) -> Callable[P, R | None]:
    """Return `function` such that a fault in it is caught and gives None.

    Only for our own code. `BaseException` passes: an interrupt that arrives
    while our code runs belongs to the application.
    """

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R | None:
        try:
            return function(*args, **kwargs)
        except Exception as error:  # noqa: BLE001  # telemetry never fails the host
            faults.caught(function.__qualname__, error)
            return None

    return call
