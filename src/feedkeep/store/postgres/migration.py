"""Migrating a PostgreSQL database, and distributing its tables over a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import asyncpg

from feedkeep.model.errors import StoreUnavailable, StoreUnusable
from feedkeep.store.migrate import (
    check_version,
    logged,
    newest_version,
    pending_migrations,
)
from feedkeep.store.tables import TABLES

_LOCK = 0x666B6565
"""Advisory lock during schema changes: the letters "fkee"."""

_PATIENCE_SECONDS = 86_400.0
"""Timeout of a migration; on a large database it may build an index."""

LOCK_MILLISECONDS = 200
"""Timeout of a migration's wait for a table, during which requests queue behind it."""

_HAS_SCHEMA = "SELECT to_regnamespace('feedkeep') IS NOT NULL"
_HAS_VERSION = "SELECT to_regclass('feedkeep.schema_version') IS NOT NULL"
_VERSION = "SELECT version FROM feedkeep.schema_version"
_COMPATIBLE_FROM = "SELECT compatible_from FROM feedkeep.schema_version"
_SET_VERSION = """
UPDATE feedkeep.schema_version
SET version = $1, compatible_from = greatest(compatible_from, $2)
"""
_FIRST = (
    "CREATE SCHEMA feedkeep",
    # Version of the schema, and the oldest version whose programs still work with it.
    """
    CREATE TABLE feedkeep.schema_version (
        version integer NOT NULL, compatible_from integer NOT NULL
    )
    """,
    "INSERT INTO feedkeep.schema_version (version, compatible_from) VALUES (0, 0)",
)

_HAS_CITUS = "SELECT count(*) > 0 FROM pg_catalog.pg_extension WHERE extname = 'citus'"
_DISTRIBUTED = """
SELECT c.relname FROM pg_dist_partition p JOIN pg_class c ON c.oid = p.logicalrelid
WHERE c.relnamespace = 'feedkeep'::regnamespace
"""
_BY_ACCOUNT = tuple(table.name for table in TABLES)
"""The tables that are split by account; referenced tables come first."""

_BY_FEED = ("feed", "feed_picture", "feed_episodes")
"""The tables that are split by the guid of a feed, and shared by accounts."""

_EVERYWHERE = ("account_name", "login_grant")
"""The tables that are looked up without an account's id; every machine has a copy.

`attempt` is in none of these lists: it stays on the coordinator.
"""

_WITH_ROWS_HERE = """
SELECT c.relname FROM pg_class c
WHERE c.relnamespace = 'feedkeep'::regnamespace AND pg_relation_size(c.oid) > 0
"""


@dataclass(frozen=True, slots=True)
class Step:
    """A step of distributing tables: a statement, and a message for when it is done."""

    statement: str
    message: str

    async def take(self, connection: asyncpg.Connection) -> None:
        await connection.execute("SET LOCAL lock_timeout = 0")
        await connection.execute(self.statement, timeout=_PATIENCE_SECONDS)


class TablesInUse(StoreUnavailable):
    """A migration timed out waiting for a table in use, and changed nothing."""


async def version(connection: asyncpg.Connection) -> int:
    """Return the version of the database's schema; 0 without a schema.

    It may be newer than this program, if its migrations declare this program compatible.

    Raises:
        StoreUnusable: The database's encoding is not UTF-8, or another program, a build before 1.0
            or an incompatible newer feedkeep made its schema.
    """
    if (encoding := await connection.fetchval("SHOW server_encoding")) != "UTF8":
        raise StoreUnusable(
            f"The database has the encoding {encoding}, which cannot hold every URL; create it"
            " with ENCODING 'UTF8' (and TEMPLATE template0)."
        )
    # In this order, since another process may commit both between the two queries.
    if not await connection.fetchval(_HAS_SCHEMA):
        return 0
    if not await connection.fetchval(_HAS_VERSION):
        raise StoreUnusable(
            "The database has a schema feedkeep of another program;"
            " give feedkeep a database of its own."
        )
    found: int = await connection.fetchval(_VERSION) or 0
    is_newer = found > newest_version("postgres")  # builds before 1.0 may lack the other column
    compatible_from = await connection.fetchval(_COMPATIBLE_FROM) if is_newer else None
    check_version("postgres", found, "The database", compatible_from)
    return found


