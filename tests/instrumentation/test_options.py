"""Every switch: where its value comes from, what is allowed, and where it is told."""

import logging
import re
from pathlib import Path

import pytest
from flink_agents.runtime.local_runner import LocalRunner

from hosting import brief, local_runner, log_lines
from opentelemetry.instrumentation.flink_agents import (
    ConfigurationError,
    FlinkAgentsInstrumentor,
    Masking,
)
from opentelemetry.instrumentation.flink_agents import _options as options
from opentelemetry.instrumentation.flink_agents._options import (
    OPTIONS,
    PREFIX,
    Option,
)
from opentelemetry.instrumentation.flink_agents._settings import Settings
from probing import Stage, perform, play, tool

DOCUMENTATION = Path(__file__).parents[2] / "docs" / "configuration.md"

# One allowed value that is not the default, and another.
OF_OPTION = {
    options.EVENT_LOG_DIR: ("/one", "/two"),
    options.DIALECT: ("native", "snake"),
    options.LEVEL: ("OFF", "STANDARD"),
    options.LLM_ATTEMPTS: ("each", "logical"),
}


def samples(option):
    if option in OF_OPTION:
        return OF_OPTION[option]
    if isinstance(option.default, int) and not isinstance(option.default, bool):
        return option.default + 7, option.default + 8
    return not option.default, bool(option.default)


def each_option(*, having=lambda _: True):
    chosen = [option for option in OPTIONS if having(option)]
    return pytest.mark.parametrize(
        "option", chosen, ids=[option.variable for option in chosen]
    )


def warnings_in(caplog):
    return [each.message for each in caplog.records if each.levelno >= logging.WARNING]


@pytest.mark.memory
@each_option()
def test_without_any_value_the_default_holds(option):
    assert Settings({})[option] == option.default
    assert Settings({}).for_agent(option, {}) == option.default


@pytest.mark.memory
@each_option(having=lambda option: option.key)
def test_the_agents_configuration_comes_before_the_default(option):
    value, _ = samples(option)

    assert Settings({}).for_agent(option, {option.key: value}) == value
    assert Settings({}).for_agent(option, {option.key: str(value)}) == value


@each_option()
def test_the_environment_comes_before_the_agents_configuration(option, monkeypatch):
    value, other = samples(option)
    monkeypatch.setenv(PREFIX + option.variable, str(value))

    assert Settings({})[option] == value
    assert Settings({}).for_agent(option, {option.key: other}) == value


@each_option(having=lambda option: option.key)
def test_options_come_before_the_environment(option, monkeypatch):
    value, other = samples(option)
    monkeypatch.setenv(PREFIX + option.variable, str(other))

    settings = Settings({}, {option.key: value})

    assert settings.for_agent(option, {option.key: other}) == value


@each_option(having=lambda option: option.argument)
def test_an_argument_comes_before_everything(option, monkeypatch):
    value, other = samples(option)
    monkeypatch.setenv(PREFIX + option.variable, str(other))

    settings = Settings(
        {option.argument: value}, {option.key: other} if option.key else {}
    )

    assert settings.for_agent(option, {option.key: other}) == value


@each_option()
def test_an_empty_variable_is_as_good_as_none(option, monkeypatch):
    monkeypatch.setenv(PREFIX + option.variable, "")

    assert Settings({})[option] == option.default


BOOLEANS = {
    "true": True,
    "True": True,
    " TRUE ": True,
    "1": True,
    "yes": True,
    "on": True,
    "false": False,
    "False": False,
    "0": False,
    "no": False,
    "off": False,
}


@pytest.mark.parametrize(("word", "value"), BOOLEANS.items())
@each_option(having=lambda option: isinstance(option.default, bool))
def test_a_boolean_may_be_said_in_many_words(option, word, value, monkeypatch):
    monkeypatch.setenv(PREFIX + option.variable, word)

    assert Settings({})[option] is value


@each_option(having=lambda option: option.key and option.default is True)
def test_the_string_false_of_an_agents_configuration_is_false(option):
    assert Settings({}).for_agent(option, {option.key: "false"}) is False


def ask_a_tool(_, __):
    tool(lambda: "an answer").call()


def contents(folder):
    return [
        sorted(line["event_attributes"])
        for line in log_lines(folder)
        if line.get("entity_type") == "tool"
    ]


