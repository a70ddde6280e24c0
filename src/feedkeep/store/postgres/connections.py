"""PostgreSQL connections: a pool, durable transactions and the translation of errors."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import ssl
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import structlog

from feedkeep.model import T
from feedkeep.model.errors import (
    AccountBusy,
    FeedkeepError,
    StoreMisconfigured,
    StoreUnavailable,
    StoreUnusable,
)
from feedkeep.runtime.recorder import Recorder
from feedkeep.store.base import Pool
from feedkeep.store.batch import FailedBeforeCommit
from feedkeep.store.postgres.breaker import Breaker
from feedkeep.store.postgres.counted import NotAllWritten, changed_rows, write_all
from feedkeep.store.postgres.shape import as_columns
from feedkeep.store.postgres.urls import (
    NO_CERTIFICATE,
    NO_URL,
    check_certificate,
    own_name,
    split_by_host,
    wanted_session,
)
from feedkeep.store.rows import Row
from feedkeep.store.sql import Sql

CONNECT_SECONDS = 3.0
"""Timeout of connecting to a host that accepts writes, divided equally between the hosts."""

STATEMENT_SECONDS = 5.0
"""Timeout of a request's statement; the connection is then dropped."""

LOCK_SECONDS = 2
"""Timeout of waiting for an account that another transaction has locked."""

IDLE_SECONDS = 10
"""Time without a statement after which PostgreSQL aborts a transaction of a hung process."""

CLOSE_SECONDS = 1.0
"""Timeout of closing."""

_STATEMENTS = 100
"""Maximum number of prepared statements per connection; there are about forty."""

# Settings are local to the transaction: behind a pooler, the next one may get another session.
_BEGIN = f"""
BEGIN ISOLATION LEVEL READ COMMITTED;
SET LOCAL lock_timeout = '{LOCK_SECONDS}s';
SET LOCAL idle_in_transaction_session_timeout = '{IDLE_SECONDS}s';
"""
# A commit returns only once it is on the disk (C8.1). An operator's stronger setting is kept.
_DURABLE = """
SELECT set_config('synchronous_commit', 'on', true)
WHERE current_setting('synchronous_commit') IN ('off', 'local', 'remote_write')
"""
# Citus forwards only SET commands to the machines with the rows, and forwards the whole command
# string: with a BEGIN in that string, each write logged nine warnings. In a DO block, each command
# is a string of its own, and all of them still take one round trip.
_BEGIN_EVERYWHERE = f"""
BEGIN ISOLATION LEVEL READ COMMITTED;
DO $$ BEGIN
SET LOCAL citus.propagate_set_commands = 'local';
SET LOCAL lock_timeout = '{LOCK_SECONDS}s';
SET LOCAL idle_in_transaction_session_timeout = '{IDLE_SECONDS}s';
SET LOCAL synchronous_commit = on;
END $$
"""
_BEGIN_READING = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

# Errors that are temporary, or that an administrator can repair. Others are feedkeep's defects.
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
    asyncpg.ProgramLimitExceededError,
    asyncpg.TransactionRollbackError,
)

# The subset that needs an operator: the server runs but rejects connections.
_MISCONFIGURED = (
    asyncpg.InsufficientPrivilegeError,
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.InvalidCatalogNameError,
    ssl.SSLCertVerificationError,
)

# A parameter of the URL is unknown to PostgreSQL, or has an invalid value.
_OF_A_PARAMETER = (asyncpg.UndefinedObjectError, asyncpg.InvalidParameterValueError)

# After these errors a connection is unusable, although it may still be open.
_ENDS_CONNECTION = (
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.InvalidSQLStatementNameError,
    asyncpg.DuplicatePreparedStatementError,
)

# Errors behind a pooler that gives each transaction another session: a prepared statement is
# unknown there, or its name is taken.
_NOT_PREPARED = (asyncpg.InvalidSQLStatementNameError, asyncpg.DuplicatePreparedStatementError)

# PostgreSQL's own types have the same numbers on every server.
_ARRAYS = [
    {"oid": array, "name": f"_{name}", "ns": "pg_catalog", "elemtype": element, "elemdelim": ","}
    | dict.fromkeys(("kind", "basetype", "range_subtype", "attrtypoids"))
    for name, element, array in (
        ("bool", 16, 1000),
        ("bytea", 17, 1001),
        ("int8", 20, 1016),
        ("uuid", 2950, 2951),
    )
]

_REASONS = {
    TimeoutError: "it did not answer in time",
    asyncpg.TargetServerAttributeNotMatched: "none of its hosts takes writes: each is a standby, or"
    " has default_transaction_read_only on",
}
"""Messages for errors without a useful message."""

