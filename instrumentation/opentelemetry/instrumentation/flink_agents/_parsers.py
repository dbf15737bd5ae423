"""The patch of the parser: an answer of a model becomes structured output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flink_agents_eventlog import lifecycle
from opentelemetry.exporter.flink_agents._attributes import span_name
from opentelemetry.exporter.flink_agents._execution import Execution
from opentelemetry.exporter.flink_agents._guard import guarded
from opentelemetry.instrumentation.flink_agents import _host, semconv
from opentelemetry.instrumentation.flink_agents._core import current
from opentelemetry.instrumentation.flink_agents._patching import Patch
from opentelemetry.instrumentation.flink_agents._text import safe

if TYPE_CHECKING:
    from opentelemetry.instrumentation.flink_agents._executions import OpenExecution

NAME = "structured_output"
_MODULE = "flink_agents.plan.actions.chat_model_action"


def patches() -> list[Patch]:
    """Return the patch of this file."""

    @guarded
    def start(response: Any, output_schema: Any) -> OpenExecution | None:
        around = current()
        if around is None:
            return None
        schema = _host.schema_name(output_schema)
        text = {"text": response.content, "schema": schema}
        execution = Execution(
            run=around.run.run,
            entity_type=lifecycle.PARSER,
            entity_name=NAME,
            parent=around.execution,
            trigger_event_id=around.execution.trigger_event_id,
            input=around.run.content("input", text),
        )
        return around.open_child(
            execution,
            span_name(execution),
            attributes={semconv.FLINK_AGENTS_PARSER_SCHEMA: safe(schema)},
        )

    def parse(
        wrapped: Any, _: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        opened = start(*args, **kwargs)
        if opened is None:
            return wrapped(*args, **kwargs)
        with opened:
            response = wrapped(*args, **kwargs)
            _keep_output(opened, response)
        return response

    return [Patch(_MODULE, "_generate_structured_output", parse)]


@guarded
def _keep_output(opened: OpenExecution, response: Any) -> None:
    opened.returned(response.extra_args.get(NAME))
