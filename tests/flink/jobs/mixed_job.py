"""Jobs of `mixed_agent`, one after the other: `mixed_job.py OUTPUT_FILE NAME…`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import mixed_agent
from flink_agents.api.execution_environment import AgentsExecutionEnvironment
from pyflink.common import Configuration
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import DataTypes, StreamTableEnvironment

KEYS = ("ada", 7, ("tenant", 7), "schlüssel ä")
TEXTS = ("one", "two", "two", "three")
INPUTS = [(key, text) for text in TEXTS for key in KEYS]
ROWS = [(str(key), text) for key, text in INPUTS]
BREAKING = [*INPUTS[:6], ("ada", "break"), *INPUTS[6:]]
RESTARTS = {
    "execution.checkpointing.interval": "200 ms",
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "1",
    "restart-strategy.fixed-delay.delay": "0 s",
}


def environment(options: dict[str, str]) -> StreamExecutionEnvironment:
    config = Configuration()
    config.set_string("python.executable", sys.executable)
    config.set_string("python.client.executable", sys.executable)
    # The functions around the agent run beside it, without processes of their own.
    config.set_string("python.execution-mode", "thread")
    for key, value in options.items():
        config.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(config)
    env.set_parallelism(2)
    return env


def stream_of(agent: Any, inputs: list[tuple[Any, str]], **options: str) -> Any:
    env = environment(options)
    agents = AgentsExecutionEnvironment.get_execution_environment(env=env)
    stream = env.from_collection(inputs)
    built = agents.from_datastream(stream, key_selector=lambda pair: pair[0])
    return built.apply(agent).to_datastream()


def table_of(agent: Any, rows: list[tuple[str, str]]) -> Any:
    env = environment({})
    tables = StreamTableEnvironment.create(stream_execution_environment=env)
    agents = AgentsExecutionEnvironment.get_execution_environment(env=env, t_env=tables)
    fields = [DataTypes.FIELD(name, DataTypes.STRING()) for name in ("name", "text")]
    table = tables.from_elements(rows, DataTypes.ROW(fields))
    built = agents.from_table(table, key_selector=lambda row: row[0])
    return built.apply(agent).to_datastream()


JOBS = {
    "mixed": lambda: stream_of(mixed_agent.MixedAgent(), INPUTS),
    "table": lambda: table_of(mixed_agent.TableAgent(), ROWS),
    "fragile": lambda: stream_of(mixed_agent.FragileAgent(), BREAKING, **RESTARTS),
    "failing": lambda: stream_of(mixed_agent.FailingAgent(), BREAKING),
    "full": lambda: stream_of(mixed_agent.FullDiskAgent(), INPUTS),
}


def left(name: str) -> dict[str, Any]:
    """What the job of that name answers, and how it fails."""
    answers: list[dict[str, Any]] = []
    error = None
    try:
        with JOBS[name]().execute_and_collect(name) as collected:
            answers.extend(map(json.loads, collected))
    except Exception as raised:  # noqa: BLE001  # it is what is compared
        error = next(
            (line for line in str(raised).splitlines() if "PythonException" in line),
            str(raised)[-2000:],
        )
    return {"answers": answers, "error": error}


if __name__ == "__main__":
    found = {name: left(name) for name in sys.argv[2:]}
    Path(sys.argv[1]).write_text(json.dumps(found))
