"""What Prometheus is told of a process beside its counters (`runtime/recorder`), and its page."""
