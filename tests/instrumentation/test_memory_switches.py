"""Which memory events there are: CASES A, in every place that has a say."""

import importlib
import logging

import pytest
from flink_agents.runtime.local_memory_object import LocalMemoryObject

from flink_agents_eventlog.folding import EVENT_TYPE_OF_OPERATION
from hosting import in_both_dialects, local_runner
from memory_agents import remembered
from opentelemetry.instrumentation.flink_agents import (
    ConfigurationError,
    _options,
    uninstrument,
)
from opentelemetry.instrumentation.flink_agents._memory_settings import memory_settings
from opentelemetry.instrumentation.flink_agents._settings import Settings
from opentelemetry.instrumentation.flink_agents.events import MemoryEventOptions
from probing import Stage, perform

pytestmark = pytest.mark.memory

MASTER = "memory.generate-event"
VARIABLE = "OTEL_PYTHON_FLINK_AGENTS_MEMORY_GENERATE_EVENT"
READS = {"short-term-read", "sensory-read"}
ALL = set(EVENT_TYPE_OF_OPERATION)
DEFAULT = ALL - READS
METHODS = ("get", "set", "new_object", "get_fields")

ROWS = {
    "nothing said": ({}, DEFAULT),
    "master off": ({MASTER: False}, set()),
    "master on": ({MASTER: True}, ALL),
    "master off, two on": (
        {
            MASTER: False,
            f"{MASTER}.long-term-update": True,
            f"{MASTER}.short-term-write": "true",
        },
        {"long-term-update", "short-term-write"},
    ),
    "master on, one off": (
        {MASTER: True, f"{MASTER}.long-term-search": False},
        ALL - {"long-term-search"},
    ),
    "the word false is not true": ({MASTER: "false"}, set()),
    "words in any case": (
        {MASTER: "TRUE", f"{MASTER}.sensory-read": "Off"},
        ALL - {"sensory-read"},
    ),
    "one more than the default": (
        {f"{MASTER}.short-term-read": True},
        DEFAULT | {"short-term-read"},
    ),
    "one less than the default": (
        {f"{MASTER}.sensory-write": "no"},
        DEFAULT - {"sensory-write"},
    ),
}


def everything(_, ctx):
    for memory in (ctx.sensory_memory, ctx.short_term_memory):
        memory.set("path", "value")
        memory.get("path")


def kinds(folder):
    return {
        operation
        for operation, event_type in EVENT_TYPE_OF_OPERATION.items()
        if event_type in dict(remembered(folder))
    }


@pytest.mark.parametrize(("configuration", "expected"), ROWS.values(), ids=ROWS)
def test_the_key_of_an_operation_beats_the_master_which_beats_its_default(
    configuration, expected
):
    assert memory_settings(Settings({}), configuration).operations == expected
    assert memory_settings(Settings({}, configuration), {}).operations == expected


@in_both_dialects
@pytest.mark.parametrize(("configuration", "expected"), ROWS.values(), ids=ROWS)
def test_the_log_has_the_events_that_the_agent_configuration_asks_for(
    instrument, tmp_path, configuration, expected
):
    instrument()

    perform(local_runner(Stage(), **configuration), everything)

    observable = {name for name in ALL if not name.startswith("long-term")}
    assert kinds(tmp_path / "log") == expected & observable


def test_the_environment_has_a_variable_for_the_master_and_for_each_operation(
    instrument, tmp_path, monkeypatch
):
    monkeypatch.setenv(VARIABLE, "false")
    monkeypatch.setenv(f"{VARIABLE}_SENSORY_READ", "true")
    monkeypatch.setenv(f"{VARIABLE}_SHORT_TERM_WRITE", "1")
    instrument()

    perform(local_runner(Stage(), **{MASTER: True}), everything)

    assert kinds(tmp_path / "log") == {"sensory-read", "short-term-write"}
    assert {option.variable for option in _options.GENERATE_EVENT_OF.values()} == {
        f"MEMORY_GENERATE_EVENT_{name.upper().replace('-', '_')}" for name in ALL
    }


