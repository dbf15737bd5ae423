"""A line is in the file as soon as `append` says so, whatever happens around it."""

import contextlib
import json
import logging
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from opentelemetry.exporter.flink_agents._files import LogFile
from opentelemetry.exporter.flink_agents._writer import EventLogWriter
from processes import environment, printed_by

WRITER = """
import logging, os, resource, sys
from pathlib import Path
from opentelemetry.exporter.flink_agents._files import LogFile
from opentelemetry.exporter.flink_agents._writer import EventLogWriter
folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(os.environ["LOG"])
file = LogFile(folder)
writer = EventLogWriter(file, rotate_bytes=0, keep_files=0)
"""


@pytest.fixture
def file(tmp_path):
    return LogFile(tmp_path / "log")


@pytest.fixture
def writer(file):
    writer = EventLogWriter(file, rotate_bytes=0, keep_files=0)
    yield writer
    writer.close()


def counts(writer):
    return writer.written, writer.lost


def warnings_in(caplog):
    return [each.message for each in caplog.records if each.levelno >= logging.WARNING]


def mode(path):
    return f"{path.stat().st_mode & 0o777:o}"


def test_the_first_line_creates_folder_and_file_for_the_owner_only(file, writer):
    assert not file.directory.exists()

    assert writer.append(b"1") is True

    assert (mode(file.directory), mode(file.path)) == ("700", "600")
    assert file.path.read_bytes() == b"1\n"


def test_each_line_is_one_write_of_the_whole_line(writer, monkeypatch):
    writes = []
    write = os.write

    def recording(descriptor, data):
        writes.append(data)
        return write(descriptor, data)

    monkeypatch.setattr(os, "write", recording)

    writer.append(b'{"a": 1}')
    writer.append(b"x" * 5_000_000)

    assert writes == [b'{"a": 1}\n', b"x" * 5_000_000 + b"\n"]


def test_a_line_is_in_the_file_when_append_returns(file, writer):
    for number in range(3):
        writer.append(b"%d" % number)

        assert file.path.read_bytes().splitlines()[-1] == b"%d" % number


def test_threads_tear_no_line_and_lose_none(file, writer):
    def write(thread):
        for number in range(2000):
            writer.append(b'[%d, %d, "%s"]' % (thread, number, b"x" * (number % 300)))

    threads = [threading.Thread(target=write, args=(each,)) for each in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()

    lines = [json.loads(line) for line in file.path.read_bytes().splitlines()]
    assert counts(writer) == (16_000, 0)
    for thread in range(8):
        numbers = [number for who, number, _ in lines if who == thread]
        assert numbers == list(range(2000))


def test_processes_that_share_a_file_tear_no_line_and_lose_none(tmp_path):
    code = f"""{WRITER}
class Shared(LogFile):
    path = folder / "events-shared.jsonl"
writer = EventLogWriter(Shared(folder), rotate_bytes=0, keep_files=0)
for number in range(1000):
    writer.append(b"[%s, %d, \\"%s\\"]" % (sys.argv[2].encode(), number, b"x" * 20_000))
print(writer.written, writer.lost)
"""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path / "log"), str(number)],
            env=environment(),
            stdout=subprocess.PIPE,
        )
        for number in range(4)
    ]
    printed = [process.communicate(timeout=120)[0] for process in processes]

    assert printed == [b"1000 0\n"] * 4
    written = (tmp_path / "log" / "events-shared.jsonl").read_bytes()
    # One that opens the file while another writes may take it for torn: an empty line.
    lines = [json.loads(line) for line in written.splitlines() if line]
    for process in range(4):
        numbers = [number for who, number, _ in lines if who == process]
        assert numbers == list(range(1000))


def test_a_full_disk_loses_its_record_and_the_next_line_starts_anew(tmp_path):
    printed = printed_by(
        f"""{WRITER}
logging.disable()
print(writer.append(b"a" * 90))
resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
print(writer.append(b"b" * 90), writer.append(b"c"))
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
print(writer.append(b"d"), writer.append(b"e"))
print(writer.written, writer.lost)
print(*file.path.read_text().split("\\n"), sep=",")
""",
        LOG=tmp_path / "log",
    )

    assert printed == [
        "True",
        "False False",
        "True True",
        "3 2",
        f"{'a' * 90},{'b' * 9},d,e,",
    ]


