"""The command line: everything an administrator does, on the database of the running service."""

from feedkeep.cli.main import main

__all__ = ["main"]
