"""Actions that listen to memory events, to the begin event, and to none."""

import pytest

from hosting import (
    TYPED_EVENTS,
    brief,
    in_both_dialects,
    local_runner,
    log_lines,
    told_lines,
)
from memory_agents import (
    HEARD,
    Beginner,
    Observer,
    SeveralObserver,
    memory_lines,
    of_type,
)
from opentelemetry.instrumentation.flink_agents import Masking
from opentelemetry.instrumentation.flink_agents.events import (
    AgentRunBeginEvent,
    SensoryWriteEvent,
    ShortTermReadEvent,
    ShortTermWriteEvent,
)
from probing import Stage, perform
from providing import MemoryProvider, ids

pytestmark = pytest.mark.memory

WRITE = "_short_term_write_event"
BEGIN = {"agent-run.begin-event": True}
ALL = {"memory.generate-event": True}


@pytest.fixture(autouse=True)
def _heard():
    HEARD.clear()
    yield
    HEARD.clear()


def heard():
    return [(type(event), event.key, event.value) for event, _ in HEARD]


def one(lines, **fields):
    [line] = [line for line in lines if fields.items() <= line.items()]
    return line


def test_an_action_that_listens_gets_the_typed_event(instrument):
    instrument()

    local_runner(Observer()).run(key=42, value={"user.tier": "gold"})

    assert heard() == [(ShortTermWriteEvent, "42", {"user.tier": "gold"})]
    event, _ = HEARD[0]
    assert ShortTermWriteEvent.from_event(event).value == {"user.tier": "gold"}
    if not TYPED_EVENTS:
        assert event.get_type() == WRITE


@in_both_dialects
def test_what_a_listening_action_does_to_memory_triggers_and_logs_nothing(
    instrument, tmp_path
):
    instrument(options=ALL | BEGIN)
    runner = local_runner(Observer())

    runner.run(key="k", value={"path": 1})
    runner.run(key="k", value={"path": 2})

    lines = told_lines(tmp_path / "log")
    assert brief(lines)[:7] == [
        "_input_event",
        "_agent_run_begin_event",
        "action write started",
        "action write finished",
        WRITE,
        "action observe started",
        "action observe finished",
    ]
    assert len(HEARD) == 2
    assert [line["entity_name"] for line in memory_lines(tmp_path / "log")] == [
        "write"
    ] * 2
    # It is in memory nevertheless, as the next snapshot tells.
    assert of_type(tmp_path / "log", "_agent_run_begin_event")[1]["value"] == {
        "observed": "yes",
        "path": 1,
    }


def test_the_observing_action_is_caused_by_the_memory_event(instrument, tmp_path):
    provider = MemoryProvider()
    instrument(tracer_provider=provider)

    local_runner(Observer()).run(key="k", value={"path": 1})

    lines = log_lines(tmp_path / "log")
    written = one(lines, event_type=WRITE)
    emitter = one(lines, entity_name="write", status="started")
    observer = one(lines, entity_name="observe", status="started")
    assert written["execution_id"] == emitter["execution_id"]
    assert observer["action_trigger_event_id"] == written["event_id"]
    assert len({line["event_id"] for line in lines}) == len(lines)

    spans = {span.name: span for span in provider.spans}
    observe = spans["action observe"]
    [link] = observe.links
    assert link.context == spans["action write"].context
    assert observe.attributes["flink_agents.event.trigger.type"] == WRITE
    assert observe.attributes["flink_agents.event.trigger.id"] == written["event_id"]
    assert ids(observe)[0] == ids(spans["action write"])[0]


def test_equal_memory_events_are_told_apart(instrument, tmp_path):
    instrument()
    runner = local_runner(Observer())

    for _ in range(3):
        runner.run(key="k", value={"path": 1})

    lines = log_lines(tmp_path / "log")
    written = [line["event_id"] for line in lines if line["event_type"] == WRITE]
    triggers = [
        line["action_trigger_event_id"]
        for line in lines
        if line.get("entity_name") == "observe" and line["status"] == "started"
    ]
    assert triggers == written
    assert len(set(written)) == 3


def test_several_actions_and_several_types(instrument, tmp_path):
    instrument(options=ALL)

    local_runner(SeveralObserver()).run(key="k", value={"path": 1})

    assert heard() == [
        (SensoryWriteEvent, "k", {"path": 1}),
        (ShortTermWriteEvent, "k", {"path": 1}),
        (ShortTermWriteEvent, "k", {"path": 1}),
        (ShortTermReadEvent, "k", {"path": 1}),
    ]
    lines = log_lines(tmp_path / "log")
    written = one(lines, event_type=WRITE)
    for name in ("first", "second"):
        started = one(lines, entity_name=name, status="started")
        assert started["action_trigger_event_id"] == written["event_id"]


