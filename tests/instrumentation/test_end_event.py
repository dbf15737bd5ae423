"""The end event: what memory holds after the run's last action; off by default."""

import pytest

from hosting import brief, local_runner, log_lines
from memory_agents import HEARD, SeveralObserver, of_type
from opentelemetry.instrumentation.flink_agents.events import AgentRunEndEvent
from probing import Stage, perform, play

pytestmark = pytest.mark.memory

END = "_agent_run_end_event"
ON = {"agent-run.end-event": True}


def write(**entries):
    return lambda _, ctx: [
        ctx.short_term_memory.set(path, value) for path, value in entries.items()
    ]


def test_it_is_off_by_default(instrument, tmp_path):
    instrument()

    play(write(path="value"))

    assert of_type(tmp_path / "log", END) == []


def test_it_comes_last_with_what_the_run_has_left(instrument, tmp_path):
    instrument(options=ON)

    play(write(**{"user.tier": "gold"}), key=42)

    lines = log_lines(tmp_path / "log")
    assert brief(lines) == [
        "_input_event",
        "_agent_run_begin_event",
        "action act started",
        "action act finished",
        "_short_term_write_event",
        END,
    ]
    line = lines[-1]
    assert line["timestamp"] >= lines[-2]["timestamp"]
    del line["timestamp"], line["event_id"]
    assert line == {
        "input_run_id": lines[0]["input_run_id"],
        "business_key": "42",
        "agent_name": "Stage",
        "event_type": END,
        "event_attributes": {"key": "42", "value": {"user.tier": "gold"}},
    }


def test_it_comes_last_after_a_failure_too_and_tells_what_no_write_event_does(
    instrument, tmp_path
):
    instrument(options=ON)

    def failing(_, ctx):
        ctx.short_term_memory.set("unrecorded", 1)
        raise ValueError("boom")

    with pytest.raises(ValueError, match="boom"):
        play(failing)

    lines = log_lines(tmp_path / "log")
    assert brief(lines)[2:] == ["action act started", "action act failed", END]
    assert lines[-1]["event_attributes"] == {"key": "k", "value": {"unrecorded": 1}}


def test_it_is_never_routed(instrument, tmp_path):
    HEARD.clear()
    instrument(options=ON | {"memory.generate-event": False})

    local_runner(SeveralObserver()).run(key="k", value={"path": 1})

    assert of_type(tmp_path / "log", END) == [{"key": "k", "value": {"path": 1}}]
    assert [event for event, _ in HEARD if isinstance(event, AgentRunEndEvent)] == []
    assert HEARD == []


@pytest.mark.parametrize("place", ["agent", "environment"])
def test_it_can_be_switched_on_in_every_place(instrument, tmp_path, monkeypatch, place):
    if place == "environment":
        monkeypatch.setenv("OTEL_PYTHON_FLINK_AGENTS_END_EVENT", "true")
    instrument()
    configuration = {"agent-run.end-event": "true"} if place == "agent" else {}

    perform(local_runner(Stage(), **configuration), lambda *_: None)

    assert of_type(tmp_path / "log", END) == [{"key": "k", "value": {}}]


def test_begin_and_end_of_successive_runs_agree(instrument, tmp_path):
    instrument(options=ON)
    runner = local_runner(Stage())

    for number in range(3):
        perform(runner, write(**{f"path.{number}": number}))

    begun = of_type(tmp_path / "log", "_agent_run_begin_event")
    ended = of_type(tmp_path / "log", END)
    assert begun[1:] == ended[:-1]
    assert ended[-1]["value"] == {"path.0": 0, "path.1": 1, "path.2": 2}


def test_an_interval_leaves_out_snapshots_of_the_begin_only(instrument, tmp_path):
    instrument(options=ON | {"agent-run.snapshot-interval": 2})
    runner = local_runner(Stage())

    for number in range(2):
        perform(runner, write(count=number))

    assert of_type(tmp_path / "log", END) == [
        {"key": "k", "value": {"count": 0}},
        {"key": "k", "value": {"count": 1}},
    ]
