"""Names of spans and attributes, with the convention each comes from.

Our own constants: the GenAI conventions left the `opentelemetry-semantic-conventions`
package in 1.42 and its replacement is not on the package index.
"""

from typing import Final

# OpenTelemetry semantic conventions 1.41.
ERROR_TYPE: Final = "error.type"
SERVER_ADDRESS: Final = "server.address"
SERVER_PORT: Final = "server.port"

# GenAI semantic conventions 1.41, gen_ai.* spans.
GEN_AI_AGENT_NAME: Final = "gen_ai.agent.name"
GEN_AI_MEMORY_RECORD_COUNT: Final = "gen_ai.memory.record.count"
GEN_AI_MEMORY_STORE_ID: Final = "gen_ai.memory.store.id"
GEN_AI_OPERATION_NAME: Final = "gen_ai.operation.name"
GEN_AI_OUTPUT_TYPE: Final = "gen_ai.output.type"
GEN_AI_PROVIDER_NAME: Final = "gen_ai.provider.name"
GEN_AI_REQUEST_MODEL: Final = "gen_ai.request.model"
GEN_AI_RESPONSE_FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
GEN_AI_RESPONSE_ID: Final = "gen_ai.response.id"
GEN_AI_RESPONSE_MODEL: Final = "gen_ai.response.model"
GEN_AI_TOOL_CALL_ID: Final = "gen_ai.tool.call.id"
GEN_AI_TOOL_NAME: Final = "gen_ai.tool.name"
GEN_AI_TOOL_TYPE: Final = "gen_ai.tool.type"
GEN_AI_USAGE_INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
GEN_AI_USAGE_OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"

OPERATION_CHAT: Final = "chat"
OPERATION_EMBEDDINGS: Final = "embeddings"
OPERATION_EXECUTE_TOOL: Final = "execute_tool"
OPERATION_INVOKE_AGENT: Final = "invoke_agent"
OUTPUT_TYPE_JSON: Final = "json"
TOOL_TYPE_FUNCTION: Final = "function"

# Ours, version 1.
FLINK_AGENTS_AGENT_NAME: Final = "flink_agents.agent.name"
FLINK_AGENTS_BUSINESS_KEY: Final = "flink_agents.business_key"
FLINK_AGENTS_ENTITY_NAME: Final = "flink_agents.entity.name"
FLINK_AGENTS_ENTITY_TYPE: Final = "flink_agents.entity.type"
FLINK_AGENTS_EVENT_TRIGGER_ID: Final = "flink_agents.event.trigger.id"
FLINK_AGENTS_EVENT_TRIGGER_TYPE: Final = "flink_agents.event.trigger.type"
FLINK_AGENTS_EXECUTION_ID: Final = "flink_agents.execution.id"
FLINK_AGENTS_EXECUTION_INCOMPLETE: Final = "flink_agents.execution.incomplete"
FLINK_AGENTS_INPUT_RUN_ID: Final = "flink_agents.input_run_id"
FLINK_AGENTS_JOB_ID: Final = "flink_agents.job.id"
FLINK_AGENTS_LLM_ATTEMPTS: Final = "flink_agents.llm.attempts"
FLINK_AGENTS_MEMORY_COUNT: Final = "flink_agents.memory.{}.count"
FLINK_AGENTS_PARSER_SCHEMA: Final = "flink_agents.parser.schema"
FLINK_AGENTS_SUBTASK_INDEX: Final = "flink_agents.subtask.index"
FLINK_AGENTS_TASK_NAME: Final = "flink_agents.task.name"
