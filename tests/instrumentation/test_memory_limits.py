"""Values that are too large, or that JSON cannot hold, never break a record."""

import math
from collections.abc import Mapping

import pytest

from hosting import TYPED_EVENTS, local_runner, log_lines
from memory_agents import HEARD, Observer, memory_lines
from probing import Stage, perform

pytestmark = pytest.mark.memory

MEGABYTES_50 = "x" * (50 * 2**20)
LIMIT = {"memory.generate-event.max-value-bytes": 1000}
END = {"agent-run.end-event": True}


@pytest.fixture(autouse=True)
def _heard():
    HEARD.clear()


def told(folder):
    """Value and metadata of everything that tells of memory."""
    return [
        (
            line["event_type"],
            line["event_attributes"]["value"],
            line.get("entity_metadata"),
        )
        for line in log_lines(folder)
        if "key" in line["event_attributes"]
    ]


def write(**entries):
    return lambda _, ctx: [
        ctx.short_term_memory.set(path, value) for path, value in entries.items()
    ]


def test_fifty_megabytes_cost_no_line_of_fifty_megabytes(instrument, tmp_path):
    instrument(options=LIMIT | END)
    runner = local_runner(Stage())

    perform(runner, write(large=MEGABYTES_50, small="kept"))
    perform(runner, lambda *_: None)

    left_out = {"oversized_paths": {"large": len(MEGABYTES_50) + 2}}
    assert told(tmp_path / "log") == [
        ("_agent_run_begin_event", {}, None),
        ("_short_term_write_event", {"small": "kept"}, left_out),
        ("_agent_run_end_event", {"small": "kept"}, left_out),
        ("_agent_run_begin_event", {"small": "kept"}, left_out),
        ("_agent_run_end_event", {"small": "kept"}, left_out),
    ]
    assert sum(path.stat().st_size for path in (tmp_path / "log").iterdir()) < 10_000


def test_without_a_limit_a_value_of_any_size_is_there(instrument, tmp_path):
    instrument()

    perform(local_runner(Stage()), write(large="x" * 10**6))

    assert told(tmp_path / "log")[-1] == (
        "_short_term_write_event",
        {"large": "x" * 10**6},
        None,
    )


def test_a_marked_value_is_none_of_the_user_s(instrument, tmp_path):
    instrument(options=LIMIT)
    user_s = {"oversized_paths": {"large": 5}, "unrepresentable_paths": ["x"]}

    perform(local_runner(Stage()), write(path=user_s))

    assert told(tmp_path / "log")[-1] == (
        "_short_term_write_event",
        {"path": user_s},
        None,
    )


def test_an_oversized_previous_value_is_left_out(instrument, tmp_path):
    instrument(options=LIMIT | {"memory.generate-event.previous-value": True})
    runner = local_runner(Stage())

    perform(runner, write(path="x" * 2000))
    perform(runner, write(path="small"))

    assert [line["event_attributes"] for line in memory_lines(tmp_path / "log")] == [
        {"key": "k", "value": {}, "previous": {}},
        {"key": "k", "value": {"path": "small"}, "previous": {}},
    ]


def test_what_json_cannot_hold_is_named_in_every_event(instrument, tmp_path):
    instrument(options=END)
    runner = local_runner(Stage())
    entries = {"bad": math.nan, "nested": {"deep": [math.inf]}, "good": 1.5}

    perform(runner, write(**entries))
    perform(runner, lambda *_: None)

    left_out = {"unrepresentable_paths": ["bad", "nested"]}
    assert told(tmp_path / "log")[1:4] == [
        ("_short_term_write_event", {"good": 1.5}, left_out),
        ("_agent_run_end_event", {"good": 1.5}, left_out),
        ("_agent_run_begin_event", {"good": 1.5}, left_out),
    ]


@pytest.mark.skipif(not TYPED_EVENTS, reason="later hosts refuse such values")
def test_cycles_and_unserialisable_objects_never_fail_an_action(instrument, tmp_path):
    instrument()
    cycle = []
    cycle.append(cycle)

    class Broken(Mapping):
        def __len__(self):
            raise RuntimeError("broken")

        __iter__ = __getitem__ = __len__

    runner = local_runner(Stage())
    perform(runner, write(cycle=cycle, broken=Broken(), valid=True))
    perform(runner, lambda *_: None)

    assert told(tmp_path / "log")[1:] == [
        (
            "_short_term_write_event",
            {"valid": True},
            {"unrepresentable_paths": ["cycle", "broken"]},
        ),
        (
            "_agent_run_begin_event",
            {"valid": True},
            {"unrepresentable_paths": ["broken", "cycle"]},
        ),
    ]


def test_an_event_of_which_nothing_is_left_is_logged_but_wakes_nobody(
    instrument, tmp_path
):
    instrument(options=LIMIT)
    runner = local_runner(Observer())

    runner.run(key="k", value={"large": "x" * 2000})
    assert HEARD == []
    runner.run(key="k", value={"bad": math.nan})
    assert HEARD == []
    runner.run(key="k", value={"large": "x" * 2000, "small": 1})

    [(event, _)] = HEARD
    assert event.value == {"small": 1}
    assert [
        line["event_attributes"]["value"] for line in memory_lines(tmp_path / "log")
    ] == [
        {},
        {},
        {"small": 1},
    ]