_WAITING = """
SELECT pid, wait_event_type, wait_event FROM pg_stat_activity
WHERE usename = current_user AND datname = current_database() AND state = 'active'
AND wait_event_type <> 'Client'
"""
_LOCKED = "it waits for a lock that another session holds"
_BUSY = "The account is locked by another session."
_STANDBY = "a commit waits for a synchronous standby"

_log: structlog.stdlib.BoundLogger = structlog.get_logger()


class Connection(asyncpg.Connection):  # type: ignore[misc]  # asyncpg has no types
    """A connection whose prepared statements have names that no other process uses.

    Behind a pooler, processes share sessions: a name must never mean another process's statement.
    The connection knows the types of the arrays that are sent. For any other array type, asyncpg
    runs a recursive query over the catalog, once per connection, which takes a Citus coordinator
    half a second.
    """

    _suffix = secrets.token_hex(8)

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.get_settings().register_data_types(_ARRAYS)

    def _get_unique_id(self, prefix: str) -> str:
        return f"{super()._get_unique_id(prefix)}{self._suffix}"

    async def update(self, statement: Sql, *arguments: Any) -> int:
        return changed_rows(await self.execute(statement, *arguments))

    async def find_each(self, statement: Sql, rows: Collection[Row], *shared: Any) -> Sequence[Row]:
        found: Sequence[Row] = ()
        if rows:
            found = await self.fetch(statement, *shared, *as_columns(rows))
        return found

    async def write_each(self, statement: Sql, rows: Collection[Row], *shared: Any) -> None:
        if rows:
            await write_all(self, statement, len(rows), *shared, *as_columns(rows))


