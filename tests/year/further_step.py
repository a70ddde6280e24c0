"""A further version, whose schema has one more step on both kinds of database."""

from importlib import import_module
from sys import argv

from feedkeep.config.settings import is_postgres
from feedkeep.store import migrate
from feedkeep.store.migrate import Migration
from feedkeep.store.sqlite import connection

_TABLES = ("account", "token", "entry", "former_entry", "episode_action", "document", "feed")
_ADDED = "".join(f"ALTER TABLE {table} ADD COLUMN further TEXT;" for table in _TABLES)


def migrations(kind: str) -> list[Migration]:
    """Return the steps of the schema with one more."""
    steps = migrate.migrations(kind)
    return [*steps, Migration(len(steps) + 1, "further.sql", _ADDED)]


if is_postgres(argv[2]):  # the database that `front` is given; with SQLite, asyncpg stays away
    import_module("broken.a_newer_version")
else:
    setattr(connection, "migrations", migrations)  # noqa: B010 - it is imported there
