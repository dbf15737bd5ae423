"""Runs the tests inside the installed host twice, without us and with us.

Every outcome has to be the same: passed, failed (and by which exception), skipped.
Tests that need a network, a key or files that the wheel lacks fail equally.
"""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

PACKAGES = ("api", "plan", "runtime", "integrations")
FEWEST_OUTCOMES = 100
LEFT_OUT: dict[str, str] = {}
"""Parts of node ids, each with the reason why its outcome is chance without us too."""

_REPORT = "HOST_OUTCOMES_REPORT"
_INSTRUMENTED_INTO = "HOST_OUTCOMES_LOG"


class Outcomes:
    """The pytest plugin that notes how each test ended."""

    def __init__(self, report: Path, log: Path | None) -> None:
        self._report = report
        self._log = log
        self._outcomes: dict[str, str] = {}
        self._errors: dict[str, str] = {}

    def pytest_runtest_makereport(self, item, call):
        if call.excinfo is not None:
            self._errors[f"{item.nodeid} {call.when}"] = call.excinfo.typename

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or not report.passed:
            error = self._errors.get(f"{report.nodeid} {report.when}")
            outcome = f"{report.when} {report.outcome}"
            self._outcomes[report.nodeid] = (
                f"{outcome} by {error}" if error and report.failed else outcome
            )

    def pytest_collectreport(self, report):
        if not report.passed:
            self._outcomes[report.nodeid] = f"collection {report.outcome}"

    def pytest_sessionfinish(self):
        found = {"outcomes": self._outcomes, **self._instrumentation()}
        self._report.write_text(json.dumps(found))

    def _instrumentation(self):
        if self._log is None:
            return {}
        from opentelemetry.exporter.flink_agents._guard import faults
        from opentelemetry.instrumentation.flink_agents import FlinkAgentsInstrumentor

        logs = self._log.glob("events-*.jsonl")
        return {
            "patches": len(FlinkAgentsInstrumentor()._patcher._replaced),
            "records": sum(len(log.read_bytes().splitlines()) for log in logs),
            "faults": faults.count,
        }


def pytest_configure(config):
    if _REPORT not in os.environ:
        return
    log = os.environ.get(_INSTRUMENTED_INTO)
    if log is not None:
        from opentelemetry.instrumentation.flink_agents import instrument

        instrument(event_log_dir=log)
    report = Path(os.environ[_REPORT])
    config.pluginmanager.register(Outcomes(report, Path(log) if log else None))


def one_pass(folder: Path, *, instrumented: bool) -> dict:
    """Run the host's tests in a process of their own and return what they noted."""
    here = Path(__file__)
    host = Path(importlib.util.find_spec("flink_agents").submodule_search_locations[0])
    folder.mkdir()
    (folder / "pytest.ini").write_text("[pytest]\n")
    environment = {
        **{name: value for name, value in os.environ.items() if "OTEL_" not in name},
        "PYTHONPATH": str(here.parent),
        "PYTHONHASHSEED": "0",
        _REPORT: str(folder / "outcomes.json"),
    }
    if instrumented:
        environment[_INSTRUMENTED_INTO] = str(folder / "log")
    command = [
        *(sys.executable, "-m", "pytest", "-q", "--tb=no", "-p", "no:cacheprovider"),
        *("-p", here.stem, "-c", folder / "pytest.ini", "--rootdir", host.parent),
        *(f"--basetemp={folder / 'tmp'}", "-W", "ignore"),
        *(tests for each in PACKAGES for tests in sorted((host / each).rglob("tests"))),
    ]
    with (folder / "output.txt").open("wb") as output:
        subprocess.run(
            command, cwd=folder, env=environment, stdout=output, stderr=output
        )
    try:
        return json.loads((folder / "outcomes.json").read_text())
    except FileNotFoundError:
        sys.exit((folder / "output.txt").read_text()[-3000:])


def differences(bare: dict[str, str], ours: dict[str, str]) -> list[str]:
    """One line for each test that ended otherwise with us than without us."""
    return [
        f"{test}: without us {bare.get(test, 'not run')}, with us"
        f" {ours.get(test, 'not run')}"
        for test in sorted({*bare, *ours})
        if bare.get(test) != ours.get(test)
        and not any(part in test for part in LEFT_OUT)
    ]


def main() -> int:
    """Compare, say what differs, and close with one line."""
    with tempfile.TemporaryDirectory() as folder:
        bare = one_pass(Path(folder, "bare"), instrumented=False)["outcomes"]
        found = one_pass(Path(folder, "ours"), instrumented=True)
    ours = found["outcomes"]
    faults = differences(bare, ours)
    if min(len(bare), len(ours)) < FEWEST_OUTCOMES:
        faults.append(f"fewer than {FEWEST_OUTCOMES} outcomes: {len(bare)}")
    if not found["patches"] or not found["records"]:
        faults.append("the second pass was not instrumented")
    if found["faults"]:
        faults.append(f"{found['faults']} faults of ours were caught")
    for fault in faults:
        print(fault)  # noqa: T201
    # Not in pytest's words: what fails here fails without us as well.
    counts = Counter(outcome.split()[1] for outcome in bare.values())
    print(  # noqa: T201
        f"{len(bare)} outcomes of the host's own tests compared:"
        f" {counts['passed']} good, {counts['failed']} bad,"
        f" {counts['skipped']} left out by themselves; {len(faults)} differ with us"
        f" ({found['patches']} patches, {found['records']} records)"
    )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
