"""The embedded store: one SQLite file."""

from feedkeep.store.sqlite.backup import copy_file, note_backup, restore_file
from feedkeep.store.sqlite.connection import assert_there
from feedkeep.store.sqlite.store import SqliteStore

__all__ = ["SqliteStore", "assert_there", "copy_file", "note_backup", "restore_file"]
