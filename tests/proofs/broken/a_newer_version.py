"""A newer version, whose schema has a further step that is compatible with this one."""

from feedkeep.store import migrate
from feedkeep.store.migrate import Migration
from feedkeep.store.postgres import migration

_TABLES = ("account", "token", "entry", "former_entry", "episode_action", "document", "feed")
_ADDED = "".join(
    f"ALTER TABLE feedkeep.{table} ADD COLUMN further text;"
    f"ALTER TABLE feedkeep.{table} ADD COLUMN further_count bigint NOT NULL DEFAULT 0;"
    for table in _TABLES
)
_SQL = """
-- A further step.
-- Compatible from version {version}: it adds columns with defaults, and a table.
{added}
CREATE TABLE feedkeep.further (account_id bigint PRIMARY KEY);
"""


def migrations(kind: str) -> list[Migration]:
    steps = migrate.migrations(kind)
    sql = _SQL.format(version=len(steps), added=_ADDED)
    return [*steps, Migration(len(steps) + 1, "further.sql", sql)]


setattr(migration, "migrations", migrations)  # noqa: B010 - it is imported there
