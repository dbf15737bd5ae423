"""Records of the native dialect where something is in the way: tools, disks, values."""

import pytest
from flink_agents.api.resource import ResourceType

import mcp_agents
from hosting import TYPED_EVENTS, local_runner, native_lines, output
from opentelemetry.instrumentation.flink_agents import FlinkAgentsInstrumentor
from probing import perform, play

pytestmark = pytest.mark.memory


def test_a_tool_of_a_server_that_fails_has_every_field_in_its_place(
    instrument, tmp_path
):
    instrument(dialect="native")

    def act(_, ctx):
        ctx.get_resource("refuse", ResourceType.TOOL).call(reason="too late")

    with mcp_agents.served() as (url, _), mcp_agents.equipped(url):
        perform(local_runner(mcp_agents.Equipped()), act)

    lines = native_lines(tmp_path / "log")
    action = next(line for line in lines if line.get("entityName") == "act")
    [failed] = [line for line in lines if line.get("status") == "failed"]
    assert {name: failed[name] for name in failed if name != "timestamp"} == {
        "logLevel": "STANDARD",
        "traceId": action["traceId"],
        "spanId": failed["spanId"],
        "inputRunId": action["inputRunId"],
        "businessKey": "k",
        "agentName": "Equipped",
        "executionId": failed["executionId"],
        "parentExecutionId": action["executionId"],
        "entityType": "tool",
        "entityName": "refuse",
        "entityMetadata": {"toolType": "mcp", "mcpServer": "toolbox"},
        "eventId": failed["eventId"],
        "eventType": "_execution_failed_event",
        "status": "failed",
        "problemCategory": "tool_call_failed",
        "eventAttributes": {
            "errorType": "tool_error",
            "errorMessage": "Error executing tool refuse: too late",
        },
        "actionTriggerEventId": lines[0]["eventId"],
    }


def processor():
    [found] = FlinkAgentsInstrumentor()._core.providers.processors
    return found


@pytest.mark.parametrize("trace", [True, False])
def test_a_folder_that_cannot_be_made_costs_the_records_one_by_one(
    instrument, tmp_path, trace
):
    in_the_way = tmp_path / "log"
    in_the_way.write_text("no folder")
    options = {"event-log.trace.enabled": trace}
    instrument(dialect="native", options=options)

    runner = play(lambda _, ctx: ctx.send_event(output(1)))

    assert runner.get_outputs() == [{"k": 1}]
    assert processor().written_records == 0
    assert processor().lost_records == (4 if trace else 2)

    in_the_way.unlink()
    play(lambda _, ctx: ctx.send_event(output(2)))

    told = [line["eventType"] for line in native_lines(in_the_way)]
    assert [each for each in told if "execution" not in each] == [
        "_input_event",
        "_output_event",
    ]


class Thing:
    """Has no JSON form."""


@pytest.mark.skipif(not TYPED_EVENTS, reason="later hosts refuse such values")
def test_a_value_without_a_json_form_is_absent_and_stops_nothing(instrument, tmp_path):
    instrument(dialect="native")

    def write(_, ctx):
        ctx.short_term_memory.set("pojo", Thing())
        ctx.short_term_memory.set("good", 1)

    play(write)

    last = native_lines(tmp_path / "log")[-1]
    assert last["eventAttributes"]["value"] == {"good": 1}
