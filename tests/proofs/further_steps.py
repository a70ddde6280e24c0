"""Made-up migrations after the real ones, so that upgrades are tested before a release has any."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from feedkeep.store import migrate
from feedkeep.store.migrate import Migration

_ADDED_TO = ("account", "token", "entry", "former_entry", "episode_action", "document", "feed")

_migrations = migrate.migrations


def _compatible(prefix: str, steps: Sequence[Migration]) -> str:
    """Return the comment that says so; on SQLite, no older program works beneath any migration."""
    if not prefix:
        return "-- Not compatible: a migration has the file to itself."
    return f"-- Compatible from version {steps[-1].number}: older programs do not use it."


def _added(prefix: str, steps: Sequence[Migration]) -> str:
    number = "bigint" if prefix else "integer"
    columns = "".join(
        f"ALTER TABLE {prefix}{table} ADD COLUMN further text;"
        f"ALTER TABLE {prefix}{table} ADD COLUMN further_count {number} NOT NULL DEFAULT 0;"
        for table in _ADDED_TO
    )
    return f"""
    -- Columns with defaults, and a table.
    {_compatible(prefix, steps)}

    {columns}
    CREATE TABLE {prefix}further (account_id {number} PRIMARY KEY);
    """


def _filled(prefix: str, _: Sequence[Migration]) -> str:
    return f"""
    -- A column that is filled in each entry and account.
    -- Not compatible: older programs would leave it empty.

    ALTER TABLE {prefix}entry ADD COLUMN filled text;
    UPDATE {prefix}entry SET filled = coalesce(feed_url, alias_url, '');
    ALTER TABLE {prefix}account ADD COLUMN filled text;
    UPDATE {prefix}account SET filled = name;
    """


def _rebuilt(prefix: str, steps: Sequence[Migration]) -> str:
    """Build the table of entries anew, as a change of its key or of its constraints does."""
    entry, new = f"{prefix}entry", f"{prefix}entry_rebuilt"
    statements = [statement for step in steps for statement in step.statements]
    of_table = re.compile(rf"\b(CREATE|ALTER) TABLE {re.escape(entry)} ")
    tables = [
        re.sub(rf"\b{re.escape(entry)} ", f"{new} ", statement)
        for statement in statements
        if of_table.match(statement)
    ]
    indexes = [one for one in statements if re.search(rf" ON {re.escape(entry)}\b", one)]
    # Before the rows: without the index, each new row is compared with all rows before it.
    by_new_guid = f"CREATE INDEX rebuilt_by_new_guid ON {new} (account_id, new_guid)"
    planner = ""
    if not prefix:
        rows = ", ".join(re.findall(r"\('entry', .*?\)", steps[0].sql))
        planner = f"INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES {rows};"
    return f"""
    -- A rebuild of the table of entries.
    -- Not compatible: older programs may hold statements for the table that is dropped.

    {"; ".join(tables)};
    {by_new_guid};
    INSERT INTO {new} SELECT * FROM {entry} ORDER BY account_id, revision;
    {"SET CONSTRAINTS ALL IMMEDIATE;" if prefix else ""}
    DROP TABLE {entry};
    ALTER TABLE {new} RENAME TO entry;
    {"; ".join(indexes)};
    DROP INDEX {prefix}rebuilt_by_new_guid;
    {planner}
    """


def _indexed(prefix: str, steps: Sequence[Migration]) -> str:
    return f"""
    -- An index of entries by URL.
    {_compatible(prefix, steps)}

    CREATE INDEX entry_by_url ON {prefix}entry (account_id, feed_url);
    """


_MADE_UP = {"rebuilt": _rebuilt, "added": _added, "filled": _filled, "indexed": _indexed}
EACH = tuple(_MADE_UP)
"""Names of all made-up migrations, in an order in which they can follow each other."""


def with_further(*names: str) -> Callable[[str], list[Migration]]:
    """Return `migrate.migrations` of a newer program, which has these made-up ones, too."""

    def migrations(kind: str) -> list[Migration]:
        steps = _migrations(kind)
        prefix = "" if kind == "sqlite" else "feedkeep."
        for name in names:
            sql = re.sub(r"(?m)^ +", "", _MADE_UP[name](prefix, steps))
            steps.append(Migration(steps[-1].number + 1, f"{name}.sql", sql))
        return steps

    return migrations
