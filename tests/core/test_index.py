"""The index of large logs: the same answers as from reading it all, or no index."""

import json
import os
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.samples import NATIVE_LINE, NESTED_LINE, at, record, write
from core.test_state_command import LOG
from flink_agents_eventlog import encode, index, memory_at
from flink_agents_eventlog.memory_history import memory_history

KEYS = ["order-1", "order-2", "nobody"]
LINES = [encode(each) + b"\n" for each in LOG]
PRETTY = json.dumps(json.loads(LINES[1]), indent=2).encode() + b"\n"
OTHERS = [
    PRETTY,
    NATIVE_LINE + b"\n",
    NESTED_LINE + b"\n",
    b"{broken}\n",
    b"\n",
    b"{\n",
    b"\0\0" + LINES[5],
    LINES[5][:40],
    LINES[5].replace(b"order-1", b"\\ud800"),
    b"\xef\xbb\xbf" + LINES[1],
]


@pytest.fixture(autouse=True)
def _every_file_is_large(monkeypatch):
    monkeypatch.setattr(index, "SMALLEST", 0)


def answer(folder, **moment):
    try:
        return memory_at(folder, **moment)
    except LookupError as error:
        return str(error)


def answers(folder):
    """All that can be asked of a log."""
    moments = [
        {},
        {"run": "run"},
        {"run": "run-1"},
        {"run": "run-2"},
        {"run": ""},
        {"event": "other"},
        {"event": LOG[5].event_id},
        {"event": "nothing"},
        *({"at": at(time)} for time in (0, 2, 11, 99)),
    ]
    found = [
        answer(folder, key=key, **moment)
        for key in (*KEYS, "\ud800")
        for moment in moments
    ]
    findings = []
    changes = memory_history([folder], "order-1", "tier", findings.append)
    return [*found, list(changes), findings]


def plain_answers(folder):
    with patch.object(index, "SMALLEST", 1 << 60):
        return answers(folder)


pieces = st.lists(st.sampled_from([*LINES, *OTHERS]), max_size=14)


@settings(max_examples=40)
@given(stages=st.lists(st.tuples(pieces, pieces), min_size=1, max_size=3))
def test_it_answers_as_reading_it_all_does_while_the_log_grows(stages):
    with TemporaryDirectory() as folder:
        for first, second in stages:
            for name, more in (("a.1", first), ("a", second), ("b", second[::-1])):
                with Path(folder, f"events-{name}.jsonl").open("ab") as file:
                    file.write(b"".join(more))

            assert answers(folder) == plain_answers(folder)


@pytest.fixture(name="log")
def _log(tmp_path):
    write(tmp_path / "events-a.jsonl", LOG)
    return tmp_path


def reads_of(log, monkeypatch):
    """How many records are decoded for one answer."""
    from flink_agents_eventlog import log_file

    decoded = []
    real = log_file.decode
    monkeypatch.setattr(
        log_file, "decode", lambda text: decoded.append(text) or real(text)
    )
    memory_at(log, key="order-1")
    monkeypatch.undo()
    monkeypatch.setattr(index, "SMALLEST", 0)
    return len(decoded)


def test_a_second_question_reads_only_the_records_of_its_key(log, monkeypatch):
    others = [
        record(20 + n, f"o{n}", "_input_event", business_key=f"other-{n}")
        for n in range(500)
    ]
    write(log / "events-b.jsonl", others)

    assert reads_of(log, monkeypatch) > 500
    assert reads_of(log, monkeypatch) < 20


def test_what_is_appended_is_all_that_is_read_of_a_file_again(log, monkeypatch):
    reads_of(log, monkeypatch)
    before = reads_of(log, monkeypatch)
    with (log / "events-a.jsonl").open("ab") as file:
        file.write(LINES[7] * 3)

    assert reads_of(log, monkeypatch) == before + 6  # indexed, then read


