"""A Flink job over ten parcels of three keys: `python parcel_job.py OUTPUT_FILE`."""

from __future__ import annotations

import sys
from pathlib import Path

from flink_agents.api.execution_environment import AgentsExecutionEnvironment
from parcel_agent import ParcelAgent
from pyflink.common import Configuration
from pyflink.datastream import StreamExecutionEnvironment

PARCELS = [(f"key-{number % 3}", "x" * (number + 1)) for number in range(10)]


def main(output: Path) -> None:
    config = Configuration()
    config.set_string("python.executable", sys.executable)
    config.set_string("python.client.executable", sys.executable)
    env = StreamExecutionEnvironment.get_execution_environment(config)
    env.set_parallelism(2)
    stream = env.from_collection(PARCELS)
    agents = AgentsExecutionEnvironment.get_execution_environment(env=env)
    results = (
        agents.from_datastream(stream, key_selector=lambda parcel: parcel[0])
        .apply(ParcelAgent())
        .to_datastream()
    )
    with results.execute_and_collect() as collected:
        output.write_text("\n".join(sorted(map(str, collected))) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
