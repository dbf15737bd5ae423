"""A real job on Flink's mini cluster, and what it left."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

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


def run(name: str, folder: Path, command: Sequence[str] = (), **variables: str) -> Job:
    """Run the job of that file to its end.

    Args:
        name: the file.
        folder: where its output, its log and Flink's own logs go.
        command: what runs Python, by names in the folder of Python.
        variables: environment variables for the job.
    """
    output = folder / "output.txt"
    (folder / "flink-log").mkdir()
    finished = subprocess.run(
        [
            *(str(Path(sys.executable).parent / part) for part in command),
            *(sys.executable, str(JOBS / name), str(output)),
        ],
        env={**job_environment(folder), **variables},
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
