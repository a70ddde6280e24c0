"""The embedded store: one SQLite file."""

from feedkeep.store.sqlite.backup import copy_file, restore_file
from feedkeep.store.sqlite.store import SqliteStore

__all__ = ["SqliteStore", "copy_file", "restore_file"]
