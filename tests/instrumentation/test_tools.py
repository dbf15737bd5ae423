"""Every call of a tool is one execution, and tells which request it answers."""

from typing import Any

import pytest
from flink_agents.api.decorators import action
from flink_agents.api.events.event import Event
from flink_agents.api.runner_context import RunnerContext
from flink_agents.api.tools.tool import Tool, ToolMetadata, ToolType
from pydantic import BaseModel

from chat_agents import (
    ON_ANSWER,
    ChatAgent,
    answer_of,
    chat_request,
    openai_setup,
    outcome,
    scripted,
    tool_named,
    tool_request,
)
from hosting import ON_INPUT, input_of, local_runner, log_lines, output
from scripted_llm import Reply
from telling import Names, ended, story, told_spans, tracing


class Calculating(ChatAgent):
    """Has a model with two tools."""

    def __init__(self) -> None:
        super().__init__(openai_setup(tools=["double", "refuse"]))

    @action(ON_INPUT)
    @staticmethod
    def ask(event: Event, ctx: RunnerContext) -> None:
        ctx.send_event(chat_request(input_of(event)))

    @action(ON_ANSWER)
    @staticmethod
    def reply(event: Event, ctx: RunnerContext) -> None:
        ctx.send_event(output(answer_of(event).content))


TWO_CALLS = Reply.tool_calls([("double", {"number": 1}), ("double", {"number": 2})])
REFUSED = Reply.tool_calls([("refuse", {"reason": "too late"})])


def test_two_tools_of_one_request_are_two_executions(instrument, tmp_path):
    provider, exporter = tracing()
    instrument(tracer_provider=provider)

    seen = outcome(Calculating, [TWO_CALLS, Reply.text("2 and 4")])

    assert seen.outputs == ["2 and 4"]
    lines = log_lines(tmp_path / "log")
    assert story(lines)[7:17] == [
        "x2 action chat_model_action finished because e2",
        "e3 _tool_request_event from x2 because e2",
        "x4 action tool_call_action started because e3",
        "x5 tool double started in x4 because e3",
        "x5 tool double finished in x4 because e3",
        "x6 tool double started in x4 because e3",
        "x6 tool double finished in x4 because e3",
        "x4 action tool_call_action finished because e3",
        "e4 _tool_response_event from x4 because e3",
        "x7 action chat_model_action started because e4",
    ]
    request = lines[8]
    calls = request["event_attributes"]["tool_calls"]
    for number, (started, finished) in enumerate([lines[10:12], lines[12:14]]):
        assert (
            started["entity_metadata"]
            == finished["entity_metadata"]
            == {
                "tool_type": "function",
                "tool_request_event_id": request["event_id"],
                "tool_call_id": str(calls[number]["id"]),
                "external_id": f"call_{number + 1}",
            }
        )
        assert started["event_attributes"] == {"input": {"number": number + 1}}
        assert finished["event_attributes"] == {"output": 2 * number + 2}
    tools = [span for span in exporter.get_finished_spans() if "tool d" in span.name]
    assert [span.attributes["gen_ai.tool.call.id"] for span in tools] == [
        str(call["id"]) for call in calls
    ]


def test_a_tool_that_throws_fails_its_action_and_its_run(instrument, tmp_path):
    provider, exporter = tracing()
    instrument(tracer_provider=provider)

    seen = outcome(Calculating, [REFUSED])

    assert seen.error == "PermissionError: too late"
    lines = log_lines(tmp_path / "log")
    assert story(lines)[-3:] == [
        "x5 tool refuse started in x4 because e3",
        "x5 tool refuse failed in x4 because e3",
        "x4 action tool_call_action failed because e3",
    ]
    error = {"error_type": "PermissionError", "error_message": "too late"}
    tool, act = lines[-2:]
    assert tool["problem_category"] == "tool_call_failed"
    assert tool["event_attributes"] == error
    assert act["problem_category"] == "action_execution_failed"
    assert act["event_attributes"] == error
    assert told_spans(exporter)[-2:] == [
        "invoke_agent Calculating > action tool_call_action: ERROR",
        "action tool_call_action > execute_tool refuse: ERROR",
    ]


class Requesting(ChatAgent):
    """Asks for tools itself; the host's chat action does not know what for."""

    @action(ON_INPUT)
    @staticmethod
    def ask(event: Event, ctx: RunnerContext) -> None:
        ctx.send_event(tool_request(*input_of(event)))


def request(*calls):
    with pytest.raises(Exception, match=r"initial_request_id|missing"):
        local_runner(Requesting()).run(key="k", value=list(calls))


