"""Run the profile agent and show what it remembered.

python examples/memory_demo.py [DIRECTORY]
"""

import json
import logging
import os
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

from flink_agents.api.execution_environment import AgentsExecutionEnvironment

from flink_agents_eventlog import read_records
from flink_agents_eventlog.commands import main as eventlog
from memory_agent import ProfileAgent
from opentelemetry.instrumentation.flink_agents import instrument
from scripted_llm import Reply, ScriptedLLM

INPUTS = [
    {"key": "ada", "value": "I like red lamps"},
    {"key": "ada", "value": "I now like blue lamps instead"},
    {"key": "ada", "value": "Forget what I like"},
]


def decision(*entries: tuple[str, str, str]) -> Reply:
    """Make mem0's second answer: what to do with each fact, `(event, id, text)`."""
    memory = [
        {"event": event, "id": item_id, "text": text}
        for event, item_id, text in entries
    ]
    return Reply.text(json.dumps({"memory": memory}))


def facts(*found: str) -> Reply:
    """Make mem0's first answer: the facts in what was said."""
    return Reply.text(json.dumps({"facts": list(found)}))


REPLIES = [
    facts("Likes red lamps"),
    decision(("ADD", "0", "Likes red lamps")),
    facts("Likes blue lamps"),
    decision(("UPDATE", "0", "Likes blue lamps")),
    facts("Wants likes forgotten"),
    decision(("DELETE", "0", "Likes blue lamps")),
]


def main(directory: Path) -> None:
    """Run three inputs of one customer, then print tree and memory events."""
    for log in directory.glob("events-local-*.jsonl"):
        log.unlink()
    logging.basicConfig(level=logging.ERROR)
    instrument(event_log_dir=str(directory))
    with ScriptedLLM(REPLIES) as server:
        loopback = dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1")
        with patch.dict(os.environ, loopback, OPENAI_BASE_URL=server.base_url):
            for output in process(INPUTS):
                print(output)
    eventlog(["tree", str(directory)])
    for record in read_records(directory):
        if "key" in record.event_attributes:
            print(record.event_type, json.dumps(record.event_attributes["value"]))


def process(inputs: list[dict[str, str]]) -> list[Any]:
    """Run the agent on the local runner."""
    env = AgentsExecutionEnvironment.get_execution_environment()
    outputs = env.from_list(inputs).apply(ProfileAgent()).to_list()
    env.execute()
    return outputs


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "demo-log"))
