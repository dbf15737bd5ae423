"""A log as one page, whole in itself and harmless whatever the log holds."""

from __future__ import annotations

import io
import json
import sys
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.samples import lifecycle, one_run, record, records, write
from flink_agents_eventlog import encode
from flink_agents_eventlog.commands import main
from flink_agents_eventlog.lifecycle import (
    FAILED,
    FINISHED,
    INPUT_EVENT,
    STARTED,
    TOOL,
)

BEGIN, WRITE = "_agent_run_begin_event", "_short_term_write_event"
ALLOWED = {
    *("html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "div", "b"),
    *("i", "table", "tr", "th", "td", "details", "summary", "span"),
}


class Page(HTMLParser):
    """The tags of a page, their attributes, and the text between, cell by cell."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.names, self.cells, self._open = set(), set(), [], []
        self.feed(html)
        self.close()
        assert self._open == []
        self.cells = [cell.strip() for cell in self.cells]

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.names |= {name for name, _ in attrs}
        if tag != "meta":
            self._open.append(tag)
        if tag in ("td", "p", "h2", "summary"):
            self.cells.append("")

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        if self.cells:
            self.cells[-1] += data


def report(capsys, *args):
    status = main(["report", *args])
    out, err = capsys.readouterr()
    return status, Page(out), out, err


def memory(value, **fields):
    attributes = {"key": "order-1", "value": value}
    return record(event_attributes=attributes, **fields)


LOG = [
    *one_run(),
    memory({"a": 1}, milliseconds=1300, event_id="s", event_type=BEGIN),
    memory(
        {"b": {"x": [True]}},
        milliseconds=1301,
        event_id="w",
        event_type=WRITE,
        execution_id="action-1",
        entity_type="action",
        entity_name="answer",
        action_trigger_event_id="input",
    ),
]


def test_a_page_tells_runs_failures_and_memory(tmp_path, capsys):
    status, page, _, err = report(capsys, write(tmp_path / "log", LOG))

    cells = page.cells
    assert (status, err) == (0, "")
    assert cells[0].splitlines()[0] == str(tmp_path / "log")
    for row in (
        ["1", "tool search", "ValueError", "no such\npage", "1.5 ms"],
        ["llm chat_model", "finished", "", "900 ms"],
        ["a", "1", "b", '{"x":[true]}'],
        ["Nothing is wrong with this log."],
    ):
        assert any(cells[at : at + len(row)] == row for at in range(len(cells))), row


def test_keys_without_memory_are_left_out(tmp_path, capsys):
    _, page, _, _ = report(capsys, write(tmp_path / "log", one_run()))

    assert not [cell for cell in page.cells if cell.startswith("Short-term")]


def test_a_page_loads_and_runs_nothing(tmp_path, capsys):
    _, page, html, _ = report(capsys, write(tmp_path / "log", LOG))

    assert page.tags <= ALLOWED
    assert page.names <= {
        *("lang", "charset", "http-equiv", "content", "name", "class", "style"),
        *("open", "colspan"),
    }
    assert "default-src 'none'" in html
    assert "url(" not in html
    assert "://" not in html


def test_what_a_log_holds_does_not_become_markup(tmp_path, capsys):
    evil = "\"'><script>alert(1)</script>&amp;\x1b\u202e"
    fields = {"entity_type": TOOL, "entity_name": evil, "input_run_id": evil}
    failed = {"error_type": evil, "error_message": evil}
    log = [
        record(0, "i", INPUT_EVENT, business_key=evil, agent_name=evil),
        lifecycle(1, STARTED, evil, **fields),
        lifecycle(2, FAILED, evil, **fields, event_attributes=failed),
        memory({evil: evil}, milliseconds=3, event_id=evil, event_type=BEGIN),
        record(4, evil, evil),
    ]

    _, page, html, _ = report(capsys, write(tmp_path / "log", log))

    assert page.tags <= ALLOWED
    assert "<script" not in html
    assert "\x1b" not in html
    assert "\u202e" not in html
    assert any(
        "<script>alert(1)</script>&amp;\\x1b\\u202e" in cell for cell in page.cells
    )


@given(log=st.lists(records, max_size=6))
def test_records_of_any_content_make_a_page(tmp_path_factory, log):
    folder = tmp_path_factory.mktemp("log")
    write(folder / "log", log)

    assert main(["report", str(folder / "log"), "-o", str(folder / "page")]) in (0, 1)

    assert Page((folder / "page").read_text()).tags <= ALLOWED


@pytest.mark.parametrize("choice", [["--run", "other"], ["--key", "order-2"]])
def test_runs_can_be_chosen(tmp_path, capsys, choice):
    other = {"input_run_id": "other", "business_key": "order-2", "agent_name": "Other"}
    path = write(tmp_path / "log", [*LOG, record(9000, "i2", INPUT_EVENT, **other)])

    _, page, _, _ = report(capsys, path, *choice)

    assert [cell for cell in page.cells if "Agent" in cell or "Other" in cell] == [
        "Otherkey order-2run othercomplete"
    ]
    assert main(["report", path, choice[0], "none"]) == 2
    assert "no run" in capsys.readouterr().err


def test_what_does_not_fit_is_counted_and_failures_are_kept(tmp_path, capsys):
    log = []
    for run in range(320):
        fields = {"input_run_id": f"r{run}", "parent_execution_id": None}
        log += [
            record(run, f"i{run}", INPUT_EVENT, input_run_id=f"r{run}"),
            lifecycle(run, STARTED, f"x{run}", **fields),
            lifecycle(run, FINISHED if run else FAILED, f"x{run}", **fields),
        ]

    _, page, _, _ = report(capsys, write(tmp_path / "log", log))

    assert "20 more runs, choose by --run or --key" in page.cells
    shown = [cell for cell in page.cells if "key order-1" in cell]
    assert "run r0" in shown[0]
    assert "run r21" in shown[1]
    assert len(shown) == 300


def test_a_tree_deeper_than_any_stack_and_long_texts_fit(tmp_path, capsys):
    log = [
        lifecycle(n, status, f"x{n}", parent_execution_id=f"x{n - 1}" if n else None)
        for n in range(3_000)
        for status in (STARTED, FINISHED)
    ]
    log[-1].event_attributes = {"error_message": "x" * 5_000}

    _, page, html, _ = report(capsys, write(tmp_path / "log", log))

    assert "2,000 more lines, see tree" in page.cells
    assert "x" * 2_001 not in html


def test_findings_stand_on_the_page_and_on_stderr(tmp_path, capsys):
    path = tmp_path / "log"
    path.write_bytes(b"{]\n" + encode(LOG[0]) + b"\n")

    status, page, _, err = report(capsys, str(path))

    assert status == 1
    assert "MALFORMED_RECORD" in page.cells
    assert f"{path}:1" in page.cells
    assert err.startswith(f"{path}:1: error MALFORMED_RECORD")


def test_the_json_form_says_what_was_read(tmp_path, capsys):
    log, page = write(tmp_path / "log", LOG), str(tmp_path / "page.html")

    assert main(["report", log, "--json", "-o", page]) == 0

    assert json.loads(capsys.readouterr().out) == {
        "format": 1,
        "command": "report",
        "findings": [],
        "records": 10,
        "runs": 1,
        "files": 1,
    }


def test_a_report_is_not_written_over_what_it_reads(tmp_path, capsys):
    log = write(tmp_path / "log", LOG)

    assert main(["report", log, "-o", log]) == 2
    assert "would be read while it is written" in capsys.readouterr().err


def test_a_page_is_utf_8_whatever_the_terminal_speaks(tmp_path, monkeypatch):
    stdout = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stdout)
    log = [record(0, "ü", INPUT_EVENT, business_key="ключ")]

    assert main(["report", write(tmp_path / "log", log)]) == 0

    assert "key ключ" in stdout.buffer.getvalue().decode("utf-8")
