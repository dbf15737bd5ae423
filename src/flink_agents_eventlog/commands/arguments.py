"""Arguments that several commands have."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse


def add_paths(parser: argparse.ArgumentParser) -> None:
    """Declare the logs to read."""
    parser.add_argument(
        "paths",
        nargs="+",
        metavar="PATH",
        help="log file (.jsonl, .gz), folder of logs, or - for standard input",
    )


def add_selection(parser: argparse.ArgumentParser) -> None:
    """Declare which of their runs to show."""
    parser.add_argument("--run", metavar="ID", help="only runs whose id begins so")
    parser.add_argument("--key", metavar="K", help="only runs of this business key")


def add_output(parser: argparse.ArgumentParser) -> None:
    """Declare where to write; see `output.output`."""
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="write there, not to standard output"
    )
