from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points

import flink_agents_eventlog
from flink_agents_eventlog import Finding
from flink_agents_eventlog.commands.entry_points import GROUP, find_commands
from flink_agents_eventlog.finding import SEVERITY, finding


def modules_after(code: str) -> set[str]:
    report = f"import sys\n{code}\nprint(*sys.modules, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", report], capture_output=True, text=True, check=True
    )
    return set(done.stderr.split())


def test_all_names_are_sorted_and_there():
    names = flink_agents_eventlog.__all__

    assert names == sorted(names)
    for name in names:
        assert getattr(flink_agents_eventlog, name).__name__ == name
    assert dir(flink_agents_eventlog) == names
    assert not hasattr(flink_agents_eventlog, "nothing")


def test_reading_needs_neither_opentelemetry_nor_the_framework():
    loaded = modules_after(
        "from flink_agents_eventlog import *\n"
        "from flink_agents_eventlog.commands.tree import Tree"
    )

    tops = {name.partition(".")[0] for name in loaded}
    assert not tops & {"opentelemetry", "flink_agents", "pyflink", "pydantic"}


def test_help_loads_no_command_and_no_codec():
    loaded = modules_after(
        "from flink_agents_eventlog.commands import main\nmain(['--help'])"
    )

    assert not loaded & {
        "msgspec",
        "importlib.metadata",
        "flink_agents_eventlog.commands.tree",
    }


def test_commands_are_found_as_importlib_finds_them():
    expected = {each.name: each.value for each in entry_points(group=GROUP)}

    assert find_commands() == expected
    assert "tree" in expected


def test_folders_and_files_that_cannot_be_read_hide_no_command(tmp_path, monkeypatch):
    for name, content in [("a", b"\xff"), ("b", b"[other]\nx = y\n")]:
        folder = tmp_path / f"{name}.dist-info"
        folder.mkdir()
        (folder / "entry_points.txt").write_bytes(content)
    (tmp_path / "c.egg-info").write_text("a file")
    last = tmp_path / "d.dist-info"
    last.mkdir()
    (last / "entry_points.txt").write_text(
        f"[{GROUP}]\nlook = some.module:Look [extra]\n\n[console_scripts]\nx = y:z\n"
    )
    monkeypatch.setattr(sys, "path", [str(tmp_path / "gone"), str(tmp_path)])

    assert find_commands() == {"look": "some.module:Look"}


def test_every_code_has_one_severity():
    assert len(SEVERITY) == 21
    assert finding("TORN_TAIL", "cut", "log", line=3) == Finding(
        "TORN_TAIL", "info", "cut", "log", 3
    )
