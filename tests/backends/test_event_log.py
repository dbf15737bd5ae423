"""The Collector that tails an Event Log: each line becomes a log record, once."""

import contextlib
import json
from datetime import datetime

import pytest

from binaries import COLLECTOR, serving, until
from flink_agents_eventlog import read_records
from hosting import output
from log_receiving import log_backend
from probing import play
from providing import MemoryProvider


@pytest.fixture
def logs():
    with log_backend() as received:
        yield received


@pytest.fixture
def tail(tmp_path, logs):
    """Tail `tmp_path / "log"` inside the block."""

    @contextlib.contextmanager
    def run():
        settings = {
            "EVENT_LOG_DIR": str(tmp_path / "log"),
            "STATE_DIR": str(tmp_path / "state"),
            "LOGS_BACKEND": logs.endpoint,
        }
        with serving(COLLECTOR, "event-log.yaml", tmp_path, **settings) as said:
            yield said

    return run


def lines(folder):
    return [
        line
        for path in sorted((folder / "log").iterdir())
        for line in path.read_text().splitlines()
    ]


def arrived(logs, folder):
    """All records, when there are as many as there are lines."""
    until(lambda: len(logs.records) >= len(lines(folder)))
    return logs.records


def bodies(logs, folder):
    return sorted(record["body"] for record in arrived(logs, folder))


@pytest.mark.memory
@pytest.mark.parametrize("dialect", ["snake", "native"])
def test_each_line_arrives_as_it_is_and_says_what_it_is_about(  # noqa: PLR0917
    dialect, instrument, order, tail, logs, tmp_path
):
    instrument(dialect=dialect)
    with tail():
        order("failed")
        records = arrived(logs, tmp_path)

    assert [record["body"] for record in records] == lines(tmp_path)
    assert [record["attributes"] for record in records] == [
        flat(record["body"], name_of_log(tmp_path)) for record in records
    ]
    assert [told(record) for record in records] == [
        (nanoseconds(record.timestamp), record.trace_id, record.span_id, record.status)
        for record in read_records(tmp_path / "log")
    ]


def flat(line, name):
    """All fields but the payload."""
    record = json.loads(line)
    for payload in ("event_attributes", "eventAttributes"):
        record.pop(payload, None)
    return {**record, "log.file.name": name}


def name_of_log(folder):
    [path] = (folder / "log").iterdir()
    return path.name


def told(record):
    ids = record["trace_id"], record["span_id"]
    return record["time"], *ids, record["severity"] or None


def nanoseconds(timestamp):
    when = datetime.fromisoformat(timestamp.replace("Z", "+00:00"))
    return int(when.timestamp()) * 10**9 + when.microsecond * 1000


def test_executions_arrive_with_the_ids_of_their_spans(
    instrument, order, tail, logs, tmp_path
):
    provider = MemoryProvider()
    instrument(tracer_provider=provider)
    with tail():
        order("fine")
        records = arrived(logs, tmp_path)

    sent = {f"{span.context.span_id:016x}" for span in provider.spans}
    assert {each["span_id"] for each in records if each["span_id"]} == sent
    [trace] = {each["trace_id"] for each in records if each["trace_id"]}
    assert trace == f"{provider.spans[0].context.trace_id:032x}"


def say_hello(_, ctx):
    ctx.send_event(output("hello"))


def test_a_file_set_aside_is_read_to_its_end_and_nothing_arrives_twice(
    instrument, tail, logs, tmp_path
):
    instrument(options={"event-log.rotate-bytes": 4000})
    with tail():
        for _ in range(5):
            play(say_hello)
        first = bodies(logs, tmp_path)
    with tail():
        play(say_hello)
        everything = bodies(logs, tmp_path)

    assert len(list((tmp_path / "log").iterdir())) > 2
    assert len(first) == 20
    assert everything == sorted(lines(tmp_path))


def test_what_a_backend_missed_while_it_was_down_arrives_later(
    instrument, tail, logs, tmp_path
):
    instrument()
    logs.refusing = True
    with tail() as said:
        play(say_hello)
        until(lambda: "Exporting failed" in said.read_text())
    logs.refusing = False
    with tail():
        assert bodies(logs, tmp_path) == sorted(lines(tmp_path))


def test_half_a_line_waits_for_its_other_half(instrument, tail, logs, tmp_path):
    instrument()
    play(say_hello)
    [path] = (tmp_path / "log").iterdir()
    *whole, last = path.read_text().splitlines(keepends=True)
    path.write_text("".join(whole) + last[:50])
    with tail():
        until(lambda: len(logs.records) == 3)
        with path.open("a") as log:
            log.write(last[50:])
        assert bodies(logs, tmp_path) == sorted(lines(tmp_path))
