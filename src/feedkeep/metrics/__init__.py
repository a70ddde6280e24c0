"""Metrics for Prometheus besides the counters (`runtime/recorder`), and their page."""
