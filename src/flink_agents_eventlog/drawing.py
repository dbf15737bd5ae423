"""A run drawn as a tree of lines.

OrderAgent  key order-1  run 5f0c2a91  complete  1 failed
├─ _input_event
├─ action chat_model_action        finished  1.204 s  on _chat_request_event
│  ├─ llm chat_model               finished   911 ms  gpt-4o  tokens 812 in, 93 out
│  ├─ parser structured_output     failed       1 ms  ValueError: no JSON
│  └─ → _chat_response_event
└─ _output_event
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from flink_agents_eventlog import lifecycle
from flink_agents_eventlog.layout import Line, event_names, lines
from flink_agents_eventlog.payload import encode_plain
from flink_agents_eventlog.run import Event, Execution, Run, executions_of, selected
from flink_agents_eventlog.style import (
    BOLD,
    COLOURS,
    DIM,
    Style,
    duration_text,
    shown,
    width,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_STATUS_WIDTH: Final = 8
_DURATION_WIDTH: Final = 9
_LABEL_WIDTH: Final = 60
_SHORT_ID: Final = 8
_LONGEST_VALUE: Final = 200


@dataclass(frozen=True)
class Drawing:
    """How much of a run is drawn, and how."""

    style: Style
    depth: int | None = None
    """So many levels; 0 is the heading alone, None is everything."""
    select: Sequence[str] = ()
    """Fields to show beside; see `run.selected`."""

    def draw(self, run: Run) -> Iterator[str]:
        """Draw a run: its input, its actions with the Events they sent, the rest."""
        yield heading(run, self.style)
        names = event_names(run)
        drawn = list(lines(run, self.style, self.depth))
        column = min(max(map(_indented_width, drawn), default=0), _LABEL_WIDTH)
        for line in drawn:
            parts = [*self._parts(line, column, names), *self._beside(line)]
            yield "  ".join(parts).rstrip()

    def _parts(self, line: Line, column: int, names: dict[str, str]) -> Iterator[str]:
        execution = line.node
        if isinstance(execution, Event):
            yield line.strokes + self.style.paint(line.label, DIM)
            return
        yield line.strokes + line.label + " " * (column - _indented_width(line))
        status = execution.status
        yield self.style.paint(shown(status).ljust(_STATUS_WIDTH), COLOURS.get(status))
        yield duration_text(execution.duration_ms).rjust(_DURATION_WIDTH)
        yield from details(execution, names)
        error = error_text(execution)
        if error:
            yield self.style.paint(error, COLOURS[lifecycle.FAILED])

    def _beside(self, line: Line) -> Iterator[str]:
        if line.left_out:
            yield self.style.paint(f"({line.left_out} inside)", DIM)
        for name, value in selected(line.node, self.select).items():
            text = shown(encode_plain(value).decode())
            if len(text) > _LONGEST_VALUE:
                text = text[:_LONGEST_VALUE] + ("…" if self.style.unicode else "...")
            yield self.style.paint(f"{shown(name)}=", DIM) + text


def heading(run: Run, style: Style) -> str:
    """Name a run in one line."""
    state = "complete" if run.complete else "incomplete"
    parts = [style.paint(shown(run.agent_name or "unknown agent"), BOLD)]
    if run.business_key is not None:
        parts.append(f"key {shown(run.business_key)}")
    parts.append(f"run {shown(run.input_run_id or '-')[:_SHORT_ID]}")
    parts.append(style.paint(state, COLOURS[state]))
    failed = sum(each.status == lifecycle.FAILED for each in executions_of(run))
    if failed:
        parts.append(style.paint(f"{failed} failed", COLOURS[lifecycle.FAILED]))
    return "  ".join(parts)


def _indented_width(line: Line) -> int:
    if isinstance(line.node, Event):
        return 0
    return len(line.strokes) + width(line.label)


def details(execution: Execution, names: dict[str, str]) -> Iterator[str]:
    """Tell what set it off (Events by id and name), the model, tokens and attempts."""
    metadata = execution.entity_metadata
    trigger = execution.action_trigger_event_id
    if trigger and execution.entity_type == lifecycle.ACTION:
        yield f"on {shown(names.get(trigger) or trigger[:_SHORT_ID])}"
    model = metadata.get("model")
    if isinstance(model, str) and model != execution.entity_name:
        yield shown(model)
    tokens = [
        f"{metadata[name]} {word}"
        for name, word in (("input_tokens", "in"), ("output_tokens", "out"))
        if isinstance(metadata.get(name), int)
    ]
    if tokens:
        yield f"tokens {', '.join(tokens)}"
    attempts = metadata.get("attempts")
    if isinstance(attempts, int) and attempts != 1:
        yield f"{attempts} attempts"


def error_text(execution: Execution) -> str:
    """Give the type and the first line of the message of what failed it."""
    said = (execution.error_message or "").splitlines()
    parts = [execution.error_type, next(iter(said), None)]
    return shown(": ".join(part for part in parts if part))
