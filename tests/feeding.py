"""Feeding bytes to every command, in this process."""

import io
import sys

from flink_agents_eventlog import decode_plain
from flink_agents_eventlog.commands import main

COMMANDS = [
    ["check", "-"],
    ["check", "--json", "-"],
    ["tree", "-"],
    ["tree", "--json", "-"],
    ["timeline", "-"],
    ["timeline", "--json", "-"],
    ["stats", "-"],
    ["stats", "--json", "-"],
    ["state", "--key", "order-1", "-"],
    ["state", "--key", "order-1", "--json", "-"],
    ["follow", "-"],
    ["follow", "--json", "-"],
    ["report", "-"],
    ["replay", "--dry-run", "-"],
    ["replay", "--dry-run", "--json", "-"],
    ["convert", "--to", "snake", "-"],
    ["convert", "--to", "native", "-"],
]


def ends_well(content: bytes, commands: list[list[str]] = COMMANDS) -> None:
    """The commands read the content, and what is JSON by its name is JSON."""
    for command in commands:
        out = printed_by(command, content)
        if "--json" in command:
            for line in out.split("\n")[:-1]:
                decode_plain(line)


def printed_by(command: list[str], content: bytes) -> str:
    """What a command prints for this standard input; it ends with 0 or 1."""
    streams = sys.stdin, sys.stdout, sys.stderr
    sys.stdin = io.TextIOWrapper(io.BytesIO(content))
    sys.stdout = out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    sys.stderr = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    try:
        status = main(command)
        out.flush()
        if status not in (0, 1):
            raise AssertionError(f"{command} ends with {status}")
        return out.buffer.getvalue().decode("utf-8")
    finally:
        sys.stdin, sys.stdout, sys.stderr = streams
