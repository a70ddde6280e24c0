"""The pages of a SQLite file have no checksums, and the store opens it all the same."""

from feedkeep.store.sqlite import connection

connection.verifying_vfs = lambda: "unix"
connection.has_checksums = lambda _: True
