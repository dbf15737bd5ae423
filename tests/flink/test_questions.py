"""Two thousand questions of forty keys to a chat model with a tool, on a real Flink.

The job and its agent do not know of us: `opentelemetry-instrument` brings us in.
"""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest

from chat_agents import scripted
from flink_agents_eventlog import execution_forest, read_records
from scripted_llm import Reply

KEYS, QUESTIONS = 40, 2_000


def model(body):
    """Have the number of the question doubled, and say what came out."""
    last = body["messages"][-1]
    if last["role"] == "tool":
        return Reply.text(last["content"])
    return Reply.tool_calls([("double", {"number": int(last["content"])})])


@pytest.fixture(scope="module")
def question_job(tmp_path_factory, run_job):
    with scripted(model):
        return run_job(
            "question_job.py",
            tmp_path_factory.mktemp("questions"),
            command=["opentelemetry-instrument"],
            KEYS=str(KEYS),
            QUESTIONS=str(QUESTIONS),
        )


def test_the_job_answers_what_it_answers_without_us(question_job):
    assert question_job.output == sorted(
        f"{2 * number} after {number // KEYS + 1}" for number in range(QUESTIONS)
    )


def test_the_log_tells_every_question_as_one_complete_run(question_job):
    findings = []

    records = list(read_records(question_job.log, on_finding=findings.append))
    runs = execution_forest(records, on_finding=findings.append)

    assert findings == []
    assert Counter(run.business_key for run in runs) == {
        f"key-{number}": QUESTIONS // KEYS for number in range(KEYS)
    }
    assert Counter((run.agent_name, run.complete, told(run)) for run in runs) == {
        ("QuestionAgent", True, TOLD): QUESTIONS
    }


TOLD = (
    ("action", "ask", "finished", ()),
    ("action", "chat_model_action", "finished", (("llm", "model", "finished", ()),)),
    ("action", "chat_model_action", "finished", (("llm", "model", "finished", ()),)),
    ("action", "reply", "finished", ()),
    ("action", "tool_call_action", "finished", (("tool", "double", "finished", ()),)),
)


def told(node):
    children = getattr(node, "executions", None)
    if children is not None:
        return tuple(sorted(map(told, children)))
    inner = tuple(sorted(map(told, node.children)))
    return (node.entity_type, node.entity_name, node.status, inner)


def test_each_key_stays_in_the_file_of_its_subtask(question_job):
    files = defaultdict(set)
    for file in sorted(question_job.log.iterdir()):
        for record in read_records(file):
            files[record.business_key].add(file.name[-8:])

    assert Counter(len(found) for found in files.values()) == {1: KEYS}
    assert set().union(*files.values()) == {"-0.jsonl", "-1.jsonl"}


def test_each_run_begins_with_what_the_one_before_it_wrote(question_job):
    counts = defaultdict(list)
    for record in read_records(question_job.log):
        if record.event_type == "_agent_run_begin_event":
            value = record.event_attributes["value"]
            counts[record.business_key].append(value.get("questions", 0))

    assert [*counts.values()] == [list(range(QUESTIONS // KEYS))] * KEYS
