"""Names of spans and attributes, with the convention each comes from.

Spans have them when they are made live, and again when a log is replayed.

Our own constants: the GenAI conventions left the `opentelemetry-semantic-conventions`
package in 1.42 and its replacement is not on the package index.
"""

from typing import Final

# OpenTelemetry semantic conventions 1.41.
ERROR_TYPE: Final = "error.type"
NETWORK_PROTOCOL_NAME: Final = "network.protocol.name"
NETWORK_TRANSPORT: Final = "network.transport"
NETWORK_TRANSPORT_TCP: Final = "tcp"
DB_COLLECTION_NAME: Final = "db.collection.name"
DB_OPERATION_BATCH_SIZE: Final = "db.operation.batch.size"
DB_OPERATION_NAME: Final = "db.operation.name"
DB_RESPONSE_RETURNED_ROWS: Final = "db.response.returned_rows"
DB_SYSTEM_NAME: Final = "db.system.name"
SERVER_ADDRESS: Final = "server.address"
SERVER_PORT: Final = "server.port"

# GenAI semantic conventions 1.41, gen_ai.* spans.
GEN_AI_AGENT_NAME: Final = "gen_ai.agent.name"
GEN_AI_DATA_SOURCE_ID: Final = "gen_ai.data_source.id"
GEN_AI_INPUT_MESSAGES: Final = "gen_ai.input.messages"
GEN_AI_MEMORY_QUERY_TEXT: Final = "gen_ai.memory.query.text"
GEN_AI_MEMORY_RECORD_COUNT: Final = "gen_ai.memory.record.count"
GEN_AI_MEMORY_RECORDS: Final = "gen_ai.memory.records"
GEN_AI_MEMORY_STORE_ID: Final = "gen_ai.memory.store.id"
GEN_AI_OPERATION_NAME: Final = "gen_ai.operation.name"
GEN_AI_OUTPUT_MESSAGES: Final = "gen_ai.output.messages"
GEN_AI_OUTPUT_TYPE: Final = "gen_ai.output.type"
GEN_AI_PROVIDER_NAME: Final = "gen_ai.provider.name"
GEN_AI_PROMPT_NAME: Final = "gen_ai.prompt.name"
GEN_AI_REQUEST_CHOICE_COUNT: Final = "gen_ai.request.choice.count"
GEN_AI_REQUEST_FREQUENCY_PENALTY: Final = "gen_ai.request.frequency_penalty"
GEN_AI_REQUEST_MAX_TOKENS: Final = "gen_ai.request.max_tokens"
GEN_AI_REQUEST_MODEL: Final = "gen_ai.request.model"
GEN_AI_REQUEST_PRESENCE_PENALTY: Final = "gen_ai.request.presence_penalty"
GEN_AI_REQUEST_SEED: Final = "gen_ai.request.seed"
GEN_AI_REQUEST_STOP_SEQUENCES: Final = "gen_ai.request.stop_sequences"
GEN_AI_REQUEST_TEMPERATURE: Final = "gen_ai.request.temperature"
GEN_AI_REQUEST_TOP_K: Final = "gen_ai.request.top_k"
GEN_AI_REQUEST_TOP_P: Final = "gen_ai.request.top_p"
GEN_AI_RESPONSE_FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
GEN_AI_RESPONSE_ID: Final = "gen_ai.response.id"
GEN_AI_RESPONSE_MODEL: Final = "gen_ai.response.model"
GEN_AI_RETRIEVAL_DOCUMENTS: Final = "gen_ai.retrieval.documents"
GEN_AI_RETRIEVAL_QUERY_TEXT: Final = "gen_ai.retrieval.query.text"
GEN_AI_SYSTEM_INSTRUCTIONS: Final = "gen_ai.system_instructions"
GEN_AI_TOKEN_TYPE: Final = "gen_ai.token.type"
GEN_AI_TOOL_CALL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
GEN_AI_TOOL_CALL_ID: Final = "gen_ai.tool.call.id"
GEN_AI_TOOL_CALL_RESULT: Final = "gen_ai.tool.call.result"
GEN_AI_TOOL_DEFINITIONS: Final = "gen_ai.tool.definitions"
GEN_AI_TOOL_NAME: Final = "gen_ai.tool.name"
GEN_AI_TOOL_TYPE: Final = "gen_ai.tool.type"
GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS: Final = "gen_ai.usage.cache_read.input_tokens"
GEN_AI_USAGE_INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
GEN_AI_USAGE_OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"

OPERATION_CHAT: Final = "chat"
OPERATION_EMBEDDINGS: Final = "embeddings"
OPERATION_EXECUTE_TOOL: Final = "execute_tool"
OPERATION_INVOKE_AGENT: Final = "invoke_agent"
OPERATION_RETRIEVAL: Final = "retrieval"
OUTPUT_TYPE_JSON: Final = "json"
PROVIDER_ANTHROPIC: Final = "anthropic"
TOKEN_TYPE_INPUT: Final = "input"
TOKEN_TYPE_OUTPUT: Final = "output"
TOOL_TYPE_EXTENSION: Final = "extension"
TOOL_TYPE_FUNCTION: Final = "function"

EVENT_INFERENCE_DETAILS: Final = "gen_ai.client.inference.operation.details"

