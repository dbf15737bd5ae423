"""The command ``state``."""

from __future__ import annotations

import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final

from flink_agents_eventlog.commands import CommandError
from flink_agents_eventlog.commands.arguments import add_paths
from flink_agents_eventlog.commands.output import (
    exit_status,
    json_head,
    print_findings,
    print_json,
    printable,
    style_of,
)
from flink_agents_eventlog.commands.progress import Progress
from flink_agents_eventlog.key_memory import is_snapshot
from flink_agents_eventlog.memory_history import memory_history
from flink_agents_eventlog.moment import MemoryAt, Point, memories_at
from flink_agents_eventlog.payload import encode_plain
from flink_agents_eventlog.sameness import same_json
from flink_agents_eventlog.style import shown

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Mapping

    from flink_agents_eventlog.finding import Finding
    from flink_agents_eventlog.memory_history import Change
    from flink_agents_eventlog.style import Style

_LONG_TERM: Final = (
    "long-term memory cannot be rebuilt: a log holds only changes to it and reads of it"
)
_RED, _GREEN, _BOLD, _DIM = "31", "32", "1", "2"


class State:
    """Show what the agent remembered of one key at a moment.

    Short-term memory is rebuilt from the latest snapshot and the writes after it,
    sensory memory from the writes of the run. Long-term memory cannot be rebuilt.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the arguments."""
        add_paths(parser)
        parser.add_argument("--key", metavar="K", required=True, help="business key")
        moment = parser.add_mutually_exclusive_group()
        moment.add_argument("--at", metavar="T", help="at a time (RFC 3339)")
        moment.add_argument(
            "--run", metavar="ID", help="after the run whose id begins so"
        )
        moment.add_argument("--event", metavar="ID", help="after the line of an Event")
        moment.add_argument(
            "--diff",
            nargs=2,
            metavar=("FROM", "TO"),
            help="what changed between two moments: a time, run=ID, event=ID or end",
        )
        moment.add_argument(
            "--history", metavar="PATH", help="every change of one path, such as a.b"
        )
        parser.add_argument("--json", action="store_true", help="print JSON")

    def run(self, args: argparse.Namespace) -> int:
        """Read, rebuild and print."""
        if args.history is not None:
            return _history(args)
        points = [Point(args.at, args.run, args.event)]
        if args.diff:
            points = [_point(text) for text in args.diff]
        try:
            with closing(Progress(args.paths)) as progress:
                memories = memories_at(args.paths, args.key, points, progress.watch)
        except (LookupError, ValueError) as error:
            message = error.args[0] if error.args else error
            raise CommandError(f"{message} ({', '.join(args.paths)})") from error
        findings = list(
            dict.fromkeys(each for memory in memories for each in memory.findings)
        )
        if args.json:
            print_json([encode_plain(_json_form(memories, findings))])
        else:
            _print(_drawn(memories, style_of(sys.stdout)))
            print_findings(findings)
        return exit_status(findings)


def _point(text: str) -> Point:
    name, sign, value = text.partition("=")
    if sign and name in ("at", "run", "event"):
        return Point(**{name: value})
    return Point() if text == "end" else Point(at=text)


def _history(args: argparse.Namespace) -> int:
    """Print every change of one path; as JSON too, one after the other in a list."""
    findings: list[Finding] = []
    with closing(Progress(args.paths)) as progress:
        changes = memory_history(
            args.paths, args.key, args.history, findings.append, progress.watch
        )
        progress.close_for_terminal()
        if args.json:
            told = [_change_fields(change) for change in changes]
            head = json_head("state", findings)
            fields = {"key": args.key, "path": args.history, "changes": told}
            print_json([encode_plain(head | fields)])
        else:
            _print(_drawn_changes(changes, style_of(sys.stdout)))
    if not args.json:
        print_findings(findings)
    return exit_status(findings)


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        print(printable(line, sys.stdout))


def _change_fields(change: Change) -> dict[str, Any]:
    record, path, line = change.located
    fields = {"at": record.timestamp, "event_id": record.event_id, "path": path}
    if record.input_run_id is not None:
        fields["input_run_id"] = record.input_run_id
    return fields | {"line": line, "values": change.values}