def test_a_full_file_system_says_so_once(tmp_path, caplog):
    folder = tmp_path / "small"
    folder.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    with contextlib.suppress(OSError):
        subprocess.run(mounting, capture_output=True, check=False)
    if not folder.is_mount():
        pytest.skip("only root can mount a small file system")
    file = LogFile(folder / "log")
    writer = EventLogWriter(file, rotate_bytes=0, keep_files=0)
    try:
        acknowledged = [writer.append(b"%06d" % n + b"x" * 3000) for n in range(30)]
        lost_at_first = writer.lost
        # Room again, as if somebody had cleaned up.
        subprocess.run(["mount", "-o", "remount,size=1m", str(folder)], check=True)
        acknowledged.append(writer.append(b"%06d" % 30 + b"x" * 3000))
        lines = file.path.read_bytes().splitlines()
    finally:
        writer.close()
        subprocess.run(["umount", str(folder)], check=True)

    whole = [int(line[:6]) for line in lines if len(line) == 3006]
    assert whole == [n for n, is_written in enumerate(acknowledged) if is_written]
    assert acknowledged[0]
    assert not acknowledged[29]
    assert acknowledged[30]
    assert (writer.lost, writer.written) == (lost_at_first, 31 - lost_at_first)
    [said] = warnings_in(caplog)
    assert "Records of the Event Log are lost" in said
    assert str(file.path) in said


def test_a_descriptor_closed_by_somebody_is_opened_again(file, writer):
    writer.append(b"1")
    os.close(writer._descriptor)

    assert writer.append(b"2")

    assert file.path.read_bytes() == b"1\n2\n"


def test_nothing_goes_to_the_file_that_got_our_descriptors_number(
    file, writer, tmp_path
):
    writer.append(b"1")
    number = writer._descriptor
    other = os.open(tmp_path / "other", os.O_RDWR | os.O_CREAT)
    os.dup2(other, number)
    os.close(other)

    assert writer.append(b"2")

    assert file.path.read_bytes() == b"1\n2\n"
    assert os.pread(number, 10, 0) == b""  # still open, still theirs
    os.close(number)


def test_an_input_output_error_loses_one_record(file, writer, monkeypatch, caplog):
    writer.append(b"1")

    def failing(*_):
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", failing)
        assert not writer.append(b"2")
    assert writer.append(b"3")

    assert file.path.read_bytes() == b"1\n3\n"
    assert counts(writer) == (2, 1)
    assert warnings_in(caplog) == [
        (
            f"Records of the Event Log are lost: {file.path}: [Errno 5] Input/output"
            " error (1 so far)"
        )
    ]


@pytest.mark.parametrize("how", ["removed", "replaced"])
def test_a_folder_that_vanishes_is_made_again(file, writer, how):
    writer.append(b"1")
    file.path.unlink()
    file.directory.rmdir()
    if how == "replaced":
        file.directory.mkdir()

    assert writer.append(b"2")

    assert file.path.read_bytes() == b"2\n"
    assert counts(writer) == (2, 0)


def test_a_file_removed_by_a_cleaner_is_made_again(file, writer):
    writer.append(b"1")
    file.path.unlink()

    assert writer.append(b"2")

    assert file.path.read_bytes() == b"2\n"


def test_a_folder_that_cannot_be_made_loses_records_until_it_can(file, writer, caplog):
    file.directory.write_text("a file in the way")

    assert [writer.append(b"1"), writer.append(b"2")] == [False, False]
    file.directory.unlink()
    assert writer.append(b"3")

    assert file.path.read_bytes() == b"3\n"
    assert counts(writer) == (1, 2)
    assert len(warnings_in(caplog)) == 1


@contextlib.contextmanager
def somebody_without_rights(folder):
    """Be a user whom modes concern: they do not concern root."""
    if os.geteuid() != 0:
        yield
        return
    for each in folder.parents[:4]:  # those that pytest and its workers made
        each.chmod(0o755)
    os.chown(folder, 65534, -1)
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_read_only_folder_loses_records_until_it_is_writable(file, writer, caplog):
    file.directory.mkdir()
    with somebody_without_rights(file.directory):
        file.directory.chmod(0o500)
        assert [writer.append(b"1"), writer.append(b"2")] == [False, False]
        file.directory.chmod(0o700)
        assert writer.append(b"3")

    assert file.path.read_bytes() == b"3\n"
    assert counts(writer) == (1, 2)
    assert len(warnings_in(caplog)) == 1


