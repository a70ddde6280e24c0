"""Benchmarks of feedkeep, always compared with the fastest response of a stock HTTP server."""
