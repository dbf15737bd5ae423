"""The SDK's declarative configuration: our instrumentation as one of its entries."""

import sys
from pathlib import Path

from hosting import brief, log_lines
from processes import run_python

COMMAND = Path(sys.executable).with_name("opentelemetry-instrument")

CONFIGURATION = """
file_format: "1.0"
tracer_provider:
  processors:
    - simple: {exporter: {console: {}}}
  sampler: {SAMPLER: {}}
instrumentation/development:
  python:
    flink_agents: {event_log_dir: FOLDER}
"""

APPLICATION = """
from hosting import output
from probing import play

print(play(lambda _, ctx: ctx.send_event(output("hello"))).get_outputs())
"""

STORY = ["_input_event", "action act started", "action act finished", "_output_event"]


def run_configured(folder, *, sampler="always_on"):
    path = folder / "otel.yaml"
    text = CONFIGURATION.replace("FOLDER", str(folder / "log"))
    path.write_text(text.replace("SAMPLER", sampler))
    done = run_python(
        APPLICATION, command=(str(COMMAND), sys.executable), OTEL_CONFIG_FILE=path
    )
    assert done.returncode == 0, done.stderr
    assert "[{'k': 'hello'}]" in done.stdout.splitlines()
    return done


def test_its_provider_exports_our_spans_and_its_options_reach_us(tmp_path):
    done = run_configured(tmp_path)

    lines = log_lines(tmp_path / "log")
    assert brief(lines) == STORY
    for name in ("invoke_agent Stage", "action act"):
        assert done.stdout.count(f'"name": "{name}"') == 1
    assert f"0x{lines[1]['span_id']}" in done.stdout
    assert "Traceback" not in done.stderr


def test_its_sampler_thins_the_trace_and_not_the_log(tmp_path):
    done = run_configured(tmp_path, sampler="always_off")

    assert '"name"' not in done.stdout
    assert brief(log_lines(tmp_path / "log")) == STORY