def _drawn_changes(changes: Iterable[Change], style: Style) -> Iterator[str]:
    for change in changes:
        record, path, line = change.located
        place = style.paint(f"{path}:{line}", _DIM)
        what = "snapshot" if is_snapshot(record) else "write"
        yield f"{shown(record.timestamp)}  {what} {shown(record.event_id)}  {place}"
        for each in sorted(change.values):
            yield f"  {shown(each)}  {_value(change.values[each])}"
        if not change.values:
            yield style.paint("  nothing", _DIM)


def _drawn(memories: list[MemoryAt], style: Style) -> Iterator[str]:
    if len(memories) == 1:
        return _drawn_memory(memories[0], style)
    before, after = memories
    return _drawn_difference(before, after, style)


def _drawn_memory(memory: MemoryAt, style: Style) -> Iterator[str]:
    yield style.paint(_heading(memory), _BOLD)
    for title, values in (
        ("short-term memory", memory.short_term),
        ("sensory memory", memory.sensory),
    ):
        yield title if values else f"{title}: empty"
        width = max(map(len, values), default=0)
        for path in sorted(values):
            yield f"  {shown(path).ljust(width)}  {_value(values[path])}"
    yield style.paint(_origin(memory), _DIM)
    yield style.paint(_LONG_TERM, _DIM)


def _drawn_difference(before: MemoryAt, after: MemoryAt, style: Style) -> Iterator[str]:
    yield style.paint(f"- {_heading(before)}", _RED)
    yield style.paint(f"+ {_heading(after)}", _GREEN)
    for title, old, new in _scopes(before, after):
        changed = _changed(old, new)
        yield title if changed else f"{title}: no difference"
        width = max(map(len, changed), default=0)
        for path in changed:
            name = shown(path).ljust(width)
            if path in old:
                yield style.paint(f"- {name}  {_value(old[path])}", _RED)
            if path in new:
                yield style.paint(f"+ {name}  {_value(new[path])}", _GREEN)
    yield style.paint(_LONG_TERM, _DIM)


def _scopes(
    before: MemoryAt, after: MemoryAt
) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    yield "short-term memory", before.short_term, after.short_term
    yield "sensory memory", before.sensory, after.sensory


def _changed(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    return [
        path
        for path in sorted({*old, *new})
        if not (path in old and path in new and same_json(old[path], new[path]))
    ]


def _heading(memory: MemoryAt) -> str:
    parts = [f"key {shown(memory.key)}", f"at {shown(memory.at or 'the end')}"]
    if memory.input_run_id is not None:
        parts.append(f"run {shown(memory.input_run_id)}")
    return "  ".join(parts)


def _origin(memory: MemoryAt) -> str:
    count = len(memory.applied_event_ids)
    writes = f"{count} write event{'' if count == 1 else 's'}"
    if memory.snapshot is None:
        return f"from {writes}, without a snapshot"
    record, path, line = memory.snapshot
    return f"from the snapshot {record.event_id} ({path}:{line}) and {writes}"


def _value(value: Any) -> str:
    return shown(encode_plain(value).decode())


def _json_form(memories: list[MemoryAt], findings: list[Finding]) -> dict[str, Any]:
    head = json_head("state", findings)
    if len(memories) == 1:
        return head | _fields(memories[0])
    before, after = memories
    differences = {
        title.split()[0].replace("-", "_"): {
            path: {
                name: values[path]
                for name, values in (("from", old), ("to", new))
                if path in values
            }
            for path in _changed(old, new)
        }
        for title, old, new in _scopes(before, after)
    }
    return head | {
        "from": _fields(before),
        "to": _fields(after),
        "changed": differences,
    }


def _fields(memory: MemoryAt) -> dict[str, Any]:
    fields: dict[str, Any] = {"key": memory.key, "at": memory.at}
    if memory.input_run_id is not None:
        fields["input_run_id"] = memory.input_run_id
    fields |= {"short_term": memory.short_term, "sensory": memory.sensory}
    if memory.snapshot is not None:
        fields["snapshot_event_id"] = memory.snapshot.record.event_id
    return fields | {"applied_event_ids": memory.applied_event_ids}
