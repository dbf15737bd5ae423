from __future__ import annotations

import pytest

from flink_agents_eventlog import Levels

LEVELS = Levels(
    {
        "event-log.level": "STANDARD",
        "event-log.type.com.example.level": "OFF",
        "event-log.type.com.example.events.Paid.level": "VERBOSE",
        "event-log.type._input_event.level": "VERBOSE",
        "event-log.standard.max-depth": 3,
    }
)


@pytest.mark.parametrize(
    ("event_type", "level"),
    [
        ("com.example.events.Paid", "VERBOSE"),
        ("com.example.events.Sent", "OFF"),
        ("com.example.Sent", "OFF"),
        ("com.example", "OFF"),
        ("com.examples", "STANDARD"),
        ("com", "STANDARD"),
        ("_input_event", "VERBOSE"),
        ("_output_event", "STANDARD"),
        ("", "STANDARD"),
        (None, "STANDARD"),
        ("..", "STANDARD"),
    ],
)
def test_the_nearest_level_holds(event_type, level):
    assert LEVELS.of(event_type) == level


@pytest.mark.parametrize("options", [None, {}, {"event-log.level": None}])
def test_without_configuration_the_level_is_the_default(options):
    assert Levels(options).of("x") == "STANDARD"
    assert Levels(options, default="VERBOSE").of("x") == "VERBOSE"


@pytest.mark.parametrize(
    ("name", "level"),
    [("verbose", "VERBOSE"), ("Off", "OFF"), (" standard ", "STANDARD")],
)
def test_names_of_levels_are_read_in_any_case(name, level):
    assert Levels({"event-log.level": name}).of("x") == level


@pytest.mark.parametrize("key", ["event-log.level", "event-log.type.x.y.level"])
@pytest.mark.parametrize("value", ["LOUD", "", 3, True])
def test_an_unknown_level_is_refused_with_key_and_value(key, value):
    with pytest.raises(ValueError, match=f"{key} is {value!r}, but only OFF"):
        Levels({key: value})
