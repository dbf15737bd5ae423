"""Equal events, several listeners, coroutines, failures and tables on a real Flink.

Each job runs with us, brought in by `opentelemetry-instrument`, and without us.
"""

from __future__ import annotations

import json
from collections import Counter

import pytest

from flink_agents_eventlog import (
    check_log,
    execution_forest,
    memory_at,
    read_records,
)

JOBS = ("mixed", "table", "fragile", "failing")
AGENTS = ("MixedAgent", "TableAgent", "FragileAgent", "FailingAgent")
KEYS = ["('tenant', 7)", "7", "ada", "schlüssel ä"]
MARKS = {"RUN_OPEN", "MISSING_END", "UNRECORDED_WRITES", "STATE_MISMATCH"}
"""What `check` may say of a log that a restart cut."""


@pytest.fixture(scope="module")
def plain(run_mixed):
    return run_mixed(*JOBS)


@pytest.fixture(scope="module")
def observed(run_mixed):
    return run_mixed(*JOBS, command=["opentelemetry-instrument"])


@pytest.mark.parametrize("job", ["mixed", "table"])
def test_a_job_answers_what_it_answers_without_us(plain, observed, job):
    assert observed.answers(job) == plain.answers(job)
    assert observed.found[job]["error"] is None


def test_an_error_that_is_mended_by_a_restart_changes_no_answer(plain, observed):
    assert set(observed.answers("fragile")) == set(plain.answers("fragile"))
    assert observed.found["fragile"]["error"] is plain.found["fragile"]["error"] is None


def test_a_job_fails_by_the_same_error_as_without_us(plain, observed):
    error = observed.found["failing"]["error"]

    assert error == plain.found["failing"]["error"]
    assert error.endswith("PythonException: <class 'ValueError'>: broken for good")


def test_ids_and_digests_of_durable_calls_are_those_without_us(plain, observed):
    assert len(observed.calls) == 18
    assert observed.calls == plain.calls


def test_no_file_is_left_without_us(plain):
    assert plain.logs == {}


HEARD = ("action", "hear", "finished", (("tool", "refuse", "failed", ()),))
TOLD = (
    *[HEARD] * 3,
    ("action", "look_up", "finished", ()),
    ("action", "remember", "finished", ()),
    *[("action", "report", "finished", ())] * 3,
)


def told(node):
    children = getattr(node, "executions", None)
    if children is not None:
        return tuple(sorted(map(told, children)))
    inner = tuple(sorted(map(told, node.children)))
    return (node.entity_type, node.entity_name, node.status, inner)


@pytest.mark.parametrize("agent", AGENTS[:2])
def test_each_input_is_one_complete_run_with_every_listener(observed, agent):
    runs = execution_forest(read_records(*observed.logs[agent]))
    findings = check_log(*observed.logs[agent]).findings

    assert findings == []
    assert Counter(run.business_key for run in runs) == dict.fromkeys(KEYS, 4)
    assert Counter((run.complete, told(run)) for run in runs) == {(True, TOLD): 16}


def test_equal_events_are_told_apart(observed):
    records = list(read_records(*observed.logs["MixedAgent"]))

    ids = Counter(record.event_id for record in records)
    triggers = Counter(
        (record.action_trigger_event_id, record.entity_name)
        for record in records
        if record.status == "started" and record.entity_type == "action"
    )
    assert set(ids.values()) == {1}
    assert set(triggers.values()) == {1}


@pytest.mark.parametrize("agent", AGENTS)
def test_memory_rebuilt_from_the_log_is_what_the_agent_reports(observed, agent):
    files = observed.logs[agent]
    reports = [
        (record.business_key, record.event_id, json.loads(answer))
        for record in read_records(*files)
        if record.event_type == "_output_event"
        and "memory" in (answer := record.event_attributes["output"])
    ]

    rebuilt = [
        memory_at(*files, key=key, event=event).short_term for key, event, _ in reports
    ]

    assert reports
    assert rebuilt == [report["memory"] for _, _, report in reports]


def test_two_attempts_append_to_one_file_and_all_that_was_cut_is_marked(observed):
    files = observed.logs["FragileAgent"]

    checked = check_log(*files)
    runs = list(execution_forest(read_records(*files)))

    assert [file.name[-8:] for file in files] == ["-0.jsonl", "-1.jsonl"]
    assert {finding.code for finding in checked.findings} <= MARKS
    assert Counter(run.business_key for run in runs if run.complete) >= Counter(
        dict.fromkeys(KEYS, 4) | {"ada": 5}
    )
    cut = {run.input_run_id for run in runs if not run.complete}
    said = " ".join(finding.message for finding in checked.findings)
    assert all(run in said for run in cut)
    [failed] = [
        execution
        for run in runs
        for execution in run.executions
        if execution.status == "failed"
    ]
    assert (failed.entity_name, failed.error_type) == ("break_once", "ValueError")


def test_a_job_that_fails_says_so_in_its_log(observed):
    files = observed.logs["FailingAgent"]

    failed = [
        (record.entity_name, record.event_attributes)
        for record in read_records(*files)
        if record.status == "failed" and record.entity_type == "action"
    ]

    told = {"error_type": "ValueError", "error_message": "broken for good"}
    assert failed == [("fail", told)]
    assert {finding.code for finding in check_log(*files).findings} <= MARKS
