"""Real clusters of several processes."""

collect_ignore = ["jobs"]
