"""Where the Event Log is: the folder given, the environment's, or one of our own."""

from __future__ import annotations

import logging
import os
import stat
import tempfile
from pathlib import Path

EVENT_LOG_DIR = "OTEL_PYTHON_FLINK_AGENTS_EVENT_LOG_DIR"

logger = logging.getLogger(__name__)

_announced: set[Path] = set()


def event_log_directory(directory: str | os.PathLike[str] | None = None) -> Path | None:
    """Return the folder of the Event Log, or None if there is no safe one.

    The first of `directory`, the environment variable
    `OTEL_PYTHON_FLINK_AGENTS_EVENT_LOG_DIR` and
    `<tempdir>/flink-agents-eventlog-<uid>`. The last lies where others may
    write too, so it is refused when somebody else owns it. Nothing is created.
    """
    chosen = directory or os.environ.get(EVENT_LOG_DIR)
    if chosen:
        return Path(chosen)
    owner = getattr(os, "getuid", lambda: "user")()
    default = Path(tempfile.gettempdir(), f"flink-agents-eventlog-{owner}")
    usable = _is_ours(default)
    if default not in _announced:
        _announced.add(default)
        _announce(default, usable=usable)
    return default if usable else None


def _is_ours(directory: Path) -> bool:
    try:
        # Not stat(): a link placed here by somebody else must not be followed.
        found = directory.lstat()
    except OSError:
        return True
    return stat.S_ISDIR(found.st_mode) and (
        not hasattr(os, "getuid") or found.st_uid == os.getuid()
    )


def _announce(directory: Path, *, usable: bool) -> None:
    if usable:
        logger.info("The Event Log is written to %s", directory)
    else:
        logger.warning(
            "The Event Log is not written: %s exists and is not a folder of this"
            " user's. Set %s to a folder of your own.",
            directory,
            EVENT_LOG_DIR,
        )
