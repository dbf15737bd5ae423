"""Run the order agent, instrumented, and show what its Event Log tells.

    python examples/demo.py [DIRECTORY]

The model is the scripted server beside this file. With OPENAI_BASE_URL or
OPENAI_API_KEY set it is that endpoint (and OPENAI_MODEL), and the answers are its own.
"""

import contextlib
import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

from flink_agents_eventlog.commands import main as eventlog
from opentelemetry.instrumentation.flink_agents import instrument
from order_agent import process
from order_script import FAILING_TOOL, REPLIES, TOOLS, UNPARSABLE
from scripted_llm import ScriptedLLM

# On 0.3.1 a failing action ends execute(), which cannot be called twice, and takes
# the outputs of the inputs before it along: the order that fails is a job of its own.
JOBS = [[TOOLS, UNPARSABLE], [FAILING_TOOL]]
LOGS = "events-local-*.jsonl"


def main(directory: Path) -> None:
    """Run all orders, then print the tree of the log."""
    remove_earlier_logs(directory)
    quiet_the_host()
    instrument(event_log_dir=str(directory))
    with endpoint() as address:
        print(f"model: {address}\n")
        for orders in JOBS:
            run(orders)
    eventlog(["tree", str(directory)])
    for path in sorted(directory.glob(LOGS)):
        print(f"\nlog: {path}")


def remove_earlier_logs(directory: Path) -> None:
    """Leave one run of the demo to show; other files of the folder stay."""
    for pattern in (LOGS, ".index.sqlite*"):
        for path in directory.glob(pattern):
            path.unlink()


def quiet_the_host() -> None:
    """Keep the output readable; the log says it all, and better.

    The host's local runner calls logging.basicConfig(level=INFO), which does nothing
    if it is not the first. It then warns at each call that nothing is durable here,
    and prints the traceback of the exception that it raises.
    """
    logging.basicConfig(level=logging.WARNING, format="  %(levelname)s %(message)s")
    host = logging.getLogger("flink_agents.runtime.local_runner")
    host.setLevel(logging.CRITICAL)


@contextlib.contextmanager
def endpoint() -> Iterator[str]:
    """Name the real endpoint if there is one, else serve the script."""
    if os.environ.get("OPENAI_BASE_URL") or os.environ.get("OPENAI_API_KEY"):
        yield os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1"
        return
    with ScriptedLLM(REPLIES) as server:
        # A proxy, if one is configured, cannot reach the loopback address.
        loopback = dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1")
        with patch.dict(os.environ, loopback, OPENAI_BASE_URL=server.base_url):
            yield f"{server.base_url} (scripted)"


def run(orders: list[dict[str, str]]) -> None:
    """Print the orders of one job, then their answers or the error."""
    for order in orders:
        print(f"{order['key']} orders: {order['value']}")
    sys.stdout.flush()
    try:
        for output in process(orders):
            for customer, decision in output.items():
                print(f"  answer for {customer}: {decision}")
    except Exception as error:  # noqa: BLE001 - whatever ends a job is to be shown
        print(f"  execute() ended with {type(error).__name__}: {error}")
    print()


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "demo-log"))
