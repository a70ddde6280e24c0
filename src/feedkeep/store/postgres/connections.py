"""Connections to PostgreSQL: a pool, durable transactions, and what its errors mean."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import asyncpg
import structlog

from feedkeep.errors import FeedkeepError, StoreUnavailable, StoreUnusable
from feedkeep.model import T
from feedkeep.store.batch import FailedBeforeCommit

CONNECT_SECONDS = 3.0
"""How long connecting may take, and how long is waited for a free connection."""

STATEMENT_SECONDS = 15.0
"""How long a statement of a request may take before the connection is given up."""

LOCK_SECONDS = 2
"""How long a transaction waits for an account that another one is changing."""

IDLE_SECONDS = 10
"""After how long without a statement PostgreSQL ends a transaction whose process hangs."""

_STATEMENTS = 100
"""How many prepared statements a connection keeps; there are about forty."""

# All that a transaction sets is its own: behind a pooler, the next one may get another session.
# A commit is on the disk before it returns; what an operator set to be stronger still, stays.
_BEGIN = f"""
BEGIN ISOLATION LEVEL READ COMMITTED;
SELECT set_config('synchronous_commit', 'on', true)
WHERE current_setting('synchronous_commit') IN ('off', 'local', 'remote_write');
SET LOCAL lock_timeout = '{LOCK_SECONDS}s';
SET LOCAL idle_in_transaction_session_timeout = '{IDLE_SECONDS}s'
"""
_BEGIN_READING = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

# What waiting, or an administrator, can mend. Anything else is a defect of ours.
_UNAVAILABLE = (
    OSError,
    TimeoutError,
    asyncpg.CannotConnectNowError,
    asyncpg.InsufficientPrivilegeError,
    asyncpg.InsufficientResourcesError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    asyncpg.InternalServerError,
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.InvalidCatalogNameError,
    asyncpg.InvalidTransactionStateError,
    asyncpg.ObjectNotInPrerequisiteStateError,
    asyncpg.OperatorInterventionError,
    asyncpg.PostgresConnectionError,
    asyncpg.PostgresSystemError,
    asyncpg.TransactionRollbackError,
)

# What a pooler says that gives each transaction another session, and keeps no prepared statements.
_NOT_PREPARED = (asyncpg.InvalidSQLStatementNameError, asyncpg.DuplicatePreparedStatementError)

_log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Connection(asyncpg.Connection):  # type: ignore[misc]  # asyncpg has no types
    """A connection whose prepared statements have names that no other process uses.

    Behind a pooler a session is shared: a name must never mean another process's statement.
    """

    _suffix = secrets.token_hex(8)

    def _get_unique_id(self, prefix: str) -> str:
        return f"{super()._get_unique_id(prefix)}{self._suffix}"


class Connections:
    """A pool of connections to one database, opened as they are needed."""

    def __init__(self, url: str, most: int) -> None:
        """Take a URL, as PostgreSQL's own programs do, and how many connections there may be."""
        self._url = url
        self._most = most
        self._keeps_statements = True
        self._pool: asyncpg.Pool = self._new_pool()
        self._retiring: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Get ready; connects to nothing yet."""
        await self._pool

    async def close(self) -> None:
        """Finish what is under way, and let go of the database."""
        try:
            async with asyncio.timeout(STATEMENT_SECONDS):
                await self._pool.close()
                if self._retiring:
                    await self._retiring
        except TimeoutError:
            self._pool.terminate()

    async def fetch(self, statement: str, *arguments: Any) -> list[asyncpg.Record]:
        """Read with one statement.

        Raises:
            StoreUnavailable: The database cannot be reached.
            FailedBeforeCommit: It failed on the way, and may be repeated.
        """
        async with self._borrowed() as connection:
            rows: list[asyncpg.Record] = await connection.fetch(statement, *arguments)
        return rows

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[asyncpg.Connection]:
        """Give a connection that sees the whole database as it is at one moment.

        Raises as `fetch` does.
        """
        async with self._borrowed() as connection:
            await connection.execute(_BEGIN_READING)
            yield connection
            await connection.execute("COMMIT")

    async def transact(self, work: Callable[[asyncpg.Connection], Awaitable[T]]) -> T:
        """Run `work` in a transaction; return its result when the commit is durable.

        Raises:
            FeedkeepError: Whatever `work` refuses; nothing is changed then.
            StoreUnavailable: The database cannot be reached, or it failed while committing: then
                whether it was done may be unknown.
            FailedBeforeCommit: It failed, changed nothing, and may be repeated.
        """
        async with self._borrowed() as connection:
            await connection.execute(_BEGIN)
            value = await work(connection)
            await _commit(connection)
        return value

    @asynccontextmanager
    async def _borrowed(self) -> AsyncIterator[asyncpg.Connection]:
        """Give a connection of the pool; one that failed is given to nobody again."""
        pool = self._pool
        connection = await _acquire(pool)
        try:
            try:
                yield connection
            except FeedkeepError:  # a refusal, and no fault of the connection
                await connection.execute("ROLLBACK")
                raise
        except FeedkeepError:
            raise
        except _CommitFailed as failure:
            _give_up(connection)
            await pool.expire_connections()
            raise _unavailable(failure.cause) from failure
        except Exception as error:
            _give_up(connection)
            if isinstance(error, _NOT_PREPARED):
                await self._keep_no_statements()
            if not isinstance(error, (*_UNAVAILABLE, *_NOT_PREPARED)):
                raise FailedBeforeCommit(error) from error
            # What ended this connection, or made it read-only, most likely did so to all of them.
            await pool.expire_connections()
            raise FailedBeforeCommit(_unavailable(error)) from error
        except BaseException:  # whoever asked is gone, perhaps in the middle of a transaction
            _give_up(connection)
            raise
        finally:
            await pool.release(connection)

    async def _keep_no_statements(self) -> None:
        """Prepare each statement anew from now on: something between does not keep them."""
        if self._keeps_statements:
            _log.warning("no prepared statements are kept between here and PostgreSQL")
            self._keeps_statements = False
            retired, self._pool = self._pool, self._new_pool()
            await self._pool
            self._retiring = asyncio.create_task(retired.close())

    def _new_pool(self) -> asyncpg.Pool:
        return asyncpg.create_pool(
            self._url,
            min_size=0,
            max_size=self._most,
            max_queries=sys.maxsize,  # no connection is closed for its age
            timeout=CONNECT_SECONDS,
            command_timeout=STATEMENT_SECONDS,
            target_session_attrs=_wanted_session(self._url),
            statement_cache_size=_STATEMENTS if self._keeps_statements else 0,
            max_cached_statement_lifetime=0,
            connection_class=Connection,
            reset=_keep,
        )


class _CommitFailed(Exception):
    """The commit was sent, and `cause` came instead of a good answer."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


