"""Counts many inputs of a few keys: `count_job.py OUTPUT_FOLDER INPUTS`."""

from __future__ import annotations

import sys
import time

from count_agent import CountAgent
from flink_agents.api.execution_environment import AgentsExecutionEnvironment
from pyflink.common import Encoder, Types, WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.file_system import FileSink
from pyflink.datastream.connectors.number_seq import NumberSequenceSource

KEYS = 8
SECONDS = 0.02
"""Between two inputs of a subtask: checkpoints do not wait behind a queue."""


def main(output: str, inputs: int) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    numbers = NumberSequenceSource(0, inputs - 1)
    stream = env.from_source(numbers, WatermarkStrategy.no_watermarks(), "numbers")
    pairs = stream.map(slowly)
    agents = AgentsExecutionEnvironment.get_execution_environment(env=env)
    counted = (
        agents.from_datastream(pairs, key_selector=lambda pair: pair[0])
        .apply(CountAgent())
        .to_datastream()
    )
    lines = counted.map(str, output_type=Types.STRING())
    sink = FileSink.for_row_format(output, Encoder.simple_string_encoder()).build()
    lines.sink_to(sink)
    env.execute("counting")


def slowly(number: int) -> tuple[str, int]:
    time.sleep(SECONDS)
    return f"key-{number % KEYS}", int(number)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
