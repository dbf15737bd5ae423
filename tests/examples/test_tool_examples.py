"""The examples with tools and documents from elsewhere, as docs/tools.md shows them."""

import re
from pathlib import Path

import pytest

from hosting import TYPED_EVENTS
from processes import printed_by

pytestmark = pytest.mark.skipif(
    TYPED_EVENTS, reason="the examples are written for hosts with type strings"
)

DOCS = Path(__file__).parents[2] / "docs" / "tools.md"


def block(number):
    return re.findall(r"```text\n(.*?)```", DOCS.read_text(), re.DOTALL)[number]


def run(module, folder):
    code = (
        "import warnings; warnings.simplefilter('ignore')\n"
        "from pathlib import Path\n"
        f"from {module} import main\n"
        f"main(Path({str(folder)!r}))"
    )
    return "\n".join(printed_by(code)) + "\n"


def test_one_trace_spans_the_agent_and_its_mcp_server(tmp_path):
    printed = run("shop_demo", tmp_path)

    assert printed.startswith("[{'ada': '67.50 EUR for three; there are seven.'}]")
    _, _, trace = printed.partition("one trace of two processes:\n")
    assert trace == block(1)


def test_what_is_asked_of_a_library_is_in_spans_and_counts(tmp_path):
    assert run("library_demo", tmp_path) == block(0)
