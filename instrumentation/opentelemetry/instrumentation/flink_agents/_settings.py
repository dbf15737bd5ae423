"""Where the value of a switch comes from: see `_options`."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from copy import copy
from typing import TYPE_CHECKING, Any

from flink_agents_eventlog.dialect import NATIVE
from opentelemetry.instrumentation.flink_agents._options import (
    DIALECT,
    OPTIONS,
    PREFIX,
    UNSET,
    ConfigurationError,
    is_type_level,
    level,
    not_allowed,
    type_level_key,
    variable_of,
)

if TYPE_CHECKING:
    from opentelemetry.instrumentation.flink_agents._options import Option

logger = logging.getLogger(__name__)


class Settings:
    """The value of every switch, as far as it is known before an agent is.

    Args:
        arguments: keyword arguments of `instrument()` that were given.
        options: its `options=`.

    Raises:
        ConfigurationError: an argument or option has a value that is not allowed.
    """

    def __init__(
        self, arguments: Mapping[str, Any], options: Mapping[str, Any] | None = None
    ) -> None:
        options = {} if options is None else options
        self._said: set[str] = set()
        if not isinstance(options, Mapping):
            raise not_allowed("options", options, "a mapping of configuration keys")
        _refuse_unknown(options)
        self._values = {DIALECT: UNSET}
        for option in OPTIONS:  # the dialect first: what others mean depends on it
            self._values[option] = self._given(option, arguments, options)
        self._type_levels = {
            key: level(key, value)
            for key, value in options.items()
            if is_type_level(key) and value is not None
        }
        variables = PREFIX + variable_of(type_level_key("")).removesuffix("_LEVEL")
        self.has_type_levels = bool(self._type_levels) or any(
            name.startswith(variables) for name in os.environ
        )
        """Whether a level of an event type is set, whatever the agent."""

    def __getitem__(self, option: Option) -> Any:
        value = self._values[option]
        return self._default(option) if value is UNSET else value

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
        if value is not UNSET:
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
        variable = PREFIX + variable_of(key)
        for name, value in (
            (variable, os.environ.get(variable) or None),
            (f"agent configuration {key}", of_agent),
        ):
            if value is None:
                continue
            try:
                return level(name, value)
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
        return UNSET

    def _lenient(self, option: Option, name: str, value: object) -> Any:
        """A job must not fail over its telemetry: one warning, then the default."""
        try:
            return self._strict(option, name, value)
        except ConfigurationError as error:
            message = f"{error}; {self._default(option)!r} is used instead"
        self.say_once(logging.WARNING, message)
        return self._default(option)

    def _default(self, option: Option) -> Any:
        if self._values[DIALECT] == NATIVE and option.native_default is not UNSET:
            return option.native_default
        return option.default

    def _strict(self, option: Option, name: str, value: object) -> Any:
        parsed = option.parse(name, value)
        if (
            option.not_native
            and self._values[DIALECT] == NATIVE
            and parsed != option.default
        ):
            allowed = f"{option.default!r}, all that the native dialect has a place for"
            raise not_allowed(name, value, allowed)
        return parsed


def _refuse_unknown(options: Mapping[str, Any]) -> None:
    known = [option.key for option in OPTIONS if option.key]
    for key in options:
        if key not in known and not is_type_level(str(key)):
            raise ConfigurationError(
                f"There is no option {key!r}: use one of {', '.join(sorted(known))}"
            )
