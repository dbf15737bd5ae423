"""What the documentation of the commands shows is what they print."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from flink_agents_eventlog.commands import main

DOCS = Path(__file__).parents[2] / "docs"
READING = DOCS / "reading.md"
SHOWN = re.findall(
    r"```console\n\$ flink-agents-eventlog ([^\n]*)\n(.*?)```",
    READING.read_text(),
    re.DOTALL,
)


@pytest.fixture(autouse=True)
def _in_docs(monkeypatch):
    monkeypatch.chdir(DOCS)


@pytest.mark.parametrize(("command", "output"), SHOWN, ids=[each[0] for each in SHOWN])
def test_a_command_prints_what_is_shown(capsys, command, output):
    assert main(command.split()) == 0
    assert capsys.readouterr() == (output, "")


def test_the_python_examples_run():
    done = doctest.testfile(str(READING), module_relative=False)

    assert (done.failed, done.attempted) == (0, 7)
