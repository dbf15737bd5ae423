"""Parsing an answer into structured output is an execution beside the call."""

import pytest
from flink_agents.api.agents.react_agent import OutputSchema
from flink_agents.api.chat_message import ChatMessage
from flink_agents.api.decorators import action
from flink_agents.api.events.chat_event import ChatRequestEvent
from flink_agents.api.events.event import Event
from flink_agents.api.runner_context import RunnerContext
from pyflink.common.typeinfo import Types

from chat_agents import ON_ANSWER, Answer, ChatAgent, Structured, answer_of, outcome
from hosting import ON_INPUT, input_of, log_lines, output
from scripted_llm import Reply
from telling import Names, ended, story, tracing

ANSWER = '{"result": 42}'
SCHEMA = f"{Answer.__module__}.Answer"


def parser(lines):
    return [line for line in lines if line.get("entity_type") == "parser"]


def test_a_parser_tells_the_text_the_schema_and_the_value(instrument, tmp_path):
    provider, exporter = tracing()
    instrument(tracer_provider=provider)

    seen = outcome(Structured, [Reply.text(ANSWER)])

    assert seen.outputs == [42]
    names = Names()
    common = {
        "timestamp": "T",
        "input_run_id": "run 1",
        "business_key": "k",
        "agent_name": "Structured",
        "execution_id": "execution 4",
        "parent_execution_id": "execution 2",
        "action_trigger_event_id": "event 4",
        "entity_type": "parser",
        "entity_name": "structured_output",
        "trace_id": "trace 1",
        "span_id": "span 5",
    }
    assert parser(names.records(log_lines(tmp_path / "log"))) == [
        common
        | {
            "event_id": "event 8",
            "event_type": "_execution_started_event",
            "status": "started",
            "event_attributes": {"input": {"text": ANSWER, "schema": SCHEMA}},
        },
        common
        | {
            "event_id": "event 9",
            "event_type": "_execution_finished_event",
            "status": "finished",
            "event_attributes": {"output": {"result": 42}},
        },
    ]
    assert names.spans(exporter)[4] == {
        "span": "span 5",
        "trace": "trace 1",
        "parent": "span 3",
        "name": "parse structured_output",
        "kind": "INTERNAL",
        "status": "UNSET",
        "attributes": {
            "flink_agents.input_run_id": "run 1",
            "flink_agents.business_key": "k",
            "flink_agents.agent.name": "Structured",
            "flink_agents.execution.id": "execution 4",
            "flink_agents.entity.type": "parser",
            "flink_agents.entity.name": "structured_output",
            "flink_agents.parser.schema": SCHEMA,
        },
    }


@pytest.mark.parametrize(
    ("text", "error_type"),
    [
        ("not-json", "json.decoder.JSONDecodeError"),
        ('{"result": "many"}', "pydantic_core._pydantic_core.ValidationError"),
    ],
)
def test_an_answer_that_cannot_be_parsed_fails_the_parser_and_not_the_model(
    instrument, tmp_path, text, error_type
):
    instrument()

    seen = outcome(Structured, [Reply.text(text)])

    assert seen.error is not None
    lines = log_lines(tmp_path / "log")
    assert story(lines)[5:] == [
        "x3 llm model started in x2 because e2",
        "x3 llm model finished in x2 because e2",
        "x4 parser structured_output started in x2 because e2",
        "x4 parser structured_output failed in x2 because e2",
        "x2 action chat_model_action failed because e2",
    ]
    [failed] = ended(lines, "parser")
    assert failed["problem_category"] == "model_output_parse_error"
    assert failed["event_attributes"]["error_type"] == error_type
    assert set(failed["event_attributes"]) == {"error_type", "error_message"}
    assert lines[-1]["problem_category"] == "action_execution_failed"
    assert lines[-1]["event_attributes"] == failed["event_attributes"]


def test_an_ignored_parse_failure_leaves_the_action_finished(instrument, tmp_path):
    instrument()

    seen = outcome(
        Structured, [Reply.text("not-json")], **{"error-handling-strategy": "ignore"}
    )

    assert (seen.outputs, seen.error) == ([], None)
    assert story(log_lines(tmp_path / "log"))[-2:] == [
        "x4 parser structured_output failed in x2 because e2",
        "x2 action chat_model_action finished because e2",
    ]


class Rows(ChatAgent):
    """Asks for a row instead of a model class."""

    @action(ON_INPUT)
    @staticmethod
    def ask(event: Event, ctx: RunnerContext) -> None:
        row = Types.ROW_NAMED(["sku", "count"], [Types.STRING(), Types.INT()])
        ctx.send_event(
            ChatRequestEvent(
                model="model",
                messages=[ChatMessage(content=input_of(event))],
                output_schema=OutputSchema(output_schema=row),
            )
        )

    @action(ON_ANSWER)
    @staticmethod
    def reply(event: Event, ctx: RunnerContext) -> None:
        ctx.send_event(output(answer_of(event).content))


def test_a_row_is_told_with_its_fields(instrument, tmp_path):
    instrument()

    outcome(Rows, [Reply.text('{"sku": "MUG", "count": 3}')])

    started, finished = parser(log_lines(tmp_path / "log"))
    assert started["event_attributes"] == {
        "input": {"text": '{"sku": "MUG", "count": 3}', "schema": "Row(sku, count)"}
    }
    assert finished["event_attributes"] == {
        "output": {"type": "Row", "values": ["MUG", 3], "fields": ["sku", "count"]}
    }


def test_without_content_the_parser_is_told_without_it(instrument, tmp_path):
    instrument(options={"event-log.execution-content": False})

    outcome(Structured, [Reply.text(ANSWER)])

    lines = parser(log_lines(tmp_path / "log"))
    assert [line["event_attributes"] for line in lines] == [{}, {}]
