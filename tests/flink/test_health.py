"""How our own telemetry fares is told to Flink's metrics too."""

from __future__ import annotations

from flink_agents_eventlog import read_records

ALONE = {
    "OTEL_TRACES_EXPORTER": "none",
    "OTEL_METRICS_EXPORTER": "none",
    "OTEL_LOGS_EXPORTER": "none",
}


def test_counters_of_the_metric_group_grow_with_every_run(run_job, tmp_path):
    job = run_job(
        "health_job.py", tmp_path, command=["opentelemetry-instrument"], **ALONE
    )

    records = len(list(read_records(job.log)))
    each = records // 3
    assert job.output == [str([told, 0, 0]) for told in (0, each, 2 * each)]


def test_records_that_are_lost_are_counted_and_the_job_ends_well(run_job, tmp_path):
    folder = tmp_path / "a file"
    folder.touch()

    job = run_job(
        "health_job.py",
        tmp_path,
        command=["opentelemetry-instrument"],
        OTEL_PYTHON_FLINK_AGENTS_EVENT_LOG_DIR=str(folder),
        **ALONE,
    )

    assert [answer.split(", ")[0] for answer in job.output] == ["[0"] * 3
    lost = [int(answer.split(", ")[1]) for answer in job.output]
    assert lost == [0, lost[1], 2 * lost[1]]
    assert lost[1] > 0
