"""What takes long to make or to read: `make slow`."""

import subprocess
import sys

import pytest

from core.samples import one_run
from flink_agents_eventlog import encode

LINES = [encode(each) for each in one_run()]
MIB = 1 << 20


@pytest.fixture(name="log", params=["one string", "deep", "no JSON"])
def _log(tmp_path, request):
    """A log whose second record is 300 MB."""
    begin, end = LINES[0].split(b"hello")
    part, count = {
        "one string": (b"x" * MIB, 300),
        "deep": (b'",{"a":"' * (MIB // 7), 300),
        "no JSON": (b"\0" * MIB, 300),
    }[request.param]
    path = tmp_path / "events-a.jsonl"
    with path.open("wb") as file:
        file.write(LINES[0] + b"\n" + begin)
        for _ in range(count):
            file.write(part)
        file.write(end + b"\n" + b"\n".join(LINES[1:]) + b"\n")
    yield path
    path.unlink()


@pytest.mark.parametrize("command", [["check"], ["tree"], ["report"]], ids=str)
def test_a_line_of_300_mb_is_stepped_over_in_bounded_memory(log, command):
    code = (
        "import resource, sys\n"
        "from flink_agents_eventlog.commands import main\n"
        "status = main(sys.argv[1:])\n"
        "print(status, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *command, str(log)], capture_output=True, text=True
    )

    status, most = map(int, done.stdout.splitlines()[-1].split())
    assert status == 1
    assert "longer than 64 MiB, stepped over" in done.stderr
    assert "Traceback" not in done.stderr
    assert most < 400 * 1024
