"""Tools of every kind are one execution each, of their type and in their place."""

import pytest
from flink_agents.api.resource import ResourceType
from flink_agents.api.tools.tool import ToolType
from flink_agents.plan.function import JavaFunction

from hosting import local_runner, log_lines
from probing import ProbeTool, Stage, metadata, perform, play
from telling import ended, tracing

skills = pytest.importorskip(
    "flink_agents.api.skills", reason="this version of the host has no skills"
)

from flink_agents.plan.tools.bash.bash_tool import BashTool
from flink_agents.plan.tools.function_tool import FunctionTool
from flink_agents.runtime.java.java_resource_wrapper import JavaTool

SKILL = """---
name: pricing
description: How prices are made.
---
Round up.
"""


def called(tool, **arguments):
    """Call `tool` in an action; what it gave or raised."""
    seen = []

    def act(*_):
        try:
            seen.append(tool.call(**arguments))
        except Exception as error:  # noqa: BLE001  # compared with the same without us
            seen.append(repr(error))

    play(act)
    return seen[0]


def told(tmp_path):
    return [
        (
            line["entity_name"],
            line["status"],
            {
                name: value
                for name, value in line["entity_metadata"].items()
                if name != "tool_call_id"
            },
        )
        for line in ended(log_lines(tmp_path / "log"), "tool")
    ]


@pytest.fixture
def skilled(tmp_path):
    """An agent with a skill."""
    folder = tmp_path / "skills" / "pricing"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(SKILL)
    (folder / "table.md").write_text("1 EUR")
    agent = Stage()
    agent.add_resource(
        "ours", ResourceType.SKILLS, skills.Skills.from_local_dir(str(folder.parent))
    )
    return local_runner(agent)


def test_a_skill_that_is_loaded_is_named_and_later_calls_are_not_its(
    instrument, tmp_path, skilled
):
    instrument()
    seen = []

    def act(_, ctx):
        load = ctx.get_resource("load_skill", ResourceType.TOOL)
        seen.append(load.call(name="pricing"))
        seen.append(load.call("pricing", path="table.md"))
        seen.append(load.call(name="nothing"))
        shell = ctx.get_resource("bash", ResourceType.TOOL)
        seen.append(shell.call(command="pwd"))

    perform(skilled, act)

    assert "Round up." in seen[0]
    assert seen[1] == "1 EUR"
    skill = {"tool_type": "function", "skill_name": "pricing"}
    assert told(tmp_path) == [
        ("load_skill", "finished", skill | {"skill_resource_path": "SKILL.md"}),
        ("load_skill", "finished", skill | {"skill_resource_path": "table.md"}),
        (
            "load_skill",
            "finished",
            {
                "tool_type": "function",
                "skill_name": "nothing",
                "skill_resource_path": "SKILL.md",
            },
        ),
        ("bash", "finished", {"tool_type": "function"}),
    ]


def test_a_command_that_fails_is_an_answer_as_it_is_for_the_host(instrument, tmp_path):
    arguments = {"command": "no-such-command-here"}
    before = called(BashTool(), **arguments)
    instrument()

    assert called(BashTool(), **arguments) == before

    assert told(tmp_path) == [("bash", "finished", {"tool_type": "function"})]


class Adapter:
    """Stands for the Java side, which only a JVM has."""

    def invokeJavaTool(self, *args):  # noqa: N802  # named by the host
        return f"from Java: {args[-1]}"


def java_function():
    function = JavaFunction(
        qualname="shop.Prices", method_name="of", parameter_types=["java.lang.String"]
    )
    function.set_java_resource_adapter(Adapter())
    return FunctionTool(func=function, metadata=metadata("prices"))


def test_a_function_in_java_that_python_calls_is_a_tool_like_any_other(
    instrument, tmp_path
):
    before = called(java_function(), sku="LAMP")
    assert "from Java" in before
    instrument()

    assert called(java_function(), sku="LAMP") == before

    assert told(tmp_path) == [("prices", "finished", {"tool_type": "function"})]


def test_a_tool_that_only_java_can_call_fails_as_it_did(instrument, tmp_path):
    before = called(JavaTool(metadata=metadata("stock")))
    provider, exporter = tracing()
    instrument(tracer_provider=provider)

    assert called(JavaTool(metadata=metadata("stock"))) == before

    assert told(tmp_path) == [("stock", "failed", {"tool_type": "remote_function"})]
    [span] = [each for each in exporter.get_finished_spans() if "stock" in each.name]
    assert span.attributes["gen_ai.tool.type"] == "function"


class WebSearch(ProbeTool):
    """Is described to the model, whose provider runs it."""

    @classmethod
    def tool_type(cls):
        return ToolType.MODEL_BUILT_IN


def test_a_tool_built_into_a_model_has_its_type(instrument, tmp_path):
    provider, exporter = tracing()
    instrument(tracer_provider=provider)
    tool = WebSearch(metadata=metadata("web_search"))
    tool._body = lambda: "found"

    assert called(tool) == "found"

    assert told(tmp_path) == [
        ("web_search", "finished", {"tool_type": "model_built_in"})
    ]
    [span] = [each for each in exporter.get_finished_spans() if "web" in each.name]
    assert span.attributes["gen_ai.tool.type"] == "extension"
