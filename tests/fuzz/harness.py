"""Coverage-guided fuzzing of every command: `make fuzz`, FUZZ_SECONDS=60 by default.

What is found is left in the folder of the corpus; give its path to run it alone:
`.cache/fuzz/bin/python tests/fuzz/harness.py .cache/fuzz-corpus crash-…`.
"""

import pkgutil
import sys
from importlib import import_module
from pathlib import Path

import atheris

TESTS = Path(__file__).parents[1]
sys.path.insert(0, str(TESTS))

with atheris.instrument_imports(include=["flink_agents_eventlog"]):
    import flink_agents_eventlog

    for module in pkgutil.walk_packages(
        flink_agents_eventlog.__path__, "flink_agents_eventlog."
    ):
        if not module.name.endswith("__main__"):
            import_module(module.name)

from core.samples import NATIVE_LINE, NESTED_LINE, one_run
from feeding import COMMANDS, ends_well
from flink_agents_eventlog import encode


def feed(data: bytes) -> None:
    """Give all but the first byte to the command that the first byte chooses."""
    if data:
        ends_well(data[1:], [COMMANDS[data[0] % len(COMMANDS)]])


def sow(corpus: Path) -> None:
    """Begin from real logs, whole and line by line."""
    corpus.mkdir(parents=True, exist_ok=True)
    seeds = [NATIVE_LINE, NESTED_LINE, *map(encode, one_run())]
    for golden in (TESTS / "core" / "golden").iterdir():
        seeds += [*golden.read_bytes().splitlines()[:30]]
    for number, seed in enumerate([*seeds, b"\n".join(seeds[:12])]):
        chosen = bytes([number % len(COMMANDS)])
        (corpus / f"seed-{number}").write_bytes(chosen + seed)


if __name__ == "__main__":
    sow(Path(sys.argv[1]))
    atheris.Setup(sys.argv, feed)
    atheris.Fuzz()
