"""Runs the counting job several times: `many_jobs.py OUTPUT_FOLDER INPUTS JOBS`."""

from __future__ import annotations

import sys

from count_job import main

if __name__ == "__main__":
    for number in range(int(sys.argv[3])):
        main(f"{sys.argv[1]}/{number}", int(sys.argv[2]))
