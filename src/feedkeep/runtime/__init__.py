"""Process-level support for the service: clock, logs, signals, systemd and cooperative tasks."""
