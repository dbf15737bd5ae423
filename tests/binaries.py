"""Real backends: Jaeger and a Collector, on free ports of loopback.

`make backends` builds them; they run with the configurations of `collector-config`.
"""

import contextlib
import json
import os
import random
import socket
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parent.parent
CONFIGURATIONS = PROJECT / "collector-config"
JAEGER = PROJECT / ".cache/jaeger/jaeger"
COLLECTOR = PROJECT / ".cache/collector/otelcol"

# Requests to loopback are not for a proxy, if one is configured.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def free_address() -> str:
    """A loopback address where nobody listened a moment ago.

    Not of the range out of which systems give ports away: one of those may be gone
    before the binary listens.
    """
    while True:
        address = "127.0.0.1", random.randint(15000, 32000)
        with socket.socket() as free, contextlib.suppress(OSError):
            free.bind(address)
            return "{}:{}".format(*address)


def fetch(address: str, path: str) -> bytes:
    """What is served there; raises OSError if it is not."""
    with _OPENER.open(f"http://{address}{path}", timeout=20) as response:
        return response.read()


def until(condition: Callable[[], Any], *, seconds: float = 30) -> Any:
    """Wait for something that is true, and return it."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} seconds")
        time.sleep(0.05)
    return found


@contextlib.contextmanager
def serving(
    binary: Path, configuration: str, folder: Path, **variables: str
) -> Iterator[Path]:
    """Run a binary with a configuration until the block ends, however it ends.

    Args:
        binary: `JAEGER` or `COLLECTOR`.
        configuration: the name of a file in `collector-config`.
        folder: where what it says goes; yielded as a path.
        variables: the settings that the file names.
    """
    said = folder / f"{configuration}.log"
    with said.open("wb") as output:
        process = subprocess.Popen(
            [binary, "--config", CONFIGURATIONS / configuration],
            env={**os.environ, "METRICS_PORT": port_of(free_address()), **variables},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        yield said
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def port_of(address: str) -> str:
    return address.rpartition(":")[2]


def is_up(health: str, said: Path) -> bool:
    """Whether the health extension answers; a binary that gave up fails."""
    if "Shutdown complete" in (text := said.read_text()):
        raise AssertionError(text)
    with contextlib.suppress(OSError):
        return b"StatusOK" in fetch(health, "/status")
    return False


class Receiver:
    """Where spans can be sent: a binary that listens by both protocols."""

    def __init__(self) -> None:
        self.settings = {
            name: free_address() for name in ("OTLP_GRPC", "OTLP_HTTP", "HEALTH")
        }

    def variables(self, protocol: str = "grpc") -> dict[str, str]:
        """What an application sets to send its telemetry there.

        Args:
            protocol: `grpc` or `http/protobuf`.
        """
        name = "OTLP_GRPC" if protocol == "grpc" else "OTLP_HTTP"
        return {
            "OTEL_EXPORTER_OTLP_PROTOCOL": protocol,
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://{self.settings[name]}",
        }


class Jaeger(Receiver):
    """A running Jaeger, and what its query API answers."""

    def __init__(self) -> None:
        super().__init__()
        self.settings |= {
            name: free_address() for name in ("JAEGER_UI", "JAEGER_QUERY_GRPC")
        }

    def ask(self, path: str, **parameters: Any) -> Any:
        """What the query API answers; None if it knows nothing."""
        query = urllib.parse.urlencode(parameters)
        try:
            return json.loads(fetch(self.settings["JAEGER_UI"], f"{path}?{query}"))
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
            raise

    def trace(self, trace_id: str) -> list[dict[str, Any]]:
        """All spans of a trace as OTLP's JSON has them; empty if it is not there."""
        answer = self.ask(f"/api/v3/traces/{trace_id}")
        resources = answer["result"]["resourceSpans"] if answer else []
        return [
            span
            for resource in resources
            for scope in resource["scopeSpans"]
            for span in scope["spans"]
        ]


@contextlib.contextmanager
def jaeger(folder: Path, running: Jaeger | None = None) -> Iterator[Jaeger]:
    """Jaeger with its configuration; its traces are in `folder`.

    Args:
        folder: where its files go.
        running: one that ran before, to be started again where it was.
    """
    running = running or Jaeger()
    settings = {**running.settings, "JAEGER_DATA": str(folder / "traces")}
    with serving(JAEGER, "jaeger.yaml", folder, **settings) as said:
        until(lambda: is_up(running.settings["HEALTH"], said))
        yield running
