"""The conventions' metrics: how long things take, and how many tokens they use.

By default under the names of the shipped OpenTelemetry GenAI packages (GenAI
semantic conventions 1.41); with `gen_ai_latest_experimental` in
`OTEL_SEMCONV_STABILITY_OPT_IN` under those of the conventions that follow.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from opentelemetry.instrumentation.utils import is_instrumentation_enabled
from opentelemetry.metrics import NoOpMeter, get_meter_provider

from opentelemetry.exporter.flink_agents._execution import SCOPE
from opentelemetry.exporter.flink_agents._guard import faults, guarded
from opentelemetry.instrumentation.flink_agents import semconv

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from opentelemetry.context import Context
    from opentelemetry.metrics import Histogram, Meter, MeterProvider

    Record = Callable[[str, int, dict[str, Any], Context], None]

# What a metric may be divided by: nothing that grows with runs or keys.
_OF_A_CLIENT = (
    semconv.GEN_AI_OPERATION_NAME,
    semconv.GEN_AI_PROVIDER_NAME,
    semconv.GEN_AI_REQUEST_MODEL,
    semconv.GEN_AI_RESPONSE_MODEL,
    semconv.SERVER_ADDRESS,
    semconv.SERVER_PORT,
    semconv.ERROR_TYPE,
)
_OF_A_TOOL = (
    semconv.GEN_AI_TOOL_NAME,
    semconv.GEN_AI_TOOL_TYPE,
    semconv.GEN_AI_AGENT_NAME,
    semconv.ERROR_TYPE,
)
_OF_MCP = (
    semconv.MCP_METHOD_NAME,
    semconv.MCP_PROTOCOL_VERSION,
    semconv.GEN_AI_OPERATION_NAME,
    semconv.GEN_AI_TOOL_NAME,
    semconv.GEN_AI_PROMPT_NAME,
    semconv.NETWORK_PROTOCOL_NAME,
    semconv.NETWORK_TRANSPORT,
    semconv.RPC_RESPONSE_STATUS_CODE,
    semconv.SERVER_ADDRESS,
    semconv.SERVER_PORT,
    semconv.ERROR_TYPE,
)
_OF_AN_AGENT = (semconv.GEN_AI_AGENT_NAME, semconv.ERROR_TYPE)
_USAGE = (
    (semconv.TOKEN_TYPE_INPUT, semconv.GEN_AI_USAGE_INPUT_TOKENS),
    (semconv.TOKEN_TYPE_OUTPUT, semconv.GEN_AI_USAGE_OUTPUT_TOKENS),
)


class Instruments:
    """The instruments of one meter."""

    def __init__(self, meter: Meter) -> None:
        latest = _latest()
        client = (
            _histogram(meter, semconv.METRIC_CLIENT_OPERATION_DURATION),
            _OF_A_CLIENT,
        )
        inference = embeddings = client
        if latest:
            inference = (
                _histogram(meter, semconv.METRIC_INFERENCE_DURATION),
                _OF_A_CLIENT,
            )
            embeddings = (
                _histogram(meter, semconv.METRIC_EMBEDDINGS_DURATION),
                _OF_A_CLIENT,
            )
        tool = _histogram(meter, semconv.METRIC_EXECUTE_TOOL_DURATION), _OF_A_TOOL
        agent = (
            _histogram(
                meter,
                semconv.METRIC_INVOKE_AGENT_DURATION,
                buckets=semconv.BUCKETS_AGENT_SECONDS,
            ),
            _OF_AN_AGENT,
        )
        self._mcp_requests, self._mcp_sessions = (
            _histogram(meter, name, buckets=semconv.BUCKETS_MCP_SECONDS)
            for name in (
                semconv.METRIC_MCP_OPERATION_DURATION,
                semconv.METRIC_MCP_SESSION_DURATION,
            )
        )
        self._tokens = _latest_tokens(meter) if latest else _tokens(meter)
        self._client = client
        self._durations: dict[Any, tuple[Histogram, tuple[str, ...]]] = {
            semconv.OPERATION_CHAT: inference,
            semconv.OPERATION_EMBEDDINGS: embeddings,
            semconv.OPERATION_EXECUTE_TOOL: tool,
            semconv.OPERATION_INVOKE_AGENT: agent,
        }

    @guarded
    def ended(
        self, attributes: Mapping[str, Any], nanoseconds: int, context: Context
    ) -> None:
        """Measure an operation that ended; nothing if it is none of the conventions'.

        Args:
            attributes: what its span says, or would say.
            nanoseconds: how long it took.
            context: with its span, for exemplars.
        """
        operation = attributes.get(semconv.GEN_AI_OPERATION_NAME)
        if operation is None or not is_instrumentation_enabled():
            return
        duration, names = self._durations.get(operation, self._client)
        told = _record(duration, names, attributes, nanoseconds, context)
        if operation == semconv.OPERATION_CHAT:
            for kind, name in _USAGE:
                if name in attributes:
                    self._tokens(kind, attributes[name], told, context)

    @guarded
    def mcp_request_ended(
        self, attributes: Mapping[str, Any], nanoseconds: int, context: Context
    ) -> None:
        """Measure a request to an MCP server; arguments as those of `ended`."""
        if is_instrumentation_enabled():
            _record(self._mcp_requests, _OF_MCP, attributes, nanoseconds, context)

    @guarded
    def mcp_session_ended(
        self, attributes: Mapping[str, Any], nanoseconds: int, context: Context
    ) -> None:
        """Measure a session with an MCP server; arguments as those of `ended`."""
        if is_instrumentation_enabled():
            _record(self._mcp_sessions, _OF_MCP, attributes, nanoseconds, context)


def _record(
    duration: Histogram,
    names: tuple[str, ...],
    attributes: Mapping[str, Any],
    nanoseconds: int,
    context: Context,
) -> dict[str, Any]:
    told = {name: attributes[name] for name in names if name in attributes}
    duration.record(max(nanoseconds, 0) / 1e9, told, context)
    return told


def instruments_of(provider: MeterProvider | None, version: str) -> Instruments:
    """Our instruments; ones that do nothing if `provider`, anybody's code, has none.

    Args:
        provider: where the meter comes from; None for the global one.
        version: ours.
    """
    try:
        if provider is None:
            provider = get_meter_provider()
        return Instruments(provider.get_meter(SCOPE, version))
    except Exception as error:  # noqa: BLE001  # the agent runs without metrics
        faults.caught("get_meter", error, own=False)
        return Instruments(NoOpMeter(SCOPE, version))


def _latest() -> bool:
    chosen = os.environ.get(semconv.STABILITY_OPT_IN, "").split(",")
    return semconv.LATEST_EXPERIMENTAL in (word.strip().lower() for word in chosen)


def _histogram(
    meter: Meter,
    name: str,
    *,
    unit: str = "s",
    buckets: Sequence[float] = semconv.BUCKETS_SECONDS,
) -> Histogram:
    return meter.create_histogram(
        name,
        unit=unit,
        description=semconv.METRIC_DESCRIPTIONS[name],
        explicit_bucket_boundaries_advisory=buckets,
    )


def _tokens(meter: Meter) -> Record:
    usage = _histogram(
        meter,
        semconv.METRIC_CLIENT_TOKEN_USAGE,
        unit="{token}",
        buckets=semconv.BUCKETS_TOKENS,
    )

    def record(kind: str, count: int, told: dict[str, Any], context: Context) -> None:
        usage.record(count, {**told, semconv.GEN_AI_TOKEN_TYPE: kind}, context)

    return record


def _latest_tokens(meter: Meter) -> Record:
    """A sum that can be billed, and how the calls differ."""
    sums, spreads = {}, {}
    for kind, name, spread in semconv.METRICS_INFERENCE_TOKENS:
        sums[kind] = meter.create_counter(
            name, unit="{token}", description=semconv.METRIC_DESCRIPTIONS[name]
        )
        spreads[kind] = _histogram(
            meter, spread, unit="{token}", buckets=semconv.BUCKETS_TOKENS
        )

    def record(kind: str, count: int, told: dict[str, Any], context: Context) -> None:
        # Messages of the host are text and nothing else.
        modality = {semconv.GEN_AI_TOKEN_MODALITY: semconv.MODALITY_TEXT}
        sums[kind].add(count, {**told, **modality}, context)
        spreads[kind].record(count, told, context)

    return record