def test_a_link_in_the_place_of_the_file_is_not_followed(file, writer, tmp_path):
    target = tmp_path / "precious"
    target.write_text("theirs")
    file.directory.mkdir()
    file.path.symlink_to(target)

    assert not writer.append(b"1")

    assert target.read_text() == "theirs"
    assert counts(writer) == (0, 1)


def test_a_pipe_in_the_place_of_the_file_does_not_block(file, writer):
    file.directory.mkdir()
    os.mkfifo(file.path)

    assert [writer.append(b"x" * 60_000) for _ in range(3)] == [False] * 3


def test_a_killed_process_loses_nothing_that_it_had_acknowledged(tmp_path):
    code = f"""{WRITER}
number = 0
while True:
    if writer.append(b"[%d]" % number):
        os.write(1, b"%d\\n" % number)
    number += 1
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "log")],
        env=environment(),
        stdout=subprocess.PIPE,
    )
    with process:
        for _ in range(500):
            process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        acknowledged = process.stdout.read().splitlines()

    [path] = (tmp_path / "log").iterdir()
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert lines == [[number] for number in range(len(lines))]
    assert len(lines) > int(acknowledged[-1] if acknowledged else 499)


def test_what_a_killed_process_left_unfinished_is_ended_by_a_newline(file, writer):
    file.directory.mkdir()
    file.path.write_bytes(b'[1]\n{"event')

    writer.append(b"[2]")

    assert file.path.read_bytes() == b'[1]\n{"event\n[2]\n'


def test_warnings_are_given_once_a_minute(file, writer, caplog, monkeypatch):
    file.directory.write_text("a file in the way")
    now = [1000.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])

    said = []
    for seconds in (0, 30, 59, 61, 62):
        now[0] = 1000.0 + seconds
        writer.append(b"1")
        said.append(len(warnings_in(caplog)))

    assert said == [1, 1, 1, 2, 2]
    assert [each.rsplit("(", 1)[1] for each in warnings_in(caplog)] == [
        "1 so far)",
        "4 so far)",
    ]


def test_a_closed_writer_opens_its_file_again(file, writer):
    writer.append(b"1")
    writer.close()
    writer.close()
    writer.append(b"2")

    assert file.path.read_bytes() == b"1\n2\n"


def test_a_descriptor_is_not_inherited_by_programs(writer):
    writer.append(b"1")

    assert not os.get_inheritable(writer._descriptor)


def test_a_forked_child_writes_a_file_of_its_own(tmp_path):
    printed = printed_by(
        f"""{WRITER}
writer.append(b"parent 1")
child = os.fork()
if child == 0:
    writer.append(b"child 1")
    writer.append(b"child 2")
    os._exit(0)
os.waitpid(child, 0)
writer.append(b"parent 2")
for path in (file.path, Path(str(file.path).replace(str(os.getpid()), str(child)))):
    print(path.read_text().splitlines())
""",
        LOG=tmp_path / "log",
    )

    assert printed == ["['parent 1', 'parent 2']", "['child 1', 'child 2']"]


def test_a_child_forked_while_another_thread_wrote_can_write(tmp_path):
    printed = printed_by(
        f"""{WRITER}
import threading
writer.append(b"parent 1")
held, done = threading.Event(), threading.Event()
def hold():
    with writer._lock:
        held.set()
        done.wait()
threading.Thread(target=hold).start()
held.wait()
child = os.fork()
if child == 0:
    os._exit(0 if writer.append(b"child") else 1)
print(os.waitpid(child, 0)[1])
done.set()
print(writer.append(b"parent 2"), file.path.read_text().splitlines())
""",
        LOG=tmp_path / "log",
    )

    assert printed == ["0", "True ['parent 1', 'parent 2']"]


def test_a_file_of_a_process_is_named_after_host_and_process(file):
    host = os.uname().nodename

    assert file.path.name == f"events-local-{host}-{os.getpid()}.jsonl"
    assert Path(file.path).parent == file.directory
