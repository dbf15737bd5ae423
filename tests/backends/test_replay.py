"""Logs replayed into Jaeger: what it shows is what it would have shown live."""

import contextlib
import shutil
from collections import Counter
from pathlib import Path

import pytest
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter

import binaries
from binaries import until
from core.samples import ACTION_FIELDS, lifecycle, record, write
from flink_agents_eventlog.commands import main
from flink_agents_eventlog.lifecycle import FINISHED, INPUT_EVENT, STARTED
from opentelemetry.exporter.flink_agents import BackendError, replay
from traces import KeepingProvider, received, trace_ids

GOLDEN = Path(__file__).parent.parent / "core" / "golden"
HOW = ("fine", "repeated", "failed")
# What only the call itself knows: it is in no record.
NOT_RECORDED = {
    "gen_ai.output.type",
    "gen_ai.request.temperature",
    "gen_ai.response.finish_reasons",
    "gen_ai.response.id",
    "server.address",
    "server.port",
}
# Taken from content, of which the native dialect has none.
OF_CONTENT = {"flink_agents.parser.schema", "gen_ai.response.model"}


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """A Jaeger that has seen nothing live."""
    with binaries.jaeger(tmp_path_factory.mktemp("archive")) as running:
        yield running


@pytest.fixture
def live(instrument, jaeger, sending, order):
    """Run all orders, sending to Jaeger; return the ids of their traces."""

    def run(**arguments):
        sending(jaeger)
        provider = KeepingProvider()
        instrument(tracer_provider=provider, otlp=True, **arguments)
        for how in HOW:
            order(how)
        provider.shutdown()
        traces = trace_ids(provider.kept)
        until(lambda: len(shown(jaeger, traces)) == len(provider.kept))
        return traces

    return run