def test_a_request_without_a_model_has_no_external_id(instrument, tmp_path):
    instrument()

    request(("double", {"number": 3}))

    lines = log_lines(tmp_path / "log")
    assert story(lines)[3:9] == [
        "e2 _tool_request_event from x1 because e1",
        "x2 action tool_call_action started because e2",
        "x3 tool double started in x2 because e2",
        "x3 tool double finished in x2 because e2",
        "x2 action tool_call_action finished because e2",
        "e3 _tool_response_event from x2 because e2",
    ]
    [tool] = ended(lines, "tool")
    assert tool["entity_metadata"] == {
        "tool_type": "function",
        "tool_request_event_id": lines[3]["event_id"],
        "tool_call_id": lines[3]["event_attributes"]["tool_calls"][0]["id"],
    }


def test_an_unknown_tool_is_a_failed_action_without_a_tool(instrument, tmp_path):
    instrument()

    request(("double", {"number": 3}), ("missing", {}), ("double", {"number": 4}))

    assert story(log_lines(tmp_path / "log"))[4:] == [
        "x2 action tool_call_action started because e2",
        "x3 tool double started in x2 because e2",
        "x3 tool double finished in x2 because e2",
        "x2 action tool_call_action failed because e2",
    ]


class Arguments(BaseModel):
    pass


class Counting(Tool):
    """A tool of a class of the user's, which counts its calls."""

    def __init__(self, name: str) -> None:
        super().__init__(
            metadata=ToolMetadata(name=name, description="", args_schema=Arguments)
        )

    @classmethod
    def tool_type(cls) -> ToolType:
        return ToolType.REMOTE_FUNCTION

    def call(self, *args: Any, **kwargs: Any) -> Any:
        return [*args, *kwargs.values()]


class Overriding(Counting):
    def call(self, *args: Any, **kwargs: Any) -> Any:
        return ["overridden", *super().call(*args, **kwargs)]


class Delegating(Counting):
    """Calls another tool, of the same class, and one of its own kind."""

    def call(self, *args: Any, **kwargs: Any) -> Any:
        return [OVERRIDING.call(*args), PLAIN.call(**kwargs)]


class Recursive(Counting):
    """Calls a copy of itself, which is another tool, and that none."""

    def call(self, *args: Any, **kwargs: Any) -> Any:
        left = kwargs["left"]
        return Recursive("copy").call(left=left - 1) if left else "bottom"


PLAIN = Counting("plain")
OVERRIDING = Overriding("overriding")
TOOLS = {
    "plain": PLAIN,
    "overriding": OVERRIDING,
    "delegating": Delegating("delegating"),
    "recursive": Recursive("recursive"),
}


class Calling(ChatAgent):
    """Calls the tool that its input names."""

    @action(ON_INPUT)
    @staticmethod
    def call(event: Event, ctx: RunnerContext) -> None:
        name, args, kwargs = input_of(event)
        found = TOOLS.get(name) or tool_named(ctx, name)
        ctx.send_event(output(found.call(*args, **kwargs)))


def call(name, *args, **kwargs):
    with scripted([]):
        runner = local_runner(Calling())
        runner.run(key="k", value=[name, args, kwargs])
    return runner.get_outputs()[0]["k"]


def test_a_tool_called_directly_answers_no_request(instrument, tmp_path):
    provider, exporter = tracing()
    instrument(tracer_provider=provider)

    assert call("double", number=4) == 8

    names = Names()
    told = names.records(log_lines(tmp_path / "log"))
    common = {
        "timestamp": "T",
        "input_run_id": "run 1",
        "business_key": "k",
        "agent_name": "Calling",
        "execution_id": "execution 2",
        "parent_execution_id": "execution 1",
        "action_trigger_event_id": "event 1",
        "entity_type": "tool",
        "entity_name": "double",
        "entity_metadata": {"tool_type": "function"},
        "trace_id": "trace 1",
        "span_id": "span 3",
    }
    assert told[2:4] == [
        common
        | {
            "event_id": "event 3",
            "event_type": "_execution_started_event",
            "status": "started",
            "event_attributes": {"input": {"number": 4}},
        },
        common
        | {
            "event_id": "event 4",
            "event_type": "_execution_finished_event",
            "status": "finished",
            "event_attributes": {"output": 8},
        },
    ]
    assert names.spans(exporter)[2] == {
        "span": "span 3",
        "trace": "trace 1",
        "parent": "span 2",
        "name": "execute_tool double",
        "kind": "INTERNAL",
        "status": "UNSET",
        "attributes": {
            "flink_agents.input_run_id": "run 1",
            "flink_agents.business_key": "k",
            "flink_agents.agent.name": "Calling",
            "flink_agents.execution.id": "execution 2",
            "flink_agents.entity.type": "tool",
            "flink_agents.entity.name": "double",
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "double",
            "gen_ai.tool.type": "function",
            "gen_ai.agent.name": "Calling",
        },
    }


