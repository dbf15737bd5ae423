"""A Flink job over three inputs of one key: `python health_job.py OUTPUT_FILE`."""

from __future__ import annotations

import sys
from pathlib import Path

from flink_agents.api.execution_environment import AgentsExecutionEnvironment
from health_agent import HealthAgent
from pyflink.common import Configuration
from pyflink.datastream import StreamExecutionEnvironment

INPUTS = [("key", number) for number in range(3)]


def main(output: Path) -> None:
    config = Configuration()
    config.set_string("python.executable", sys.executable)
    config.set_string("python.client.executable", sys.executable)
    env = StreamExecutionEnvironment.get_execution_environment(config)
    env.set_parallelism(1)
    stream = env.from_collection(INPUTS)
    agents = AgentsExecutionEnvironment.get_execution_environment(env=env)
    results = (
        agents.from_datastream(stream, key_selector=lambda pair: pair[0])
        .apply(HealthAgent())
        .to_datastream()
    )
    with results.execute_and_collect() as collected:
        output.write_text("\n".join(sorted(map(str, collected))) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
