"""Every switch, with its documentation, and where its value comes from.

First match wins: keyword argument (or `options=`), environment variable, agent
configuration, default. The table of `docs/configuration.md` is this file's.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flink_agents_eventlog.dialect import NATIVE, SNAKE
from flink_agents_eventlog.folding import EVENT_TYPE_OF_OPERATION
from flink_agents_eventlog.levels import DEFAULT_LEVELS, parse_level
from flink_agents_eventlog.truncation import DEFAULT_LIMITS

if TYPE_CHECKING:
    from collections.abc import Callable

PREFIX = "OTEL_PYTHON_FLINK_AGENTS_"

_UNSET: Any = object()

logger = logging.getLogger(__name__)


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
        raise _not_allowed(name, value, "true or false") from None


def _natural(name: str, value: object) -> int:
    try:
        number = int(str(value).strip())
    except ValueError:
        number = -1
    if isinstance(value, bool) or number < 0:
        raise _not_allowed(name, value, "a whole number, 0 or more")
    return number


def _positive(name: str, value: object) -> int:
    number = _natural(name, value)
    if not number:
        raise _not_allowed(name, value, "a whole number, 1 or more")
    return number


def _text(name: str, value: object) -> str:
    try:
        text = os.fspath(value) if isinstance(value, os.PathLike) else value
    except TypeError:
        text = None
    if not isinstance(text, str) or not text:
        raise _not_allowed(name, value, "a path")
    return text


def _one_of(*words: str) -> Callable[[str, object], str]:
    def parse(name: str, value: object) -> str:
        word = str(value).strip().lower()
        if word not in words:
            raise _not_allowed(name, value, " or ".join(words))
        return word

    return parse


def _level(name: str, value: object) -> str:
    try:
        return parse_level(getattr(value, "name", value), name)
    except ValueError:
        raise _not_allowed(name, value, "OFF, STANDARD or VERBOSE") from None


def _not_allowed(name: str, value: object, allowed: str) -> ConfigurationError:
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
    not_built: Any = _UNSET
    """A value that will be allowed once its feature is built."""
    native_default: Any = _UNSET
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
    native_default: Any = _UNSET,
    not_native: bool = False,
) -> Option:
    return Option(
        doc,
        default,
        parse,
        variable or _variable(key),
        key=key,
        native_default=native_default,
        not_native=not_native,
    )


def _variable(key: str) -> str:
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
    "Emit each record as an OpenTelemetry log event too. Not built yet.",
    default=False,
    parse=_boolean,
    variable="EVENT_LOG_OTLP",
    argument="event_log_otlp",
    not_built=True,
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
    parse=_level,
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
    EVENT_LOG,
    EVENT_LOG_DIR,
    DIALECT,
    OTLP,
    EVENT_LOG_OTLP,
    LLM_ATTEMPTS,
    OTLP_ERROR_MESSAGES,
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


class Settings:
    """The value of every switch, as far as it is known before an agent is.

    Args:
        arguments: keyword arguments of `instrument()` that were given.
        options: its `options=`.

    Raises:
        ConfigurationError: an argument or option has a value that is not allowed.
        NotImplementedError: it asks for a feature that is not built yet.
    """

    def __init__(
        self, arguments: Mapping[str, Any], options: Mapping[str, Any] | None = None
    ) -> None:
        options = {} if options is None else options
        self._said: set[str] = set()
        if not isinstance(options, Mapping):
            raise _not_allowed("options", options, "a mapping of configuration keys")
        _refuse_unknown(options)
        self._values = {DIALECT: _UNSET}
        self._values = {DIALECT: self._given(DIALECT, arguments, options)}
        for option in OPTIONS:
            self._values[option] = self._given(option, arguments, options)
        self._type_levels = {
            key: _level(key, value)
            for key, value in options.items()
            if is_type_level(key) and value is not None
        }
        variables = PREFIX + _variable(type_level_key("")).removesuffix("_LEVEL")
        self.has_type_levels = bool(self._type_levels) or any(
            name.startswith(variables) for name in os.environ
        )
        """Whether a level of an event type is set, whatever the agent."""

    def __getitem__(self, option: Option) -> Any:
        value = self._values[option]
        return self._default(option) if value is _UNSET else value

    def in_dialect(self, dialect: str) -> Settings:
        """Return these settings for a processor that writes this dialect."""
        if dialect == self[DIALECT]:
            return self
        copied = copy(self)
        copied._values = {**self._values, DIALECT: dialect}  # noqa: SLF001
        return copied

    def for_agent(self, option: Option, configuration: Mapping[str, Any]) -> Any:
        """Return the value of `option` for an agent with this configuration."""
        value = self._values[option]
        if value is not _UNSET:
            return value
        key = option.key
        if key is None or configuration.get(key) is None:
            return self._default(option)
        return self._lenient(option, f"agent configuration {key}", configuration[key])

    def type_level(self, key: str, of_agent: object = None) -> str | None:
        """Return the level of an event type, if it is set.

        Args:
            key: see `type_level_key`.
            of_agent: what the agent's configuration says.
        """
        if key in self._type_levels:
            return self._type_levels[key]
        variable = PREFIX + _variable(key)
        for name, value in (
            (variable, os.environ.get(variable) or None),
            (f"agent configuration {key}", of_agent),
        ):
            if value is None:
                continue
            try:
                return _level(name, value)
            except ConfigurationError as error:
                self.say_once(logging.WARNING, f"{error}; it is not set instead")
        return None

    def say_once(self, level: int, message: str) -> None:
        """Log something about the configuration of an agent, which every run reads."""
        if message not in self._said:
            self._said.add(message)
            logger.log(level, "%s", message)

    def _given(
        self, option: Option, arguments: Mapping[str, Any], options: Mapping[str, Any]
    ) -> Any:
        if option.argument and arguments.get(option.argument) is not None:
            return self._strict(option, option.argument, arguments[option.argument])
        if option.key and options.get(option.key) is not None:
            return self._strict(option, option.key, options[option.key])
        variable = PREFIX + option.variable
        if os.environ.get(variable):
            return self._lenient(option, variable, os.environ[variable])
        return _UNSET

    def _lenient(self, option: Option, name: str, value: object) -> Any:
        """A job must not fail over its telemetry: one warning, then the default."""
        try:
            return self._strict(option, name, value)
        except (ConfigurationError, NotImplementedError) as error:
            message = f"{error}; {self._default(option)!r} is used instead"
        self.say_once(logging.WARNING, message)
        return self._default(option)

    def _default(self, option: Option) -> Any:
        if self._values[DIALECT] == NATIVE and option.native_default is not _UNSET:
            return option.native_default
        return option.default

    def _strict(self, option: Option, name: str, value: object) -> Any:
        parsed = option.parse(name, value)
        if parsed == option.not_built:
            raise NotImplementedError(f"{name}={value!r} is not built yet")
        if (
            option.not_native
            and self._values[DIALECT] == NATIVE
            and parsed != option.default
        ):
            allowed = f"{option.default!r}, all that the native dialect has a place for"
            raise _not_allowed(name, value, allowed)
        return parsed


def _refuse_unknown(options: Mapping[str, Any]) -> None:
    known = [option.key for option in OPTIONS if option.key]
    for key in options:
        if key not in known and not is_type_level(str(key)):
            raise ConfigurationError(
                f"There is no option {key!r}: use one of {', '.join(sorted(known))}"
            )
