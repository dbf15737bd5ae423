"""One execution: its span and its two records, through the real processor."""

from __future__ import annotations

import os
import tempfile
import time
import uuid
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.rounds import Ratio, fastest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON, Sampler
from opentelemetry.trace import SpanKind

from flink_agents_eventlog.record import Record, encode, timestamp_text
from opentelemetry import context as otel_context
from opentelemetry.exporter.flink_agents._execution import Execution, Run, new_id
from opentelemetry.instrumentation.flink_agents._executions import identity
from opentelemetry.instrumentation.flink_agents._providers import Providers
from opentelemetry.instrumentation.flink_agents._runs import OpenRun, new_run
from opentelemetry.instrumentation.flink_agents._settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def ratios() -> list[Ratio]:
    """Compare an execution with a bare span, two encodes and two writes."""
    with (
        tempfile.TemporaryDirectory() as folder,
        _execution(folder, ALWAYS_ON) as both,
        _execution(folder, ALWAYS_OFF) as log_only,
        _bare(folder) as bare,
    ):
        best = fastest({"both": both, "log only": log_only, "bare": bare}, calls=400)
    return [
        Ratio(
            "one execution, span and log",
            best["both"] / best["bare"],
            1.3,
            best["both"] * 1e6,
        ),
        Ratio(
            "one execution, log only",
            best["log only"] / best["bare"],
            1.1,
            best["log only"] * 1e6,
        ),
    ]


@contextmanager
def _execution(folder: str, sampler: Sampler) -> Iterator[Callable[[], object]]:
    provider = TracerProvider(sampler=sampler, shutdown_on_exit=False)
    providers = Providers("0")
    settings = Settings({"event_log_dir": folder})
    providers.configure(settings, provider, None)
    session = providers.session()
    identity_of_run = new_run(session, key="key", agent_name="Agent", configuration={})
    run = OpenRun(
        session,
        identity_of_run,
        otel_context.get_current(),
        started_ns=time.time_ns(),
    )

    def once() -> None:
        execution = Execution(run.run, "tool", "search", trigger_event_id="trigger")
        run.open(execution, "execute_tool search", attributes=_ATTRIBUTES).finish()

    yield once
    providers.detach()


@contextmanager
def _bare(folder: str) -> Iterator[Callable[[], object]]:
    provider = TracerProvider(sampler=ALWAYS_ON, shutdown_on_exit=False)
    tracer = provider.get_tracer("bare")
    run = Run(new_id(), "key", "Agent")
    descriptor = os.open(
        Path(folder, "bare.jsonl"), os.O_WRONLY | os.O_APPEND | os.O_CREAT
    )

    def record(status: str, execution: Execution, ids: Any) -> None:
        made = Record(
            timestamp=timestamp_text(time.time_ns()),
            input_run_id=run.input_run_id,
            business_key=run.business_key,
            agent_name=run.agent_name,
            execution_id=execution.execution_id,
            action_trigger_event_id="trigger",
            entity_type="tool",
            entity_name="search",
            event_id=str(uuid.uuid4()),
            event_type=f"_execution_{status}_event",
            status=status,
            trace_id=f"{ids.trace_id:032x}",
            span_id=f"{ids.span_id:016x}",
            event_attributes={},
        )
        os.write(descriptor, encode(made) + b"\n")

    def once() -> None:
        execution = Execution(run, "tool", "search")
        span = tracer.start_span(
            "execute_tool search",
            kind=SpanKind.INTERNAL,
            attributes={**identity(run, execution), **_ATTRIBUTES},
        )
        record("started", execution, span.get_span_context())
        span.end()
        record("finished", execution, span.get_span_context())

    yield once
    os.close(descriptor)


_ATTRIBUTES = {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "search",
    "gen_ai.tool.type": "function",
    "gen_ai.agent.name": "Agent",
}
