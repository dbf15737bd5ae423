"""What ran, counted: by what it was, how it ended, how long it took."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from core.samples import (
    ACTION_FIELDS,
    LLM_FIELDS,
    TOOL_FIELDS,
    lifecycle,
    one_run,
    record,
    write,
)
from flink_agents_eventlog.commands import main
from flink_agents_eventlog.lifecycle import (
    FAILED,
    FINISHED,
    INPUT_EVENT,
    REUSED,
    STARTED,
)
from flink_agents_eventlog.run import Execution
from flink_agents_eventlog.stats import Group

TABLE = """\
OrderAgent      count  failed      p50      p95      max  tokens in  out  attempts
action answer       1          1.200 s  1.200 s  1.204 s
llm chat_model      1           900 ms   900 ms   900 ms        812   93         2
tool search         1       1   1.5 ms   1.5 ms   1.5 ms                            tool_call_failed 1
1 run, 1 complete
"""  # noqa: E501 - as it is printed


def groups(capsys, path, *args):
    assert main(["stats", path, "--json", *args]) == 0
    return json.loads(capsys.readouterr().out)


def test_executions_are_counted(tmp_path, capsys):
    assert main(["stats", write(tmp_path / "log", one_run())]) == 0
    assert capsys.readouterr() == (TABLE, "")


def test_the_json_form(tmp_path, capsys):
    form = groups(capsys, write(tmp_path / "log", one_run()))

    action, llm, tool = form.pop("groups")
    assert form == {
        "format": 1,
        "command": "stats",
        "findings": [],
        "runs": 1,
        "complete": 1,
    }
    assert llm == {
        "entity_type": "llm",
        "entity_name": "chat_model",
        "agent_name": "OrderAgent",
        "count": 1,
        "failed": 0,
        "by_problem": {},
        "open": 0,
        "reused": 0,
        "p50_ms": 900.0,
        "p95_ms": 900.0,
        "max_ms": 900.0,
        "input_tokens": 812,
        "output_tokens": 93,
        "attempts": 2,
    }
    assert (action["entity_name"], action["max_ms"]) == ("answer", 1204.0)
    assert (tool["failed"], tool["by_problem"]) == (1, {"tool_call_failed": 1})


def test_what_was_reused_or_did_not_end_took_no_time(tmp_path, capsys):
    log = [
        record(0, "input", INPUT_EVENT),
        lifecycle(1, STARTED, "a", **ACTION_FIELDS),
        lifecycle(2, REUSED, "t", **TOOL_FIELDS),
        lifecycle(3, STARTED, "u", **TOOL_FIELDS),
        lifecycle(8, FAILED, "u", **TOOL_FIELDS),
    ]

    action, tool = groups(capsys, write(tmp_path / "log", log))["groups"]

    assert (action["open"], action["p50_ms"], action["max_ms"]) == (1, None, None)
    assert (tool["count"], tool["reused"], tool["attempts"]) == (2, 1, 1)
    assert (tool["p50_ms"], tool["max_ms"]) == (5.0, 5.0)


def test_agents_are_counted_apart_and_only_chosen_runs(tmp_path, capsys):
    other = {"input_run_id": "other", "agent_name": "Other"}
    log = [
        *one_run(),
        record(0, "i2", INPUT_EVENT, **other),
        lifecycle(1, STARTED, "m", **LLM_FIELDS, **other),
        lifecycle(2, FINISHED, "m", **LLM_FIELDS, **other),
    ]
    path = write(tmp_path / "log", log)

    every = groups(capsys, path)
    chosen = groups(capsys, path, "--run", "other")

    assert [each["agent_name"] for each in every["groups"]] == [
        *["OrderAgent"] * 3,
        "Other",
    ]
    assert (every["runs"], chosen["runs"]) == (2, 1)
    assert [each["entity_name"] for each in chosen["groups"]] == ["chat_model"]


def test_findings_go_to_stderr(tmp_path, capsys):
    path = write(tmp_path / "log", one_run()[:2])

    assert main(["stats", path]) == 0
    out, err = capsys.readouterr()
    assert out.endswith("1 run, 0 complete\n")
    assert err.startswith(f"{path}:2: warning MISSING_END")


@given(st.lists(st.integers(1, 999), min_size=1), st.sampled_from([0.5, 0.95, 1.0]))
def test_a_percentile_is_the_least_duration_that_so_many_did_not_exceed(
    durations, share
):
    group = Group("llm", "m", "A")
    for each in durations:
        group.add(Execution("x", status=FINISHED, duration_ms=float(each)))

    found = group.percentile_ms(share)

    assert found in durations
    assert sum(each <= found for each in durations) >= share * len(durations)
    assert sum(each < found for each in durations) < share * len(durations)


@given(st.lists(st.floats(0.001, 1e9), min_size=1))
def test_a_percentile_has_three_digits_and_never_more_than_the_longest(durations):
    group = Group("llm", "m", "A")
    for each in durations:
        group.add(Execution("x", status=FINISHED, duration_ms=each))

    found = group.percentile_ms(1.0)

    assert found <= group.max_ms == max(durations)
    assert found >= 0.995 * max(durations)