def test_options_beat_the_environment_and_the_environment_beats_the_agent(
    instrument, tmp_path, monkeypatch
):
    monkeypatch.setenv(f"{VARIABLE}_SENSORY_WRITE", "false")
    monkeypatch.setenv(f"{VARIABLE}_SHORT_TERM_WRITE", "true")
    instrument(options={f"{MASTER}.short-term-write": False})

    perform(
        local_runner(Stage(), **{MASTER: False, f"{MASTER}.sensory-write": True}),
        everything,
    )

    assert kinds(tmp_path / "log") == set()


def test_another_agent_of_the_same_process_has_its_own_switches(instrument, tmp_path):
    instrument()

    perform(local_runner(Stage(), **{MASTER: False}), everything)
    assert kinds(tmp_path / "log") == set()
    perform(local_runner(Stage()), everything)

    assert kinds(tmp_path / "log") == {"sensory-write", "short-term-write"}


def test_a_switch_in_options_that_is_no_boolean_is_refused_by_name(instrument):
    message = r"memory\.generate-event\.sensory-read='maybe' .* use true or false"
    with pytest.raises(ConfigurationError, match=message):
        instrument(options={f"{MASTER}.sensory-read": "maybe"})


def test_a_switch_of_an_agent_that_is_no_boolean_is_said_once_and_is_its_default(
    instrument, tmp_path, caplog
):
    instrument()
    runner = local_runner(Stage(), **{MASTER: "perhaps"})

    with caplog.at_level(logging.WARNING, "opentelemetry"):
        perform(runner, everything)
        perform(runner, everything)

    [said] = caplog.messages
    assert said == (
        "agent configuration memory.generate-event='perhaps' is not allowed: use true"
        " or false; None is used instead"
    )
    assert kinds(tmp_path / "log") == {"sensory-write", "short-term-write"}


def test_the_options_of_the_typed_surface_have_the_names_of_the_switches():
    options = {
        name: (option.get_key(), option.get_type(), option.get_default_value())
        for name, option in vars(MemoryEventOptions).items()
        if name.isupper()
    }

    assert options == {
        "MEMORY_GENERATE_EVENT": (MASTER, bool, None),
        **{
            name.upper().replace("-", "_"): (f"{MASTER}.{name}", bool, None)
            for name in ALL
        },
    }


def options_of_the_host():
    """The host's own class of these options, from whichever module has it."""
    for module in ("core_options", "memory_event", "events.memory_event"):
        try:
            loaded = importlib.import_module(f"flink_agents.api.{module}")
        except ImportError:
            continue
        if hasattr(loaded, "MemoryEventOptions"):
            return loaded.MemoryEventOptions
    return None


@pytest.mark.skipif(
    options_of_the_host() is None,
    reason="this version of the host has no options for memory events",
)
def test_names_and_defaults_are_the_host_s():
    def described(options):
        return {
            (option.get_key(), option.get_type(), option.get_default_value())
            for option in vars(options).values()
            if hasattr(option, "get_key")
        }

    assert described(MemoryEventOptions) == described(options_of_the_host())


def in_place():
    return {name: vars(LocalMemoryObject)[name] for name in METHODS}


def patched():
    return {name for name, now in in_place().items() if hasattr(now, "__wrapped__")}


@pytest.mark.parametrize(
    ("configuration", "expected"),
    [
        ({MASTER: False}, set()),
        ({}, {"set", "new_object"}),
        ({MASTER: False, f"{MASTER}.sensory-read": True}, {"get", "get_fields"}),
        ({MASTER: True}, set(METHODS)),
    ],
    ids=["off", "default", "one read", "on"],
)
def test_what_nobody_switched_on_is_the_host_s_own_function(
    instrument, configuration, expected
):
    before = in_place()
    instrument()
    assert in_place() == before

    perform(local_runner(Stage(), **configuration), everything)

    assert patched() == expected
    uninstrument()
    assert all(now is before[name] for name, now in in_place().items())


def test_without_a_log_and_without_a_listener_memory_is_not_observed(instrument):
    before = in_place()
    instrument(event_log=False)

    perform(local_runner(Stage(), **{MASTER: True}), everything)

    assert in_place() == before


def test_an_option_of_the_interval_that_is_not_positive_is_refused(instrument):
    with pytest.raises(ConfigurationError, match="a whole number, 1 or more"):
        instrument(options={"agent-run.snapshot-interval": 0})
