"""What a process needs around the service: clocks, logs, signals, and turns of its event loop."""
