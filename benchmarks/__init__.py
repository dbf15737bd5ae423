"""What the instrumentation costs, as ratios taken in one process.

`python -m benchmarks` (`make bench`) prints each ratio beside its budget. Rounds
of what is compared are interleaved and the fastest of each counts, so that a
ratio means the same on a slow or busy machine. Nothing here is a test.
"""
