"""A real job on Flink's mini cluster, and what it left."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

import pytest

HERE = Path(__file__).parent
JOBS = HERE / "jobs"

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
        "PYTHONPATH": os.pathsep.join([site_packages, str(JOBS), *roots()]),
        "FLINK_LOG_DIR": str(folder / "flink-log"),
        "OTEL_PYTHON_FLINK_AGENTS_EVENT_LOG_DIR": str(folder / "log"),
    }


def roots() -> list[str]:
    """The roots of an editable install: Pemja does not read `.pth` files."""
    project = HERE.parent.parent
    return [str(project / root) for root in ("src", "instrumentation", "exporters")]


def run_job(name: str, folder: Path) -> Job:
    """Run the job of that file to its end."""
    output = folder / "output.txt"
    (folder / "flink-log").mkdir()
    finished = subprocess.run(
        [sys.executable, str(JOBS / name), str(output)],
        env=job_environment(folder),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return Job(output.read_text().splitlines(), folder / "log")


@pytest.fixture(scope="session")
def parcel_job(tmp_path_factory) -> Job:
    return run_job("parcel_job.py", tmp_path_factory.mktemp("parcels"))