# MCP semantic conventions 1.41.
ERROR_TYPE_TOOL_ERROR: Final = "tool_error"
JSONRPC_REQUEST_ID: Final = "jsonrpc.request.id"
MCP_METHOD_NAME: Final = "mcp.method.name"
MCP_PROTOCOL_VERSION: Final = "mcp.protocol.version"
MCP_RESOURCE_URI: Final = "mcp.resource.uri"
MCP_SESSION_ID: Final = "mcp.session.id"
RPC_RESPONSE_STATUS_CODE: Final = "rpc.response.status_code"
METHOD_TOOLS_CALL: Final = "tools/call"
METRIC_MCP_OPERATION_DURATION: Final = "mcp.client.operation.duration"
METRIC_MCP_SESSION_DURATION: Final = "mcp.client.session.duration"
BUCKETS_MCP_SECONDS: Final = (
    *(0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0),
    *(2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0),
)

# GenAI semantic conventions 1.41, metrics; those of executions as the OpenTelemetry
# GenAI packages 1.3b0 have them.
METRIC_CLIENT_OPERATION_DURATION: Final = "gen_ai.client.operation.duration"
METRIC_CLIENT_TOKEN_USAGE: Final = "gen_ai.client.token.usage"
METRIC_EXECUTE_TOOL_DURATION: Final = "gen_ai.execute_tool.duration"
METRIC_INVOKE_AGENT_DURATION: Final = "gen_ai.invoke_agent.duration"
# 0.01 s doubled thirteen times; powers of 4; 0.1 s doubled twelve times.
BUCKETS_SECONDS: Final = tuple(round(0.01 * 2**n, 2) for n in range(14))
BUCKETS_TOKENS: Final = tuple(4**n for n in range(14))
BUCKETS_AGENT_SECONDS: Final = tuple(round(0.1 * 2**n, 1) for n in range(13))

# The GenAI semantic conventions of their own repository, first release: what
# `gen_ai_latest_experimental` (conventions 1.37 to 1.41) asks for.
STABILITY_OPT_IN: Final = "OTEL_SEMCONV_STABILITY_OPT_IN"
LATEST_EXPERIMENTAL: Final = "gen_ai_latest_experimental"
GEN_AI_TOKEN_MODALITY: Final = "gen_ai.token.modality"
MODALITY_TEXT: Final = "text"
METRIC_EMBEDDINGS_DURATION: Final = "gen_ai.client.embeddings.duration"
METRIC_INFERENCE_DURATION: Final = "gen_ai.client.inference.duration"
METRICS_INFERENCE_TOKENS: Final = tuple(
    (
        kind,
        f"gen_ai.client.inference.usage.{kind}_tokens",
        f"gen_ai.client.inference.operation.{kind}_tokens",
    )
    for kind in (TOKEN_TYPE_INPUT, TOKEN_TYPE_OUTPUT)
)

METRIC_DESCRIPTIONS: Final = {
    METRIC_CLIENT_OPERATION_DURATION: "Duration of a GenAI client operation.",
    METRIC_CLIENT_TOKEN_USAGE: "Number of input and output tokens used.",
    METRIC_EXECUTE_TOOL_DURATION: "Duration of a tool execution.",
    METRIC_INVOKE_AGENT_DURATION: "Duration of a run of an agent.",
    METRIC_MCP_OPERATION_DURATION: "Duration of an MCP request.",
    METRIC_MCP_SESSION_DURATION: "Duration of an MCP session.",
    METRIC_EMBEDDINGS_DURATION: "Duration of an embeddings operation.",
    METRIC_INFERENCE_DURATION: "Duration of an inference operation.",
    **{
        name: f"Number of {kind} tokens, {told}."
        for kind, total, spread in METRICS_INFERENCE_TOKENS
        for name, told in ((total, "in all"), (spread, "by operation"))
    },
}

# Ours, version 1.
FLINK_AGENTS_AGENT_NAME: Final = "flink_agents.agent.name"
FLINK_AGENTS_BUSINESS_KEY: Final = "flink_agents.business_key"
FLINK_AGENTS_CONTENT_TRUNCATED: Final = "flink_agents.content.truncated"
FLINK_AGENTS_ENTITY_NAME: Final = "flink_agents.entity.name"
FLINK_AGENTS_ENTITY_TYPE: Final = "flink_agents.entity.type"
FLINK_AGENTS_EVENT_ID: Final = "flink_agents.event.id"
FLINK_AGENTS_EVENT_SOURCE_ID: Final = "flink_agents.event.source.id"
FLINK_AGENTS_EVENT_TRIGGER_ID: Final = "flink_agents.event.trigger.id"
FLINK_AGENTS_EVENT_TRIGGER_TYPE: Final = "flink_agents.event.trigger.type"
FLINK_AGENTS_EXECUTION_ID: Final = "flink_agents.execution.id"
FLINK_AGENTS_EXECUTION_INCOMPLETE: Final = "flink_agents.execution.incomplete"
FLINK_AGENTS_EXECUTION_PARENT_ID: Final = "flink_agents.execution.parent.id"
FLINK_AGENTS_EXECUTION_STATUS: Final = "flink_agents.execution.status"
FLINK_AGENTS_INPUT_RUN_ID: Final = "flink_agents.input_run_id"
FLINK_AGENTS_JOB_ID: Final = "flink_agents.job.id"
FLINK_AGENTS_LLM_ATTEMPTS: Final = "flink_agents.llm.attempts"
FLINK_AGENTS_MEMORY_COUNT: Final = "flink_agents.memory.{}.count"
FLINK_AGENTS_PARSER_SCHEMA: Final = "flink_agents.parser.schema"
FLINK_AGENTS_PROBLEM_CATEGORY: Final = "flink_agents.problem_category"
FLINK_AGENTS_SUBTASK_INDEX: Final = "flink_agents.subtask.index"
FLINK_AGENTS_TASK_NAME: Final = "flink_agents.task.name"
