"""What Prometheus scrapes of a process beside its counters (`runtime/recorder`), and its page."""
