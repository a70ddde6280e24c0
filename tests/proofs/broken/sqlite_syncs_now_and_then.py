"""SQLite syncs its log only when it folds it in."""

from feedkeep.store.sqlite import connection

connection._SETTINGS["synchronous"] = 1  # NORMAL
