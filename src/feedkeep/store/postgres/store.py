"""`PostgresStore`: the Store protocol over a pool of connections, many requests to a statement."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Concatenate, ParamSpec, Self

import asyncpg

from feedkeep.errors import StoreUnavailable, StoreUnusable
from feedkeep.model import (
    Account,
    AccountId,
    ActionRequest,
    Clock,
    Decision,
    Deletion,
    Document,
    DocumentKind,
    Entry,
    EpisodeAction,
    Found,
    Grant,
    Guid,
    Page,
    PageRequest,
    Records,
    Snapshot,
    Stamp,
    T,
    Token,
    Told,
    View,
)
from feedkeep.store.base import Check, DecideActions
from feedkeep.store.batch import Batcher, FailedBeforeCommit, Outcome, reader
from feedkeep.store.postgres import accounts, apps, archive, entries, logins, migration
from feedkeep.store.postgres.accounts import Tokens
from feedkeep.store.postgres.archive import PostgresArchive
from feedkeep.store.postgres.connections import CLOSE_SECONDS, Connections
from feedkeep.store.postgres.entries import MAX_GUIDS_IN_A_BATCH, Change, Entries, Held
from feedkeep.store.postgres.shape import Shape

P = ParamSpec("P")

MAX_READS_IN_A_BATCH = 256
MAX_LISTED_IN_A_BATCH = 1_000
"""How many entries the pages hold together that are read with one statement."""

READY_SECONDS = 3.0
"""How long PostgreSQL may take to show that it takes writes."""

# Nothing is written; where nothing can be, that alone is refused.
_CAN_WRITE = "UPDATE feedkeep.schema_version SET version = version WHERE false"
_NAMELESS = """
SELECT a.name FROM feedkeep.account a
LEFT JOIN feedkeep.account_name n ON n.account_id = a.account_id AND n.name_key = a.name_key
WHERE n.account_id IS NULL
"""
_ORPHANED_NAMES = """
SELECT n.name_key FROM feedkeep.account_name n
LEFT JOIN feedkeep.account a ON a.account_id = n.account_id WHERE a.account_id IS NULL
"""


class PostgresStore:
    """A PostgreSQL database that any number of processes use at once.

    Changes that wait share a transaction, and reads of one kind that wait share a statement. Where
    the tables are split over machines by account, only those of one account do, and those of many
    accounts run side by side.
    """

    def __init__(
        self, connections: Connections, most_connections: int, *, is_distributed: bool
    ) -> None:
        """Use a database that has been brought up to date; use `open` instead."""
        self._connections = connections
        self._is_distributed = is_distributed
        shape = Shape(is_distributed)
        self._entries, self._tokens = Entries(shape), Tokens(shape)
        # No account that another transaction holds makes the others of its batch wait: its changes
        # go on in batches of its own, and these never take up all connections.
        self._changes = _writer(self._change if is_distributed else self._change_what_is_free)
        self._waiting = _writer(self._change)
        may_wait = most_connections if is_distributed else max(1, most_connections // 2)
        self._may_wait = asyncio.Semaphore(may_wait)
        # Nor do long lists: half of the connections are left to look-ups by key.
        self._may_scan = asyncio.Semaphore(max(1, most_connections // 2))
        self._views = reader(partial(self._entries.views, connections), MAX_READS_IN_A_BATCH)
        self._pages = reader(
            partial(self._entries.pages, connections),
            MAX_LISTED_IN_A_BATCH,
            lambda job: job[1].per_page,
        )
        self._found_tokens = reader(partial(self._tokens.find, connections), MAX_READS_IN_A_BATCH)

    @classmethod
    async def open(
        cls,
        url: str,
        most_connections: int,
        *,
        one_account: bool = False,
        may_create: bool = True,
    ) -> Self:
        """Open the database; make what is to be in it, or bring that up to date, first.

        With `one_account`, a statement is of one account even if no table is split by Citus.

        Raises:
            StoreUnusable: It is not feedkeep's, is newer than this program, holds nothing that
                `may_create` would make, or the URL is none.
            StoreUnavailable: It cannot be reached.
        """
        connections = Connections(url, most_connections)
        await connections.open()
        try:
            is_distributed = await _repeated(lambda: _prepare(connections, may_create))
        except BaseException:
            await connections.close()
            raise
        connections.is_distributed = is_distributed
        return cls(connections, most_connections, is_distributed=is_distributed or one_account)

    async def change(
        self,
        account_id: AccountId,
        guids: Sequence[Guid] | None,
        decide: Callable[[Snapshot], Decision[T]],
    ) -> T:
        job = Change(account_id, guids, decide)
        value: T
        try:
            value = await self._changes.submit(job, self._key(account_id))
        except Held:
            value = await self._waiting.submit(job, account_id)
        return value

    async def view(self, account_id: AccountId, guid: Guid) -> View | None:
        return await self._views.submit((account_id, guid), self._key(account_id))

    async def page(self, account_id: AccountId, request: PageRequest) -> Page:
        return await self._pages.submit((account_id, request), self._key(account_id))

    async def deletion(self, account_id: AccountId, deletion_id: int) -> Deletion | None:
        return await self._read(entries.deletion, account_id, deletion_id)

    async def whole(self, account_id: AccountId) -> Snapshot:
        return await self._scan(entries.whole, account_id)

    async def changed(self, account_id: AccountId, first: Stamp) -> Sequence[Entry]:
        return await self._scan(apps.changed, account_id, first)

    async def advance(
        self, account_id: AccountId, clock: Clock, to: Callable[[Stamp], Stamp]
    ) -> Stamp:
        return await self._write(apps.advance, account_id, clock, to)

    async def note_told(
        self, account_id: AccountId, token_id: int, clock: Clock, told: Told
    ) -> None:
        await self._write(apps.note_told, account_id, token_id, clock, told)

    async def record(
        self,
        account_id: AccountId,
        sent: Sequence[EpisodeAction],
        decide: DecideActions,
        until: Callable[[Stamp, Stamp], Stamp],
    ) -> tuple[Stamp, Stamp]:
        return await self._write(apps.record, account_id, sent, decide, until)

    async def actions(self, account_id: AccountId, request: ActionRequest) -> list[EpisodeAction]:
        return await self._scan(apps.actions, account_id, request)

    async def last_of_each(self, account_id: AccountId, request: ActionRequest) -> Sequence[Stamp]:
        return await self._scan(apps.last_of_each, account_id, request)

    async def documents(self, account_id: AccountId, kind: DocumentKind) -> Sequence[Document]:
        return await self._scan(apps.documents, account_id, kind)

    async def document(self, account_id: AccountId, kind: DocumentKind, name: str) -> str | None:
        return await self._read(apps.document, account_id, kind, name)

    async def change_document(
        self,
        account_id: AccountId,
        kind: DocumentKind,
        name: str,
        decide: Callable[[str | None, int], str],
    ) -> str:
        return await self._write(apps.change_document, account_id, kind, name, decide)

    async def save_grant(self, account: Account, grant: Grant, forgotten_before: Stamp) -> bool:
        return await self._write(logins.save_grant, account, grant, forgotten_before)

    async def find_grant(self, login: bytes) -> Grant | None:
        return await self._read(logins.find_grant, login)

    async def fetch_grant(self, grant: Grant, token: Token, now: Stamp) -> Account | None:
        return await self._write(logins.fetch_grant, grant, token, now)

    async def find_token(
        self, account_id: AccountId, token_hash: bytes, guid: Guid | None = None
    ) -> Found | None:
        wanted = (account_id, token_hash, guid)
        return await self._found_tokens.submit(wanted, self._key(account_id))

    async def find_account(self, name_key: str) -> Account | None:
        return await self._read(accounts.find_account, name_key)

    async def accounts(self) -> Sequence[Account]:
        return await self._scan(accounts.accounts)

    async def has_accounts(self) -> bool:
        return await self._read(accounts.has_any)

    async def create_account(self, account: Account, name_key: str) -> None:
        await self._write(accounts.create, account, name_key)

    async def set_password(self, account_id: AccountId, password_hash: str) -> None:
        await self._write(accounts.set_password, account_id, password_hash)

    async def set_disabled(self, account_id: AccountId, is_disabled: bool) -> None:
        await self._write(accounts.set_disabled, account_id, is_disabled)

    async def delete_account(self, account_id: AccountId) -> None:
        await self._write(accounts.delete, account_id)

    async def add_token(self, account_id: AccountId, token: Token) -> Token:
        return await self._write(accounts.add_token, account_id, token)

    async def add_session(
        self, account: Account, token: Token, most: int, most_alike: int
    ) -> Token:
        return await self._write(accounts.add_session, account, token, most, most_alike)

    async def extend_token(self, account_id: AccountId, token_id: int, expires: Stamp) -> None:
        await self._write(accounts.extend_token, account_id, token_id, expires)

    async def tokens(self, account_id: AccountId) -> Sequence[Token]:
        return await self._scan(accounts.tokens, account_id)

    async def revoke_token(self, account_id: AccountId, token_id: int, now: Stamp) -> Token | None:
        return await self._write(accounts.revoke_token, account_id, token_id, now)

    async def assert_ready(self) -> None:
        try:
            async with asyncio.timeout(READY_SECONDS):
                await self._write(lambda connection: connection.execute(_CAN_WRITE))
        except TimeoutError as error:
            raise StoreUnavailable("PostgreSQL does not answer.") from error

    async def damages(self) -> Sequence[str]:
        return await self._scan(_damages)

    async def distribute(self) -> AsyncIterator[str]:
        """Split the tables over the machines of a cluster; yield what was done, step by step.

        Raises:
            StoreUnusable: The database is no cluster.
        """
        for step in await self._write(migration.steps_to_distribute):
            await self._write(step.take)
            yield step.told

    @asynccontextmanager
    async def archive(self) -> AsyncIterator[PostgresArchive]:
        try:
            async with self._connections.reading() as connection:
                await connection.execute(archive.TAKE_YOUR_TIME)
                yield PostgresArchive(connection)
        except FailedBeforeCommit as failure:
            raise failure.cause from failure

    async def fill(self, records: AsyncIterator[Records], check: Check | None = None) -> None:
        try:
            await self._connections.transact(
                lambda connection: archive.fill(connection, records, check),
                archive.PATIENCE_SECONDS,
            )
        except FailedBeforeCommit as failure:
            raise failure.cause from failure

    async def close(self) -> None:
        """Finish what was accepted, unless PostgreSQL does not answer, and let go of it."""
        batchers = (self._changes, self._waiting, self._views, self._pages, self._found_tokens)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                for batcher in batchers:
                    await batcher.close()
        await self._connections.close()

    def _key(self, account_id: AccountId) -> Hashable:
        """Return what the jobs of one batch have in common."""
        return account_id if self._is_distributed else None

    async def _change_what_is_free(self, changes: Sequence[Change]) -> Sequence[Outcome[Any]]:
        return await self._connections.transact(
            lambda connection: self._entries.change(connection, changes, may_wait=False)
        )

    async def _change(self, changes: Sequence[Change]) -> Sequence[Outcome[Any]]:
        async with self._may_wait:
            return await self._connections.transact(
                lambda connection: self._entries.change(connection, changes, may_wait=True)
            )

    async def _read(
        self,
        read: Callable[Concatenate[Connections, P], Awaitable[T]],
        *arguments: P.args,
        **named: P.kwargs,
    ) -> T:
        return await _repeated(lambda: read(self._connections, *arguments, **named))

    async def _scan(
        self,
        read: Callable[Concatenate[Connections, P], Awaitable[T]],
        *arguments: P.args,
        **named: P.kwargs,
    ) -> T:
        """Read what may take long; look-ups by key do not wait for it."""
        async with self._may_scan:
            return await self._read(read, *arguments, **named)

    async def _write(
        self,
        write: Callable[Concatenate[asyncpg.Connection, P], Awaitable[T]],
        *arguments: P.args,
        **named: P.kwargs,
    ) -> T:
        def transaction(connection: asyncpg.Connection) -> Awaitable[T]:
            return write(connection, *arguments, **named)

        return await _repeated(lambda: self._connections.transact(transaction))


def _writer(
    run: Callable[[Sequence[Change]], Awaitable[Sequence[Outcome[Any]]]],
) -> Batcher[Change, Any]:
    return Batcher(run, MAX_GUIDS_IN_A_BATCH, lambda change: change.weight)


async def _repeated(work: Callable[[], Awaitable[T]]) -> T:
    """Do `work`; if it failed before it could change anything, do it once more."""
    try:
        return await work()
    except FailedBeforeCommit:
        try:
            return await work()
        except FailedBeforeCommit as failure:
            raise failure.cause from failure


async def _prepare(connections: Connections, may_create: bool) -> bool:
    """Bring the database up to date; return whether its tables are split by account."""
    async with connections.reading() as connection:
        version = await migration.version(connection)
    if version == 0 and not may_create:
        raise StoreUnusable(
            "Nothing of feedkeep is in the database. Name another one by --database or"
            " FEEDKEEP_DATABASE; `feedkeep account create` and `feedkeep serve` begin one."
        )
    if version != migration.newest_version():
        await connections.transact(migration.bring_up_to_date)
    async with connections.reading() as connection:
        return await migration.is_distributed(connection)


async def _damages(connections: Connections) -> list[str]:
    nameless = await connections.fetch(_NAMELESS)
    orphaned = await connections.fetch(_ORPHANED_NAMES)
    return [f"account {name} cannot be found by its name" for (name,) in nameless] + [
        f"the name {name} leads to an account that is missing" for (name,) in orphaned
    ]
