"""The command line for administrators, which works on the running service's database."""

from feedkeep.cli.main import main

__all__ = ["main"]
