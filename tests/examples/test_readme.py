"""The first screen of the README: its example runs and leaves what is shown."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hosting import TYPED_EVENTS
from processes import environment
from scripted_llm import ScriptedLLM

pytestmark = pytest.mark.skipif(
    TYPED_EVENTS, reason="the examples are written for hosts with type strings"
)

README = Path(__file__).parents[2] / "README.md"


def block(language):
    return re.search(rf"```{language}\n(.*?)```", README.read_text(), re.DOTALL)[1]


def without_figures(tree):
    """Ids, durations and the blanks before them differ from run to run."""
    tree = re.sub(r"run [0-9a-f]{8}", "run ID", tree)
    return re.sub(r" +[0-9.]+ m?s\b", " TIME", tree)


def test_the_example_leaves_the_tree_that_is_shown(tmp_path):
    from order_script import TOOLS_REPLIES

    with ScriptedLLM(TOOLS_REPLIES) as server:
        variables = environment(OPENAI_BASE_URL=server.base_url)
        for name in list(variables):
            if name.startswith("OTEL_"):
                del variables[name]
        subprocess.run(
            [sys.executable, "-c", block("python")],
            cwd=tmp_path,
            env=variables,
            check=True,
            capture_output=True,
        )
    shown = subprocess.run(
        [sys.executable, "-m", "flink_agents_eventlog", "tree", "log"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        check=True,
        capture_output=True,
        encoding="utf-8",
    )

    _, _, tree = block("console").partition("\n")
    assert without_figures(shown.stdout) == without_figures(tree)
