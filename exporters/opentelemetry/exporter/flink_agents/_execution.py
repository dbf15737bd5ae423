"""What is known of a run and of each execution in it, as plain values.

A patch makes an `Execution`, places it in the OpenTelemetry `Context` under a
private key and starts a span with that context; `EventLogSpanProcessor` finds it
there. Payload travels in it and never in span attributes, which SDK limits cut.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from importlib import metadata
from typing import TYPE_CHECKING, Any

from opentelemetry.context import Context, create_key, get_value, set_value

from flink_agents_eventlog.dialect import SNAKE
from flink_agents_eventlog.truncation import DEFAULT_LIMITS

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    import msgspec
    from opentelemetry.trace import SpanContext

    from flink_agents_eventlog.dialect import Dialect
    from flink_agents_eventlog.levels import Levels
    from flink_agents_eventlog.record import Record
    from flink_agents_eventlog.truncation import Limits
    from opentelemetry.exporter.flink_agents._files import Subtask

    Line: TypeAlias = Callable[[Record], bytes | None]
    Emit: TypeAlias = Callable[["Run", Record, SpanContext | None, Line], None]

SCOPE = "opentelemetry.instrumentation.flink_agents"
"""The instrumentation scope whose spans are executions of ours."""

DISTRIBUTION = "opentelemetry-instrumentation-flink-agents"

_EXECUTION = create_key("flink-agents-execution")


def version() -> str:
    """Return the version of this package, as the scope of its spans says it."""
    try:
        return metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return "unknown"


def new_id() -> str:
    """Return the text of a random UUID (version 4), several times as fast as `uuid`."""
    text = os.urandom(16).hex()
    variant = "89ab"[int(text[16], 16) & 3]
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-{variant}{text[17:20]}-{text[20:]}"


@dataclass(frozen=True)
class LogSettings:
    """How the log of one run is written, where a processor is not told otherwise.

    Args:
        directory: folder of the log; None for the default.
        execution_content: whether input and output of chat models, parsers and
            tools are written.
        rotate_bytes: size in bytes at which a file is set aside; 0 never.
        keep_files: how many files set aside are kept; 0 keeps all.
        dialect: the format of the records, `snake` or `native`.
        levels: how much of each event is written; None for the dialect's default.
        limits: what is kept of a payload at level STANDARD.
        trace: whether the native dialect says what ran, beside what happened.
        pretty_print: whether the native dialect spreads a record over lines.
        in_files: False where records only go to `Run.emit`.
    """

    directory: str | None = None
    execution_content: bool = True
    rotate_bytes: int = 256 * 2**20
    keep_files: int = 16
    dialect: Dialect = SNAKE
    levels: Levels | None = None
    limits: Limits = DEFAULT_LIMITS
    trace: bool = True
    pretty_print: bool = False
    in_files: bool = True


DEFAULT_LOG_SETTINGS = LogSettings()


@dataclass(slots=True, eq=False)
class Run:
    """What all records of one processed input share."""

    input_run_id: str
    business_key: str | None = None
    agent_name: str | None = None
    subtask: Subtask | None = None
    log: LogSettings | None = DEFAULT_LOG_SETTINGS
    """None: no log is written of this run."""
    input_event_id: str | None = None
    """Of its InputEvent, once that was recorded."""
    emit: Emit | None = None
    """Tells each record elsewhere too."""
    span_context: SpanContext | None = None
    """Of its own span."""


@dataclass(slots=True)
class Attempt:
    """One try of a chat model inside one logical call."""

    started_ns: int
    ended_ns: int | None = None
    wait_seconds: float | None = None
    error_type: str | None = None
    error_message: str | None = None


@dataclass(slots=True, eq=False)
class Execution:
    """One run of an action, a chat model, a parser or a tool."""

    run: Run
    entity_type: str
    entity_name: str
    parent: Execution | None = None
    trigger_event_id: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    execution_id: str = field(default_factory=new_id)
    started_ns: int = 0
    ended_ns: int | None = None
    status: str | None = None
    """The terminal status; None while open and when it was abandoned."""
    problem_category: str | None = None
    error_type: str | None = None
    error_message: str | None = None
    input: msgspec.Raw | None = None
    output: msgspec.Raw | None = None
    attempts: list[Attempt] = field(default_factory=list)
    emitted: list[Record] = field(default_factory=list)
    """Records that follow the terminal record: the events that an action sent."""
    subject: Any = None
    """Whose method runs, while it runs: a `super()` call is the same call."""
    owner: Any = None
    """Whoever opened it; means nothing to the processor."""
    span_context: SpanContext | None = None
    span_ids: tuple[str, str] | None = None
    """Trace and span id as records have them."""
    claimed: bool = False
    """A span processor has written the started record, or is about to."""
    closed: bool = False
    """A span processor has seen the end."""


def with_execution(
    execution: Execution | None, context: Context | None = None
) -> Context:
    """Return `context`, by default the current one, with `execution` innermost."""
    return set_value(_EXECUTION, execution, context)


def execution_in(context: Context | None = None) -> Execution | None:
    """Return the innermost execution of `context` (default: the current one)."""
    found = get_value(_EXECUTION, context)
    return found if isinstance(found, Execution) else None