@pytest.fixture
def replay_command(monkeypatch, capsys):
    """Replay a log as the console script does; return what it says."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("OTEL_SERVICE_NAME", "replayed")

    def run(path, backend):
        assert main(["replay", str(path), "--otlp", backend.settings["OTLP_GRPC"]]) == 0
        return capsys.readouterr().out

    return run


def shown(backend, traces):
    """All spans that a Jaeger has of some traces, by their ids, times in µs."""
    spans = [received(span) for trace in traces for span in backend.trace(trace)]
    assert len({span["span"] for span in spans}) == len(spans)
    for span in spans:
        span["start"], span["end"] = (time // 1000 for time in span.pop("times"))
    return {span["span"]: span for span in spans}


@pytest.mark.parametrize("dialect", ["snake", "native"])
def test_a_replayed_log_is_shown_as_the_live_trace_is(  # noqa: PLR0917
    dialect, live, jaeger, archive, replay_command, tmp_path
):
    traces = live(dialect=dialect)

    replay_command(tmp_path / "log", archive)

    expected = shown(jaeger, traces)
    found = until(lambda: len(got := shown(archive, traces)) >= len(expected) and got)
    missing = set()
    for span in expected.values():
        copy = found[span["span"]]
        missing |= span["attributes"].keys() - copy["attributes"].keys()
        kept = {name: span["attributes"][name] for name in copy["attributes"]}
        if span["name"].startswith("invoke_agent"):
            # It ends with its last record, which is written before the span ends.
            assert copy["end"] <= span["end"]
            span["end"] = copy["end"]
        assert copy == {**span, "attributes": kept}
    assert found.keys() == expected.keys()
    assert missing - NOT_RECORDED == (OF_CONTENT if dialect == "native" else set())


def test_replayed_where_it_was_seen_live_and_once_more_it_adds_no_span(
    live, jaeger, replay_command, tmp_path
):
    traces = live()
    before = Counter(span["name"] for span in shown(jaeger, traces).values())

    for _ in range(2):
        said = replay_command(tmp_path / "log", jaeger)
        assert said.startswith(f"sent {before.total()} spans of 3 runs")

    # Spans are taken in order: what is sent now arrives after those.
    marker = live()
    assert marker
    assert Counter(span["name"] for span in shown(jaeger, traces).values()) == before


def story(spans):
    """What ran inside what, in the order of the starts."""
    names = {span["span"]: span["name"] for span in spans.values()}
    return [
        f"{names.get(span['parent'], '')} > {span['name']}".lstrip()
        for span in sorted(
            spans.values(), key=lambda span: (span["start"], span["end"])
        )
    ]


def test_a_log_of_the_host_itself_is_shown_too_and_once(
    archive, replay_command, tmp_path
):
    log = shutil.copy(GOLDEN / "native_main_async.jsonl", tmp_path)

    for _ in range(2):
        replay_command(log, archive)

    [trace] = until(lambda: traces_of(archive, "k0"))
    found = until(lambda: len(got := shown(archive, [trace])) >= 11 and got)
    assert story(found) == [
        "> invoke_agent MyAgent",
        "invoke_agent MyAgent > action first",
        "invoke_agent MyAgent > action chat_model_action",
        "action chat_model_action > chat fake-1",
        "invoke_agent MyAgent > action tool_call_action",
        "action tool_call_action > execute_tool add",
        "action tool_call_action > execute_tool boom",
        "invoke_agent MyAgent > action chat_model_action",
        "action chat_model_action > chat fake-1",
        "action chat_model_action > parse structured_output",
        "invoke_agent MyAgent > action last",
    ]


def traces_of(backend, key):
    day = {"start": 1795996800_000000, "end": 1796083200_000000}
    tags = f'{{"flink_agents.business_key": "{key}"}}'
    answer = backend.ask("/api/traces", service="replayed", tags=tags, **day)
    return [trace["traceID"] for trace in answer["data"]]


RUNS, ACTIONS = 20, 999


def spans_of(number):
    """The trace of a long run and its spans: the run and its actions."""
    first = (number + 1) * 10_000
    return f"{first:032x}", [f"{first + each:016x}" for each in range(ACTIONS + 1)]


def long_runs():
    """A log of 20,000 spans, years old."""
    for number in range(RUNS):
        trace, (own, *spans) = spans_of(number)
        run = {"input_run_id": f"run-{number}"}
        yield record(number, own, INPUT_EVENT, **run, trace_id=trace, span_id=own)
        for when, span in enumerate(spans):
            ids = {"trace_id": trace, "span_id": span, "action_trigger_event_id": own}
            for status in (STARTED, FINISHED):
                fields = {**ACTION_FIELDS, **run, **ids}
                yield lifecycle(number + when / 1000, status, span, **fields)


class Exporter(OTLPSpanExporter):
    """Sends to Jaeger; calls something after so many requests."""

    REQUESTS = 20

    def __init__(self, backend, then=lambda: None):
        super().__init__(backend.settings["OTLP_GRPC"], insecure=True, timeout=2)
        self._requests = 0
        self._then = then

    def export(self, spans):
        if self._requests == self.REQUESTS:
            self._then()
        self._requests += 1
        return super().export(spans)


def test_a_jaeger_that_stops_in_the_middle_has_everything_in_the_end_and_once(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    log = write(tmp_path / "events-long.jsonl", long_runs())
    with contextlib.ExitStack() as running:
        backend = running.enter_context(binaries.jaeger(tmp_path))
        with pytest.raises(BackendError) as broken:
            replay(log, exporter=Exporter(backend, running.close))
    with binaries.jaeger(tmp_path, backend):
        done = replay(log, exporter=Exporter(backend))
        # The last batch is on its way to the disk for a moment.
        last, spans = spans_of(RUNS - 1)
        until(lambda: len(backend.trace(last)) >= len(spans))
        for number in range(RUNS):
            trace, expected = spans_of(number)
            found = [span["spanId"] for span in backend.trace(trace)]
            assert sorted(found) == expected

    assert done.sent_before == broken.value.replayed.sent == Exporter.REQUESTS * 512
    assert done.sent + done.sent_before == RUNS * (ACTIONS + 1)
