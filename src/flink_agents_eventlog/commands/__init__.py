"""The command line: `main` finds the commands, runs one and reports errors."""

from __future__ import annotations

import argparse
import errno
import os
import sys
from typing import TYPE_CHECKING, Any, Final, Protocol

from flink_agents_eventlog.commands.entry_points import find_commands, load_command

if TYPE_CHECKING:
    from collections.abc import Sequence

OK: Final = 0
FOUND_ERRORS: Final = 1
USAGE: Final = 2
BACKEND_FAILED: Final = 3
_INTERRUPTED: Final = 130
# Who read has left, or the terminal was closed.
_GONE: Final = (errno.EPIPE, errno.EIO)

PROGRAM: Final = "flink-agents-eventlog"
INSTALL: Final = "pip install 'opentelemetry-instrumentation-flink-agents[otlp]'"


class Command(Protocol):
    """A command: its docstring is its help, its entry point's name its name."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the arguments."""

    def run(self, args: argparse.Namespace) -> int:
        """Do the work and return the exit status."""


class CommandError(Exception):
    """Ends a command with a message; unless told otherwise, a usage error."""

    def __init__(self, message: str, exit_status: int = USAGE) -> None:
        super().__init__(message)
        self.exit_status = exit_status


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    _have_streams()
    try:
        status = _run(sys.argv[1:] if argv is None else argv)
        sys.stdout.flush()
    except CommandError as error:
        print(f"{PROGRAM}: {error}", file=sys.stderr)
        return error.exit_status
    except OSError as error:
        _forget_stdout()
        if error.errno in _GONE:
            return OK
        print(f"{PROGRAM}: {error}", file=sys.stderr)
        return USAGE
    except KeyboardInterrupt:
        return _INTERRUPTED
    return status


def _run(argv: Sequence[str]) -> int:
    targets = find_commands()
    try:
        # One command's own arguments are unknown until it is loaded.
        name = _parser(targets).parse_args(argv[:1]).command
        command: Command = _load(name, targets[name])()
        args = _command_parser(name, command).parse_args(argv[1:])
    except SystemExit as end:  # argparse has said what there was to say
        return OK if end.code is None else int(end.code)
    return command.run(args)


def _load(name: str, target: str) -> Any:
    try:
        return load_command(target)
    except ImportError as error:  # only some commands need OpenTelemetry
        raise CommandError(f"{name} cannot be loaded ({error}): {INSTALL}") from error


def _parser(targets: dict[str, str]) -> argparse.ArgumentParser:
    names = ", ".join(targets)
    parser = argparse.ArgumentParser(
        prog=PROGRAM,
        usage=f"{PROGRAM} [-h] COMMAND PATH...",
        description="Look into Event Logs of Flink Agents.",
        epilog=f"'{PROGRAM} COMMAND -h' tells about one command.",
    )
    parser.add_argument(
        "command", choices=list(targets), metavar="COMMAND", help=f"one of: {names}"
    )
    return parser


def _command_parser(name: str, command: Any) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"{PROGRAM} {name}",
        description=type(command).__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_arguments(parser)
    return parser


def _have_streams() -> None:
    """Let who closed a stream hear nothing there, rather than a complaint."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115, PTH123 - for good


def _forget_stdout() -> None:
    """Keep the interpreter from complaining once more when it flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
