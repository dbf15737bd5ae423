"""The command ``stats``."""

from __future__ import annotations

import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final

from flink_agents_eventlog.commands.arguments import add_paths, add_selection
from flink_agents_eventlog.commands.chosen import chosen_runs
from flink_agents_eventlog.commands.output import (
    exit_status,
    json_head,
    print_findings,
    print_json,
    printable,
    style_of,
)
from flink_agents_eventlog.commands.progress import Progress
from flink_agents_eventlog.payload import encode_plain
from flink_agents_eventlog.stats import Group
from flink_agents_eventlog.stats import Stats as _Stats
from flink_agents_eventlog.style import BOLD, COLOURS, duration_text, shown, width

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from flink_agents_eventlog.finding import Finding
    from flink_agents_eventlog.style import Style

_P50: Final = 0.5
_P95: Final = 0.95
_COLUMNS: Final = (
    *("count", "failed", "open", "reused", "p50", "p95", "max"),
    *("tokens in", "out", "attempts"),
)


class Stats:
    """Count what ran: how often, how long, what failed, how many tokens.

    Percentiles are of what ran to its end, to three digits.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the arguments."""
        add_paths(parser)
        add_selection(parser)
        parser.add_argument("--json", action="store_true", help="print JSON")

    def run(self, args: argparse.Namespace) -> int:
        """Read, count and print."""
        findings: list[Finding] = []
        stats = _Stats()
        with closing(Progress(args.paths)) as progress:
            for run in chosen_runs(args, findings, progress):
                stats.add(run)
        if args.json:
            print_json([encode_plain(_json_form(stats, findings))])
        else:
            for line in _table(stats, style_of(sys.stdout)):
                print(printable(line, sys.stdout))
            print_findings(findings)
        return exit_status(findings)


def _json_form(stats: _Stats, findings: list[Finding]) -> dict[str, Any]:
    counts = {"runs": stats.runs, "complete": stats.complete}
    groups = [_fields(group) for group in stats.groups()]
    return json_head("stats", findings) | counts | {"groups": groups}


def _fields(group: Group) -> dict[str, Any]:
    return {
        "entity_type": group.entity_type,
        "entity_name": group.entity_name,
        "agent_name": group.agent_name,
        "count": group.count,
        "failed": group.failed,
        "by_problem": dict(group.by_problem),
        "open": group.is_open,
        "reused": group.reused,
        "p50_ms": group.percentile_ms(_P50),
        "p95_ms": group.percentile_ms(_P95),
        "max_ms": group.max_ms,
        "input_tokens": group.input_tokens,
        "output_tokens": group.output_tokens,
        "attempts": group.attempts,
    }


def _table(stats: _Stats, style: Style) -> Iterator[str]:
    groups = stats.groups()
    names = [
        f"{group.entity_type or '?'} {group.entity_name or '?'}" for group in groups
    ]
    names = [shown(name) for name in names]
    column = max(map(width, names), default=0)
    rows = [_row(group) for group in groups]
    used = [at for at in range(len(_COLUMNS)) if any(row[at] for row in rows)]
    widths = {at: max(len(row[at]) for row in (_COLUMNS, *rows)) for at in used}
    agent: str | None = None
    for group, name, row in zip(groups, names, rows, strict=True):
        if (group.agent_name or "unknown agent") != agent:
            agent = group.agent_name or "unknown agent"
            title = shown(agent).ljust(column)
            head = [_COLUMNS[at].rjust(widths[at]) for at in used]
            yield style.paint("  ".join([title, *head]), BOLD)
        cells = [row[at].rjust(widths[at]) for at in used]
        line = "  ".join([name + " " * (column - width(name)), *cells])
        problems = ", ".join(
            f"{shown(each)} {n}" for each, n in group.by_problem.items()
        )
        yield f"{line}  {style.paint(problems, COLOURS['failed'])}".rstrip()
    yield f"{_counted(stats.runs, 'run')}, {stats.complete} complete"


def _row(group: Group) -> tuple[str, ...]:
    return (
        str(group.count),
        *(str(each or "") for each in (group.failed, group.is_open, group.reused)),
        duration_text(group.percentile_ms(_P50)),
        duration_text(group.percentile_ms(_P95)),
        duration_text(group.max_ms),
        *("" if each is None else str(each) for each in _tokens(group)),
        "" if group.attempts == group.count else str(group.attempts),
    )


def _tokens(group: Group) -> tuple[int | None, int | None]:
    return group.input_tokens, group.output_tokens


def _counted(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
