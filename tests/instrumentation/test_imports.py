"""Early or late, with the host or without it: `instrument()` fits in.

Of heavy packages it imports none.
"""

import json
import subprocess
import sys
import textwrap

import pytest

HEAVY = ["chromadb", "flink_agents", "mcp", "mem0", "pyflink"]
COUNTED = f"""
    import json, sys
    print(json.dumps([name for name in {HEAVY} if name in sys.modules]))
"""

AGENT = """
    from flink_agents.api.agents.agent import Agent
    from flink_agents.api.decorators import action
    from flink_agents.api.events.event import Event, InputEvent, OutputEvent
    from flink_agents.api.runner_context import RunnerContext

    class Echo(Agent):
        @action(getattr(InputEvent, "EVENT_TYPE", InputEvent))
        @staticmethod
        def echo(event: Event, ctx: RunnerContext) -> None:
            ctx.send_event(OutputEvent(output="echo"))
"""
RUN = """
    from echo_agent import Echo
    from flink_agents.api.execution_environment import AgentsExecutionEnvironment
    env = AgentsExecutionEnvironment.get_execution_environment()
    outputs = env.from_list([{"key": "k", "value": "v"}]).apply(Echo()).to_list()
    env.execute()
    assert outputs == [{"k": "echo"}], outputs
"""
INSTRUMENT = """
    from opentelemetry.instrumentation.flink_agents import instrument, uninstrument
    instrument(event_log_dir="log")
"""
IMPORT_HOST = """
    import flink_agents.runtime.local_execution_environment
    import flink_agents.runtime.flink_runner_context
"""
HIDE_HOST = """
    import sys
    class Hidden:
        def find_spec(self, name, path=None, target=None):
            if name.split(".")[0] == "flink_agents":
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    sys.meta_path.insert(0, Hidden())
"""

HIDE_THE_REST = """
    import sys
    class Hidden:
        def find_spec(self, name, path=None, target=None):
            if name.split(".")[0] in {"chromadb", "mcp", "mem0"}:
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    sys.meta_path.insert(0, Hidden())
"""


@pytest.fixture
def script(tmp_path):
    """Run pieces of code one after the other as one script, in an empty folder."""
    (tmp_path / "echo_agent.py").write_text(textwrap.dedent(AGENT))

    def run(*pieces):
        code = "\n".join(map(textwrap.dedent, pieces))
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return done

    return run


def told(folder):
    (log,) = folder.glob("log/events-*.jsonl")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    return [(line["event_type"], line.get("entity_name")) for line in lines]


WHOLE = [
    ("_input_event", None),
    ("_execution_started_event", "echo"),
    ("_execution_finished_event", "echo"),
    ("_output_event", "echo"),
]


@pytest.mark.parametrize(
    "piece",
    [
        "import opentelemetry.instrumentation.flink_agents",
        "import opentelemetry.exporter.flink_agents",
        INSTRUMENT,
        INSTRUMENT + "    instrument(); uninstrument(); instrument()\n",
    ],
    ids=["package", "exporter", "instrument", "again"],
)
def test_nothing_heavy_is_imported(script, piece):
    assert json.loads(script(piece, COUNTED).stdout) == []


@pytest.mark.parametrize(
    "pieces",
    [
        [INSTRUMENT, RUN],
        [INSTRUMENT, IMPORT_HOST, RUN],
        [IMPORT_HOST, INSTRUMENT, RUN],
        ["import echo_agent", INSTRUMENT, RUN],
        [INSTRUMENT, "    uninstrument()", IMPORT_HOST, INSTRUMENT, RUN],
        [INSTRUMENT, IMPORT_HOST, "    uninstrument()", INSTRUMENT, RUN],
        [INSTRUMENT, "    instrument()", RUN],
    ],
    ids=[
        "before the host",
        "before the runtime",
        "after the host",
        "after the agent",
        "host between off and on",
        "off and on after the host",
        "twice",
    ],
)
def test_the_log_is_whole_whatever_is_imported_first(script, tmp_path, pieces):
    script(*pieces)

    assert [each for each in told(tmp_path) if "agent_run" not in each[0]] == WHOLE


def test_a_host_that_is_imported_after_uninstrument_stays_as_it_is(script, tmp_path):
    plain = """
        from types import FunctionType
        from flink_agents.runtime.local_runner import LocalRunner
        assert type(vars(LocalRunner)["run"]) is FunctionType
    """

    script(INSTRUMENT, "    uninstrument()", plain, RUN)

    assert not (tmp_path / "log").exists()


def test_without_the_host_it_does_nothing_and_harms_nobody(script, tmp_path):
    still_works = """
        from opentelemetry.instrumentation.flink_agents import FlinkAgentsInstrumentor
        FlinkAgentsInstrumentor().instrument()
        instrument(); uninstrument(); uninstrument()
        print("still here")
    """

    done = script(HIDE_HOST, INSTRUMENT, still_works)

    assert done.stdout == "still here\n"
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "log").exists()


def test_a_module_of_the_host_that_fails_to_import_fails_as_without_us(script):
    failing = """
        import sys, types
        sys.modules["pyflink"] = None
        try:
            import flink_agents.runtime.local_runner
        except ImportError as error:
            print(type(error).__name__, error)
    """

    assert script(INSTRUMENT, failing).stdout == script(failing).stdout != ""


def test_the_command_line_is_imported_without_opentelemetry(script):
    names = ["opentelemetry", "wrapt", *HEAVY]
    imported = f"""
        import json, sys
        import flink_agents_eventlog, flink_agents_eventlog.commands
        print(json.dumps([name for name in {names} if name in sys.modules]))
    """

    assert json.loads(script(imported).stdout) == []


@pytest.mark.parametrize("trace", ["trace.py", "trace/__init__.py"])
def test_a_host_that_records_executions_itself_is_left_alone(script, tmp_path, trace):
    for name in ("__init__.py", "api/__init__.py", f"api/{trace}"):
        file = tmp_path / "flink_agents" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("raise SystemError('imported')\n")
    told_so = """
        import logging
        logging.basicConfig(level=logging.INFO, format="%(message)s")
    """

    done = script(told_so, INSTRUMENT, "    instrument(); uninstrument()")

    assert done.stderr.splitlines() == [
        "This version of Flink Agents records executions itself; it is not instrumented"
    ]


def test_what_an_agent_does_without_need_not_be_installed(script, tmp_path):
    script(HIDE_THE_REST, INSTRUMENT, RUN)

    assert [each for each in told(tmp_path) if "agent_run" not in each[0]] == WHOLE
