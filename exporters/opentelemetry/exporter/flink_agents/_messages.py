"""Messages of the host in the shape of the GenAI semantic conventions 1.41.

```json
[{"role": "assistant", "parts": [{"type": "text", "content": "…"}]}]
```

Everything here is plain JSON data, as the Event Log has it: masked already.
"""

from __future__ import annotations

from typing import Any

from flink_agents_eventlog.payload import encode_plain

Message = dict[str, Any]

# The conventions' words for those of the providers; others stay as they are.
_FINISH_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "tool_calls": "tool_call",
    "tool_use": "tool_call",
}


def input_messages(plain: Any) -> list[Message]:
    """Return what a model is asked, system messages among it."""
    asked = plain if isinstance(plain, list) else [plain]
    return [_message(each, "user") for each in asked]


def split_system(messages: list[Message]) -> tuple[list[Message], list[Message]]:
    """Return the parts of all system messages, and the other messages."""
    system = [each for each in messages if each["role"] == "system"]
    others = [each for each in messages if each["role"] != "system"]
    return [part for each in system for part in each["parts"]], others


def output_messages(plain: Any, finish_reason: str | None) -> list[Message]:
    """Return what a model answers.

    Args:
        plain: the answer.
        finish_reason: why the model stopped, as its provider says it. Readers of
            the conventions until 1.41 need one.
    """
    message = _message(plain, "assistant")
    if finish_reason is None:
        calls = any(part["type"] == "tool_call" for part in message["parts"])
        finish_reason = "tool_call" if calls else "stop"
    reason = _FINISH_REASONS.get(finish_reason, finish_reason)
    return [{**message, "finish_reason": reason}]


def _message(plain: Any, role: str) -> Message:
    if not isinstance(plain, dict) or "content" not in plain:
        return {"role": role, "parts": [_text(plain)]}
    extra = plain.get("extra_args")
    extra = extra if isinstance(extra, dict) else {}
    role = str(plain.get("role") or role)
    if role == "tool":
        answer = _part("tool_call_response", extra.get("external_id"))
        return {"role": role, "parts": [{**answer, "response": plain["content"]}]}
    parts = []
    if extra.get("reasoning"):
        parts.append({"type": "reasoning", "content": extra["reasoning"]})
    calls = plain.get("tool_calls")
    calls = calls if isinstance(calls, list) else []  # a log may hold anything
    if plain["content"] or not calls:
        parts.append(_text(plain["content"]))
    parts += [_tool_call(each) for each in calls]
    return {"role": role, "parts": parts}


def _text(content: Any) -> Message:
    text = content if isinstance(content, str) else encode_plain(content).decode()
    return {"type": "text", "content": text}


def _tool_call(call: Any) -> Message:
    if not isinstance(call, dict) or not isinstance(call.get("function"), dict):
        return {**_part("tool_call", None), "name": "", "arguments": call}
    function = call["function"]
    part = _part("tool_call", call.get("original_id") or call.get("id"))
    return {
        **part,
        "name": function.get("name"),
        "arguments": function.get("arguments"),
    }


def _part(kind: str, call_id: Any) -> Message:
    return {"type": kind, "id": None if call_id is None else str(call_id)}
