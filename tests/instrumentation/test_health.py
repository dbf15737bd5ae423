"""Our own counters: records written and lost, faults caught."""

import gc
import logging
import weakref

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from hosting import output
from opentelemetry.exporter.flink_agents._guard import faults
from opentelemetry.instrumentation.flink_agents import uninstrument
from probing import play

WRITTEN = "flink_agents.event_log.records.written"
LOST = "flink_agents.event_log.records.lost"
FAULTS = "flink_agents.instrumentation.faults"


@pytest.fixture
def reader():
    return InMemoryMetricReader()


@pytest.fixture
def meters(reader):
    provider = MeterProvider([reader], shutdown_on_exit=False)
    yield provider
    provider.shutdown()


def read(reader):
    """Every counter of ours with its values, one for each set of attributes."""
    metrics = reader.get_metrics_data()
    return {
        metric.name: [point.value for point in metric.data.data_points]
        for resource in metrics.resource_metrics
        for scope in resource.scope_metrics
        if scope.scope.name == "opentelemetry.instrumentation.flink_agents"
        for metric in scope.metrics
        if metric.name in {WRITTEN, LOST, FAULTS}
    }


def say_hello(_, ctx):
    ctx.send_event(output("hello"))


def test_written_records_are_counted(instrument, meters, reader):
    instrument(meter_provider=meters)
    caught = faults.count

    before = read(reader)
    play(say_hello)

    assert before == {WRITTEN: [0], LOST: [0], FAULTS: [caught]}
    assert read(reader) == {WRITTEN: [4], LOST: [0], FAULTS: [caught]}


def test_lost_records_are_counted(instrument, meters, reader, tmp_path):
    (tmp_path / "log").write_text("a file in the way")
    instrument(meter_provider=meters)

    play(say_hello)
    lost = read(reader)
    (tmp_path / "log").unlink()
    play(say_hello)

    assert (lost[WRITTEN], lost[LOST]) == ([0], [4])
    assert (read(reader)[WRITTEN], read(reader)[LOST]) == ([4], [4])


def test_faults_are_counted(instrument, meters, reader, monkeypatch):
    monkeypatch.setattr(faults, "reraise", False)
    instrument(meter_provider=meters, mask=lambda *_: 1 / 0)
    [before] = read(reader)[FAULTS]

    play(lambda *_: None, value=["a", "b"])

    assert read(reader)[FAULTS] == [before + 2]


def test_they_are_registered_once_and_never_fall(instrument, meters, reader, caplog):
    caplog.set_level(logging.WARNING)
    totals = []
    for _ in range(3):
        instrument(meter_provider=meters)
        instrument(event_log=True)
        play(say_hello)
        totals += read(reader)[WRITTEN]
        uninstrument()
        totals += read(reader)[WRITTEN]

    assert totals == [4, 4, 8, 8, 12, 12]
    assert caplog.messages == []


def test_another_provider_begins_at_what_is_there(instrument, meters, reader):
    instrument(meter_provider=meters)
    play(say_hello)
    other = InMemoryMetricReader()
    second = MeterProvider([other], shutdown_on_exit=False)
    instrument(meter_provider=second)
    play(say_hello)

    assert read(other)[WRITTEN] == [8]
    second.shutdown()


def test_a_meter_provider_of_the_past_is_let_go(instrument):
    provider = MeterProvider(shutdown_on_exit=False)
    instrument(meter_provider=provider)
    uninstrument()
    alive = weakref.ref(provider)
    provider.shutdown()
    del provider
    gc.collect()

    assert alive() is None


class Unhashable(MeterProvider):
    """As Logfire's, which are compared by value."""

    __hash__ = None

    def __eq__(self, other):
        return isinstance(other, Unhashable)


def test_a_provider_that_cannot_be_hashed_reports_its_own_counts(instrument):
    readers = [InMemoryMetricReader(), InMemoryMetricReader()]
    providers = [Unhashable([reader], shutdown_on_exit=False) for reader in readers]
    for provider in providers:
        instrument(meter_provider=provider)
        play(say_hello)
        uninstrument()

    assert [read(reader)[WRITTEN] for reader in readers] == [[4], [4]]
    for provider in providers:
        provider.shutdown()
