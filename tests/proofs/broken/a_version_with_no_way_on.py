"""A newer version, whose schema has a further step that no older program goes on with."""

from feedkeep.store import migrate
from feedkeep.store.migrate import Migration
from feedkeep.store.postgres import migration
from feedkeep.store.sqlite import connection

_SQL = """
-- A further step.
-- Not compatible: programs before it would leave this text out.
ALTER TABLE {account} ADD COLUMN further text;
UPDATE {account} SET further = name;
"""

_older = migrate.migrations


def migrations(kind: str) -> list[Migration]:
    steps = _older(kind)
    account = "feedkeep.account" if kind == "postgres" else "account"
    return [*steps, Migration(len(steps) + 1, "further.sql", _SQL.format(account=account))]


for module in (migrate, migration, connection):
    setattr(module, "migrations", migrations)  # noqa: B010 - it is imported there
