"""OpenTelemetry instrumentation of Apache Flink Agents.

```python
from opentelemetry.instrumentation.flink_agents import instrument

instrument()   # or: opentelemetry-instrument python app.py
```

Every run of an agent becomes a trace and a part of the Event Log:

```
agent ─▶ Flink Agents ─▶ patched call ─▶ span ─▶ EventLogSpanProcessor ─▶ events-*.jsonl
                              │            └───▶ any other span processor ─▶ OTLP
                              └──▶ Execution: the payload, beside the span
```
"""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Any

from opentelemetry.instrumentation.instrumentor import BaseInstrumentor

# First: all files here know it by this name.
from opentelemetry.exporter.flink_agents import semconv as semconv
from opentelemetry.exporter.flink_agents._execution import version
from opentelemetry.instrumentation.flink_agents import _health, _host, _table
from opentelemetry.instrumentation.flink_agents._completion_hook import (
    completion_hook,
)
from opentelemetry.instrumentation.flink_agents._core import Core
from opentelemetry.instrumentation.flink_agents._masking import Masking
from opentelemetry.instrumentation.flink_agents._options import (
    MASK_SECRETS,
    ConfigurationError,
)
from opentelemetry.instrumentation.flink_agents._patching import Patcher
from opentelemetry.instrumentation.flink_agents._providers import Providers
from opentelemetry.instrumentation.flink_agents._settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from opentelemetry._logs import LoggerProvider
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider

__all__ = [
    "ConfigurationError",
    "FlinkAgentsInstrumentor",
    "Masking",
    "instrument",
    "uninstrument",
]

logger = logging.getLogger(__name__)


class FlinkAgentsInstrumentor(BaseInstrumentor):
    """Instruments Flink Agents in this process; the same object wherever it is made."""

    _patcher: Patcher
    _core: Core | None = None
    _given: dict[str, Any]

    def instrumentation_dependencies(self) -> Collection[str]:
        """Return the versions of the host that this package knows."""
        return ("flink-agents>=0.2,<0.5",)

    def instrument(self, **kwargs: Any) -> Any:
        """Instrument; called again, only take over the arguments given."""
        if self.is_instrumented_by_opentelemetry:
            kwargs.pop("skip_dep_check", None)
            kwargs.pop("raise_exception_on_conflict", None)
            if kwargs:
                self._configure(**kwargs)
            return None
        return super().instrument(**kwargs)

    def _instrument(self, **kwargs: Any) -> None:
        if os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
            logger.debug("OTEL_SDK_DISABLED is true: Flink Agents is not instrumented")
            return
        if _host.records_executions_itself():
            logger.info(
                "This version of Flink Agents records executions itself; it is not"
                " instrumented"
            )
            return
        self._given = {}
        if not hasattr(self, "_patcher"):
            self._patcher = Patcher()
        core = Core(Providers(version()), self._patcher)
        self._core = core
        try:
            self._configure(**kwargs)
        except BaseException:
            self._core = None
            raise
        self._patcher.apply(_table.patches(core))

    def _configure(self, **kwargs: Any) -> None:
        """Take over arguments of `instrument()`, from the next run.

        Raises:
            ConfigurationError: a value is not allowed.
            TypeError: there is no such argument.
        """
        core = self._core
        if core is None:
            return
        for name in kwargs:
            if name not in (_settings.__kwdefaults__ or {}):
                raise TypeError(
                    f"instrument() got an unexpected keyword argument {name!r}"
                )
        given = {**self._given, **kwargs}
        settings = _settings(**given)
        mask = given.get("mask")
        if mask is None and settings[MASK_SECRETS]:
            mask = Masking.secrets()
        meter_provider = given.get("meter_provider")
        core.providers.configure(
            settings,
            given.get("tracer_provider"),
            mask,
            meter_provider=meter_provider,
            logger_provider=given.get("logger_provider"),
            hook=completion_hook(given.get("completion_hook")),
        )
        self._given = given
        if core.meter_provider is None or meter_provider is not core.meter_provider[0]:
            core.meter_provider = (meter_provider,)
            providers = core.providers
            _health.observe(meter_provider, version(), lambda: providers.processors)

    def _uninstrument(self, **_: Any) -> None:
        core, self._core = self._core, None
        self._given = {}
        if core is not None:
            self._patcher.revert()
            _health.settle()
            core.close()


def _settings(
    *,
    tracer_provider: TracerProvider | None = None,
    meter_provider: MeterProvider | None = None,
    logger_provider: LoggerProvider | None = None,
    completion_hook: Any = None,
    mask: Callable[[str, Any], Any] | None = None,
    options: Mapping[str, Any] | None = None,
    event_log: bool | None = None,
    event_log_dir: str | os.PathLike[str] | None = None,
    dialect: str | None = None,
    otlp: bool | None = None,
    event_log_otlp: bool | None = None,
    llm_attempts: str | None = None,
) -> Settings:
    """Check the arguments of `instrument()` and return the switches among them."""
    del tracer_provider, meter_provider, logger_provider, completion_hook
    if mask is not None and not callable(mask):
        raise ConfigurationError(
            f"mask={mask!r} is not allowed: use Masking(keys=…, patterns=…) or a"
            " function of a path and a value"
        )
    arguments = {
        "event_log": event_log,
        "event_log_dir": event_log_dir,
        "dialect": dialect,
        "otlp": otlp,
        "event_log_otlp": event_log_otlp,
        "llm_attempts": llm_attempts,
    }
    return Settings(arguments, options)


def instrument(**kwargs: Any) -> None:
    """Instrument Flink Agents in this process.

    Called again without arguments it changes nothing; with arguments, they apply
    from the next run. Every argument is optional.

    Args:
        **kwargs: any of

            * `tracer_provider`, `meter_provider`, `logger_provider`: default the
              global ones.
            * `completion_hook`: the GenAI conventions' hook, by default the one of
              `OTEL_INSTRUMENTATION_GENAI_COMPLETION_HOOK`.
            * `event_log` (True): False for spans only.
            * `event_log_dir`: folder of the Event Log.
            * `dialect` ("snake"): format of the records; "native" is that of the host
              itself from 0.4 on.
            * `otlp` (False): also export our spans over OTLP, by the standard
              `OTEL_EXPORTER_OTLP_*` variables.
            * `event_log_otlp` (False): also emit each record as an OpenTelemetry log
              event, through `logger_provider`.
            * `llm_attempts` ("logical"): "each" makes every attempt of a retried
              chat call an execution, as by default in the native dialect.
            * `mask`: a `Masking`, or a function of a scalar's path and the scalar
              that returns what may be written.
            * `options`: mapping of agent configuration keys.

    Raises:
        ConfigurationError: a value is not allowed; a `ValueError`.
        TypeError: there is no such argument.
    """
    FlinkAgentsInstrumentor().instrument(**kwargs)


def uninstrument() -> None:
    """Put every original back; what is under way is recorded no further."""
    instrumentor = FlinkAgentsInstrumentor()
    if instrumentor.is_instrumented_by_opentelemetry:
        instrumentor.uninstrument()
