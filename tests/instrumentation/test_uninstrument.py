"""`uninstrument()` leaves nothing behind, whatever happened in between."""

import functools
import gc
import weakref

import pytest
import wrapt
from flink_agents.api.chat_models.chat_model import BaseChatModelSetup
from flink_agents.api.tools.tool import Tool
from flink_agents.runtime.local_runner import LocalRunner

from hosting import brief, local_runner, log_lines
from opentelemetry.instrumentation.flink_agents import (
    FlinkAgentsInstrumentor,
    uninstrument,
)
from patched import owners, targets
from probing import ProbeModel, ProbeTool, Stage, chat_model, perform, play, tool


def everything():
    """All that stands in the namespaces that are patched, in its order."""
    return [(owner, list(vars(owner).items())) for owner in owners()]


def differences(before, after):
    return [
        f"{owner.__name__}.{name}"
        for (owner, then), (_, now) in zip(before, after, strict=True)
        for (name, was), (name_now, is_now) in zip(then, now, strict=True)
        # Python's own bookkeeping of classes changes as it likes.
        if (name is not name_now or was is not is_now)
        and name not in {"_abc_impl", "__abstractmethods__"}
    ]


def quiet(_, __):
    """An action that does nothing."""


def use_tool_and_model(_, __):
    tool(lambda: "used").call()
    chat_model(lambda _: "answered").chat([])


USED = [
    "_input_event",
    "action act started",
    "tool probe started",
    "tool probe finished",
    "llm ProbeModel started",
    "llm ProbeModel finished",
    "action act finished",
]


# Taken before any test has instrumented anything.
ORIGINALS = {target: target.found for target in targets()}


@pytest.mark.parametrize("target", ORIGINALS, ids=str)
def test_the_identical_object_comes_back(instrument, target):
    assert target.found is ORIGINALS[target]

    instrument()
    assert target.found is not ORIGINALS[target]
    uninstrument()

    assert target.found is ORIGINALS[target]


@pytest.mark.parametrize("times", [1, 3])
def test_every_patched_namespace_is_as_it_was(instrument, times):
    before = everything()

    for _ in range(times):
        instrument()
        assert differences_by_size(before, everything())
        play(use_tool_and_model)
        uninstrument()

    assert differences(before, everything()) == []


def differences_by_size(before, after):
    return [then for then, now in zip(before, after, strict=True) if then != now]


def test_the_hooks_of_subclasses_go(instrument):
    instrument()
    assert "__init_subclass__" in vars(Tool)
    assert "__init_subclass__" in vars(BaseChatModelSetup)

    uninstrument()

    assert "__init_subclass__" not in vars(Tool)
    assert "__init_subclass__" not in vars(BaseChatModelSetup)


def test_overrides_in_classes_made_while_instrumented_come_back_too(instrument):
    def call(self, *args, **kwargs):
        return "late"

    instrument()
    late = type("LateTool", (ProbeTool,), {"call": call, "__module__": __name__})
    assert vars(late)["call"] is not call

    uninstrument()

    assert vars(late)["call"] is call


def test_a_class_made_while_instrumented_is_recorded_and_then_is_not(
    instrument, tmp_path
):
    instrument()

    class LateTool(ProbeTool):
        def call(self, *args, **kwargs):
            return "late"

    late = LateTool(metadata=tool().metadata)
    play(lambda _, __: late.call())
    uninstrument()
    play(lambda _, __: late.call())

    assert brief(log_lines(tmp_path / "log")) == [
        "_input_event",
        "action act started",
        "tool probe started",
        "tool probe finished",
        "action act finished",
    ]


def test_arguments_of_a_class_still_reach_the_hosts_own_hook(instrument):
    class Keyed(ProbeTool):
        def __init_subclass__(cls, key=None, **kwargs):
            super().__init_subclass__(**kwargs)
            cls._KEY = key

    instrument()

    class Child(Keyed, key=7):
        pass

    assert Child._KEY == 7


def test_classes_that_come_and_go_are_not_kept(instrument):
    instrument()

    class Passing(ProbeTool):
        def call(self, *args, **kwargs):
            return super().call(*args, **kwargs)

    gone = weakref.ref(Passing)
    assert "Passing" in patched_classes()

    del Passing
    gc.collect()

    assert gone() is None
    assert "Passing" not in patched_classes()


def patched_classes():
    return [owner.__name__ for owner in FlinkAgentsInstrumentor()._patcher._replaced]


def test_instances_from_before_and_from_in_between_go_on_working(instrument):
    before = tool(lambda: "result"), local_runner(Stage())
    instrument()
    between = tool(lambda: "result"), local_runner(Stage())

    def works(probe, runner):
        found = []
        perform(runner, lambda _, __: found.append(probe.call()))
        return found == ["result"]

    for probe, runner in (before, between):
        assert works(probe, runner)
        uninstrument()
        assert works(probe, runner)
        instrument()
        assert works(probe, runner)


def test_what_others_still_hold_passes_through_and_records_nothing(
    instrument, tmp_path
):
    instrument()
    probe, model, runner = tool(lambda: "r"), chat_model(lambda _: "a"), LocalRunner
    held = ProbeTool.call, probe.call, ProbeModel.chat, model.chat, runner.run
    uninstrument()
    found = []

    def body(_, __):
        function, method, chat, bound_chat, _ = held
        found.append((function(probe), method(), chat(model, []), bound_chat([])))

    stage = local_runner(Stage())
    perform(stage, body)
    with pytest.raises(RuntimeError, match="value"):
        held[-1](stage, key="k")

    assert found == [("r", "r", "a", "a")]
    assert log_lines(tmp_path / "log") == []


