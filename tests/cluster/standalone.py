"""A standalone cluster out of the pip package, on loopback.

All of it lives in one folder and ends with the `with` block, whatever happens inside.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flink.conftest import NO_EXPORT, job_environment

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Self

JOBS = Path(__file__).with_name("jobs")
_SETTINGS = """\
jobmanager.rpc.address: 127.0.0.1
jobmanager.rpc.port: {rpc}
jobmanager.bind-host: 127.0.0.1
jobmanager.memory.process.size: 1024m
taskmanager.bind-host: 127.0.0.1
taskmanager.host: 127.0.0.1
taskmanager.memory.process.size: 1400m
taskmanager.numberOfTaskSlots: {slots}
rest.address: 127.0.0.1
rest.bind-address: 127.0.0.1
rest.port: {rest}
blob.server.port: {blob}
heartbeat.interval: 1000
heartbeat.timeout: 5000
execution.checkpointing.interval: 2s
execution.checkpointing.dir: file://{folder}/checkpoints
restart-strategy.type: fixed-delay
restart-strategy.fixed-delay.attempts: 10
restart-strategy.fixed-delay.delay: 1s
python.executable: {python}
python.client.executable: {python}
python.execution-mode: thread
classloader.parent-first-patterns.additional: pemja.
"""


def _package(name: str) -> Path:
    found = find_spec(name)
    return Path(next(iter(found.submodule_search_locations)))


def _free_ports(count: int) -> list[int]:
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in held]
    for each in held:
        each.close()
    return ports


class Cluster:
    """A JobManager and TaskManagers, each a process that can be killed."""

    def __init__(
        self,
        folder: Path,
        *,
        slots: int = 2,
        instrumented: bool = True,
        **variables: str,
    ) -> None:
        self.folder = folder
        instrument = Path(sys.executable).with_name("opentelemetry-instrument")
        self._command = [str(instrument)] if instrumented else []
        self._flink = _package("pyflink")
        rpc, self._rest, blob = _free_ports(3)
        self._settings = _SETTINGS.format(
            rpc=rpc,
            rest=self._rest,
            blob=blob,
            slots=slots,
            folder=folder,
            python=sys.executable,
        )
        env = job_environment(folder)
        self._environment = {
            **env,
            **NO_EXPORT,
            "FLINK_CONF_DIR": str(folder / "conf"),
            "FLINK_LOG_DIR": str(folder / "flink-log"),
            "FLINK_PID_DIR": str(folder / "pids"),
            "FLINK_LIB_DIR": str(folder / "lib"),
            "NO_PROXY": "127.0.0.1",
            "PYTHONPATH": os.pathsep.join([str(JOBS), env["PYTHONPATH"]]),
            **variables,
        }
        self._task_managers: dict[str, subprocess.Popen[bytes]] = {}
        """By the id that the JobManager knows."""
        self._processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        for name in ("flink-log", "pids", "lib", "checkpoints"):
            (self.folder / name).mkdir()
        shutil.copytree(self._flink / "conf", self.folder / "conf")
        settings = self.folder / "conf" / "config.yaml"
        # What Java has to open to Flink depends on its version.
        [opened] = re.findall(r"^ +all: (--add.*)$", settings.read_text(), re.MULTILINE)
        settings.write_text(f"{self._settings}env.java.opts.all: {opened}\n")
        for jar in self._jars():
            (self.folder / "lib" / jar.name).symlink_to(jar)
        try:
            self._start("jobmanager.sh")
            self.until(lambda: self.ask("/overview") is not None, 60)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _jars(self) -> list[Path]:
        agents = _package("flink_agents") / "lib"
        found = [
            *(self._flink / "lib").glob("*.jar"),
            *(self._flink / "opt").glob("flink-python-*.jar"),
        ]
        version = re.search(r"flink-dist-(\d+\.\d+)", " ".join(map(str, found)))
        ours = [each for each in agents.rglob("*.jar") if version[1] in each.name]
        return [*found, *ours]

    def _start(self, script: str, *arguments: str) -> subprocess.Popen[bytes]:
        return self._run(script, "start-foreground", *arguments)

    def _run(self, script: str, *arguments: str) -> subprocess.Popen[bytes]:
        number = len(self._processes)
        with (self.folder / f"{script}.{number}.out").open("wb") as out:
            process = subprocess.Popen(
                [
                    *self._command,
                    str(self._flink / "bin" / script),
                    *arguments,
                ],
                env=self._environment,
                cwd=self.folder,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._processes.append(process)
        return process

    def add_task_managers(self, count: int) -> list[subprocess.Popen[bytes]]:
        """Start so many, and wait until the JobManager knows them."""
        before = len(self._processes)
        for _ in range(count):
            name = f"tm-{len(self._task_managers)}"
            self._task_managers[name] = self._start(
                "taskmanager.sh", "-D", f"taskmanager.resource-id={name}"
            )
        wanted = len(self._task_managers)
        self.until(lambda: len(self._known_task_managers()) == wanted, 90)
        return self._processes[before:]

    def _known_task_managers(self) -> list[dict[str, Any]]:
        return (self.ask("/taskmanagers") or {}).get("taskmanagers", [])

    def kill_one_that_works(self) -> None:
        """Kill a TaskManager whose slots are taken, as kill -9 does."""
        names = [
            each["id"]
            for each in self._known_task_managers()
            if not each["freeSlots"] and each["id"] in self._task_managers
        ]
        os.killpg(self._task_managers.pop(names[0]).pid, signal.SIGKILL)

    def submit(self, file: Path, *arguments: str) -> str:
        """Submit a job; return its id."""
        done = subprocess.run(
            [
                *(*self._command, str(self._flink / "bin" / "flink"), "run"),
                "--detached",
                *("--python", str(file), *arguments),
            ],
            env=self._environment,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
        found = re.search(r"JobID ([0-9a-f]{32})", done.stdout)
        assert found is not None, done.stdout + done.stderr
        return found[1]

    def start_client(self, file: Path, *arguments: str) -> subprocess.Popen[bytes]:
        """Run a file that submits jobs and waits for each."""
        return self._run("flink", "run", "--python", str(file), *arguments)

    def finished_jobs(self) -> int:
        return (self.ask("/overview") or {}).get("jobs-finished", 0)

    def job(self, job: str) -> dict[str, Any]:
        return self.ask(f"/jobs/{job}") or {}

    def checkpoints(self, job: str) -> int:
        """How many checkpoints were completed."""
        told = self.ask(f"/jobs/{job}/checkpoints") or {}
        return told.get("counts", {}).get("completed", 0)

    def cancel(self, job: str) -> None:
        url = f"http://127.0.0.1:{self._rest}/jobs/{job}?mode=cancel"
        with _urlopen(urllib.request.Request(url, method="PATCH")):
            pass

    def ask(self, path: str) -> Any:
        """Ask the REST API; None if nobody answers."""
        try:
            with _urlopen(f"http://127.0.0.1:{self._rest}{path}") as answer:
                return json.load(answer)
        except OSError:
            return None

    def until(self, holds: Callable[[], bool], seconds: float) -> None:
        """Wait until something holds; fail with Flink's own logs if it does not."""
        end = time.monotonic() + seconds
        while not holds():
            if time.monotonic() > end:
                raise AssertionError(f"not within {seconds} s\n{self.said()}")
            time.sleep(0.2)

    def said(self) -> str:
        """The last that Flink wrote."""
        files = [*self.folder.glob("*.out"), *(self.folder / "flink-log").iterdir()]
        return "\n".join(
            f"== {file.name}\n{file.read_text(errors='replace')[-3000:]}"
            for file in files
        )

    def close(self) -> None:
        for process in self._processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _urlopen(request: Any) -> Any:
    without_proxy = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    return without_proxy.open(request, timeout=10)
