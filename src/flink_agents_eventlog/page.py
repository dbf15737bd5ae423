"""A log as one page for a person: what ran, what failed, what was remembered.

The page is whole in itself: it loads nothing and runs nothing. Everything in a log
came from somewhere else, so every text is escaped, and long ones are cut.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

from flink_agents_eventlog import lifecycle
from flink_agents_eventlog.page_run import run_part, text
from flink_agents_eventlog.page_style import STYLE
from flink_agents_eventlog.payload import encode_plain
from flink_agents_eventlog.run import executions_of
from flink_agents_eventlog.style import duration_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from flink_agents_eventlog.checking import Checked
    from flink_agents_eventlog.key_memory import KeyMemory
    from flink_agents_eventlog.run import Execution, Run

MOST_RUNS: Final = 300
MOST_ROWS: Final = 200
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"


@dataclass
class Report:
    """What a page tells, and of which files."""

    paths: Sequence[str]
    checked: Checked
    runs: list[Run]
    memories: dict[str, KeyMemory]


def page(report: Report) -> Iterator[str]:
    """Write the page, piece by piece."""
    yield (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>Event Log</title><style>{STYLE}</style></head><body>\n"
        "<h1>Event Log</h1>\n"
        f'<p class="from">{text(", ".join(report.paths))}</p>\n'
    )
    yield from _tiles(report)
    yield from _failures(report.runs)
    yield from _runs(report.runs)
    yield from _memory(report.memories)
    yield from _findings(report.checked)
    yield "</body></html>\n"


def _tiles(report: Report) -> Iterator[str]:
    executions = [each for run in report.runs for each in executions_of(run)]
    failed = [each for each in executions if each.status == lifecycle.FAILED]
    kinds = Counter(each.entity_type for each in executions)
    yield '<div class="tiles">\n'
    for number, name in (
        (report.checked.runs, "runs"),
        (sum(run.complete for run in report.runs), "complete"),
        (kinds[lifecycle.ACTION], "actions"),
        (kinds[lifecycle.LLM], "model calls"),
        (kinds[lifecycle.TOOL], "tool calls"),
        (_tokens(executions), "tokens"),
        (len(failed), "failed"),
        (len(report.checked.findings), "findings"),
        (report.checked.records, "records"),
        (report.checked.files, "files"),
    ):
        mark = ' class="failed"' if name == "failed" and number else ""
        yield f"<div><b{mark}>{number:,}</b>{name}</div>\n"
    yield "</div>\n"


def _tokens(executions: Iterable[Execution]) -> int:
    counts = [
        each.entity_metadata.get(name)
        for each in executions
        for name in ("input_tokens", "output_tokens")
    ]
    return sum(count for count in counts if type(count) is int)


def _failures(runs: list[Run]) -> Iterator[str]:
    """List what failed, the same failures together, the most frequent first."""
    count: Counter[tuple[str, str, str]] = Counter()
    longest: dict[tuple[str, str, str], float] = {}
    for run in runs:
        for each in executions_of(run):
            if each.status == lifecycle.FAILED:
                who = f"{each.entity_type} {each.entity_name}"
                name = (who, each.error_type or "", each.error_message or "")
                count[name] += 1
                longest[name] = max(longest.get(name, 0.0), each.duration_ms or 0.0)
    if not count:
        return
    yield "<h2>What failed</h2>\n<table><tr><th>times</th><th>execution</th>"
    yield "<th>error</th><th>message</th><th>longest</th></tr>\n"
    for name, times in count.most_common(MOST_ROWS):
        who, error, message = map(text, name)
        yield (
            f'<tr><td>{times}</td><td class="name">{who}</td><td class="failed">{error}'
            f'</td><td class="said">{message}</td>'
            f'<td class="number">{duration_text(longest[name])}</td></tr>\n'
        )
    yield "</table>\n" + _left_out(len(count) - MOST_ROWS, "kinds of failures")


def _runs(runs: list[Run]) -> Iterator[str]:
    yield "<h2>Runs</h2>\n"
    chosen = _chosen(runs)
    for at, run in enumerate(runs):
        if at in chosen:
            yield from run_part(run)
    yield _left_out(len(runs) - len(chosen), "runs, choose by --run or --key")


def _chosen(runs: list[Run]) -> set[int]:
    """Choose runs that fit on a page: those with failures first, then the latest."""
    failed = [at for at, run in enumerate(runs) if _has_failed(run)]
    latest = range(len(runs) - 1, -1, -1)
    return set(islice(dict.fromkeys([*reversed(failed), *latest]), MOST_RUNS))


def _has_failed(run: Run) -> bool:
    return any(each.status == lifecycle.FAILED for each in executions_of(run))


def _memory(memories: dict[str, KeyMemory]) -> Iterator[str]:
    if not memories:
        return
    yield "<h2>Short-term memory at the end</h2>\n"
    latest = list(memories.items())[-MOST_ROWS:]
    for key, memory in latest:
        count = f"{len(memory.short_term)} paths"
        yield f"<details><summary><b>{text(key)}</b><span>{count}</span>"
        yield f"<span>{_origin(memory)}</span></summary>\n<table>\n"
        for path in sorted(memory.short_term)[:MOST_ROWS]:
            value = encode_plain(memory.short_term[path]).decode()
            yield f'<tr><td class="name">{text(path)}</td>'
            yield f'<td class="value">{text(value)}</td></tr>\n'
        yield "</table>\n" + _left_out(len(memory.short_term) - MOST_ROWS, "paths")
        yield "</details>\n"
    yield _left_out(len(memories) - len(latest), "keys, ask state --key")


def _origin(memory: KeyMemory) -> str:
    doubts = {doubt.code for doubt in memory.doubts(with_sensory=False)}
    if memory.snapshot is None:
        doubts.add("MISSING_SNAPSHOT")
    said = f' <span class="warning">{", ".join(sorted(doubts))}</span>'
    return f"{len(memory.applied)} writes since the snapshot{said if doubts else ''}"


def _findings(checked: Checked) -> Iterator[str]:
    yield "<h2>Findings</h2>\n"
    if not checked.findings:
        yield '<p class="dim">Nothing is wrong with this log.</p>\n'
        return
    yield "<table><tr><th></th><th>code</th><th>what</th><th>where</th></tr>\n"
    for each in checked.findings[:MOST_ROWS]:
        place = each.path if each.line is None else f"{each.path}:{each.line}"
        yield (
            f'<tr><td class="{each.severity}">{each.severity}</td>'
            f'<td class="name">{each.code}</td><td class="said">{text(each.message)}'
            f'</td><td class="place">{text(place)}</td></tr>\n'
        )
    yield "</table>\n"
    yield _left_out(len(checked.findings) - MOST_ROWS, "findings, see check")


def _left_out(count: int, what: str) -> str:
    return f'<p class="dim">{count:,} more {what}</p>\n' if count > 0 else ""
