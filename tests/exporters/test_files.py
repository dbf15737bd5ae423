"""Names of files, and how full ones are set aside."""

import logging
import os
import pickle
from pathlib import Path

import pytest

from opentelemetry.exporter.flink_agents._files import LogFile, Subtask
from opentelemetry.exporter.flink_agents._writer import EventLogWriter

FOLDER = Path("log")


def name_of(job="job", task="task", index=0):
    return LogFile(FOLDER, Subtask(job, task, index)).path.name


def test_a_subtask_has_a_file_of_its_own():
    assert (
        name_of("4f1c", "Source -> agent", 3) == "events-4f1c-Source -_ agent-3.jsonl"
    )


@pytest.mark.parametrize("character", [*'\\/:*?"<>|', "\n", "\x00", "\x1f", "\x7f"])
def test_characters_that_names_cannot_have_become_an_underscore(character):
    assert name_of(task=f"a{character}b") == "events-job-a_b-0.jsonl"


def test_no_name_leads_out_of_the_folder():
    path = LogFile(FOLDER, Subtask("..", "../../etc/passwd", 0)).path

    assert path.parent == FOLDER
    assert path.name == "events-..-.._.._etc_passwd-0.jsonl"


def test_a_lone_surrogate_in_a_name_does_not_stop_the_log(tmp_path):
    file = LogFile(tmp_path, Subtask("job", "a\ud83db", 0))

    assert file.path.name == "events-job-a?b-0.jsonl"
    assert EventLogWriter(file, rotate_bytes=0, keep_files=0).append(b"1")


@pytest.mark.parametrize("letter", ["x", "é", "漢", "😀"])
def test_long_task_names_fit_into_a_name_and_stay_apart(letter, tmp_path):
    names = {
        name_of(task=letter * 300 + end, index=index)
        for end in ("", "a", "b")
        for index in (0, 1, 127)
    }

    assert len(names) == 9
    for name in names:
        # With room for the number of a file set aside and the pid of a child.
        assert len(name.encode()) <= 255 - len("-1234567.1234567")
        (tmp_path / name).touch()
    assert sorted(name.rsplit("-", 1)[1] for name in names) == sorted(
        3 * ["0.jsonl", "1.jsonl", "127.jsonl"]
    )


def test_the_file_of_a_child_is_not_the_parents():
    file = LogFile(FOLDER, Subtask("job", "task", 0))

    assert file.of_child(123).path.name == "events-job-task-0-123.jsonl"


def test_a_place_can_be_pickled():
    subtask = Subtask("job", "task", 0)

    assert pickle.loads(pickle.dumps(subtask)) == subtask


@pytest.fixture
def file(tmp_path):
    return LogFile(tmp_path / "log", Subtask("job", "task", 0))


def write(file, *lines, rotate_bytes=8, keep_files=0):
    writer = EventLogWriter(file, rotate_bytes=rotate_bytes, keep_files=keep_files)
    acknowledged = [writer.append(line) for line in lines]
    writer.close()
    assert acknowledged == [True] * len(lines)
    return writer


def contents(file):
    return {
        path.name.removeprefix("events-job-task-0"): path.read_text().splitlines()
        for path in file.directory.iterdir()
    }


def test_a_full_file_gets_the_next_number_and_the_newest_has_none(file):
    write(file, b"1 -", b"2 -", b"3 -", b"4 -", b"5 -")

    assert contents(file) == {
        ".1.jsonl": ["1 -", "2 -"],
        ".2.jsonl": ["3 -", "4 -"],
        ".jsonl": ["5 -"],
    }


def test_no_file_exceeds_the_limit_unless_one_line_does(file):
    write(file, b"1", b"longer than a file", b"2")

    assert contents(file) == {
        ".1.jsonl": ["1"],
        ".2.jsonl": ["longer than a file"],
        ".jsonl": ["2"],
    }


def test_files_are_not_set_aside_where_the_limit_is_0(file):
    write(file, *[b"12345678"] * 5, rotate_bytes=0)

    assert contents(file) == {".jsonl": ["12345678"] * 5}


def test_numbers_only_grow(file):
    file.directory.mkdir()
    for name in (".7.jsonl", ".007.jsonl", ".x.jsonl", ".9.jsonl.gz", "5.8.jsonl"):
        (file.directory / f"events-job-task-0{name}").write_text("old\n")

    write(file, b"1234567", b"2")

    assert contents(file) == {
        ".7.jsonl": ["old"],
        ".007.jsonl": ["old"],
        ".x.jsonl": ["old"],
        ".9.jsonl.gz": ["old"],
        "5.8.jsonl": ["old"],
        ".8.jsonl": ["1234567"],
        ".jsonl": ["2"],
    }


def test_beyond_keep_files_the_oldest_are_deleted_counted_and_said_once(file, caplog):
    lines = [b"%d------" % number for number in range(6)]

    writer = write(file, *lines, keep_files=2)

    assert contents(file) == {
        ".4.jsonl": ["3------"],
        ".5.jsonl": ["4------"],
        ".jsonl": ["5------"],
    }
    assert writer.deleted_files == 3
    assert [each.message for each in caplog.records] == [
        (
            f"The oldest files of the Event Log {file.path} are deleted: more than 2"
            " were full (event-log.keep-files)"
        )
    ]
    assert caplog.records[0].levelno == logging.WARNING


def test_keep_files_0_keeps_all(file):
    writer = write(file, *[b"12345678"] * 20, keep_files=0)

    assert len(contents(file)) == 20
    assert writer.deleted_files == 0


def test_a_file_that_cannot_be_set_aside_grows_and_nothing_is_lost(
    file, caplog, monkeypatch
):
    def refusing(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "rename", refusing)

    writer = write(file, b"1234567", b"2", b"3")

    assert contents(file) == {".jsonl": ["1234567", "2", "3"]}
    assert (writer.written, writer.lost) == (3, 0)
    assert [each.message for each in caplog.records] == [
        f"Cannot rotate {file.path}: [Errno 13] Permission denied"
    ]


def test_an_old_file_that_cannot_be_deleted_stays(file, monkeypatch):
    def refusing(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "unlink", refusing)

    writer = write(file, b"1234567", b"2234567", b"3", keep_files=1)

    assert sorted(contents(file)) == [".1.jsonl", ".2.jsonl", ".jsonl"]
    assert (writer.deleted_files, writer.lost) == (0, 0)


def test_a_file_of_an_earlier_process_counts_towards_its_size(file):
    write(file, b"1234567")

    write(file, b"2")

    assert contents(file) == {".1.jsonl": ["1234567"], ".jsonl": ["2"]}


def test_a_forked_child_sets_its_own_files_aside_and_leaves_the_parents(file):
    writer = EventLogWriter(file, rotate_bytes=8, keep_files=0)
    writer.append(b"parent1")
    child = os.fork()
    if child == 0:
        is_written = all(writer.append(line) for line in (b"child 1", b"child 2"))
        os._exit(0 if is_written else 1)
    assert os.waitpid(child, 0)[1] == 0
    writer.close()

    assert contents(file) == {
        ".jsonl": ["parent1"],
        f"-{child}.1.jsonl": ["child 1"],
        f"-{child}.jsonl": ["child 2"],
    }
