"""Runs that close are let go, and what comes late still finds them for a while."""

from __future__ import annotations

from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.samples import ACTION_FIELDS, lifecycle, one_run, record, runs
from flink_agents_eventlog import closing, execution_forest
from flink_agents_eventlog.closing import closed_runs
from flink_agents_eventlog.lifecycle import (
    AGENT_RUN_END_EVENT,
    FINISHED,
    INPUT_EVENT,
    STARTED,
)
from flink_agents_eventlog.log_file import Located


def located(records, path="events-a.jsonl"):
    return [Located(each, path, line) for line, each in enumerate(records, 1)]


def closed(records, **options):
    return list(closed_runs(records, [].append, **options))


def short_run(number, key="k", *, has_end=False):
    fields = {"input_run_id": f"r{number}", "business_key": key}
    yield record(number, f"i{number}", INPUT_EVENT, **fields)
    for status in (STARTED, FINISHED):
        yield lifecycle(number, status, f"a{number}", **ACTION_FIELDS, **fields)
    if has_end:
        yield record(number, f"e{number}", AGENT_RUN_END_EVENT, **fields)


def long_log(size, **options):
    """A log that goes on and on, and how many of its records were read."""
    read = [0]

    def records():
        for number in range(size):
            for each in short_run(number, **options):
                read[0] += 1
                yield Located(each, "events-a.jsonl", read[0])

    return records(), read


@given(st.data())
def test_a_short_log_gives_the_runs_of_the_forest_in_any_order(data):
    log = [
        record_
        for number in range(data.draw(st.integers(0, 3)))
        for each in [data.draw(runs())]
        for record_ in (_of_run(each, number))
    ]
    again = data.draw(st.lists(st.sampled_from(log))) if log else []
    shuffled = data.draw(st.permutations(log + again))

    found = []
    built = list(closed_runs(located(shuffled), found.append))

    expected = []
    assert built == execution_forest(shuffled, on_finding=expected.append)
    assert sorted(f.event_id for f in found) == sorted(f.event_id for f in expected)


def _of_run(records, number):
    for each in records:
        each.input_run_id = f"r{number}"
        yield each


@pytest.mark.parametrize(
    "options", [{}, {"has_end": True}], ids=["by the next input", "by the end event"]
)
def test_runs_are_let_go_as_they_close(monkeypatch, options):
    monkeypatch.setattr(closing, "MOST_CLOSED", 2)
    log, read = long_log(1_000_000, **options)

    first = list(islice(closed_runs(log, print), 3))

    assert [run.input_run_id for run in first] == ["r0", "r1", "r2"]
    assert all(run.complete for run in first)
    assert read[0] < 25


def test_keys_without_an_end_do_not_pile_up(monkeypatch):
    monkeypatch.setattr(closing, "MOST_CLOSED", 2)
    monkeypatch.setattr(closing, "MOST_OPEN", 5)
    records = (
        Located(each, "events-a.jsonl", number)
        for number in range(1_000_000)
        for each in short_run(number, key=str(number))
    )

    assert [run.complete for run in islice(closed_runs(records, print), 9)] == [
        True
    ] * 9


def test_a_run_with_something_open_does_not_close_by_the_next_input(monkeypatch):
    monkeypatch.setattr(closing, "MOST_CLOSED", 0)
    first, second = list(short_run(1)), list(short_run(2))
    log = [*first[:2], *second, first[2]]

    runs_ = closed(located(log))

    assert [run.complete for run in runs_] == [True, True]


def test_other_files_and_other_keys_close_nothing(monkeypatch):
    monkeypatch.setattr(closing, "MOST_CLOSED", 0)
    begin, *rest = short_run(1)
    log = [
        *located([begin]),
        *located(short_run(2), "events-b.jsonl"),
        *located(short_run(3, key="other")),
        *located(rest),
    ]

    assert [len(run.executions) for run in closed(log)] == [1, 1, 1]


def test_a_rotated_file_goes_on_in_the_next(monkeypatch):
    monkeypatch.setattr(closing, "MOST_CLOSED", 0)
    log = [
        *located(short_run(1), "events-a.1.jsonl"),
        *located(short_run(2), "events-a.jsonl"),
    ]

    runs_ = closed_runs(iter(log), print)

    assert next(runs_).input_run_id == "r1"


def test_what_comes_late_joins_the_run_or_is_one_of_its_own(monkeypatch):
    first, second, third = (list(short_run(number)) for number in (1, 2, 3))
    late = [*first[:1], *second, *third, *first[1:]]

    assert [len(run.executions) for run in closed(located(late))] == [1, 1, 1]

    monkeypatch.setattr(closing, "MOST_CLOSED", 0)
    assert [
        (run.input_run_id, len(run.executions)) for run in closed(located(late))
    ] == [("r1", 0), ("r2", 1), ("r3", 1), ("r1", 1)]


def test_a_run_tells_its_span_its_times_and_if_asked_its_content():
    log = one_run()
    log[0].trace_id, log[0].span_id = "t", "s"
    log[2].event_attributes = {"input": "search?"}
    log[2].trace_id, log[2].span_id = "t", "llm"

    [run] = closed(located(log), with_content=True)

    llm, tool = run.executions[0].children
    assert (run.trace_id, run.span_id) == ("t", "s")
    assert (run.started_at, run.ended_at) == (log[0].timestamp, log[6].timestamp)
    assert (llm.trace_id, llm.span_id) == ("t", "llm")
    assert llm.content == {"input": "search?", "output": "call search"}
    assert tool.content == {}
    assert closed(located(log))[0].executions[0].children[0].content == {}
