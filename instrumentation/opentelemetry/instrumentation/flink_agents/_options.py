"""Every switch, with its documentation, and where its value comes from.

First match wins: keyword argument (or `options=`), environment variable, agent
configuration, default. The table of `docs/configuration.md` is this file's.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flink_agents_eventlog.dialect import NATIVE, SNAKE
from flink_agents_eventlog.folding import EVENT_TYPE_OF_OPERATION
from flink_agents_eventlog.levels import DEFAULT_LEVELS, parse_level
from flink_agents_eventlog.truncation import DEFAULT_LIMITS

if TYPE_CHECKING:
    from collections.abc import Callable

PREFIX = "OTEL_PYTHON_FLINK_AGENTS_"

UNSET: Any = object()
"""Stands for a value that nobody has said."""


class ConfigurationError(ValueError):
    """A switch has a value that is not allowed; says which, the value and what is."""


def _boolean(name: str, value: object) -> bool:
    if isinstance(value, bool):
        return value
    words = {"true": True, "1": True, "yes": True, "on": True}
    words |= {"false": False, "0": False, "no": False, "off": False}
    try:
        return words[str(value).strip().lower()]
    except KeyError:
        raise not_allowed(name, value, "true or false") from None


def _natural(name: str, value: object) -> int:
    try:
        number = int(str(value).strip())
    except ValueError:
        number = -1
    if isinstance(value, bool) or number < 0:
        raise not_allowed(name, value, "a whole number, 0 or more")
    return number


def _positive(name: str, value: object) -> int:
    number = _natural(name, value)
    if not number:
        raise not_allowed(name, value, "a whole number, 1 or more")
    return number


def _text(name: str, value: object) -> str:
    try:
        text = os.fspath(value) if isinstance(value, os.PathLike) else value
    except TypeError:
        text = None
    if not isinstance(text, str) or not text:
        raise not_allowed(name, value, "a path")
    return text


def _one_of(*words: str) -> Callable[[str, object], str]:
    def parse(name: str, value: object) -> str:
        word = str(value).strip().lower()
        if word not in words:
            raise not_allowed(name, value, " or ".join(words))
        return word

    return parse


def level(name: str, value: object) -> str:
    try:
        return parse_level(getattr(value, "name", value), name)
    except ValueError:
        raise not_allowed(name, value, "OFF, STANDARD or VERBOSE") from None


def not_allowed(name: str, value: object, allowed: str) -> ConfigurationError:
    return ConfigurationError(f"{name}={value!r} is not allowed: use {allowed}")


@dataclass(frozen=True)
class Option:
    """One switch."""

    doc: str
    default: Any
    parse: Callable[[str, Any], Any]
    variable: str
    """Environment variable, without the common prefix."""
    key: str | None = None
    """Agent configuration key, also in `options=`."""
    argument: str | None = None
    """Keyword argument of `instrument()`."""
    native_default: Any = UNSET
    """The default in the native dialect, where it is another."""
    not_native: bool = False
    """The native dialect has no place for another value than the default."""


def _keyed(
    key: str,
    default: Any,
    parse: Callable[[str, Any], Any],
    doc: str,
    *,
    variable: str | None = None,
    native_default: Any = UNSET,
    not_native: bool = False,
) -> Option:
    return Option(
        doc,
        default,
        parse,
        variable or variable_of(key),
        key=key,
        native_default=native_default,
        not_native=not_native,
    )


def variable_of(key: str) -> str:
    return key.upper().replace(".", "_").replace("-", "_")


EVENT_LOG = Option(
    "Whether the Event Log is written; without it there are only spans.",
    default=True,
    parse=_boolean,
    variable="EVENT_LOG",
    argument="event_log",
)
EVENT_LOG_DIR = Option(
    "Folder of the Event Log; the default is `<tempdir>/flink-agents-eventlog-<uid>`.",
    default=None,
    parse=_text,
    variable="EVENT_LOG_DIR",
    key="baseLogDir",
    argument="event_log_dir",
)
DIALECT = Option(
    "Format of the records: `snake`, or `native`, that of the host itself from 0.4.",
    default=SNAKE,
    parse=_one_of(SNAKE, NATIVE),
    variable="EVENT_LOG_DIALECT",
    argument="dialect",
)
OTLP = Option(
    "Export our spans over OTLP, by the standard `OTEL_EXPORTER_OTLP_*` variables.",
    default=False,
    parse=_boolean,
    variable="OTLP",
    argument="otlp",
)
EVENT_LOG_OTLP = Option(
    (
        "Emit each record as an OpenTelemetry log event too, through `logger_provider`;"
        " with `event_log=False` only there."
    ),
    default=False,
    parse=_boolean,
    variable="EVENT_LOG_OTLP",
    argument="event_log_otlp",
)
LLM_ATTEMPTS = Option(
    (
        "`logical`: a retry loop is one execution; `each`: every attempt is one, the"
        " default of the native dialect."
    ),
    default="logical",
    parse=_one_of("logical", "each"),
    variable="LLM_ATTEMPTS",
    argument="llm_attempts",
    native_default="each",
)
OTLP_ERROR_MESSAGES = Option(
    "Whether spans carry the message of an error, not only its type.",
    default=True,
    parse=_boolean,
    variable="OTLP_ERROR_MESSAGES",
)
OTLP_CONTENT_BYTES = Option(
    "How many bytes of content one span or event may carry; 0 is no limit.",
    default=256 * 2**10,
    parse=_natural,
    variable="OTLP_CONTENT_BYTES",
)
MASK_SECRETS = Option(
    "Mask common secrets, as `Masking.secrets()` does; a `mask` that is given wins.",
    default=False,
    parse=_boolean,
    variable="MASK_SECRETS",
)
EXECUTION_CONTENT = _keyed(
    "event-log.execution-content",
    default=True,
    parse=_boolean,
    doc=(
        "Whether input and output of chat models, parsers and tools are in the log;"
        " never in the native dialect."
    ),
)
LEVEL = _keyed(
    "event-log.level",
    default=DEFAULT_LEVELS[SNAKE],
    parse=level,
    doc=(
        "How much of an event is written: `OFF` nothing, `STANDARD` cut to the limits"
        " below, `VERBOSE` all; `STANDARD` by default in the native dialect. The same"
        " for one type of event, or all below a dotted name:"
        " `event-log.type.<TYPE>.level`."
    ),
    native_default=DEFAULT_LEVELS[NATIVE],
)
LIMITS = tuple(
    _keyed(f"event-log.standard.{name}", default=default, parse=_natural, doc=doc)
    for name, default, doc in (
        (
            "max-string-length",
            DEFAULT_LIMITS.max_string_length,
            "What is kept of a text at level STANDARD, in UTF-16 units; 0 is all.",
        ),
        (
            "max-array-elements",
            DEFAULT_LIMITS.max_array_elements,
            "What is kept of an array at level STANDARD; 0 is all.",
        ),
        (
            "max-depth",
            DEFAULT_LIMITS.max_depth,
            "The depth at which objects keep scalars only at level STANDARD; 0 is all.",
        ),
    )
)
TRACE_ENABLED = _keyed(
    "event-log.trace.enabled",
    default=True,
    parse=_boolean,
    doc="Whether the native dialect says what ran, beside what happened.",
)
PRETTY_PRINT = _keyed(
    "prettyPrint",
    default=False,
    parse=_boolean,
    doc="Whether the native dialect spreads a record over several lines.",
)
ROTATE_BYTES = _keyed(
    "event-log.rotate-bytes",
    default=256 * 2**20,
    parse=_natural,
    doc="Size in bytes at which a file is set aside; 0 never.",
)
KEEP_FILES = _keyed(
    "event-log.keep-files",
    default=16,
    parse=_natural,
    doc="How many files set aside are kept; 0 keeps all.",
)
GENERATE_EVENT = _keyed(
    "memory.generate-event",
    default=None,
    parse=_boolean,
    doc="Memory events of every kind on or off; unset leaves each its own default.",
    variable="MEMORY_GENERATE_EVENT",
)
GENERATE_EVENT_OF = {
    operation: _keyed(
        f"memory.generate-event.{operation}",
        default=None,
        parse=_boolean,
        doc=f"Whether the operation {operation} becomes a memory event.",
    )
    for operation in EVENT_TYPE_OF_OPERATION
}
BEGIN_EVENT = _keyed(
    "agent-run.begin-event",
    default=None,
    parse=_boolean,
    doc=(
        "Whether a run begins with a snapshot of short-term memory; on unless it would"
        " keep that memory from expiring. Off by default in the native dialect."
    ),
    variable="BEGIN_EVENT",
    native_default=False,
)
END_EVENT = _keyed(
    "agent-run.end-event",
    default=None,
    parse=_boolean,
    doc="Whether a run ends with a snapshot of short-term memory; off by default.",
    variable="END_EVENT",
)
SNAPSHOT_INTERVAL = _keyed(
    "agent-run.snapshot-interval",
    default=1,
    parse=_positive,
    doc=(
        "Every how many runs of a key the begin event carries the snapshot; 1 in the"
        " native dialect."
    ),
    not_native=True,
)
PREVIOUS_VALUE = _keyed(
    "memory.generate-event.previous-value",
    default=False,
    parse=_boolean,
    doc=(
        "Whether write events also say what was there before; never in the native"
        " dialect."
    ),
    not_native=True,
)
MAX_VALUE_BYTES = _keyed(
    "memory.generate-event.max-value-bytes",
    default=0,
    parse=_natural,
    doc="A larger value of memory is left out and named; 0 is no limit.",
)

OPTIONS = (
    DIALECT,
    EVENT_LOG,
    EVENT_LOG_DIR,
    OTLP,
    EVENT_LOG_OTLP,
    LLM_ATTEMPTS,
    OTLP_ERROR_MESSAGES,
    OTLP_CONTENT_BYTES,
    MASK_SECRETS,
    EXECUTION_CONTENT,
    LEVEL,
    *LIMITS,
    TRACE_ENABLED,
    PRETTY_PRINT,
    ROTATE_BYTES,
    KEEP_FILES,
    GENERATE_EVENT,
    *GENERATE_EVENT_OF.values(),
    PREVIOUS_VALUE,
    MAX_VALUE_BYTES,
    BEGIN_EVENT,
    END_EVENT,
    SNAPSHOT_INTERVAL,
)

_TYPE_LEVEL = re.compile(r"event-log\.type\..+\.level")


def type_level_key(name: str) -> str:
    """Return the key of the level of one event type, or of all below a name."""
    return f"event-log.type.{name}.level"


def is_type_level(key: str) -> bool:
    """Whether `key` is that of the level of an event type."""
    return _TYPE_LEVEL.fullmatch(key) is not None
