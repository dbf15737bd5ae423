"""The typed surface of memory, begin and end events: CASES D."""

import copy
import math

import pytest
from flink_agents.api.events.event import Event

from hosting import TYPED_EVENTS
from opentelemetry.instrumentation.flink_agents import events
from opentelemetry.instrumentation.flink_agents.events import (
    AGENT_RUN_BEGIN_EVENT,
    AGENT_RUN_END_EVENT,
    MEMORY_EVENT_TYPES,
    AgentRunBeginEvent,
    AgentRunEndEvent,
    LongTermGetEvent,
    LongTermSearchEvent,
    LongTermUpdateEvent,
    SensoryReadEvent,
    SensoryWriteEvent,
    ShortTermReadEvent,
    ShortTermWriteEvent,
    is_memory_type,
)
from processes import printed_by

pytestmark = pytest.mark.memory

SEVEN = {
    "_short_term_write_event": ShortTermWriteEvent,
    "_short_term_read_event": ShortTermReadEvent,
    "_sensory_write_event": SensoryWriteEvent,
    "_sensory_read_event": SensoryReadEvent,
    "_long_term_update_event": LongTermUpdateEvent,
    "_long_term_get_event": LongTermGetEvent,
    "_long_term_search_event": LongTermSearchEvent,
}
RUN = {
    "_agent_run_begin_event": AgentRunBeginEvent,
    "_agent_run_end_event": AgentRunEndEvent,
}
NINE = SEVEN | RUN


def base_event(**attributes):
    """What arrives where events are passed on as JSON."""
    if TYPED_EVENTS:
        return Event(**attributes)
    return Event(type="any", attributes=attributes)


def parametrize(classes):
    return pytest.mark.parametrize(("event_type", "cls"), classes.items(), ids=classes)


@parametrize(NINE)
def test_each_class_has_its_type_and_is_an_event_of_the_host(event_type, cls):
    event = cls(key="42", value={"user.tier": "gold"})

    assert event_type == cls.EVENT_TYPE
    assert isinstance(event, Event)
    assert (event.key, event.value, event.previous) == (
        "42",
        {"user.tier": "gold"},
        None,
    )
    if not TYPED_EVENTS:
        assert (event.get_type(), event.attributes) == (
            event_type,
            {"key": "42", "value": {"user.tier": "gold"}},
        )


def test_the_types_are_known_by_name():
    assert SEVEN.keys() == MEMORY_EVENT_TYPES
    assert tuple(RUN) == (AGENT_RUN_BEGIN_EVENT, AGENT_RUN_END_EVENT)
    assert events.EVENT_CLASSES == NINE
    assert all(hasattr(events, name) for name in events.__all__)


@pytest.mark.parametrize("event_type", [*SEVEN])
def test_the_seven_are_memory_types(event_type):
    assert is_memory_type(event_type)


@pytest.mark.parametrize(
    "event_type", ["_input_event", None, "", "_agent_run_begin_event"]
)
def test_others_are_no_memory_types(event_type):
    assert not is_memory_type(event_type)


@parametrize(NINE)
def test_the_value_is_a_deep_copy(event_type, cls):
    value = {"user": {"tags": ["a"]}}
    event = cls(key="k", value=value, previous=value)

    value["user"]["tags"].append("b")

    assert (event.value, event.previous) == ({"user": {"tags": ["a"]}},) * 2


@parametrize(NINE)
def test_bytes_become_base64_text(event_type, cls):
    event = cls(key="k", value={"raw": b"\x01\x02\x03", "in": [b"\x01\x02\x03"]})

    assert event.value == {"raw": "AQID", "in": ["AQID"]}


@parametrize(NINE)
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_no_json_are_rejected_wherever_they_stand(
    event_type, cls, bad
):
    with pytest.raises(ValueError, match="is no JSON value"):
        cls(key="k", value={"path": bad})
    with pytest.raises(ValueError, match="is no JSON value"):
        cls(key="k", value={"path": [{"deep": (bad,)}]})


@parametrize(NINE)
def test_a_key_is_required(event_type, cls):
    with pytest.raises(ValueError, match="key is required"):
        cls(key=None, value={})


