"""What the host computes of durable calls, written down; and a disk that is full."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

from flink_agents.runtime import flink_runner_context as host


def watch() -> None:
    """Append function id and argument digest of each durable call to `DURABLE_CALLS`.

    Both are computed by the host; each is passed on as it is.
    """
    path = os.environ.get("DURABLE_CALLS")
    if path is None or hasattr(host, "watched"):
        return
    host.watched = True
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    original = host.FlinkRunnerContext._record_call_completion

    def recorded(self: Any, func: Any, args: Any, kwargs: Any, *rest: Any) -> None:
        name = host._compute_function_id(func)
        digest = host._compute_args_digest(args, kwargs)
        os.write(descriptor, f"{name} {digest}\n".encode())
        original(self, func, args, kwargs, *rest)

    host.FlinkRunnerContext._record_call_completion = recorded


def fill_disk() -> None:
    """Let no file of the Event Log take another byte in this interpreter."""
    write = os.write
    if write.__module__ == __name__:
        return

    def refusing(descriptor: int, data: bytes) -> int:
        if "events-" in str(Path(f"/proc/self/fd/{descriptor}").readlink()):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(descriptor, data)

    os.write = refusing
