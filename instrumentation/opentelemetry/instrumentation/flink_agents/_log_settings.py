"""How the Event Log of one agent's runs is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flink_agents_eventlog.dialect import NATIVE
from flink_agents_eventlog.levels import DEFAULT_LEVELS, Levels
from flink_agents_eventlog.truncation import Limits
from opentelemetry.exporter.flink_agents._execution import LogSettings
from opentelemetry.instrumentation.flink_agents import _options

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opentelemetry.instrumentation.flink_agents._settings import Settings


def log_settings(
    settings: Settings, configuration: Mapping[str, Any]
) -> LogSettings | None:
    """Return how runs of an agent with this configuration are logged; None: not."""
    in_files = settings[_options.EVENT_LOG]
    if not in_files and not settings[_options.EVENT_LOG_OTLP]:
        return None

    def chosen(option: _options.Option) -> Any:
        return settings.for_agent(option, configuration)

    dialect = settings[_options.DIALECT]
    return LogSettings(
        directory=chosen(_options.EVENT_LOG_DIR),
        execution_content=dialect != NATIVE and chosen(_options.EXECUTION_CONTENT),
        rotate_bytes=chosen(_options.ROTATE_BYTES),
        keep_files=chosen(_options.KEEP_FILES),
        dialect=dialect,
        levels=_levels(settings, configuration),
        limits=Limits(*map(chosen, _options.LIMITS)),
        trace=chosen(_options.TRACE_ENABLED),
        pretty_print=chosen(_options.PRETTY_PRINT),
        in_files=in_files,
    )


class _TypeLevels(Levels):
    """Levels whose types are said in `options=`, the environment or the agent."""

    def __init__(
        self, root: str, settings: Settings, of_agent: Mapping[str, Any]
    ) -> None:
        super().__init__(default=root)
        self._settings = settings
        self._of_agent = of_agent
        # For one run: every record asks, and few types are different.
        self._found: dict[str | None, str] = {}

    def of(self, event_type: str | None) -> str:
        """Return the level of an event type, looked for once."""
        found = self._found.get(event_type)
        if found is None:
            found = self._found[event_type] = super().of(event_type)
        return found

    def own(self, name: str) -> str | None:
        """Return the level of just this type or namespace, if it has one."""
        key = _options.type_level_key(name)
        return self._settings.type_level(key, self._of_agent.get(key))


def _levels(settings: Settings, configuration: Mapping[str, Any]) -> Levels | None:
    """Return the levels; None where that of the dialect is all there is."""
    root = settings.for_agent(_options.LEVEL, configuration)
    of_agent = {
        key: configuration[key] for key in configuration if _options.is_type_level(key)
    }
    if not of_agent and not settings.has_type_levels:
        is_default = root == DEFAULT_LEVELS[settings[_options.DIALECT]]
        return None if is_default else Levels(default=root)
    return _TypeLevels(root, settings, of_agent)
