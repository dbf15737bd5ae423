"""The log and the spans of the demo, value by value."""

import json
from pathlib import Path

import pytest

from chat_agents import scripted
from hosting import TYPED_EVENTS, log_lines
from telling import Names, tracing

if TYPED_EVENTS:
    pytest.skip(
        "the demo is written for hosts with type strings, from 0.3",
        allow_module_level=True,
    )

from flink_agents.runtime.local_execution_environment import LocalExecutionEnvironment

from order_agent import PaymentRefusedError, process
from order_script import FAILING_TOOL, REPLIES, TOOLS, UNPARSABLE

pytestmark = pytest.mark.memory

HERE = Path(__file__).parent


@pytest.fixture
def demo(instrument, tmp_path, monkeypatch):
    """The log and the exported spans of the three runs of the demo."""
    for variable in ("OPENAI_API_KEY", "OPENAI_MODEL"):
        monkeypatch.delenv(variable, raising=False)
    # The host keeps one configuration for all local environments of a process.
    shared = LocalExecutionEnvironment().get_config()
    monkeypatch.setattr(shared, "conf_data", dict(shared.conf_data))
    provider, exporter = tracing()
    instrument(tracer_provider=provider)
    with scripted(REPLIES):
        process([TOOLS, UNPARSABLE])
        with pytest.raises(PaymentRefusedError):
            process([FAILING_TOOL])
    return log_lines(tmp_path / "log"), exporter


def expected(name):
    """What was read and found right, one JSON object a line."""
    return [json.loads(line) for line in (HERE / name).read_text().splitlines()]


def test_the_demo_leaves_this_log(demo):
    lines, _ = demo

    assert Names().records(lines) == expected("demo_log.jsonl")


def test_the_fields_of_each_record_stand_in_the_order_of_the_format(demo):
    lines, _ = demo

    assert [list(line) for line in Names().records(lines)] == [
        list(line) for line in expected("demo_log.jsonl")
    ]


def test_the_demo_is_these_spans(demo):
    lines, exporter = demo
    names = Names()
    names.records(lines)

    assert names.spans(exporter) == expected("demo_spans.jsonl")


def test_records_are_written_in_the_order_of_time_but_for_the_events_of_an_action(demo):
    lines, _ = demo

    times = [line["timestamp"] for line in lines if "status" in line]

    assert times == sorted(times)
