"""Python programs in processes of their own: what only a whole process can show."""

import os
import re
import subprocess
import sys
from pathlib import Path

_TESTS = Path(__file__).parent

# What the host tells of each event; what Python says, from 3.12, of any fork of a
# process with threads.
_EXPECTED = r" - INFO - key: |use of fork\(\) may lead to deadlocks|^ +pid = os\.fork"

NO_MEMORY = {
    "OTEL_PYTHON_FLINK_AGENTS_MEMORY_GENERATE_EVENT": "false",
    "OTEL_PYTHON_FLINK_AGENTS_BEGIN_EVENT": "false",
}
"""Keeps memory, begin and end events out of logs that are about something else."""


def environment(**variables: object) -> dict[str, str]:
    """The environment without telemetry of the developer's, with `variables`."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("OTEL_")
    }
    paths = [str(_TESTS), str(_TESTS.parent / "examples")]
    return kept | {
        **NO_MEMORY,
        "PYTHONPATH": os.pathsep.join(paths),
        # A proxy, if one is configured, cannot reach the loopback address.
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
        **{name: str(value) for name, value in variables.items()},
    }


def run_python(
    code: str, *, command: tuple[str, ...] = (sys.executable,), **variables: object
) -> subprocess.CompletedProcess[str]:
    """Run `code`; what it prints and how it ended is the caller's to look at."""
    return subprocess.run(
        [*command, "-c", code],
        env=environment(**variables),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def printed_by(code: str, **variables: object) -> list[str]:
    """The lines that `code` prints; it must end well and complain of nothing."""
    done = run_python(code, **variables)
    if done.returncode or complaints(done):
        raise AssertionError(f"exit status {done.returncode}\n{done.stderr}")
    return done.stdout.splitlines()


def complaints(done: subprocess.CompletedProcess[str]) -> list[str]:
    """What a process said on stderr, without what the host tells of each event."""
    return [
        line
        for line in done.stderr.splitlines()
        if line and not re.search(_EXPECTED, line)
    ]