def test_what_others_still_hold_is_recorded_once_when_we_are_back(instrument, tmp_path):
    instrument()
    held = ProbeTool.call
    uninstrument()
    instrument()
    probe = tool(lambda: "result")

    play(lambda _, __: (probe.call(), held(probe)))

    assert brief(log_lines(tmp_path / "log")) == [
        "_input_event",
        "action act started",
        "tool probe started",
        "tool probe finished",
        "action act finished",
    ]


def test_a_wrapper_that_somebody_put_over_ours_survives(
    instrument, tmp_path, monkeypatch
):
    calls = []
    monkeypatch.setattr(ProbeTool, "call", ProbeTool.call)  # put back at the end
    instrument()
    ours = ProbeTool.call

    @functools.wraps(ours)
    def theirs(self, *args, **kwargs):
        calls.append(args)
        return ours(self, *args, **kwargs)

    ProbeTool.call = theirs
    uninstrument()

    assert vars(ProbeTool)["call"] is theirs
    probe = tool(lambda n: n + 1)
    assert (probe.call(1), calls) == (2, [(1,)])
    play(lambda _, __: probe.call(2))
    assert log_lines(tmp_path / "log") == []

    instrument()
    play(lambda _, __: probe.call(3))
    uninstrument()

    assert vars(ProbeTool)["call"] is theirs
    assert calls == [(1,), (2,), (3,)]
    assert brief(log_lines(tmp_path / "log")).count("tool probe finished") == 1


def test_taking_off_a_wrapper_that_was_over_ours_leaves_nothing_dead_behind(
    instrument, tmp_path
):
    bare = vars(ProbeTool)["call"]
    instrument()
    ours = vars(ProbeTool)["call"]

    def theirs(self):
        return ours(self)

    ProbeTool.call = theirs
    uninstrument()
    ProbeTool.call = ours

    instrument()
    play(lambda _, __: tool(lambda: "result").call())
    uninstrument()

    assert brief(log_lines(tmp_path / "log")).count("tool probe finished") == 1
    assert vars(ProbeTool)["call"] is bare


@wrapt.decorator
def seen_by_another(wrapped, instance, args, kwargs):
    """Another instrumentation, which needs to know the instance."""
    return instance.metadata.name, wrapped(*args, **kwargs)


@pytest.mark.parametrize("still", [True, False], ids=["with us", "after us"])
def test_a_wrapper_of_wrapt_below_ours_still_learns_its_instance(
    instrument, monkeypatch, still
):
    bare = ProbeTool.call
    monkeypatch.setattr(ProbeTool, "call", seen_by_another(bare))
    below = vars(ProbeTool)["call"]
    instrument()
    ours = ProbeTool.call
    found = []

    if not still:
        uninstrument()
    probe = tool(lambda n: n)
    play(lambda _, __: found.extend([probe.call(1), ours(probe, 2)]))
    uninstrument()

    assert found == [("probe", 1), ("probe", 2)]
    assert vars(ProbeTool)["call"] is below


def test_a_wrapper_of_wrapt_around_a_static_method_is_still_called(
    instrument, monkeypatch
):
    from flink_agents.plan.agent_plan import AgentPlan

    calls = []

    @wrapt.decorator
    def counting(wrapped, _, args, kwargs):
        calls.append(type(args[0]))
        return wrapped(*args, **kwargs)

    monkeypatch.setattr(
        AgentPlan, "from_agent", counting(vars(AgentPlan)["from_agent"])
    )
    below = vars(AgentPlan)["from_agent"]
    instrument()

    local_runner(Stage())
    uninstrument()

    assert calls == [Stage]
    assert vars(AgentPlan)["from_agent"] is below


def test_it_may_be_called_at_any_time(instrument, tmp_path):
    uninstrument()
    uninstrument()
    instrument()

    play(use_tool_and_model)

    assert brief(log_lines(tmp_path / "log")) == USED


def test_a_run_that_is_under_way_ends_as_if_nothing_had_been(instrument):
    instrument()
    found = []

    def body(_, __):
        probe = tool(lambda: uninstrument() or "result")
        found.extend([probe.call(), probe.call()])

    assert perform(local_runner(Stage()), body) == "k"
    assert found == ["result", "result"]


def test_installing_in_the_middle_of_a_run_changes_nothing_of_it(instrument):
    found = []

    def body(_, __):
        instrument()
        found.append(tool(lambda: "result").call())

    assert perform(local_runner(Stage()), body) == "k"
    assert found == ["result"]


def test_a_second_instrument_is_silent_and_changes_nothing(
    instrument, tmp_path, caplog
):
    instrument()
    before = everything()
    caplog.clear()

    from opentelemetry.instrumentation.flink_agents import instrument as again

    again()
    FlinkAgentsInstrumentor().instrument()

    assert caplog.records == []
    assert differences(before, everything()) == []
    play(use_tool_and_model)
    assert brief(log_lines(tmp_path / "log")) == USED


def test_arguments_of_a_second_instrument_apply_from_the_next_run(instrument, tmp_path):
    instrument()

    def body(_, __):
        instrument(event_log_dir=str(tmp_path / "second"))
        use_tool_and_model(_, __)

    play(body)
    play(quiet)

    assert brief(log_lines(tmp_path / "log")) == USED
    assert brief(log_lines(tmp_path / "second")) == [
        "_input_event",
        "action act started",
        "action act finished",
    ]


def test_a_second_instrument_keeps_the_arguments_that_it_does_not_name(
    instrument, tmp_path
):
    from opentelemetry.instrumentation.flink_agents import instrument as again

    instrument(mask=lambda _, value: "hidden" if value == 7 else value)
    again(llm_attempts="each")

    play(lambda _, __: tool(lambda _: 7).call(1))

    *_, finished, _ = log_lines(tmp_path / "log")
    assert finished["event_attributes"] == {"output": "hidden"}
