"""PostgreSQL is told to commit when the reply has left."""

import asyncio
from typing import Any

import asyncpg

from feedkeep.store.postgres import connections

_commit = connections._commit
_release = asyncpg.pool.Pool.release


async def commit(*what: Any) -> None:
    loop = asyncio.get_running_loop()
    loop.call_later(0.05, lambda: loop.create_task(_commit(*what)))


async def release(*what: Any) -> None:
    loop = asyncio.get_running_loop()
    loop.call_later(0.1, lambda: loop.create_task(_release(*what)))


connections._commit = commit
asyncpg.pool.Pool.release = release
