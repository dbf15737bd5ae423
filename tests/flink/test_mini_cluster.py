"""What ten inputs of three keys at parallelism two leave on a real Flink."""

from __future__ import annotations

from collections import Counter, defaultdict

from flink_agents_eventlog import execution_forest, read_records

KEYS = {"key-0": 4, "key-1": 3, "key-2": 3}


def test_the_job_computes_what_it_computes_without_us(parcel_job):
    lengths = range(1, 11)

    assert parcel_job.output == sorted(f"{'x' * n}: {2 * n}" for n in lengths)


def test_each_subtask_writes_its_own_file_and_each_key_stays_in_one(parcel_job):
    files = sorted(parcel_job.log.iterdir())

    keys = {
        file: {record.business_key for record in read_records(file)} for file in files
    }
    assert [file.name[-8:] for file in files] == ["-0.jsonl", "-1.jsonl"]
    assert sorted(key for found in keys.values() for key in found) == sorted(KEYS)


def test_every_input_is_one_complete_run_told_in_full(parcel_job):
    findings = []

    runs = execution_forest(
        read_records(parcel_job.log, on_finding=findings.append),
        on_finding=findings.append,
    )

    assert findings == []
    assert Counter(run.business_key for run in runs) == KEYS
    for run in runs:
        assert (run.agent_name, run.complete) == ("ParcelAgent", True)
        assert sorted(map(told, run.executions)) == [
            ("action", "audit", "finished", []),
            ("action", "observe", "finished", []),
            ("action", "price", "finished", [("tool", "postage", "finished", [])]),
            ("action", "weigh", "finished", []),
        ]


def told(execution):
    children = [told(child) for child in execution.children]
    return (
        execution.entity_type,
        execution.entity_name,
        execution.status,
        children,
    )


def test_every_execution_starts_once_and_ends_once(parcel_job):
    statuses = defaultdict(list)
    for record in read_records(parcel_job.log):
        if record.status is not None:
            statuses[record.execution_id].append(record.status)

    assert len(statuses) == 50
    assert set(map(tuple, statuses.values())) == {("started", "finished")}


def test_actions_know_the_event_that_triggered_them(parcel_job):
    runs = defaultdict(list)
    for record in read_records(parcel_job.log):
        runs[record.input_run_id].append(record)

    for records in runs.values():
        events = {
            record.event_type.rsplit(".")[-1]: record
            for record in records
            if record.status is None
        }
        triggers = {
            record.entity_name: record.action_trigger_event_id
            for record in records
            if record.status == "started"
        }
        weighed = next(event for name, event in events.items() if "eigh" in name)
        assert triggers == {
            "weigh": events["_input_event"].event_id,
            "price": weighed.event_id,
            "audit": weighed.event_id,
            "observe": events["_short_term_write_event"].event_id,
            "postage": weighed.event_id,
        }
        assert weighed.action_trigger_event_id == events["_input_event"].event_id
        assert events["_output_event"].action_trigger_event_id == weighed.event_id


def test_one_run_is_one_trace_although_keys_interleave(parcel_job):
    traces = defaultdict(set)
    for record in read_records(parcel_job.log):
        if record.trace_id is not None:
            traces[record.input_run_id].add(record.trace_id)

    assert [len(found) for found in traces.values()] == [1] * 10
    assert len(set().union(*traces.values())) == 10


def test_memory_is_told_as_it_was_written_and_found_again(parcel_job):
    told = defaultdict(list)
    for record in read_records(parcel_job.log):
        if record.event_type in {"_agent_run_begin_event", "_short_term_write_event"}:
            assert record.event_attributes["key"] == record.business_key
            told[record.business_key].append(record)

    for key, count in KEYS.items():
        records = iter(told[key])
        assert len(told[key]) == 2 * count
        memory: dict = {}
        for number, (begin, write) in enumerate(zip(records, records, strict=True), 1):
            assert begin.event_attributes["value"] == memory
            grams = write.event_attributes["value"]["last.grams"]
            assert write.event_attributes["value"] == {
                "parcels.count": number,
                "last": None,
                "last.grams": grams,
                "last.detail": None,
            }
            assert write.entity_name == "weigh"
            memory = {
                "parcels.count": number,
                "last.grams": grams,
                # Written by the action that the event triggered; by rule in no event.
                "observed": number,
            }
