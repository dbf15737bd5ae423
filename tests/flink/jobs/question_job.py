"""Questions of many keys: `question_job.py OUTPUT_FILE` with QUESTIONS and KEYS set."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from flink_agents.api.execution_environment import AgentsExecutionEnvironment
from pyflink.common import Configuration
from pyflink.datastream import StreamExecutionEnvironment
from question_agent import QuestionAgent


def main(output: Path) -> None:
    keys = int(os.environ["KEYS"])
    questions = [(f"key-{n % keys}", n) for n in range(int(os.environ["QUESTIONS"]))]
    config = Configuration()
    config.set_string("python.executable", sys.executable)
    config.set_string("python.client.executable", sys.executable)
    env = StreamExecutionEnvironment.get_execution_environment(config)
    env.set_parallelism(2)
    agents = AgentsExecutionEnvironment.get_execution_environment(env=env)
    results = (
        agents.from_datastream(
            env.from_collection(questions), key_selector=lambda question: question[0]
        )
        .apply(QuestionAgent())
        .to_datastream()
    )
    with results.execute_and_collect() as collected:
        output.write_text("\n".join(sorted(map(str, collected))) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
