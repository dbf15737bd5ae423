"""One run on a page: its tree, a row each, with bars for the time."""

from __future__ import annotations

from html import escape
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from flink_agents_eventlog import lifecycle
from flink_agents_eventlog.drawing import details
from flink_agents_eventlog.layout import event_names, lines
from flink_agents_eventlog.record import timestamp_ns
from flink_agents_eventlog.run import Event, Execution, Run, executions_of
from flink_agents_eventlog.style import Style, duration_text, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flink_agents_eventlog.layout import Line

MOST_LINES: Final = 1_000
_LONGEST_TEXT: Final = 2_000
_INDENTED_LEVELS: Final = 40
_MS: Final = 1_000_000


def text(value: str) -> str:
    """Escape a text, cut it if it is long, and keep its lines apart."""
    if len(value) > _LONGEST_TEXT:
        left_out = len(value) - _LONGEST_TEXT
        value = f"{value[:_LONGEST_TEXT]}… ({left_out} more characters)"
    return escape("\n".join(map(shown, value.splitlines())))


class _Span(NamedTuple):
    """The time of a run, in nanoseconds."""

    begin: int
    length: int


def run_part(run: Run) -> Iterator[str]:
    """Write a run that can be unfolded; one with a failure is unfolded already."""
    failed = sum(each.status == lifecycle.FAILED for each in executions_of(run))
    span = _span(run)
    state = "complete" if run.complete else "incomplete"
    yield f"<details{' open' if failed else ''}><summary>"
    yield f"<b>{text(run.agent_name or 'unknown agent')}</b>"
    yield f"<span>key {text(run.business_key or '-')}</span>"
    yield f"<span>run {text(run.input_run_id or '-')}</span>"
    if span.length:
        yield f"<span>{duration_text(span.length / _MS)}</span>"
    yield f'<span class="{state}">{state}</span>'
    if failed:
        yield f'<span class="failed">{failed} failed</span>'
    yield "</summary>\n<table>\n"
    names = event_names(run)
    every = lines(run, Style())
    for line in islice(every, MOST_LINES):
        yield _row(line, names, span)
    yield "</table>\n"
    more = sum(1 for _ in every)
    yield f'<p class="dim">{more:,} more lines, see tree</p>\n' if more else ""
    yield "</details>\n"


def _row(line: Line, names: dict[str, str], span: _Span) -> str:
    indent = 1.2 * min(line.depth, _INDENTED_LEVELS)
    style = f'style="padding-left: {indent:.1f}em"'
    if isinstance(line.node, Event):
        event = f'<td class="name event" colspan="5" {style}>{text(line.label)}</td>'
        return f"<tr>{event}</tr>\n"
    execution = line.node
    status = text(execution.status)
    said = ", ".join(details(execution, names))
    error = [execution.error_type, execution.error_message]
    told = text(": ".join(each for each in error if each))
    return (
        f'<tr><td class="name" {style}>{text(line.label)}</td>'
        f'<td class="status {status}">{status}</td>'
        f'<td class="time">{_bar(execution, span)}</td>'
        f'<td class="number">{duration_text(execution.duration_ms)}</td>'
        f'<td class="said">{text(said)} <span class="failed">{told}</span></td></tr>\n'
    )


def _bar(execution: Execution, span: _Span) -> str:
    begin, end = _ns(execution.started_at), _ns(execution.ended_at)
    if begin is None or end is None or not span.length:
        return ""
    left = 100 * (begin - span.begin) / span.length
    width = 100 * max(end - begin, 0) / span.length
    mark = ' class="failed"' if execution.status == lifecycle.FAILED else ""
    return (
        f'<div class="bar"><i{mark} style="left: {left:.2f}%; width: {width:.2f}%">'
        "</i></div>"
    )


def _span(run: Run) -> _Span:
    moments = [
        ns
        for each in executions_of(run)
        for ns in (_ns(each.started_at), _ns(each.ended_at))
        if ns is not None
    ]
    begin = min(moments, default=0)
    return _Span(begin, max(moments, default=0) - begin)


def _ns(timestamp: str | None) -> int | None:
    try:
        return None if timestamp is None else timestamp_ns(timestamp)
    except ValueError:
        return None
