"""PostgreSQL is told to commit when the reply has left."""

import asyncio

import asyncpg

from feedkeep.store.postgres import connections

_commit = connections._commit
_release = asyncpg.pool.Pool.release


async def commit(connection: asyncpg.Connection, seconds: float) -> None:
    asyncio.get_running_loop().call_later(
        0.05, lambda: asyncio.ensure_future(_commit(connection, seconds))
    )


async def release(self: asyncpg.Pool, connection: asyncpg.Connection) -> None:
    asyncio.get_running_loop().call_later(
        0.1, lambda: asyncio.ensure_future(_release(self, connection))
    )


connections._commit = commit
asyncpg.pool.Pool.release = release
