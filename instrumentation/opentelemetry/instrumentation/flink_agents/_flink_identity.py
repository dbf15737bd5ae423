"""Which subtask and which key a Flink runner context works for.

Java objects are touched only on the task thread and only inside a call from
Java: elsewhere it can bring the JVM down. What cannot be had is None.
"""

from __future__ import annotations

import io
import logging
import pickle
from typing import Any

from opentelemetry.exporter.flink_agents._files import Subtask

logger = logging.getLogger(__name__)


def subtask(context: Any) -> Subtask | None:
    """Return the subtask, from the public metric group; once for each context."""
    try:
        group = context._j_runner_context.getAgentMetricGroup()  # noqa: SLF001
        variables = dict(group.getAllVariables())
        return Subtask(
            str(variables["<job_id>"]),
            str(variables["<task_name>"]),
            int(variables["<subtask_index>"]),
        )
    except Exception as error:  # noqa: BLE001  # Java's errors are of any type
        logger.warning("The Flink subtask is not known: %s", error)
        return None


def key_text(context: Any) -> str | None:
    """Return the text of the exact key; about 0.3 ms, so once for each run.

    The host tells Python only a hash. The key is in the operator behind the
    context's mailbox check, which is private: hence every care.
    """
    try:
        key = _operator(context._j_runner_context).getCurrentKey()  # noqa: SLF001
        value = key.getField(0) if hasattr(key, "getField") else key
        if isinstance(value, bytes | bytearray):
            value = _unpickled(bytes(value))  # PyFlink pickles keys without a type
        return str(value)
    except Exception as error:  # noqa: BLE001  # Java's errors are of any type
        logger.debug("The exact key is not known, its hash is used: %s", error)
        return None


_KEY_CLASSES = {
    ("datetime", "date"),
    ("datetime", "datetime"),
    ("datetime", "time"),
    ("datetime", "timedelta"),
    ("datetime", "timezone"),
    ("decimal", "Decimal"),
    ("uuid", "UUID"),
}


class _KeyUnpickler(pickle.Unpickler):
    """Builds plain values only: a key that is bytes by type may come from anybody."""

    def find_class(self, module: str, name: str) -> Any:
        """Return the class if building it does nothing else.

        Raises:
            UnpicklingError: for everything else.
        """
        if (module, name) in _KEY_CLASSES:
            return super().find_class(module, name)
        message = f"{module}.{name} is no plain key"
        raise pickle.UnpicklingError(message)


def _unpickled(data: bytes) -> Any:
    """Return the pickled key, or `data` itself where it is no pickle.

    Raises:
        UnpicklingError: if it needs more than plain values to be built.
    """
    if not data.startswith(b"\x80"):  # PyFlink pickles by a protocol from 2 on
        return data
    return _KeyUnpickler(io.BytesIO(data)).load()


def _operator(java_context: Any) -> Any:
    cls = java_context.getClass()
    while True:
        try:
            field = cls.getDeclaredField("mailboxThreadChecker")
            break
        except RuntimeError:  # how Pemja says NoSuchFieldException
            cls = cls.getSuperclass()
            if cls is None:
                raise
    field.setAccessible(True)
    checker = field.get(java_context)
    captured = checker.getClass().getDeclaredFields()[0]
    captured.setAccessible(True)
    return captured.get(checker)