def test_arguments_by_position_are_told_too(instrument, tmp_path):
    instrument()

    assert call("plain", 1, 2, last=3) == [1, 2, 3]

    [started, _] = tools(tmp_path)
    assert started["event_attributes"] == {"input": {"args": [1, 2], "last": 3}}
    assert started["entity_metadata"] == {"tool_type": "remote_function"}


def tools(tmp_path):
    lines = log_lines(tmp_path / "log")
    return [line for line in lines if line.get("entity_type") == "tool"]


def test_a_tool_that_calls_its_base_is_counted_once(instrument, tmp_path):
    instrument()

    assert call("overriding", 1) == ["overridden", 1]

    assert story(log_lines(tmp_path / "log"))[2:4] == [
        "x2 tool overriding started in x1 because e1",
        "x2 tool overriding finished in x1 because e1",
    ]
    assert tools(tmp_path)[1]["event_attributes"] == {"output": ["overridden", 1]}


def test_a_tool_that_calls_other_tools_contains_them(instrument, tmp_path):
    provider, exporter = tracing()
    instrument(tracer_provider=provider)

    assert call("delegating", 1, last=2) == [["overridden", 1], [2]]

    assert story(log_lines(tmp_path / "log"))[2:8] == [
        "x2 tool delegating started in x1 because e1",
        "x3 tool overriding started in x2 because e1",
        "x3 tool overriding finished in x2 because e1",
        "x4 tool plain started in x2 because e1",
        "x4 tool plain finished in x2 because e1",
        "x2 tool delegating finished in x1 because e1",
    ]
    assert told_spans(exporter)[2:] == [
        "action call > execute_tool delegating: UNSET",
        "execute_tool delegating > execute_tool overriding: UNSET",
        "execute_tool delegating > execute_tool plain: UNSET",
    ]


def test_a_tool_of_the_same_class_is_another_tool(instrument, tmp_path):
    instrument()

    assert call("recursive", left=2) == "bottom"

    assert story(log_lines(tmp_path / "log"))[2:8] == [
        "x2 tool recursive started in x1 because e1",
        "x3 tool copy started in x2 because e1",
        "x4 tool copy started in x3 because e1",
        "x4 tool copy finished in x3 because e1",
        "x3 tool copy finished in x2 because e1",
        "x2 tool recursive finished in x1 because e1",
    ]


def test_a_tool_class_defined_after_instrument_is_patched_too(instrument, tmp_path):
    instrument()

    class Late(Counting):
        def call(self, *args: Any, **kwargs: Any) -> Any:
            return ["late", *super().call(*args, **kwargs)]

    TOOLS["late"] = Late("late")

    assert call("late", 1) == ["late", 1]

    assert story(log_lines(tmp_path / "log"))[2:4] == [
        "x2 tool late started in x1 because e1",
        "x2 tool late finished in x1 because e1",
    ]


def test_a_tool_called_outside_of_any_run_is_not_recorded(instrument, tmp_path):
    provider, exporter = tracing()
    instrument(tracer_provider=provider)

    assert OVERRIDING.call(1) == ["overridden", 1]

    assert log_lines(tmp_path / "log") == []
    assert exporter.get_finished_spans() == ()


def test_what_a_tool_changes_in_its_arguments_is_not_told(instrument, tmp_path):
    instrument()

    class Emptying(Counting):
        def call(self, *args: Any, **kwargs: Any) -> Any:
            kwargs["items"].clear()
            kwargs["items"].append("changed")
            return kwargs["items"]

    TOOLS["emptying"] = Emptying("emptying")

    assert call("emptying", items=[1, 2]) == ["changed"]

    started, finished = tools(tmp_path)
    assert started["event_attributes"] == {"input": {"items": [1, 2]}}
    assert finished["event_attributes"] == {"output": ["changed"]}


def test_without_content_the_tool_is_told_without_it(instrument, tmp_path):
    instrument(options={"event-log.execution-content": False})

    call("double", number=4)

    assert [line["event_attributes"] for line in tools(tmp_path)] == [{}, {}]