def test_a_real_agents_configuration_is_read(instrument, tmp_path):
    instrument(event_log_dir=None)
    runner = local_runner(
        Stage(),
        **{
            "baseLogDir": str(tmp_path / "theirs"),
            "event-log.execution-content": "false",
            "event-log.rotate-bytes": "1",
            "event-log.keep-files": "2",
        },
    )

    perform(runner, ask_a_tool)

    [newest, *aside] = sorted(
        (tmp_path / "theirs").iterdir(), key=lambda p: len(p.name)
    )
    assert len(aside) == 2
    assert len(newest.read_text().splitlines()) == 1
    assert contents(tmp_path / "theirs") == [[], []]


@pytest.mark.parametrize("by", ["argument", "option", "variable"])
def test_what_the_application_says_comes_before_the_agents_configuration(
    by, instrument, tmp_path, monkeypatch
):
    ours = str(tmp_path / "ours")
    arguments = {"event_log_dir": None}
    if by == "argument":
        arguments["event_log_dir"] = ours
    elif by == "option":
        arguments["options"] = {"baseLogDir": ours}
    else:
        monkeypatch.setenv("OTEL_PYTHON_FLINK_AGENTS_EVENT_LOG_DIR", ours)
    instrument(**arguments)

    runner = local_runner(Stage(), baseLogDir=str(tmp_path / "theirs"))
    perform(runner, lambda *_: None)

    assert brief(log_lines(ours)) == [
        "_input_event",
        "action act started",
        "action act finished",
    ]
    assert not (tmp_path / "theirs").exists()


@pytest.mark.parametrize(("is_on", "attributes"), [(True, ["input"]), (False, [])])
def test_execution_content_can_be_switched_off(is_on, attributes, instrument, tmp_path):
    instrument(options={"event-log.execution-content": is_on})

    play(ask_a_tool)

    assert contents(tmp_path / "log")[0] == attributes


NOT_ALLOWED = [
    ({"event_log": "maybe"}, "event_log='maybe' is not allowed: use true or false"),
    ({"otlp": 2}, "otlp=2 is not allowed: use true or false"),
    ({"event_log_dir": 7}, "event_log_dir=7 is not allowed: use a path"),
    ({"event_log_dir": ""}, "event_log_dir='' is not allowed: use a path"),
    ({"event_log_dir": b"x"}, "event_log_dir=b'x' is not allowed: use a path"),
    ({"dialect": "camel"}, "dialect='camel' is not allowed: use snake or native"),
    (
        {"llm_attempts": "all"},
        "llm_attempts='all' is not allowed: use logical or each",
    ),
    (
        {"options": {"event-log.keep-files": -1}},
        "event-log.keep-files=-1 is not allowed: use a whole number, 0 or more",
    ),
    (
        {"options": {"event-log.rotate-bytes": "many"}},
        "event-log.rotate-bytes='many' is not allowed: use a whole number, 0 or more",
    ),
    (
        {"options": {"event-log.keep-files": True}},
        "event-log.keep-files=True is not allowed: use a whole number, 0 or more",
    ),
    (
        {"options": {"event-log.execution-content": 5}},
        "event-log.execution-content=5 is not allowed: use true or false",
    ),
    (
        {"options": {"event-log.level": "loud"}},
        "event-log.level='loud' is not allowed: use OFF, STANDARD or VERBOSE",
    ),
    (
        {"options": {"event-log.type.note.level": 7}},
        "event-log.type.note.level=7 is not allowed: use OFF, STANDARD or VERBOSE",
    ),
    (
        {"dialect": "native", "options": {"agent-run.snapshot-interval": 2}},
        (
            "agent-run.snapshot-interval=2 is not allowed: use 1, all that the native"
            " dialect has a place for"
        ),
    ),
    (
        {
            "dialect": "native",
            "options": {"memory.generate-event.previous-value": True},
        },
        (
            "memory.generate-event.previous-value=True is not allowed: use False, all"
            " that the native dialect has a place for"
        ),
    ),
    (
        {"options": [1]},
        "options=[1] is not allowed: use a mapping of configuration keys",
    ),
    (
        {"mask": "card"},
        (
            "mask='card' is not allowed: use Masking(keys=…, patterns=…) or a function"
            " of a path and a value"
        ),
    ),
]


@pytest.mark.parametrize(("arguments", "message"), NOT_ALLOWED)
def test_a_value_that_is_not_allowed_is_refused(arguments, message, instrument):
    with pytest.raises(ConfigurationError) as refused:
        instrument(**{"event_log_dir": "log", **arguments})

    assert str(refused.value) == message
    assert isinstance(refused.value, ValueError)


@pytest.mark.parametrize("key", ["event-log.keepfiles", "", 7])
def test_an_option_that_does_not_exist_is_refused_with_those_that_do(key, instrument):
    with pytest.raises(ConfigurationError) as refused:
        instrument(options={key: 1})

    assert str(refused.value).startswith(f"There is no option {key!r}: use one of ")
    assert "event-log.keep-files" in str(refused.value)


