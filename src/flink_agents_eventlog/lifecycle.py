"""The words of the Event Log: types, statuses, entities and problem categories.

They are plain strings so that they can stand on the wire as they are.
"""

from __future__ import annotations

from typing import Final

EXECUTION_STARTED: Final = "_execution_started_event"
EXECUTION_FINISHED: Final = "_execution_finished_event"
EXECUTION_FAILED: Final = "_execution_failed_event"
EXECUTION_REUSED: Final = "_execution_reused_event"

STARTED: Final = "started"
FINISHED: Final = "finished"
FAILED: Final = "failed"
REUSED: Final = "reused"
SUCCESS: Final = "success"
"""What the native dialect calls finished."""

EVENT_TYPE_OF_STATUS: Final = {
    STARTED: EXECUTION_STARTED,
    FINISHED: EXECUTION_FINISHED,
    FAILED: EXECUTION_FAILED,
    REUSED: EXECUTION_REUSED,
}
STATUS_OF_EVENT_TYPE: Final = {
    event_type: status for status, event_type in EVENT_TYPE_OF_STATUS.items()
}

ACTION: Final = "action"
LLM: Final = "llm"
PARSER: Final = "parser"
TOOL: Final = "tool"

ACTION_EXECUTION_FAILED: Final = "action_execution_failed"
MODEL_CALL_FAILED: Final = "model_call_failed"
MODEL_OUTPUT_PARSE_ERROR: Final = "model_output_parse_error"
TOOL_CALL_FAILED: Final = "tool_call_failed"

PROBLEM_CATEGORY_OF_ENTITY: Final = {
    ACTION: ACTION_EXECUTION_FAILED,
    LLM: MODEL_CALL_FAILED,
    PARSER: MODEL_OUTPUT_PARSE_ERROR,
    TOOL: TOOL_CALL_FAILED,
}

INPUT_EVENT: Final = "_input_event"
OUTPUT_EVENT: Final = "_output_event"
AGENT_RUN_BEGIN_EVENT: Final = "_agent_run_begin_event"
AGENT_RUN_END_EVENT: Final = "_agent_run_end_event"

# The actions that the host names as the origin of these two Events.
AGENT_RUN_BEGIN_ACTION: Final = "agent_run_begin_action"
AGENT_RUN_END_ACTION: Final = "agent_run_end_action"
ACTION_OF_RUN_EVENT: Final = {
    AGENT_RUN_BEGIN_EVENT: AGENT_RUN_BEGIN_ACTION,
    AGENT_RUN_END_EVENT: AGENT_RUN_END_ACTION,
}

LONG_TERM_UPDATE_EVENT: Final = "_long_term_update_event"
LONG_TERM_GET_EVENT: Final = "_long_term_get_event"
LONG_TERM_SEARCH_EVENT: Final = "_long_term_search_event"