def test_without_a_listener_nothing_is_routed(instrument, tmp_path):
    instrument(options=ALL | {"agent-run.end-event": True})
    queued = []

    def body(_, ctx):
        ctx.short_term_memory.set("path", 1)
        queued.append(ctx.events)

    runner = local_runner(Stage())
    perform(runner, body)
    perform(runner, body)

    # The host itself would have failed on an event that nobody listens to.
    assert [len(events) for events in queued] == [0, 0]
    assert len(of_type(tmp_path / "log", WRITE)) == 2


def test_without_a_log_who_listens_still_gets_the_event(instrument):
    instrument(event_log=False)

    local_runner(Observer()).run(key="k", value={"path": 1})

    assert heard() == [(ShortTermWriteEvent, "k", {"path": 1})]


@pytest.mark.parametrize(
    "off",
    [
        {"memory.generate-event": False},
        {"memory.generate-event.short-term-write": False},
    ],
)
def test_what_is_switched_off_wakes_nobody(instrument, off):
    instrument(options=off)

    local_runner(Observer()).run(key="k", value={"path": 1})

    assert HEARD == []


def test_uninstrumented_the_agent_runs_without_being_woken(instrument):
    local_runner(Observer()).run(key="k", value={"path": 1})

    assert HEARD == []


@in_both_dialects
def test_the_begin_event_reaches_its_listener_whose_writes_count(instrument, tmp_path):
    instrument(options=BEGIN)
    runner = local_runner(Beginner())

    runner.run(key="k", value={"path": 1})
    runner.run(key="k", value={"path": 2})

    assert heard() == [
        (AgentRunBeginEvent, "k", {}),
        (AgentRunBeginEvent, "k", {"path": 1, "run.begin.seen": True}),
    ]
    lines = told_lines(tmp_path / "log")
    assert brief(lines)[:8] == [
        "_input_event",
        "_agent_run_begin_event",
        "action write started",
        "action write finished",
        WRITE,
        "action begin started",
        "action begin finished",
        WRITE,
    ]
    began = lines[1]
    started = next(line for line in lines if line.get("entity_name") == "begin")
    assert started["action_trigger_event_id"] == began["event_id"]
    assert of_type(tmp_path / "log", WRITE)[:2] == [
        {"key": "k", "value": {"path": 1}},
        {"key": "k", "value": {"run.begin.seen": True}},
    ]


def test_a_begin_event_without_a_snapshot_is_routed_too(instrument):
    instrument(options={"agent-run.snapshot-interval": 2})
    runner = local_runner(Beginner())

    runner.run(key="k", value={"path": 1})
    runner.run(key="k", value={"path": 2})

    assert [(event.key, event.value) for event, _ in HEARD] == [("k", {}), ("k", None)]


def test_a_mask_hides_from_the_log_not_from_who_listens(instrument, tmp_path):
    instrument(
        mask=Masking(keys=["password"]),
        options={"memory.generate-event.previous-value": True},
    )

    local_runner(Observer()).run(key="k", value={"password": "hunter2"})

    [line] = memory_lines(tmp_path / "log")
    assert line["event_attributes"]["value"] == {"password": "***"}
    assert heard() == [(ShortTermWriteEvent, "k", {"password": "hunter2"})]


def test_previous_values_reach_who_listens(instrument):
    instrument(options={"memory.generate-event.previous-value": True})
    runner = local_runner(Observer())

    runner.run(key="k", value={"path": 1})
    runner.run(key="k", value={"path": 2})

    assert [event.previous for event, _ in HEARD] == [{}, {"path": 1}]


def test_what_a_listener_does_to_its_event_changes_nothing_in_memory(
    instrument, tmp_path
):
    instrument()
    runner = local_runner(Observer())

    runner.run(key="k", value={"list": [1]})
    HEARD[0][0].value["list"].append("changed")
    runner.run(key="k", value={})

    assert of_type(tmp_path / "log", "_agent_run_begin_event")[1]["value"]["list"] == [
        1
    ]


def test_a_failed_action_wakes_nobody(instrument):
    instrument()

    with pytest.raises(ValueError, match="Cannot overwrite object field"):
        local_runner(Observer()).run(key="k", value={"path.to": 1, "path": 2})

    assert HEARD == []