async def bring_up_to_date(connection: asyncpg.Connection) -> None:
    """Run the pending migrations in the caller's transaction.

    If several processes start at the same time, one of them migrates while the others wait.
    Statements are sent one by one, since Citus does not forward strings with several statements.
    New tables are distributed like the others.

    Raises:
        TablesInUse: A table is in use for too long. All requests queue behind a migration that
            waits for a table: so it times out soon, to be retried.
    """
    await connection.execute("SET LOCAL lock_timeout = 0")
    await connection.execute(f"SELECT pg_advisory_xact_lock({_LOCK})", timeout=_PATIENCE_SECONDS)
    found = await version(connection)
    if found == 0 and not await connection.fetchval(_HAS_VERSION):
        for statement in _FIRST:
            await connection.execute(statement)
    await connection.execute(f"SET LOCAL lock_timeout = '{LOCK_MILLISECONDS}ms'")
    try:
        await _take_steps(connection, found)
    except asyncpg.LockNotAvailableError as error:
        raise TablesInUse("Others use the tables that are to be changed.") from error
    if await is_distributed(connection):
        for step_to_split in await steps_to_distribute(connection):
            await step_to_split.take(connection)


async def _take_steps(connection: asyncpg.Connection, found: int) -> None:
    """Run the migrations after a version; record which programs still work with the result."""
    for step in pending_migrations("postgres", found).steps:
        with logged(step) if found else nullcontext():
            for statement in step.statements:
                await connection.execute(statement, timeout=_PATIENCE_SECONDS)
            await connection.execute(_SET_VERSION, step.number, step.compatible_from)


async def distributed_tables(connection: asyncpg.Connection) -> set[str]:
    """Return the tables that Citus has distributed or copied to machines; none without Citus."""
    if not await connection.fetchval(_HAS_CITUS):
        return set()
    return {name for (name,) in await connection.fetch(_DISTRIBUTED)}


async def is_distributed(connection: asyncpg.Connection) -> bool:
    """Whether any table is split by account."""
    return not (await distributed_tables(connection)).isdisjoint(_BY_ACCOUNT)


async def steps_to_distribute(connection: asyncpg.Connection) -> Sequence[Step]:
    """Return the remaining steps to distribute all tables.

    Raises:
        StoreUnusable: The database has no Citus.
    """
    if not await connection.fetchval(_HAS_CITUS):
        raise StoreUnusable(
            "The database has no Citus. Install it on every machine of the cluster, run CREATE"
            " EXTENSION citus, and try again. (Other distributed databases split tables by means of"
            " their own.)"
        )
    done = await distributed_tables(connection)
    steps = {table: _kept_everywhere(table) for table in _EVERYWHERE}
    steps |= {table: _split(table, "account_id", _BY_ACCOUNT[0]) for table in _BY_ACCOUNT}
    steps |= {table: _split(table, "guid", _BY_FEED[0]) for table in _BY_FEED}
    with_rows_here = {name for (name,) in await connection.fetch(_WITH_ROWS_HERE)}
    return [
        *(step for table, step in steps.items() if table not in done),
        *(_emptied(table) for table in steps if table in with_rows_here),
    ]


def _kept_everywhere(table: str) -> Step:
    return Step(
        f"SELECT create_reference_table('feedkeep.{table}')", f"{table} is kept on every machine."
    )


def _split(table: str, column: str, first: str) -> Step:
    """Return the step that splits a table, colocated with the table `first`."""
    colocated = "none" if table == first else f"feedkeep.{first}"
    by = "account" if column == "account_id" else "feed"
    return Step(
        f"SELECT create_distributed_table('feedkeep.{table}', '{column}',"
        f" colocate_with => '{colocated}')",
        f"{table} is split over the machines by {by}.",
    )


def _emptied(table: str) -> Step:
    """Return the step that deletes the rows that remain on the coordinator."""
    return Step(
        f"SELECT truncate_local_data_after_distributing_table('feedkeep.{table}')",
        f"{table} has no copy left on the coordinator.",
    )
