"""The begin event: a key's whole short-term memory before the run does anything."""

import logging
import random
import uuid

import pytest

from flink_agents_eventlog.memory import apply_writes
from hosting import brief, in_both_dialects, input_of, local_runner, log_lines
from memory_agents import HEARD, Beginner, of_type
from opentelemetry.instrumentation.flink_agents._memory_settings import memory_settings
from opentelemetry.instrumentation.flink_agents._settings import Settings
from opentelemetry.instrumentation.flink_agents._snapshots import SnapshotTurns
from probing import Stage, perform, play

pytestmark = pytest.mark.memory

BEGIN, WRITE = "_agent_run_begin_event", "_short_term_write_event"
ON = {"agent-run.begin-event": True}
TTL = "short-term-memory.state-ttl.ms"
UPDATE = "short-term-memory.state-ttl.update-type"


@pytest.fixture(autouse=True)
def _heard():
    HEARD.clear()


def write(**entries):
    return lambda _, ctx: [
        ctx.short_term_memory.set(path, value) for path, value in entries.items()
    ]


def begun(folder):
    return of_type(folder, BEGIN)


@in_both_dialects
def test_the_second_run_begins_with_what_the_first_one_wrote(instrument, tmp_path):
    instrument(options=ON)
    runner = local_runner(Stage())

    for _ in range(2):
        perform(runner, write(**{"user.tier": "gold"}), key=42)

    assert begun(tmp_path / "log") == [
        {"key": "42", "value": {}},
        {"key": "42", "value": {"user.tier": "gold"}},
    ]


def test_it_stands_directly_after_the_input_and_has_no_execution(instrument, tmp_path):
    instrument()

    play(write(path="value"), key=42)

    received, line, *_ = log_lines(tmp_path / "log")
    assert received["event_type"] == "_input_event"
    assert uuid.UUID(line.pop("event_id")) != uuid.UUID(received["event_id"])
    assert line == {
        "timestamp": received["timestamp"],
        "input_run_id": received["input_run_id"],
        "business_key": "42",
        "agent_name": "Stage",
        "event_type": BEGIN,
        "event_attributes": {"key": "42", "value": {}},
    }


def test_each_has_an_id_of_its_own(instrument, tmp_path):
    instrument()
    runner = local_runner(Stage())

    for _ in range(3):
        perform(runner, lambda *_: None)

    lines = log_lines(tmp_path / "log")
    assert len({line["event_id"] for line in lines if line["event_type"] == BEGIN}) == 3


@in_both_dialects
def test_objects_are_left_out_unless_they_hold_values(instrument, tmp_path):
    instrument(options=ON)
    runner = local_runner(Stage())

    def body(_, ctx):
        memory = ctx.short_term_memory
        memory.new_object("empty")
        memory.new_object("user").new_object("address").set("city", "London")
        memory.set("none", None)
        memory.set("map", {"a": {"b": 1}})

    perform(runner, body)
    perform(runner, lambda *_: None)

    assert begun(tmp_path / "log")[1]["value"] == {
        "map": {"a": {"b": 1}},
        "none": None,
        "user.address.city": "London",
    }


def test_taking_it_is_no_read(instrument, tmp_path):
    instrument(options={"memory.generate-event.short-term-read": True})
    runner = local_runner(Stage())

    perform(runner, write(path="value"))
    perform(runner, lambda *_: None)

    assert of_type(tmp_path / "log", "_short_term_read_event") == []


def test_a_thousand_runs_over_twenty_keys_begin_with_what_was_written(
    instrument, tmp_path
):
    instrument()
    chance = random.Random(4)
    runner = local_runner(Stage())

    def body(event, ctx):
        memory = ctx.short_term_memory
        for path, value in input_of(event):
            if memory.is_exist(path) and path in {"a", "b", "b.c"}:
                continue  # may be an object by now
            memory.set(path, value)

    paths = ["a", "a.x", "a.y.z", "b", "b.c", "b.c.d", "e", "f.g"]
    for _ in range(1000):
        entries = [
            [chance.choice(paths), chance.choice([None, 1, "x", [1], {"m": 1}])]
            for _ in range(chance.randrange(4))
        ]
        perform(runner, body, key=chance.randrange(20), value=entries)

    memories, runs = {}, 0
    for line in log_lines(tmp_path / "log"):
        if line["event_type"] == BEGIN:
            runs += 1
            expected = memories.setdefault(line["business_key"], {})
            assert line["event_attributes"]["value"] == expected
        elif line["event_type"] == WRITE:
            written = line["event_attributes"]["value"]
            apply_writes(memories[line["business_key"]], written)
    assert (runs, len(memories)) == (1000, 20)
    assert any(memories.values())


def test_it_can_be_switched_off_in_every_place(instrument, tmp_path, monkeypatch):
    off = {"agent-run.begin-event": "false"}
    instrument()
    perform(local_runner(Stage(), **off), lambda *_: None)
    monkeypatch.setenv("OTEL_PYTHON_FLINK_AGENTS_BEGIN_EVENT", "false")
    instrument(options={})
    perform(local_runner(Stage()), lambda *_: None)
    monkeypatch.delenv("OTEL_PYTHON_FLINK_AGENTS_BEGIN_EVENT")
    instrument(options=off)
    perform(local_runner(Stage()), lambda *_: None)

    assert begun(tmp_path / "log") == []

    instrument(options={})
    perform(local_runner(Stage()), lambda *_: None)
    assert len(begun(tmp_path / "log")) == 1


