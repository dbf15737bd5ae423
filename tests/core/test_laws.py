"""What holds for every log: order, repetition, loss and cuts change nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.samples import one_run, runs
from feeding import printed_by
from flink_agents_eventlog import (
    convert,
    decode,
    encode,
    execution_forest,
    execution_sequence,
    read_records,
)

GOLDEN = Path(__file__).parent / "golden"
REAL = sorted(GOLDEN.glob("native_*.jsonl"))
FORMS = [["tree", "-"], ["tree", "--json", "-"], ["timeline", "--json", "-"]]


@st.composite
def logs(draw):
    """Lines of some runs that went on at the same time, in any of two dialects."""
    log = [
        (each.timestamp, number, each)
        for number, run in enumerate(draw(st.lists(runs(), max_size=3)))
        for each in run
    ]
    dialect = draw(st.sampled_from(["snake", "native"]))
    lines = []
    for _, number, each in sorted(log, key=lambda line: line[:2]):
        each.input_run_id = f"r{number}"
        each.event_id += f"-{number}"
        lines.append(encode(convert(each, dialect).record) + b"\n")
    return lines


def printed(lines):
    return [printed_by(form, b"".join(lines)) for form in FORMS]


def runs_in(lines):
    return json.loads(printed_by(["tree", "--json", "-"], b"".join(lines)))["runs"]


def executions_of(runs_):
    """Statuses by run and execution."""
    todo = [(run, each) for run in runs_ for each in run["executions"]]
    found = {}
    while todo:
        run, execution = todo.pop()
        name = run["input_run_id"], execution["execution_id"]
        found[name] = execution["status"]
        todo += [(run, each) for each in execution["children"]]
    return found


def events_of(runs_):
    return [each["event_id"] for run in runs_ for each in run["events"]]


@settings(max_examples=30)
@given(st.data(), logs())
def test_neither_order_nor_repetition_changes_what_is_shown(data, log):
    again = data.draw(st.lists(st.sampled_from(log))) if log else []
    shuffled = data.draw(st.permutations(log + again))

    assert printed(shuffled) == printed(log)


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
@settings(max_examples=10)
@given(random=st.randoms())
def test_nor_does_it_in_real_logs(path, random):
    log = path.read_bytes().splitlines(keepends=True)
    shuffled = log + log[::3]
    random.shuffle(shuffled)

    assert printed(shuffled) == printed(log)


@settings(max_examples=30)
@given(logs(), st.integers(0))
def test_a_log_that_is_cut_anywhere_tells_what_was_whole(log, length):
    text = b"".join(log)
    text = text[: length % (len(text) + 1)]

    shown = runs_in([text])

    lines = zip(text.splitlines(), log, strict=False)
    assert shown == runs_in([line for cut, line in lines if cut == line[:-1]])
    whole = runs_in(log)
    assert set(events_of(shown)) <= set(events_of(whole))
    for execution, status in executions_of(shown).items():
        assert status in ("started", executions_of(whole)[execution])


@settings(max_examples=30)
@given(logs(), st.integers(0))
def test_a_lost_line_leaves_all_others_standing(log, at):
    rest = list(log)
    if rest:
        rest.pop(at % len(rest))

    shown = runs_in(rest)

    left = [decode(line) for line in rest]
    assert sorted(events_of(shown)) == sorted(
        each.event_id for each in left if not each.status
    )
    assert executions_of(shown).keys() == {
        (each.input_run_id, each.execution_id) for each in left if each.status
    }


@given(logs())
def test_runs_can_be_written_down_and_rebuilt(log):
    forest = execution_forest(map(decode, log))

    written = [decode(encode(each)) for each in execution_sequence(forest)]

    assert execution_forest(written) == forest


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
def test_real_runs_can_be_written_down_and_rebuilt(path):
    forest = execution_forest(read_records(path))

    found = []
    rebuilt = execution_forest(execution_sequence(forest), on_finding=found.append)

    assert rebuilt == forest
    assert found == []


def test_a_failure_with_its_attempts_comes_back():
    forest = execution_forest(one_run())

    assert execution_forest(execution_sequence(forest)) == forest