class Connections:
    """A pool of connections to one database, opened on demand.

    Args:
        url: URL, as for PostgreSQL's own programs.

    Attributes:
        is_distributed: Whether transactions involve other machines, which must be sent their
            settings.

    Raises:
        StoreUnusable: The URL is not valid.
    """

    def __init__(self, url: str, max_connections: int, recorder: Recorder | None = None) -> None:
        self._hosts = split_by_host(url)
        check_certificate(url)
        self._max_connections = max_connections
        self._recorder = recorder
        self._keeps_statements = True
        self._pool: asyncpg.Pool = self._new_pool()
        self._retiring: asyncio.Task[None] | None = None
        self._breaker = Breaker(self._probe)
        self._waits: dict[int, str] = {}  # by server process, from the last probe
        self.is_distributed = False

    @property
    def _host_seconds(self) -> float:
        return CONNECT_SECONDS / len(self._hosts)

    async def open(self) -> None:
        """Create the pool, without connecting."""
        await self._pool

    async def close(self) -> None:
        """Close all connections; if PostgreSQL does not respond, only this end."""
        await self._breaker.close()
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._pool.close()
                if self._retiring:
                    await self._retiring
        except TimeoutError:
            self._pool.terminate()

    def pool(self) -> Pool:
        size, idle = self._pool.get_size(), self._pool.get_idle_size()
        return Pool(size - idle, idle, self._max_connections)

    async def fetch(self, statement: str, *arguments: Any) -> list[asyncpg.Record]:
        """Read with one statement.

        Raises:
            StoreUnavailable: The database cannot be reached.
            FailedBeforeCommit: A possibly temporary failure, so a retry is safe.
        """
        async with self._borrowed() as connection:
            rows: list[asyncpg.Record] = await connection.fetch(statement, *arguments)
        return rows

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[asyncpg.Connection]:
        """Context manager: return a connection with a snapshot of the whole database.

        Raises as `fetch` does.
        """
        async with self._borrowed() as connection:
            await connection.execute(_BEGIN_READING)
            yield connection
            await connection.execute("COMMIT")

    async def transact(
        self,
        work: Callable[[asyncpg.Connection], Awaitable[T]],
        commit_seconds: float = STATEMENT_SECONDS,
    ) -> T:
        """Run `work` in a transaction; return its result when the commit is durable.

        Raises:
            FeedkeepError: `work` raised it; nothing is changed.
            StoreUnavailable: The database cannot be reached, or failed during the commit, whose
                outcome may then be unknown.
            FailedBeforeCommit: The transaction failed and changed nothing, so a retry is safe.
        """
        begin = _BEGIN_EVERYWHERE if self.is_distributed else _BEGIN + _DURABLE
        return await self._transact([begin], lambda connection, _: work(connection), commit_seconds)

    async def transact_after(
        self, first: str, work: Callable[[asyncpg.Connection, int], Awaitable[T]]
    ) -> T:
        """As `transact`, but also pass the number of rows that `first` returned to `work`.

        `first` is a statement without parameters. On one server it is sent with the BEGIN, and
        costs no round trip; on a cluster it is sent separately, for the reason at
        `_BEGIN_EVERYWHERE`.
        """
        alone = [_BEGIN_EVERYWHERE, first]
        begin = alone if self.is_distributed else [f"{_BEGIN}{_DURABLE};{first}"]
        return await self._transact(
            begin, lambda connection, status: work(connection, changed_rows(status))
        )

    async def _transact(
        self,
        begin: Sequence[str],
        work: Callable[[asyncpg.Connection, str], Awaitable[T]],
        commit_seconds: float = STATEMENT_SECONDS,
    ) -> T:
        async with self._borrowed() as connection:
            for statements in begin:
                status = await connection.execute(statements)
            value = await work(connection, status)
            began = time.perf_counter()
            await _commit(connection, commit_seconds)
            if self._recorder:
                self._recorder.commits.observe(time.perf_counter() - began)
        return value

    @asynccontextmanager
    async def _borrowed(self) -> AsyncIterator[asyncpg.Connection]:
        """Context manager: borrow a connection of the pool; one that failed is not reused."""
        async with self._breaker.use(), self._taken() as connection:
            yield connection

    @asynccontextmanager
    async def _taken(self) -> AsyncIterator[asyncpg.Connection]:
        pool, connection = await self._acquire()
        pid = connection.get_server_pid()  # unknown once the connection is closed
        try:
            yield connection
        except FeedkeepError as refusal:
            await self._after(refusal, pool, connection, pid)
            raise  # not from itself: such a cycle keeps all that its frames hold
        except Exception as error:
            raise await self._after(error, pool, connection, pid) from error
        except BaseException:  # the caller was cancelled, perhaps within a transaction
            _give_up(connection)
            raise
        finally:
            try:
                await pool.release(connection)
            except Exception:  # noqa: BLE001 - the work is done; only the connection is lost
                _give_up(connection)

    async def _acquire(self) -> tuple[asyncpg.Pool, asyncpg.Connection]:
        pool = self._pool
        try:
            return pool, await pool.acquire(timeout=CONNECT_SECONDS)
        except ssl.SSLCertVerificationError as error:  # also a ValueError
            raise _unavailable(error) from error
        except (ValueError, OverflowError, *_OF_A_PARAMETER) as error:
            # asyncpg could not parse the URL, and its error may show the password; or PostgreSQL
            # does not know a parameter of the URL.
            raise StoreUnusable(
                NO_CERTIFICATE if "root certificate" in str(error) else NO_URL
            ) from None
        except _UNAVAILABLE as error:
            if pool is not self._pool:  # the pool was replaced while this waited
                return await self._acquire()
            if isinstance(error, TimeoutError):
                waits = "".join(f"; {wait}" for wait in sorted(set(self._waits.values())))
                raise StoreUnavailable(
                    "The PostgreSQL database cannot be used now: no connection was free, or could"
                    f" be opened, within {CONNECT_SECONDS:g} seconds{waits}."
                ) from error
            raise _unavailable(error) from error

    async def _after(
        self, error: Exception, pool: asyncpg.Pool, connection: asyncpg.Connection, pid: int
    ) -> Exception:
        """Translate a database error; close connections that it made unusable."""
        if isinstance(error, asyncpg.PostgresError):
            error.detail = None  # it may be a whole row with private URLs, and errors are logged
        if not (_is_of_the_work_alone(error) and await _roll_back(connection)):
            _give_up(connection)
            # The cause, such as a switch to read-only, most likely affects all connections.
            await pool.expire_connections()
        if isinstance(error, _NOT_PREPARED):
            await self._keep_no_statements()
            return FailedBeforeCommit(_unavailable(error))
        match error:
            case FeedkeepError():
                return error
            case TimeoutError() | _CommitFailed(cause=TimeoutError()):
                return _unavailable(TimeoutError(), self._waits.get(pid, ""))
            case _CommitFailed(cause=cause):
                return _unavailable(cause)
            case NotAllWritten():
                return FailedBeforeCommit(_unavailable(error))
            # A retry would make each request of the batch wait as long again, in turn.
            case asyncpg.LockNotAvailableError():
                # If a row of an account is locked, other accounts are not affected.
                is_of_account = "account" in (getattr(error, "context", None) or "")
                return AccountBusy(_BUSY) if is_of_account else _unavailable(error, _LOCKED)
        is_ours = isinstance(error, ValueError) or not isinstance(error, _UNAVAILABLE)
        return FailedBeforeCommit(error if is_ours else _unavailable(error))

    async def _keep_no_statements(self) -> None:
        """Stop using prepared statements, since a pooler between here and the server drops them."""
        if self._keeps_statements:
            _log.warning("connection pooler drops prepared statements; not using them")
            self._keeps_statements = False
            retired, self._pool = self._pool, self._new_pool()
            await self._pool
            self._retiring = asyncio.create_task(retired.close())

    def _new_pool(self) -> asyncpg.Pool:
        return asyncpg.create_pool(
            connect=self._connect,
            min_size=0,
            max_size=self._max_connections,
            max_queries=sys.maxsize,  # connections are not closed for frequent use
            timeout=self._host_seconds,
            command_timeout=STATEMENT_SECONDS,
            statement_cache_size=_STATEMENTS if self._keeps_statements else 0,
            max_cached_statement_lifetime=0,
            connection_class=Connection,
            reset=_leave_as_it_is,
        )

    async def _probe(self) -> None:
        """Query the wait events of the server's sessions by a new connection.

        Raises:
            OSError: The server does not respond; older connections are not reused.
        """
        try:
            connection = await self._connect(
                None, timeout=self._host_seconds, statement_cache_size=0
            )
            try:
                rows = await connection.fetch(_WAITING)
                self._waits = {pid: _wait(kind, event) for pid, kind, event in rows}
                await connection.close()
            finally:
                connection.terminate()
        except (OSError, asyncio.CancelledError):  # the breaker no longer waits
            await self._pool.expire_connections()
            raise

    async def _connect(self, _dsn: None, **options: Any) -> asyncpg.Connection:
        """Connect to the first host that accepts writes; each has its own timeout."""
        failure: Exception | None = None
        for host in tuple(self._hosts):  # other tasks may change the order during the await
            try:
                connection = await asyncpg.connect(
                    host,
                    target_session_attrs=wanted_session(host),
                    server_settings=own_name(host),
                    **options,
                )
            except _UNAVAILABLE as error:
                failure = failure or error
            else:
                self._hosts.sort(key=lambda other: other != host)  # try it first next time
                return connection
        assert failure is not None
        raise failure