def test_it_does_not_depend_on_the_switches_of_memory_events(instrument, tmp_path):
    instrument(options={"memory.generate-event": False})

    play(write(path="value"))

    assert brief(log_lines(tmp_path / "log"))[1] == BEGIN
    assert of_type(tmp_path / "log", WRITE) == []


def looks_of(ctx, looks):
    """Count who reads this memory."""
    store = ctx._short_term_mem_store

    class Watched(dict):
        def get(self, *args):
            looks.append(args)
            return super().get(*args)

    memory = ctx._short_term_memory
    watched = Watched(store)
    memory._LocalMemoryObject__store = watched


@pytest.mark.parametrize("event_log", [True, False])
def test_without_log_and_listener_no_snapshot_is_taken(instrument, event_log):
    looks = []
    instrument(event_log=event_log)
    runner = local_runner(Stage())
    perform(runner, lambda _, ctx: looks_of(ctx, looks))

    perform(runner, lambda *_: None)

    assert bool(looks) is event_log


def test_without_a_log_a_listener_still_gets_it(instrument):
    instrument(event_log=False)

    local_runner(Beginner()).run(key="k", value={"a": 1})

    [(event, _)] = HEARD
    assert (event.key, event.value) == ("k", {})


def test_a_full_snapshot_comes_every_so_many_runs_of_a_key(instrument, tmp_path):
    instrument(options={"agent-run.snapshot-interval": 3})
    runner = local_runner(Stage())

    for number in range(7):
        perform(runner, write(count=number), key="often")
        if number == 4:
            perform(runner, write(count=number), key="once")

    assert begun(tmp_path / "log") == [
        {"key": "often", "value": {}},
        {"key": "often"},
        {"key": "often"},
        {"key": "often", "value": {"count": 2}},
        {"key": "often"},
        {"key": "once", "value": {}},
        {"key": "often"},
        {"key": "often", "value": {"count": 5}},
    ]


def test_the_first_run_after_a_restart_has_a_full_snapshot(instrument, tmp_path):
    instrument(options={"agent-run.snapshot-interval": 100})

    for _ in range(2):
        runner = local_runner(Stage())
        for _ in range(2):
            perform(runner, lambda *_: None)

    assert [sorted(each) for each in begun(tmp_path / "log")] == [
        ["key", "value"],
        ["key"],
    ] * 2


def test_the_table_of_turns_is_bounded_and_who_falls_out_begins_anew():
    turns = SnapshotTurns()

    assert turns.is_due("first", 10)
    assert not turns.is_due("first", 10)
    for number in range(65_536):
        assert turns.is_due(number, 10)

    assert len(turns._runs) == 65_536
    assert turns.is_due("first", 10)
    assert not turns.is_due(65_535, 10)


def test_without_an_interval_nothing_is_counted():
    turns = SnapshotTurns()

    assert [turns.is_due(number, 1) for number in range(3)] == [True] * 3
    assert len(turns._runs) == 0


def test_it_is_off_where_it_would_keep_memory_alive_and_says_so_once(
    instrument, tmp_path, caplog
):
    instrument()
    runner = local_runner(Stage(), **{TTL: 1000})

    with caplog.at_level(logging.INFO, "opentelemetry"):
        for _ in range(3):
            perform(runner, lambda *_: None)

    assert begun(tmp_path / "log") == []
    [said] = [
        record
        for record in caplog.records
        if record.name.startswith("opentelemetry") and TTL in record.getMessage()
    ]
    assert said.levelno == logging.INFO
    assert TTL in said.getMessage()
    assert UPDATE in said.getMessage()
    assert "agent-run.begin-event" in said.getMessage()


@pytest.mark.parametrize(
    ("configuration", "expected"),
    [
        ({}, True),
        ({TTL: 0}, True),
        ({TTL: -1}, True),
        ({TTL: 1000}, False),
        ({TTL: "1000"}, False),
        ({TTL: 1000, UPDATE: "ON_READ_AND_WRITE"}, False),
        ({TTL: 1000, UPDATE: "on_read_and_write"}, False),
        ({TTL: 1000, UPDATE: None}, False),
        ({TTL: 1000, UPDATE: "ON_CREATE_AND_WRITE"}, True),
        ({TTL: 0, UPDATE: "ON_READ_AND_WRITE"}, True),
        ({TTL: "soon"}, True),
        ({TTL: 1000, "agent-run.begin-event": True}, True),
        ({TTL: 1000, "agent-run.begin-event": "false"}, False),
    ],
)
def test_time_to_live_decides_only_where_nobody_did(configuration, expected):
    assert memory_settings(Settings({}), configuration).begin is expected


def test_the_host_s_own_options_of_time_to_live_are_understood():
    options = pytest.importorskip("flink_agents.api.core_options")
    updates = getattr(options, "ShortTermMemoryTtlUpdate", None)
    if updates is None:
        pytest.skip("this version of the host has no time-to-live of memory")
    keys = options.AgentExecutionOptions
    update_type = keys.SHORT_TERM_MEMORY_STATE_TTL_UPDATE_TYPE

    assert keys.SHORT_TERM_MEMORY_STATE_TTL_MS.get_key() == TTL
    assert update_type.get_key() == UPDATE
    assert update_type.get_default_value() is updates.ON_READ_AND_WRITE
    for update in updates:
        configuration = {TTL: 1000, UPDATE: update}
        expected = update is not updates.ON_READ_AND_WRITE
        assert memory_settings(Settings({}), configuration).begin is expected


def test_a_run_without_input_has_none(instrument, tmp_path):
    instrument()
    runner = local_runner(Stage())

    with pytest.raises(RuntimeError, match="must be dict"):
        runner.run(key="k")

    assert log_lines(tmp_path / "log") == []
