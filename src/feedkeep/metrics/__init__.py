"""What Prometheus is told of a process: the one package that knows Prometheus."""