FILLER = encode(record(1, "filler", "_input_event", business_key="another")) + b"\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # As long as before, and the same at both ends.
        ([*LINES[:6], *LINES[6:]], [*LINES[5::-1], *LINES[6:]]),
        # Longer, and another at its beginning.
        ([*LINES], [PRETTY, *LINES[2:], *LINES]),
        ([*LINES], LINES[:4]),
    ],
    ids=["edited in the middle", "written anew and grown", "shorter"],
)
def test_a_file_that_is_not_what_it_was_is_read_anew(tmp_path, before, after):
    path = tmp_path / "events-a.jsonl"
    around = [FILLER] * 100 if len(before) == len(after) else []
    path.write_bytes(b"".join([*around, *before, *around]))
    os.utime(path, ns=(1, 1))
    answers(tmp_path)

    path.write_bytes(b"".join([*around, *after, *around]))

    assert answers(tmp_path) == plain_answers(tmp_path)


def test_another_file_of_that_name_is_read_anew(log):
    answers(log)
    (log / "events-a.jsonl").rename(log / "events-a.1.jsonl")
    write(log / "events-a.jsonl", LOG[6:])

    assert answers(log) == plain_answers(log)


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b"no database" * 500),
        lambda path: path.write_bytes(path.read_bytes()[:5000]),
        lambda path: path.write_bytes(b""),
        lambda path: path.unlink(),
        lambda path: sqlite3.connect(path).execute("PRAGMA user_version = 99"),
        lambda path: sqlite3.connect(path).execute("DROP TABLE keys"),
    ],
    ids=["garbage", "cut", "empty", "gone", "another version", "a table less"],
)
def test_an_index_that_is_damaged_is_made_anew(log, damage, monkeypatch):
    answers(log)

    damage(log / index.NAME)

    assert answers(log) == plain_answers(log)
    assert reads_of(log, monkeypatch) < 20


def test_where_it_cannot_be_kept_the_log_is_read_whole(log):
    (log / index.NAME).mkdir()

    assert answers(log) == plain_answers(log)


def test_a_link_in_its_place_is_not_followed(log, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    (log / index.NAME).symlink_to(elsewhere)

    assert answers(log) == plain_answers(log)
    assert not elsewhere.exists()


def test_it_is_for_the_owner_only(log):
    memory_at(log, key="order-1")

    assert (log / index.NAME).stat().st_mode & 0o777 == 0o600


def test_small_logs_and_compressed_ones_have_none(log, monkeypatch):
    monkeypatch.setattr(index, "SMALLEST", 16 << 20)
    answers(log)

    assert not (log / index.NAME).exists()


def test_a_folder_that_was_moved_keeps_it(log, tmp_path, monkeypatch):
    with (log / "events-a.jsonl").open("ab") as file:
        file.write(b"{broken}\n" + LINES[0])
    answers(log)
    moved = tmp_path / "moved"
    moved.mkdir()
    for each in ("events-a.jsonl", index.NAME):
        (log / each).rename(moved / each)

    assert reads_of(moved, monkeypatch) < 20
    assert answers(moved) == plain_answers(moved)


def test_several_that_ask_at_once_all_get_the_answer(log):
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: memory_at(log, key="order-1"), range(16)))

    assert all(each == found[0] for each in found)
    assert found[0].short_term == memory_at(log, key="order-1").short_term


def test_a_process_that_is_killed_while_it_indexes_leaves_nothing_wrong(log):
    with (log / "events-a.jsonl").open("ab") as file:
        for _ in range(3000):
            file.write(b"".join(LINES))
    code = (
        "import os, sys, threading\n"
        "from flink_agents_eventlog import index, memory_at\n"
        "index.SMALLEST = 0\n"
        "threading.Timer(float(sys.argv[1]), os._exit, [9]).start()\n"
        "memory_at(sys.argv[2], key='order-1')\n"
        "os._exit(0)\n"
    )
    for seconds in (0.05, 0.2, 0.4):
        subprocess.run(
            [sys.executable, "-c", code, str(seconds), str(log)], check=False
        )

    assert memory_at(log, key="order-1") == plain_answer(log)


def plain_answer(log):
    with patch.object(index, "SMALLEST", 1 << 60):
        return memory_at(log, key="order-1")
