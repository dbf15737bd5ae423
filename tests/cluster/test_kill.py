"""A TaskManager is killed in the middle of a job, which goes on and ends right."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from cluster.standalone import JOBS, Cluster
from flink_agents_eventlog import execution_forest, read_records
from flink_agents_eventlog.checking import check_log
from flink_agents_eventlog.reader import read_located

if TYPE_CHECKING:
    from pathlib import Path

    from flink_agents_eventlog import Record

INPUTS = 3000


@dataclass(frozen=True)
class Left:
    """What a job left whose TaskManager was killed."""

    outputs: list[str]
    log: Path

    @property
    def records(self) -> list[Record]:
        return list(read_records(self.log))


@pytest.fixture(scope="module")
def left(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cluster")
    # One slot each and one to spare: the job need not wait for a new one.
    with Cluster(folder, slots=1) as cluster:
        cluster.add_task_managers(3)
        job = cluster.submit(JOBS / "count_job.py", str(folder / "out"), str(INPUTS))
        cluster.until(lambda: cluster.checkpoints(job) >= 2, 120)
        cluster.kill_one_that_works()
        cluster.until(lambda: cluster.job(job).get("state") == "FINISHED", 240)
    files = [each for each in (folder / "out").rglob("part-*") if each.is_file()]
    outputs = [line for each in files for line in each.read_text().splitlines()]
    return Left(outputs, folder / "log")


def test_the_result_is_as_if_nothing_had_happened(left):
    counts = defaultdict(list)
    for line in left.outputs:
        key, number, count = line.split()
        assert key == f"key-{int(number) % 8}"
        counts[key].append(int(count))

    numbers = sorted(int(line.split()[1]) for line in left.outputs)
    assert numbers == [*range(INPUTS)]
    for key in counts:
        assert sorted(counts[key]) == [*range(1, len(counts[key]) + 1)]


def test_both_attempts_are_in_the_log_of_their_subtask_untorn(left):
    checked = check_log(left.log)

    assert [each for each in checked.findings if each.severity == "error"] == []
    assert len(list(left.log.iterdir())) == 2


def test_nothing_that_came_out_is_missing_in_the_log(left):
    told = Counter(
        record.event_attributes["output"]
        for record in left.records
        if record.event_type == "_output_event"
    )

    assert set(left.outputs) <= set(told)


def test_every_run_is_complete_or_said_not_to_be(left):
    places = {
        (located.path, located.line): located.record.input_run_id
        for located in read_located([left.log], pytest.fail)
    }

    cut = {
        run.input_run_id for run in execution_forest(left.records) if not run.complete
    }

    assert cut <= {
        places[each.path, each.line]
        for each in check_log(left.log).findings
        if each.code in {"MISSING_END", "RUN_OPEN"}
    }


def test_what_was_processed_twice_is_runs_of_its_own(left):
    runs = defaultdict(set)
    for record in left.records:
        if record.event_type == "_input_event":
            runs[str(record.event_attributes["input"])].add(record.input_run_id)

    assert len(runs) == INPUTS
    assert any(len(each) > 1 for each in runs.values())
