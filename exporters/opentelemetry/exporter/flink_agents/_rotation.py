"""Setting a full file aside: `x.jsonl` becomes `x.1.jsonl`, then `x.2.jsonl`.

`.1` is the oldest, numbers only grow, the file without a number is the newest.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def rotate(path: Path, *, keep: int) -> int:
    """Set `path` aside and return how many of the oldest files were deleted.

    Args:
        path: the full file; it must exist.
        keep: how many files set aside remain; 0 means all.

    Raises:
        OSError: the file could not be renamed; nothing has changed then.
    """
    aside = _files_set_aside(path)
    number = max(aside, default=0) + 1
    path.rename(_numbered(path, number))
    if not keep:
        return 0
    surplus = sorted([*aside, number])[:-keep]
    return sum(_delete(_numbered(path, old)) for old in surplus)


def _files_set_aside(path: Path) -> list[int]:
    pattern = re.compile(
        re.escape(path.stem) + r"\.([1-9][0-9]*)" + re.escape(path.suffix)
    )
    matches = (pattern.fullmatch(entry.name) for entry in path.parent.iterdir())
    return [int(match[1]) for match in matches if match]


def _numbered(path: Path, number: int) -> Path:
    return path.with_name(f"{path.stem}.{number}{path.suffix}")


def _delete(path: Path) -> bool:
    try:
        path.unlink()
    except OSError:
        return False
    return True
