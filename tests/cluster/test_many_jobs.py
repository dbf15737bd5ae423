"""Twenty jobs after one another in one TaskManager leave it as it was."""

from __future__ import annotations

import contextlib
import socket
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import receiving
from cluster.standalone import JOBS, Cluster
from flink_agents_eventlog.checking import check_log

if TYPE_CHECKING:
    from collections.abc import Sequence

TIMES, INPUTS = 20, 100


@dataclass(frozen=True)
class Used:
    """What a process has: counts, and MiB."""

    threads: int
    descriptors: int
    memory: int


def used_by(pid: int) -> Used:
    folder = Path("/proc", str(pid))
    told = dict(
        line.split(":", 1) for line in (folder / "status").read_text().splitlines()
    )
    return Used(
        int(told["Threads"]),
        len(list((folder / "fd").iterdir())),
        int(told["VmRSS"].split()[0]) // 1024,
    )


@dataclass(frozen=True)
class Left:
    """What twenty jobs left."""

    used: Sequence[Used]
    """By the TaskManager, after each job."""
    log: Path
    spans: list[tuple[str, str]]


@contextlib.contextmanager
def hanging_backend():
    """Takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        variables = {
            "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
            "OTEL_EXPORTER_OTLP_ENDPOINT": (
                f"http://127.0.0.1:{listening.getsockname()[1]}"
            ),
        }
        yield receiving.Received(variables)


BACKENDS = {"taking": receiving.http_backend, "hanging": hanging_backend}


@pytest.fixture(scope="module", params=BACKENDS)
def left(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("cluster")
    used: list[Used] = []
    with (
        BACKENDS[request.param]() as backend,
        Cluster(
            folder, OTEL_PYTHON_FLINK_AGENTS_OTLP="true", **backend.variables
        ) as cluster,
    ):
        [process] = cluster.add_task_managers(1)
        client = cluster.start_client(
            JOBS / "many_jobs.py", str(folder / "out"), str(INPUTS), str(TIMES)
        )
        while len(used) < TIMES:
            done = len(used) + 1
            cluster.until(lambda done=done: cluster.finished_jobs() >= done, 120)
            used.append(used_by(process.pid))
        assert client.wait(60) == 0, cluster.said()
        yield Left(used, folder / "log", backend.spans)


def grown(figures: Sequence[int]) -> float:
    """How much more the last five jobs left than five after the first ones."""
    return statistics.median(figures[-5:]) - statistics.median(figures[5:10])


def test_threads_and_descriptors_do_not_pile_up(left):
    assert grown([each.threads for each in left.used]) <= 2, left.used
    assert grown([each.descriptors for each in left.used]) <= 5, left.used


def test_every_job_wrote_files_of_its_own(left):
    files = list(left.log.iterdir())
    checked = check_log(left.log)

    assert len(files) == 2 * TIMES
    assert (checked.runs, checked.findings) == (INPUTS * TIMES, [])


@pytest.mark.parametrize("left", ["taking"], indirect=True)
def test_every_span_arrived(left):
    names = [name for _, name in left.spans]

    assert names.count("invoke_agent CountAgent") == INPUTS * TIMES
    assert names.count("action count") == INPUTS * TIMES
