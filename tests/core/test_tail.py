"""Files that grow, are rotated, emptied or come later."""

from __future__ import annotations

import gzip
from contextlib import closing

import pytest

from core.samples import one_run
from flink_agents_eventlog import encode
from flink_agents_eventlog.tail import Tail
from opentelemetry.exporter.flink_agents._files import LogFile
from opentelemetry.exporter.flink_agents._writer import EventLogWriter

LOG = one_run()
LINES = [encode(each) + b"\n" for each in LOG]


@pytest.fixture(name="follow")
def _follow(tmp_path):
    tails = []

    def start(*paths, **options):
        tail = Tail(paths or [tmp_path], tail_findings.append, **options)
        tails.append(tail)
        return lambda: [(each.record.event_id, each.line) for each in tail.grown()]

    tail_findings = start_findings = []
    start.findings = start_findings
    yield start
    for tail in tails:
        tail.close()


def append(path, *lines):
    with path.open("ab") as file:
        file.write(b"".join(lines))


def ids(*places, first=1):
    return [(LOG[at].event_id, line) for line, at in enumerate(places, first)]


def test_only_what_comes_from_now_on_is_given_and_each_once(tmp_path, follow):
    path = tmp_path / "events-a.jsonl"
    append(path, *LINES[:2])
    grown = follow(path)

    assert grown() == []
    append(path, *LINES[2:4])
    assert grown() == ids(2, 3, first=3)
    assert grown() == []


def test_from_the_start_all_is_given(tmp_path, follow):
    append(tmp_path / "events-a.jsonl", *LINES)

    assert follow(from_start=True)() == ids(*range(len(LOG)))


def test_a_line_is_given_when_it_is_whole(tmp_path, follow):
    path = tmp_path / "events-a.jsonl"
    append(path, LINES[0], LINES[1][:30])
    grown = follow(path)

    assert grown() == []
    append(path, LINES[1][30:50])
    assert grown() == []
    append(path, LINES[1][50:])
    assert grown() == ids(1, first=2)
    assert follow.findings == []


def test_a_record_over_several_lines_is_given_when_it_is_whole(tmp_path, follow):
    path = tmp_path / "events-a.jsonl"
    first, *rest = (
        LINES[0].replace(b',"', b',\n"').replace(b'{"t', b'{\n"t').split(b"\n")
    )
    pretty = [first + b"\n", *(line + b"\n" for line in rest if line)]
    pretty[-1:] = [pretty[-1].rstrip()[:-1] + b"\n", b"}\n"]
    append(path, *pretty[:3])
    grown = follow(path)

    assert grown() == []
    append(path, *pretty[3:], LINES[1])
    assert grown() == ids(1, first=len(pretty) + 1)
    append(path, *pretty[:3])
    assert grown() == []
    append(path, *pretty[3:])
    assert grown() == ids(0, first=len(pretty) + 2)
    assert follow.findings == []


@pytest.mark.parametrize("named", ["file", "folder"])
def test_a_rotated_file_is_read_to_its_end_and_the_new_one_from_its_beginning(
    tmp_path, follow, named
):
    path = tmp_path / "events-a.jsonl"
    append(path, LINES[0])
    grown = follow(path if named == "file" else tmp_path)
    grown()

    append(path, LINES[1])
    path.rename(tmp_path / "events-a.1.jsonl")
    append(path, *LINES[2:4])
    assert grown() == [*ids(1, first=2), *ids(2, 3)]
    append(path, LINES[4])
    assert grown() == ids(4, first=3)


def test_nothing_is_lost_while_a_writer_rotates(tmp_path, follow):
    grown = follow()
    grown()
    follow.findings.clear()  # an empty folder
    writer = EventLogWriter(LogFile(tmp_path), rotate_bytes=700, keep_files=0)

    found = []
    with closing(writer):
        for line in LINES * 3:
            writer.append(line.rstrip())
            found += grown()

    assert len(list(tmp_path.iterdir())) > 3
    assert [name for name, _ in found] == [each.event_id for each in LOG * 3]
    assert follow.findings == []


def test_a_file_that_was_emptied_is_read_from_its_beginning(tmp_path, follow):
    path = tmp_path / "events-a.jsonl"
    append(path, *LINES[:4])
    grown = follow(path)
    grown()

    path.write_bytes(LINES[5])

    assert grown() == ids(5)


def test_a_file_that_comes_later_is_read_and_its_absence_told_once(tmp_path, follow):
    path = tmp_path / "events-a.jsonl"
    grown = follow(path)

    assert grown() == grown() == []
    append(path, LINES[0])
    assert grown() == ids(0)
    assert [str(each) for each in follow.findings] == [
        f"{path}: error UNREADABLE_FILE: No such file or directory, waiting"
    ]


def test_an_empty_folder_is_told_once(tmp_path, follow):
    grown = follow()

    assert grown() == grown() == []
    assert [each.code for each in follow.findings] == ["UNREADABLE_FILE"]


def test_a_file_that_goes_with_half_a_line_tells_it(tmp_path, follow):
    path = tmp_path / "events-a.jsonl"
    append(path, LINES[0])
    grown = follow(from_start=True)
    grown()

    append(path, LINES[1][:30])
    grown()
    path.rename(tmp_path / "gone")

    assert grown() == []
    assert "TORN_TAIL" in [each.code for each in follow.findings]


def test_broken_lines_are_findings_and_compressed_files_are_left_out(tmp_path, follow):
    (tmp_path / "events-a.jsonl.gz").write_bytes(gzip.compress(LINES[0]) + b"\n")
    append(tmp_path / "events-b.jsonl", b"\xff\n[]\n", LINES[0])

    assert follow(from_start=True)() == [("input", 3)]
    assert [each.line for each in follow.findings] == [1, 2]


def test_what_is_no_text_is_told_once(tmp_path, follow):
    path = tmp_path / "events-a.jsonl"
    append(path, "{}\n".encode("utf-16"))
    grown = follow(path, from_start=True)

    assert grown() == []
    assert [each.code for each in follow.findings] == ["UNREADABLE_FILE"]