async def _acquire(pool: asyncpg.Pool) -> asyncpg.Connection:
    try:
        return await pool.acquire(timeout=CONNECT_SECONDS)
    except ValueError as error:  # asyncpg reads the URL when it connects
        raise StoreUnusable(f"That is no URL of a PostgreSQL database: {error}.") from error
    except _UNAVAILABLE as error:
        raise _unavailable(error) from error


async def _commit(connection: asyncpg.Connection) -> None:
    try:
        status = await connection.execute("COMMIT")
    except asyncpg.IntegrityConstraintViolationError:
        raise  # a deferred check: nothing was committed
    except Exception as error:
        raise _CommitFailed(error) from error
    if status != "COMMIT":  # PostgreSQL ends a failed transaction so, without an error
        raise _CommitFailed(RuntimeError(f"it answered {status} to COMMIT"))


async def _keep(_: asyncpg.Connection) -> None:
    """Leave a connection that is given back as it is: no request leaves anything in a session."""


def _give_up(connection: asyncpg.Connection) -> None:
    with contextlib.suppress(asyncpg.InterfaceError):  # the pool noticed first
        connection.terminate()


def _unavailable(error: Exception) -> StoreUnavailable:
    reason = str(error) or type(error).__name__
    return StoreUnavailable(f"The PostgreSQL database cannot be used now: {reason}")


def _wanted_session(url: str) -> str | None:
    """Return which of several hosts is wanted: the one that takes writes, unless the URL says."""
    return None if "target_session_attrs" in parse_qs(urlsplit(url).query) else "read-write"
