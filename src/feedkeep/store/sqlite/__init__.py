"""The embedded store: one SQLite file."""

from feedkeep.store.sqlite.backup import copy_file, note_backup, restore_file
from feedkeep.store.sqlite.connection import assert_there, pending_in
from feedkeep.store.sqlite.lock import assert_unused
from feedkeep.store.sqlite.store import SqliteStore

__all__ = [
    "SqliteStore",
    "assert_there",
    "assert_unused",
    "copy_file",
    "note_backup",
    "pending_in",
    "restore_file",
]
