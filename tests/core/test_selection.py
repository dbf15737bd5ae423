"""Which runs are chosen, by the value and by every command that takes it."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from core.samples import at, one_run, record, write
from flink_agents_eventlog.commands import main
from flink_agents_eventlog.lifecycle import INPUT_EVENT
from flink_agents_eventlog.masking import MASKING_SECRET, masked_key
from flink_agents_eventlog.run import Run
from flink_agents_eventlog.selection import Selection

# run-1 of order-1 takes until 1205 ms, and a tool of it fails.
LATER = {"input_run_id": "later", "business_key": "order-2"}
LOG = [*one_run(), record(9000, "i2", INPUT_EVENT, **LATER)]


@pytest.mark.parametrize(
    ("argv", "chosen"),
    [
        ([], ["run-1", "later"]),
        (["--run", "run"], ["run-1"]),
        (["--key", "order-2"], ["later"]),
        (["--failed"], ["run-1"]),
        (["--entity", "tool"], ["run-1"]),
        (["--entity", "search"], ["run-1"]),
        (["--entity", "tool:search"], ["run-1"]),
        (["--entity", "tool:chat_model"], []),
        (["--entity", "llm", "--failed"], []),
        (["--entity", "search", "--failed"], ["run-1"]),
        (["--since", at(1205)], ["run-1", "later"]),
        (["--since", at(1206)], ["later"]),
        (["--until", at(0)], ["run-1"]),
        (["--until", at(-1)], []),
        (["--until", at(9000)], ["run-1", "later"]),
        (["--since", at(500), "--until", at(600)], ["run-1"]),
        (["--since", at(2000), "--until", at(3000)], []),
        (["--failed", "--key", "order-2"], []),
    ],
)
def test_runs_are_chosen(tmp_path, capsys, argv, chosen):
    assert main(["tree", "--json", write(tmp_path / "log", LOG), *argv]) == 0

    runs = json.loads(capsys.readouterr().out)["runs"]
    assert [run["input_run_id"] for run in runs] == chosen


@pytest.mark.parametrize("command", ["tree", "report"])
@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--run", "none"], "no run 'none' in LOG"),
        (["--key", "none"], "no run of key 'none' in LOG"),
        (["--run", "run-1", "--key", "5"], "no run 'run-1' of key '5' in LOG"),
        (["--since", "soon"], "not an RFC 3339 timestamp: 'soon'"),
        (["--until", "2026-01-01"], "not an RFC 3339 timestamp: '2026-01-01'"),
    ],
)
def test_what_cannot_be_meant_is_an_error_of_use(tmp_path, capsys, command, argv, said):
    log = write(tmp_path / "log", LOG)

    assert main([command, log, *argv]) == 2

    said = said.replace("LOG", log)
    assert capsys.readouterr() == ("", f"flink-agents-eventlog: {said}\n")


def test_a_masked_key_is_found_by_its_name(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv(MASKING_SECRET, "s")
    log = [replace(each, business_key=masked_key("order-1", "s")) for each in one_run()]

    assert main(["tree", write(tmp_path / "log", log), "--key", "order-1"]) == 0
    assert "run run-1" in capsys.readouterr().out


@pytest.mark.parametrize("times", [(None, None), ("yesterday", "tomorrow")])
def test_a_run_without_times_is_at_none(times):
    run = Run("r", started_at=times[0], ended_at=times[1])

    assert Selection().chooses(run)
    assert not Selection(since=at(0)).chooses(run)
    assert not Selection(until=at(0)).chooses(run)


def test_times_of_other_zones_are_compared_as_times():
    run = Run("r", started_at=at(0), ended_at=at(0))  # 22:13:20 UTC

    assert Selection(since="2023-11-15T00:13:20+02:00").chooses(run)
    assert not Selection(since="2023-11-15T00:13:21+02:00").chooses(run)
