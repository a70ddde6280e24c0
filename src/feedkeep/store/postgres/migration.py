"""Bringing a PostgreSQL database up to date, and splitting it over a cluster by account."""

from __future__ import annotations

from collections.abc import Sequence

import asyncpg

from feedkeep.errors import StoreUnusable
from feedkeep.store.migrate import migrations

_LOCK = 0x666B6565
"""Which advisory lock whoever changes the schema holds: the letters "fkee"."""

_PATIENCE_SECONDS = 86_400.0
"""How long a step may take; on a big database it may build an index."""

_HAS_SCHEMA = "SELECT to_regnamespace('feedkeep') IS NOT NULL"
_HAS_VERSION = "SELECT to_regclass('feedkeep.schema_version') IS NOT NULL"
_VERSION = "SELECT version FROM feedkeep.schema_version"
_FIRST = """
CREATE SCHEMA feedkeep;
-- The number of the newest step that this schema has been through.
CREATE TABLE feedkeep.schema_version (version integer NOT NULL);
INSERT INTO feedkeep.schema_version (version) VALUES (0);
"""

_HAS_CITUS = "SELECT count(*) > 0 FROM pg_catalog.pg_extension WHERE extname = 'citus'"
_DISTRIBUTED = """
SELECT logicalrelid::text FROM pg_dist_partition
WHERE logicalrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'feedkeep'::regnamespace)
"""
_BY_ACCOUNT = ("account", "token", "entry", "deletion")
"""The tables that split by account; those that others refer to come first."""


def newest_version() -> int:
    """Return the version of the schema that this program works with."""
    return len(migrations("postgres"))


async def version(connection: asyncpg.Connection) -> int:
    """Return the version of the schema that the database has; 0 if it has none.

    Raises:
        StoreUnusable: It is newer than this program, or not feedkeep's.
    """
    if not await connection.fetchval(_HAS_VERSION):
        if await connection.fetchval(_HAS_SCHEMA):
            raise StoreUnusable(
                "The database has a schema feedkeep of another program;"
                " give feedkeep a database of its own."
            )
        return 0
    found: int = await connection.fetchval(_VERSION)
    if found > newest_version():
        raise StoreUnusable(
            f"The database has schema version {found}; this feedkeep knows versions up to"
            f" {newest_version()}. Install the newer feedkeep that wrote it."
        )
    return found


async def bring_up_to_date(connection: asyncpg.Connection) -> None:
    """Take every step that is missing; the transaction around it is the caller's.

    Of those that start at once, one takes the steps, and the others wait and find them taken.
    """
    await connection.execute("SET LOCAL lock_timeout = 0")
    await connection.execute(f"SELECT pg_advisory_xact_lock({_LOCK})", timeout=_PATIENCE_SECONDS)
    found = await version(connection)
    if found == 0 and not await connection.fetchval(_HAS_VERSION):
        await connection.execute(_FIRST)
    for step in migrations("postgres")[found:]:
        await connection.execute(step.sql, timeout=_PATIENCE_SECONDS)
        await connection.execute(f"UPDATE feedkeep.schema_version SET version = {step.number}")


async def distributed_tables(connection: asyncpg.Connection) -> Sequence[str]:
    """Return the tables that Citus knows of, if the database has Citus."""
    if not await connection.fetchval(_HAS_CITUS):
        return []
    return [name for (name,) in await connection.fetch(_DISTRIBUTED)]


async def distribute(connection: asyncpg.Connection) -> Sequence[str]:
    """Split all tables by account, with Citus; return a sentence for each thing that was done.

    Raises:
        StoreUnusable: The database has no Citus.
    """
    if not await connection.fetchval(_HAS_CITUS):
        raise StoreUnusable(
            "The database has no Citus: install it on every machine of the cluster, and run"
            " CREATE EXTENSION citus. Other distributed databases split tables by their own means."
        )
    done = await distributed_tables(connection)
    told = []
    if "feedkeep.account_name" not in done:
        await connection.execute("SELECT create_reference_table('feedkeep.account_name')")
        told.append("account_name is now on every machine.")
    for table in _BY_ACCOUNT:
        if f"feedkeep.{table}" in done:
            continue
        colocated = "none" if table == _BY_ACCOUNT[0] else f"feedkeep.{_BY_ACCOUNT[0]}"
        await connection.execute(
            f"SELECT create_distributed_table('feedkeep.{table}', 'account_id',"
            f" colocate_with => '{colocated}')"
        )
        told.append(f"{table} is now split by account_id.")
    return told or ["All tables were split by account before; there was nothing to do."]
