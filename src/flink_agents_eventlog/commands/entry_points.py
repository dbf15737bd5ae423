"""Finding the installed commands without loading them.

`importlib.metadata` would do, but importing it alone takes 40 ms of the 100 ms in
which ``--help`` has to answer.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

GROUP: Final = "flink_agents_eventlog.commands"


def find_commands() -> dict[str, str]:
    """Name and target (``module:Class``) of every command, sorted by name."""
    found: dict[str, str] = {}
    for folder in sys.path:
        for text in _entry_point_files(folder or os.curdir):
            for name, target in _members(text):
                found.setdefault(name, target)
    return dict(sorted(found.items()))


def load_command(target: str) -> Any:
    """Import the class an entry point names."""
    module, _, name = target.partition(":")
    return getattr(import_module(module), name)


def _entry_point_files(folder: str) -> Iterator[str]:
    try:
        names = os.listdir(folder)  # noqa: PTH208 - pathlib is slow to import
    except OSError:  # sys.path may name what does not exist, or an archive
        return
    for name in names:
        if not name.endswith((".dist-info", ".egg-info")):
            continue
        try:
            path = os.path.join(folder, name, "entry_points.txt")  # noqa: PTH118
            with open(path, encoding="utf-8") as file:  # noqa: PTH123
                yield file.read()
        except (OSError, UnicodeDecodeError):
            continue


def _members(text: str) -> Iterator[tuple[str, str]]:
    if f"[{GROUP}]" not in text:
        return
    section = text.partition(f"[{GROUP}]")[2].partition("\n[")[0]
    for line in section.splitlines():
        name, equals, target = line.partition("=")
        if equals:
            yield name.strip(), target.partition("[")[0].strip()