@parametrize(NINE)
def test_the_key_is_a_text(event_type, cls):
    assert cls(key=7, value={}).key == "7"
    assert cls(key="", value={}).key == ""


@parametrize(SEVEN)
def test_a_value_is_required_of_memory_events(event_type, cls):
    with pytest.raises(ValueError, match="value is required"):
        cls(key="k", value=None)
    with pytest.raises(ValueError, match="value is required"):
        cls(key="k")


@parametrize(RUN)
def test_begin_and_end_may_come_without_a_snapshot(event_type, cls):
    event = cls(key="k")

    assert (event.key, event.value) == ("k", None)
    if not TYPED_EVENTS:
        assert event.attributes == {"key": "k"}
    assert cls.from_event(base_event(key="k")).value is None


@parametrize(NINE)
@pytest.mark.parametrize("value", [[], "text", 1])
def test_a_value_is_a_mapping(event_type, cls, value):
    with pytest.raises(TypeError, match="value must be a mapping"):
        cls(key="k", value=value)


@parametrize(NINE)
def test_from_event_gives_the_typed_form_and_keeps_the_id(event_type, cls):
    event = base_event(key="k", value={"path": [1]}, previous={"path": 0})

    typed = cls.from_event(event)

    assert type(typed) is cls
    assert (typed.key, typed.value, typed.previous) == ("k", {"path": [1]}, {"path": 0})
    assert typed.id == event.id


@parametrize(SEVEN)
def test_from_event_rejects_an_event_without_key_or_value(event_type, cls):
    with pytest.raises((ValueError, TypeError)):
        cls.from_event(base_event(key="k"))
    with pytest.raises((ValueError, TypeError)):
        cls.from_event(base_event(value={}))


@parametrize(NINE)
def test_from_event_of_a_typed_event_says_the_same(event_type, cls):
    event = cls(key="k", value={"path": 1})

    typed = cls.from_event(event)

    assert (typed.key, typed.value, typed.id) == ("k", {"path": 1}, event.id)


@parametrize(NINE)
def test_events_survive_json_and_copies(event_type, cls):
    event = cls(key="k", value={"path": {"deep": [None, 1.5]}})

    back = cls.from_event(Event.model_validate_json(event.model_dump_json()))

    assert (back.key, back.value, back.id) == (event.key, event.value, event.id)
    again = copy.deepcopy(event)
    assert (again.key, again.value, again.id) == (event.key, event.value, event.id)


def test_search_results_keep_their_order():
    hits = [{"id": "b", "value": "x", "score": 0.9}, {"id": "a", "value": "y"}]

    assert LongTermSearchEvent(key="k", value={"query": hits}).value == {"query": hits}


def test_on_a_host_that_has_these_types_ours_are_theirs():
    # No such host can be installed: its two modules, as their names are published.
    code = """
import sys, types
for name, cls in (
    ("memory_event", "ShortTermWriteEvent"), ("run_event", "AgentRunBeginEvent")
):
    module = types.ModuleType(f"flink_agents.api.events.{name}")
    found = type(cls, (), {"EVENT_TYPE": f"of the host: {cls}"})
    setattr(module, cls, found)
    sys.modules[module.__name__] = module
from opentelemetry.instrumentation.flink_agents import events
print(events.ShortTermWriteEvent.EVENT_TYPE)
print(events.AgentRunBeginEvent.EVENT_TYPE)
print(events.SensoryWriteEvent.EVENT_TYPE)
"""

    assert printed_by(code) == [
        "of the host: ShortTermWriteEvent",
        "of the host: AgentRunBeginEvent",
        "_sensory_write_event",
    ]


@pytest.mark.parametrize("names", ["prefs", ("prefs",), {"prefs"}, {}, 1, ["prefs", 1]])
def test_cleared_sets_are_a_list_of_names(names):
    with pytest.raises(TypeError, match="cleared_sets must be a list of names"):
        events.LongTermUpdateEvent("k", {}, cleared_sets=names)


def test_cleared_sets_survive_the_way_through_a_base_event():
    sent = events.LongTermUpdateEvent("k", {"a": {"i": "x"}}, cleared_sets=["b"])

    assert events.LongTermUpdateEvent.from_event(sent).cleared_sets == ["b"]
