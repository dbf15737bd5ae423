"""Every switch, with its documentation, and where its value comes from.

First match wins: keyword argument (or `options=`), environment variable, agent
configuration, default. The table of `docs/configuration.md` is this file's.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flink_agents_eventlog.folding import EVENT_TYPE_OF_OPERATION

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


def _keyed(
    key: str,
    default: Any,
    parse: Callable[[str, Any], Any],
    doc: str,
    *,
    variable: str | None = None,
) -> Option:
    return Option(doc, default, parse, variable or _variable(key), key=key)


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
    "Format of the records: `snake`.",
    default="snake",
    parse=_one_of("snake", "native"),
    variable="EVENT_LOG_DIALECT",
    argument="dialect",
    not_built="native",
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
    "`logical`: a retry loop is one execution; `each`: every attempt is one.",
    default="logical",
    parse=_one_of("logical", "each"),
    variable="LLM_ATTEMPTS",
    argument="llm_attempts",
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
    doc="Whether input and output of chat models, parsers and tools are in the log.",
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
        " keep that memory from expiring."
    ),
    variable="BEGIN_EVENT",
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
    doc="Every how many runs of a key the begin event carries the snapshot.",
)
PREVIOUS_VALUE = _keyed(
    "memory.generate-event.previous-value",
    default=False,
    parse=_boolean,
    doc="Whether write events also say what was there before.",
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

NOT_BUILT = (
    "event-log.level",
    "event-log.type.",
    "event-log.standard.",
    "event-log.trace.enabled",
    "prettyPrint",
)
"""Keys, or beginnings of keys, whose features are announced but not built yet."""
_NOT_BUILT_VARIABLES = tuple(
    PREFIX + variable for variable in map(_variable, NOT_BUILT)
)


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
        self._said: set[str] = set()
        if not isinstance(options or {}, Mapping):
            raise _not_allowed("options", options, "a mapping of configuration keys")
        _refuse_unknown(options or {})
        self._values = {
            option: self._given(option, arguments, options or {}) for option in OPTIONS
        }
        for variable in os.environ:
            if variable.startswith(_NOT_BUILT_VARIABLES):
                logger.warning("%s is ignored: it is not built yet", variable)

    def __getitem__(self, option: Option) -> Any:
        value = self._values[option]
        return option.default if value is _UNSET else value

    def for_agent(self, option: Option, configuration: Mapping[str, Any]) -> Any:
        """Return the value of `option` for an agent with this configuration."""
        value = self._values[option]
        if value is not _UNSET:
            return value
        key = option.key
        if key is None or configuration.get(key) is None:
            return option.default
        return self._lenient(option, f"agent configuration {key}", configuration[key])

    def say_once(self, level: int, message: str) -> None:
        """Log something about the configuration of an agent, which every run reads."""
        if message not in self._said:
            self._said.add(message)
            logger.log(level, "%s", message)

    def _given(
        self, option: Option, arguments: Mapping[str, Any], options: Mapping[str, Any]
    ) -> Any:
        if option.argument and arguments.get(option.argument) is not None:
            return _strict(option, option.argument, arguments[option.argument])
        if option.key and options.get(option.key) is not None:
            return _strict(option, option.key, options[option.key])
        variable = PREFIX + option.variable
        if os.environ.get(variable):
            return self._lenient(option, variable, os.environ[variable])
        return _UNSET

    def _lenient(self, option: Option, name: str, value: object) -> Any:
        """A job must not fail over its telemetry: one warning, then the default."""
        try:
            return _strict(option, name, value)
        except (ConfigurationError, NotImplementedError) as error:
            message = f"{error}; {option.default!r} is used instead"
        self.say_once(logging.WARNING, message)
        return option.default


def _strict(option: Option, name: str, value: object) -> Any:
    parsed = option.parse(name, value)
    if parsed == option.not_built:
        raise NotImplementedError(f"{name}={value!r} is not built yet")
    return parsed


def _refuse_unknown(options: Mapping[str, Any]) -> None:
    known = [option.key for option in OPTIONS if option.key]
    for key in options:
        if str(key).startswith(NOT_BUILT):
            raise NotImplementedError(f"The option {key!r} is not built yet")
        if key not in known:
            raise ConfigurationError(
                f"There is no option {key!r}: use one of {', '.join(sorted(known))}"
            )