def test_an_argument_that_does_not_exist_is_refused(instrument):
    with pytest.raises(TypeError) as refused:
        instrument(event_log_folder="x")

    assert str(refused.value) == (
        "instrument() got an unexpected keyword argument 'event_log_folder'"
    )


@each_option(having=lambda option: option.variable != "EVENT_LOG_DIR")
def test_a_bad_value_in_the_environment_is_one_warning_and_the_default(
    option, instrument, monkeypatch, caplog
):
    variable = PREFIX + option.variable
    monkeypatch.setenv(variable, "surely wrong")
    instrument()
    play(lambda *_: None)
    play(lambda *_: None)

    [said] = warnings_in(caplog)
    assert re.fullmatch(
        re.escape(f"{variable}='surely wrong' is not allowed: use ")
        + ".+"
        + re.escape(f"; {option.default!r} is used instead"),
        said,
    )
    assert Settings({})[option] == option.default


def test_a_bad_value_in_an_agents_configuration_is_one_warning_and_the_default(
    instrument, tmp_path, caplog
):
    instrument()
    runner = local_runner(Stage(), **{"event-log.keep-files": "few"})

    for _ in range(3):
        perform(runner, lambda *_: None)

    assert warnings_in(caplog) == [
        (
            "agent configuration event-log.keep-files='few' is not allowed: use a whole"
            " number, 0 or more; 16 is used instead"
        )
    ]
    assert len(log_lines(tmp_path / "log")) == 9


REFUSED = [
    {"event_log": "maybe"},
    {"no_such": 1},
    {"options": {"no-such": 1}},
]


@pytest.mark.parametrize("arguments", REFUSED)
def test_a_refused_instrument_leaves_nothing_installed(arguments, instrument, tmp_path):
    original = vars(LocalRunner)["run"]

    with pytest.raises((ConfigurationError, TypeError)):
        instrument(**arguments)

    assert vars(LocalRunner)["run"] is original
    assert not FlinkAgentsInstrumentor().is_instrumented_by_opentelemetry
    instrument()
    play(lambda *_: None)
    assert len(log_lines(tmp_path / "log")) == 3


@pytest.mark.parametrize("arguments", REFUSED)
def test_a_refused_change_leaves_everything_as_it_was(arguments, instrument, tmp_path):
    instrument(mask=Masking(keys=["input"]))

    with pytest.raises((ConfigurationError, TypeError)):
        FlinkAgentsInstrumentor().instrument(event_log_dir="elsewhere", **arguments)
    play(lambda *_: None)

    assert log_lines(tmp_path / "log")[0]["event_attributes"] == {"input": "***"}
    assert not Path("elsewhere").exists()


def test_instrumenting_again_changes_only_what_is_given(instrument, tmp_path):
    instrument(mask=Masking(keys=["input"]))
    FlinkAgentsInstrumentor().instrument(event_log_dir=str(tmp_path / "second"))

    play(lambda *_: None)

    assert log_lines(tmp_path / "second")[0]["event_attributes"] == {"input": "***"}
    assert not (tmp_path / "log").exists()


def documented_rows():
    rows = {}
    for line in DOCUMENTATION.read_text().splitlines():
        if line.startswith("| ") and not line.startswith(("| Key", "| ---")):
            key, argument, variable, default, doc = (
                cell.strip() for cell in line.strip("|").split("|")
            )
            rows[variable.strip("`")] = (key, argument, default, doc)
    return rows


def expected_row(option: Option):
    shown = "" if option.default is None else f"`{option.default}`"
    return (
        f"`{option.key}`" if option.key else "",
        f"`{option.argument}`" if option.argument else "",
        shown.replace("True", "true").replace("False", "false"),
        option.doc,
    )


def test_the_documentation_has_one_row_for_every_option():
    assert documented_rows() == {
        option.variable: expected_row(option) for option in OPTIONS
    }


def test_no_two_options_share_a_name():
    for names in (
        [option.variable for option in OPTIONS],
        [option.key for option in OPTIONS if option.key],
        [option.argument for option in OPTIONS if option.argument],
    ):
        assert len(names) == len(set(names))


def test_a_path_object_is_a_path(instrument, tmp_path):
    instrument(event_log_dir=tmp_path / "path object")

    play(lambda *_: None)

    assert len(log_lines(tmp_path / "path object")) == 3
    assert [each.name for each in tmp_path.iterdir()] == ["path object"]
