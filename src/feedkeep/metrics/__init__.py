"""What Prometheus is told of a process beside its counters (`recorder.py`), and the page."""
