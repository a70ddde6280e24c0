"""The whole store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from feedkeep.model import Records, Stamp
from feedkeep.store.base.accounts import Accounts
from feedkeep.store.base.archive import Archive, Check
from feedkeep.store.base.credentials import Tokens
from feedkeep.store.base.entries import Entries
from feedkeep.store.base.feed_labels import FeedLabels
from feedkeep.store.base.feeds import Feeds
from feedkeep.store.portable.attempts import Attempts
from feedkeep.store.portable.documents import Documents
from feedkeep.store.portable.episode_actions import EpisodeActions
from feedkeep.store.portable.history import ListHistory
from feedkeep.store.portable.logins import Logins
from feedkeep.store.portable.totals import Totals


@dataclass(frozen=True, slots=True)
class StoreSize:
    """What administrators want to know of a store.

    Attributes:
        kind: What kind of database it is, such as "SQLite".
        size_bytes: How much it takes.
        is_backed_up_here: Whether `feedkeep backup` is what backs it up.
        last_backup: When that last did so, if it did.
    """

    kind: str
    size_bytes: int
    is_backed_up_here: bool = False
    last_backup: Stamp | None = None


@dataclass(frozen=True, slots=True)
class Files:
    """The files of a store.

    Attributes:
        data_bytes: The size of the database.
        log_bytes: The size of its write-ahead log.
        free_bytes: How much room is left beside them.
    """

    data_bytes: int
    log_bytes: int
    free_bytes: int


@dataclass(frozen=True, slots=True)
class Pool:
    """The connections of a store to its server.

    Attributes:
        busy: How many are in use.
        idle: How many are open, and in nobody's use.
        max_connections: How many there may be.
    """

    busy: int
    idle: int
    max_connections: int


@dataclass(frozen=True, slots=True)
class StoreState:
    """How a store is at this moment, as far as this process knows it without asking.

    Attributes:
        kind: What kind of database it is, such as "SQLite".
        files: Its files, if it has some here.
        last_backup: When `feedkeep backup` last copied these, if it did.
        pool: Its connections, if there are some.
    """

    kind: str
    files: Files | None = None
    last_backup: Stamp | None = None
    pool: Pool | None = None


class Store(Protocol):
    """One database, shared by all requests of a process."""

    @property
    def entries(self) -> Entries:
        """The entries of all lists."""

    @property
    def history(self) -> ListHistory:
        """The former states of these entries."""

    @property
    def feed_labels(self) -> FeedLabels:
        """What the owners of lists call their feeds, and their folders."""

    @property
    def feeds(self) -> Feeds:
        """What is known of feeds."""

    @property
    def episode_actions(self) -> EpisodeActions:
        """Episode actions."""

    @property
    def documents(self) -> Documents:
        """Documents, which are stored for apps."""

    @property
    def logins(self) -> Logins:
        """Logins that were granted."""

    @property
    def accounts(self) -> Accounts:
        """Accounts."""

    @property
    def tokens(self) -> Tokens:
        """Tokens and sessions."""

    @property
    def attempts(self) -> Attempts:
        """Attempts at passwords that processes have counted."""

    @property
    def totals(self) -> Totals:
        """How much is stored."""

    async def assert_ready(self) -> None:
        """Return if the store can read and write now.

        Raises:
            StoreUnavailable: It cannot.
        """

    async def missing_rights(self) -> Sequence[str]:
        """Return the names of tables that this process may not both read and write.

        Raises:
            StoreUnavailable: The database cannot be reached.
        """

    async def clock(self) -> Stamp | None:
        """Return what the database's own machine takes for the time; None if that is this one.

        Raises as `missing_rights` does.
        """

    async def connection_limit(self) -> int | None:
        """Return the number of connections that the server admits; None without one.

        It is None behind a pooler, too, whose limit is its own.

        Raises as `missing_rights` does.
        """

    async def size(self) -> StoreSize:
        """Return what administrators want to know of it."""

    def state(self) -> StoreState:
        """Return how it is at this moment; it takes microseconds, in any thread."""

    async def faults(self) -> Sequence[str]:
        """Return a sentence for each fault that the database itself finds in its data."""

    def archive(self) -> AbstractAsyncContextManager[Archive]:
        """Give all that is stored as it is at this moment, for as long as the context is open."""

    async def fill(self, records: AsyncIterator[Records], check: Check | None = None) -> None:
        """Put all records of an archive into this store, in one commit: all of them, or none.

        Before the commit, `check` is given all that is in the store; if it raises, nothing is
        stored. The event loop may be blocked meanwhile.

        Raises:
            StoreUnusable: The store has an account already.
        """

    async def close(self) -> None:
        """Finish what was accepted, and close the database."""
