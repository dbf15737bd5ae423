"""A real job on Flink's mini cluster, and what it left."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from flink_agents_eventlog import read_records

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

HERE = Path(__file__).parent
JOBS = HERE / "jobs"
PROJECT = HERE.parent.parent
SHARED = [str(PROJECT / "tests"), str(PROJECT / "examples")]
"""Where agents that other tests run too, and the scripted model, are."""

collect_ignore = ["jobs"]


@dataclass(frozen=True)
class Job:
    """What a finished job left."""

    output: list[str]
    log: Path


def job_environment(folder: Path) -> dict[str, str]:
    """The environment that a job of these versions needs.

    The interpreter inside the JVM is found through `PATH` and its modules only
    through `PYTHONPATH`; without `FLINK_LOG_DIR` Flink logs into its package.
    """
    javac = shutil.which("javac")
    if "JAVA_HOME" not in os.environ and javac is None:
        pytest.fail("a real Flink needs a JDK: set JAVA_HOME or put javac on PATH")
    home = Path(javac).resolve().parent.parent if javac else None
    site_packages = sysconfig.get_path("purelib")
    return {
        **os.environ,
        "JAVA_HOME": os.environ.get("JAVA_HOME", str(home)),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join([site_packages, str(JOBS), *SHARED, *roots()]),
        "FLINK_LOG_DIR": str(folder / "flink-log"),
        "OTEL_PYTHON_FLINK_AGENTS_EVENT_LOG_DIR": str(folder / "log"),
    }


def roots() -> list[str]:
    """The roots of an editable install: Pemja does not read `.pth` files."""
    return [str(PROJECT / root) for root in ("src", "instrumentation", "exporters")]


NO_EXPORT = {
    f"OTEL_{signal}_EXPORTER": "none" for signal in ("TRACES", "METRICS", "LOGS")
}


def run(
    name: str,
    folder: Path,
    command: Sequence[str] = (),
    arguments: Sequence[str] = (),
    **variables: str,
) -> Job:
    """Run the job of that file to its end.

    Args:
        name: the file.
        folder: where its output, its log and Flink's own logs go.
        command: what runs Python, by names in the folder of Python.
        arguments: what follows the file for its output.
        variables: environment variables for the job.
    """
    output = folder / "output.txt"
    (folder / "flink-log").mkdir()
    finished = subprocess.run(
        [
            *(str(Path(sys.executable).parent / part) for part in command),
            *(sys.executable, str(JOBS / name), str(output), *arguments),
        ],
        env={**job_environment(folder), **NO_EXPORT, **variables},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return Job(output.read_text().splitlines(), folder / "log")


@pytest.fixture(scope="session")
def run_job() -> Callable[..., Job]:
    return run


@pytest.fixture(scope="session")
def parcel_job(tmp_path_factory) -> Job:
    return run("parcel_job.py", tmp_path_factory.mktemp("parcels"))


@dataclass(frozen=True)
class Left:
    """What the jobs of one process left."""

    found: dict[str, Any]
    calls: set[str]
    """Function id and argument digest of each durable call."""
    logs: dict[str, list[Path]]
    """The files of each agent."""

    def answers(self, job):
        return Counter(told["answer"] for told in self.found[job]["answers"])


@pytest.fixture(scope="session")
def run_mixed(tmp_path_factory, run_job):
    def run_mixed(*jobs, command=(), **variables):
        folder = tmp_path_factory.mktemp("mixed")
        calls = folder / "calls"
        job = run_job(
            "mixed_job.py",
            folder,
            command=command,
            arguments=jobs,
            DURABLE_CALLS=str(calls),
            SCRATCH=str(folder),
            **variables,
        )
        logs = defaultdict(list)
        for file in sorted(job.log.iterdir()) if job.log.is_dir() else []:
            logs[next(read_records(file)).agent_name].append(file)
        found = json.loads(job.output[0])
        return Left(found, set(calls.read_text().splitlines()), logs)

    return run_mixed
