"""``python -m flink_agents_eventlog`` is ``flink-agents-eventlog``."""

import sys

from flink_agents_eventlog.commands import main

if __name__ == "__main__":
    sys.exit(main())
