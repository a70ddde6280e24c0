"""Scores any podcast sync server, by what happens to the people who use it."""

__version__ = "0.1.0"