class _CommitFailed(Exception):
    """A commit was sent and failed with `cause`; its outcome may be unknown."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


def _is_of_the_work_alone(error: Exception) -> bool:
    """Whether the session survives an error: a `FeedkeepError`, or an ERROR of PostgreSQL.

    It survives even an ERROR of the class of connection failures, by which the coordinator of a
    cluster reports that another machine is down. An error that ends the session is FATAL, or comes
    from asyncpg.
    """
    if isinstance(error, asyncpg.PostgresError) and not isinstance(error, _ENDS_CONNECTION):
        return "ERROR" in {error.severity_en, error.severity}
    return isinstance(error, FeedkeepError | NotAllWritten)


async def _commit(connection: asyncpg.Connection, within_seconds: float) -> None:
    try:
        status = await connection.execute("COMMIT", timeout=within_seconds)
    except asyncpg.IntegrityConstraintViolationError:
        raise  # a deferred check failed: nothing was committed
    except Exception as error:
        raise _CommitFailed(error) from error
    if status != "COMMIT":  # to a failed transaction, PostgreSQL answers ROLLBACK without an error
        raise _CommitFailed(RuntimeError(f"it answered {status} to COMMIT"))


async def _roll_back(connection: asyncpg.Connection) -> bool:
    """End the transaction, if there is one; return whether the connection is still usable."""
    try:
        if connection.is_in_transaction():
            await connection.execute("ROLLBACK", timeout=CLOSE_SECONDS)
    except Exception:  # noqa: BLE001 - whatever failed, the connection is not reused
        return False
    return not connection.is_closed()


async def _leave_as_it_is(_: asyncpg.Connection) -> None:
    """Do nothing when a connection is returned: no request changes its session."""


def _give_up(connection: asyncpg.Connection) -> None:
    with contextlib.suppress(asyncpg.InterfaceError):  # the pool noticed first
        connection.terminate()


def _wait(kind: str, event: str) -> str:
    if kind == "Lock":
        return _LOCKED
    return _STANDBY if event == "SyncRep" else f"it waits for {kind} {event}"


def _unavailable(error: Exception, wait: str = "") -> StoreUnavailable:
    reason = wait or _REASONS.get(type(error), "") or str(error) or type(error).__name__
    kind = StoreMisconfigured if isinstance(error, _MISCONFIGURED) else StoreUnavailable
    return kind(f"The PostgreSQL database cannot be used now: {reason}")
