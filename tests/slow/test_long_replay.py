"""A log of 100,000 spans, and a backend that dies in the middle of it."""

import signal
import subprocess
import sys
import time

import pytest

from core.samples import ACTION_FIELDS, lifecycle, record, write
from flink_agents_eventlog.lifecycle import FINISHED, INPUT_EVENT, STARTED
from processes import environment
from receiving import http_backend

RUNS, ACTIONS = 20_000, 4
SPANS = RUNS * (1 + ACTIONS)


def records():
    for number in range(RUNS):
        run = {"input_run_id": f"run-{number}", "business_key": f"key-{number}"}
        yield record(number, f"i{number}", INPUT_EVENT, **run)
        for action in range(ACTIONS):
            fields = {**ACTION_FIELDS, **run, "action_trigger_event_id": f"i{number}"}
            for status in (STARTED, FINISHED):
                name = f"x{number}-{action}"
                yield lifecycle(number + action / 10, status, name, **fields)


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    folder = tmp_path_factory.mktemp("log")
    write(folder / "events-a.jsonl", records())
    return folder


def start(log, backend):
    command = [sys.executable, "-m", "flink_agents_eventlog", "replay", str(log)]
    variables = {**backend.variables, "OTEL_EXPORTER_OTLP_TIMEOUT": "5"}
    return subprocess.Popen(
        [*command, "--otlp"],
        env=environment(**variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ids(backend):
    return [(span.trace_id, span.span_id) for span in backend.whole]


def test_a_backend_that_dies_has_all_in_the_end_and_nothing_twice(log):
    with http_backend() as backend:
        for dies_at in (60, 40):
            backend.requests, backend.dies_at = 0, dies_at
            with start(log, backend) as broken:
                out, said = broken.communicate()
            assert (broken.returncode, out) == (3, "")
            assert f"{len(backend.whole):,} spans have arrived" in said
        backend.dies_at = None
        with start(log, backend) as last:
            out, said = last.communicate()

    taken = (59 + 39) * 512
    assert said == ""
    first, second, *_ = out.splitlines()
    assert first.startswith(f"sent {SPANS - taken:,} spans of 20,000 runs")
    assert second == f"{taken:,} spans were sent before"
    assert len(ids(backend)) == len(set(ids(backend))) == SPANS
    assert [each.name for each in log.iterdir()] == ["events-a.jsonl"]


def test_a_replay_that_is_killed_is_gone_on_with(log):
    with http_backend() as backend:
        with start(log, backend) as killed:
            while len(backend.whole) < SPANS / 10:
                time.sleep(0.01)
            killed.send_signal(signal.SIGKILL)
            killed.communicate()
        with start(log, backend) as last:
            _, said = last.communicate()

    assert (last.returncode, said) == (0, "")
    # The request that was under way may have come twice.
    assert SPANS <= len(ids(backend)) <= SPANS + 512
    assert len(set(ids(backend))) == SPANS
