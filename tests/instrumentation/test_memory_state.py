"""Memory rebuilt from the logs of real runs is what the agents really had."""

import tempfile
from contextlib import suppress
from itertools import cycle
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flink_agents_eventlog import (
    Conversion,
    encode,
    encode_plain,
    memory_at,
    read_records,
)
from flink_agents_eventlog.log_file import Located
from flink_agents_eventlog.reader import read_located
from flink_agents_eventlog.verification import MemoryVerification
from hosting import local_runner
from probing import Stage, perform

pytestmark = pytest.mark.memory

PATHS = st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map(".".join)
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.text(max_size=3),
    st.dictionaries(st.sampled_from("xy"), st.integers(), max_size=2),
    st.lists(st.integers(), max_size=2),
)
WRITES = st.lists(st.tuples(PATHS, VALUES), max_size=4)
RUNS = st.lists(
    st.tuples(st.sampled_from(["ada", "bob"]), WRITES), min_size=1, max_size=8
)
HOW = st.fixed_dictionaries(
    {
        "agent-run.snapshot-interval": st.sampled_from([1, 2, 3]),
        "agent-run.end-event": st.booleans(),
        "event-log.rotate-bytes": st.sampled_from([1_500, 100_000]),
        "event-log.keep-files": st.just(0),
    }
)

random_agents = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def held(memory):
    """What is reachable of short-term memory, read as an agent would."""
    values, todo = {}, [(memory, "")]
    while todo:
        inner, prefix = todo.pop()
        for name in inner.get_field_names():
            value = inner.get(name)
            if hasattr(value, "get_field_names"):
                todo.append((value, f"{prefix}{name}."))
            else:
                values[f"{prefix}{name}"] = value
    return values


def played(runs, folder, how):
    """Run agents; give the key and its memory at the end of each run's action."""
    runner = local_runner(Stage(), baseLogDir=str(folder), **how)
    boundaries = []

    for key, writes in runs:

        def body(_, ctx, key=key, writes=writes):
            for path, value in writes:
                with suppress(ValueError):  # the host puts no value over an object
                    ctx.short_term_memory.set(path, value)
            boundaries.append((key, held(ctx.short_term_memory)))

        perform(runner, body, key=key)
    ids = dict.fromkeys(
        record.input_run_id for record in read_records(folder) if record.input_run_id
    )
    return [(run, *boundary) for run, boundary in zip(ids, boundaries, strict=True)]


def differences(path, boundaries):
    """Ask for memory after each run; give what is not as it was."""
    return [
        (run, answer.short_term, memory, answer.findings)
        for run, key, memory in boundaries
        for answer in [memory_at(path, key=key, run=run)]
        if encode_plain(dict(sorted(answer.short_term.items())))
        != encode_plain(dict(sorted(memory.items())))
        or answer.findings
    ]


def mismatches(folder):
    verification = MemoryVerification()
    found = []
    for located in read_located([folder], found.append):
        found += verification.add(located)
    return [*found, *verification.end()]


@random_agents
@given(runs=RUNS, how=HOW)
def test_memory_after_every_action_is_what_the_agent_had(instrument, runs, how):
    instrument(event_log_dir=None)
    with tempfile.TemporaryDirectory() as folder:
        boundaries = played(runs, folder, how)

        assert differences(folder, boundaries) == []
        assert mismatches(folder) == []


@random_agents
@given(runs=RUNS, how=HOW, more=RUNS)
def test_logs_of_two_processes_put_together_tell_the_same(instrument, runs, how, more):
    instrument(event_log_dir=None)
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        how = how | {"event-log.rotate-bytes": 100_000}
        boundaries = [*played(runs, one, how), *played(more, two, how)]
        whole = Path(one, "together")
        logs = [next(Path(folder).glob("events-*")) for folder in (one, two)]
        whole.write_bytes(b"".join(log.read_bytes() for log in logs))

        assert differences(whole, boundaries) == []


@random_agents
@given(runs=RUNS, how=HOW, data=st.data())
def test_a_log_cut_anywhere_tells_the_memory_of_its_last_whole_action(
    instrument, runs, how, data
):
    instrument(event_log_dir=None)
    with tempfile.TemporaryDirectory() as folder:
        how = how | {"event-log.rotate-bytes": 100_000, "agent-run.end-event": True}
        boundaries = played(runs, folder, how)
        log = next(Path(folder).glob("events-*"))
        text = log.read_bytes()
        log.write_bytes(text[: data.draw(st.integers(0, len(text)))])
        ended = {
            record.input_run_id
            for record in read_records(log)
            if record.event_type == "_agent_run_end_event"
        }
        whole = [each for each in boundaries if each[0] in ended]

        for difference in differences(log, whole):
            assert {each.code for each in difference[-1]} == {"TORN_TAIL"}
        for run, key, memory in whole:
            assert memory_at(log, key=key, run=run).short_term == memory


@random_agents
@given(runs=RUNS)
def test_at_the_time_of_a_begin_event_memory_is_that_snapshot(instrument, runs):
    instrument(event_log_dir=None)
    with tempfile.TemporaryDirectory() as folder:
        played(runs, folder, {})
        for record, _, _ in _begun(folder):
            answer = memory_at(folder, key=record.business_key, at=record.timestamp)
            assert answer.short_term == record.event_attributes["value"]


def _begun(folder) -> list[Located]:
    return [
        located
        for located in read_located([folder], print)
        if located.record.event_type == "_agent_run_begin_event"
    ]


@random_agents
@given(runs=RUNS, how=HOW, is_native=st.lists(st.booleans(), min_size=1))
def test_native_and_mixed_logs_tell_the_same(instrument, runs, how, is_native):
    instrument(event_log_dir=None)
    with tempfile.TemporaryDirectory() as folder:
        boundaries = played(runs, folder, how)
        conversion = Conversion("native")
        mixed = Path(folder, "mixed")
        records = [
            conversion.convert(record)[0] if native else record
            for record, native in zip(
                read_records(folder), cycle(is_native), strict=False
            )
        ]
        mixed.write_bytes(b"".join(encode(each) + b"\n" for each in records))

        assert differences(mixed, boundaries) == []
