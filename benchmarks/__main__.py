"""Print every ratio beside its budget."""

from benchmarks import (
    coroutines,
    dialects,
    endpoints,
    executions,
    memory,
    reading,
    replaying,
    state,
)

FILES = (
    executions,
    memory,
    coroutines,
    dialects,
    reading,
    replaying,
    state,
    endpoints,
)

print(f"{'what':34} {'ratio':>7} {'budget':>7} {'µs':>9}")
for file in FILES:
    for ratio in file.ratios():
        over = "" if ratio.value <= ratio.budget else "  over budget"
        print(
            f"{ratio.what:34} {ratio.value:7.2f} {ratio.budget:7.2f}"
            f" {ratio.microseconds:9.2f}{over}"
        )
