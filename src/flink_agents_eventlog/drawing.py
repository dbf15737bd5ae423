"""A run drawn as a tree of lines.

OrderAgent  key order-1  run 5f0c2a91  complete
├─ _input_event
├─ action chat_model_action        finished  1.204 s  on _chat_request_event
│  ├─ llm chat_model               finished   911 ms  gpt-4o  tokens 812 in, 93 out
│  ├─ parser structured_output     failed       1 ms  ValueError: no JSON
│  └─ > _chat_response_event
└─ _output_event
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from flink_agents_eventlog import lifecycle
from flink_agents_eventlog.run import Event, Execution, Run, executions_of

if TYPE_CHECKING:
    from collections.abc import Iterator

COLOURS: Final = {
    lifecycle.FINISHED: "32",
    lifecycle.FAILED: "31",
    lifecycle.REUSED: "36",
    lifecycle.STARTED: "33",
    "complete": "32",
    "incomplete": "33",
}
_DIM: Final = "2"
_BOLD: Final = "1"
_STATUS_WIDTH: Final = 8
_DURATION_WIDTH: Final = 9
_LABEL_WIDTH: Final = 60
# Deeper levels are no longer indented.
_INDENTED_LEVELS: Final = 40
_SHORT_ID: Final = 8
_SECOND: Final = 1000.0
_MINUTE: Final = 60 * _SECOND
_MILLISECOND_SHOWN_WHOLE: Final = 10.0
_OPENING: Final = (lifecycle.INPUT_EVENT, lifecycle.AGENT_RUN_BEGIN_EVENT)


@dataclass(frozen=True)
class Style:
    """How a terminal can be drawn on."""

    unicode: bool = True
    colour: bool = False

    def paint(self, text: str, colour: str | None) -> str:
        """Colour a text, if this terminal has colours."""
        if not self.colour or not colour or not text:
            return text
        return f"\x1b[{colour}m{text}\x1b[0m"


class Branches(NamedTuple):
    """The strokes of a tree."""

    middle: str
    last: str
    below_middle: str
    below_last: str
    emitted: str


_UNICODE: Final = Branches("├─ ", "└─ ", "│  ", "   ", "→ ")
_ASCII: Final = Branches("|- ", "`- ", "|  ", "   ", "> ")


class Line(NamedTuple):
    """One line of a picture: what it is about and where it stands."""

    node: Execution | Event
    strokes: str
    label: str
    depth: int


def draw_run(run: Run, style: Style) -> Iterator[str]:
    """Draw a run: its input, its actions with the Events they sent, the rest."""
    yield _heading(run, style)
    types = {event.event_id: event.event_type for event in run.events}
    widths = [
        _indented_width(line)
        for line in lines(run, style)
        if isinstance(line.node, Execution)
    ]
    width = min(max(widths, default=0), _LABEL_WIDTH)
    for line in lines(run, style):
        if isinstance(line.node, Event):
            yield line.strokes + style.paint(line.label, _DIM)
        else:
            yield _execution_line(line, line.node, width, types, style)


def _heading(run: Run, style: Style) -> str:
    state = "complete" if run.complete else "incomplete"
    parts = [style.paint(shown(run.agent_name or "unknown agent"), _BOLD)]
    if run.business_key is not None:
        parts.append(f"key {shown(run.business_key)}")
    parts.append(f"run {shown(run.input_run_id or '-')[:_SHORT_ID]}")
    return "  ".join([*parts, style.paint(state, COLOURS[state])])


def lines(run: Run, style: Style) -> Iterator[Line]:
    """Walk through a run as it is drawn, from top to bottom."""
    branches = _UNICODE if style.unicode else _ASCII
    sent = _events_by_execution(run)
    todo = _siblings(_top_level(run), "", 0)
    while todo:
        node, prefix, depth, is_last = todo.pop()
        stroke = branches.last if is_last else branches.middle
        below = branches.below_last if is_last else branches.below_middle
        arrow = branches.emitted if depth and isinstance(node, Event) else ""
        yield Line(node, prefix + stroke, arrow + _label(node), depth)
        if isinstance(node, Execution):
            children = [*node.children, *sent.pop(node.execution_id, ())]
            deeper = prefix + below if depth < _INDENTED_LEVELS else prefix
            todo += _siblings(children, deeper, depth + 1)


def _siblings(
    nodes: list[Any], prefix: str, depth: int
) -> list[tuple[Any, str, int, bool]]:
    """Lay nodes on the stack: the last below, so that the first is drawn first."""
    last = len(nodes) - 1
    return [(nodes[at], prefix, depth, at == last) for at in range(last, -1, -1)]


def _events_by_execution(run: Run) -> dict[str | None, list[Event]]:
    sent: dict[str | None, list[Event]] = {}
    for event in run.events:
        sent.setdefault(event.execution_id, []).append(event)
    return sent


def _top_level(run: Run) -> list[Execution | Event]:
    """Put what no execution of this run sent before or after its actions."""
    known = {execution.execution_id for execution in executions_of(run)}
    apart = [event for event in run.events if event.execution_id not in known]
    begins = [each.started_at or each.ended_at or "" for each in run.executions]
    first = min(begins, default="")
    before = [event for event in apart if _is_before(event, first)]
    after = [event for event in apart if not _is_before(event, first)]
    return [*before, *run.executions, *after]


def _is_before(event: Event, first: str) -> bool:
    if event.event_type == lifecycle.AGENT_RUN_END_EVENT:
        return False
    return event.event_type in _OPENING or event.timestamp <= first


def _label(node: Execution | Event) -> str:
    if isinstance(node, Event):
        return shown(node.event_type)
    return f"{shown(node.entity_type or '?')} {shown(node.entity_name or '?')}"


def _indented_width(line: Line) -> int:
    return len(line.strokes) + _width(line.label)


def _execution_line(
    line: Line, execution: Execution, width: int, types: dict[str, str], style: Style
) -> str:
    padding = " " * (width - _indented_width(line))
    status = execution.status
    parts = [
        line.strokes + line.label + padding,
        style.paint(shown(status).ljust(_STATUS_WIDTH), COLOURS.get(status)),
        duration_text(execution.duration_ms).rjust(_DURATION_WIDTH),
        *details(execution, types),
    ]
    error = error_text(execution)
    if error:
        parts.append(style.paint(error, COLOURS[lifecycle.FAILED]))
    return "  ".join(parts).rstrip()


def details(execution: Execution, types: dict[str, str]) -> Iterator[str]:
    """Tell what set it off (of `types` by id), the model, tokens and attempts."""
    metadata = execution.entity_metadata
    trigger = types.get(execution.action_trigger_event_id or "")
    if trigger and execution.entity_type == lifecycle.ACTION:
        yield f"on {shown(trigger)}"
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
    lines = (execution.error_message or "").splitlines()
    parts = [execution.error_type, next(iter(lines), None)]
    return shown(": ".join(part for part in parts if part))


def duration_text(milliseconds: float | None) -> str:
    """Write a duration for people; nothing for none."""
    if milliseconds is None:
        return ""
    if abs(milliseconds) < _MILLISECOND_SHOWN_WHOLE:
        return f"{milliseconds:.1f} ms"
    if abs(milliseconds) < _SECOND:
        return f"{milliseconds:.0f} ms"
    if abs(milliseconds) < _MINUTE:
        return f"{milliseconds / _SECOND:.3f} s"
    return f"{milliseconds / _MINUTE:.1f} min"


def shown(text: str) -> str:
    """Keep control characters of a payload away from who looks at it."""
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode()
        for each in text
    )


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(1 + (unicodedata.east_asian_width(each) in "WF") for each in text)
