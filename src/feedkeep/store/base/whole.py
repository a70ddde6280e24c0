"""The whole store, and all its data."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from feedkeep.model import AccountId, FeedLabel, Labelled, Now, Records, Stamp
from feedkeep.store.base.entries import Entries
from feedkeep.store.driver import Driver
from feedkeep.store.portable.accounts import Accounts
from feedkeep.store.portable.attempts import Attempts
from feedkeep.store.portable.documents import Documents
from feedkeep.store.portable.episode_actions import EpisodeActions
from feedkeep.store.portable.feeds import Feeds
from feedkeep.store.portable.history import ListHistory
from feedkeep.store.portable.logins import Logins
from feedkeep.store.portable.tokens import Tokens
from feedkeep.store.portable.totals import Totals

DecideLabels: TypeAlias = Callable[[Sequence[Labelled]], Sequence[FeedLabel]]
"""Given all labels of an account, returns the labels to save. No guid occurs twice."""


class FeedLabels(Protocol):
    """The labels of feeds; changes of a list neither read nor write them."""

    async def of(self, account_id: AccountId) -> Sequence[Labelled]:
        """Return all labels of an account by rising guid, except labels of unknown guids."""

    async def change(self, account_id: AccountId, decide: DecideLabels) -> None:
        """Load all labels of an account, and save the labels that `decide` returns, in one commit.

        Raises:
            NotAuthorized: The account is deleted.
            FeedkeepError: Whatever `decide` raises; nothing is changed then.
        """


RECORDS_AT_ONCE = 1_000
"""Maximum number of records in memory while everything is read or written."""


class Archive(Protocol):
    """All stored data, as of one moment."""

    async def count(self) -> int:
        """Return the number of records."""

    def records(self) -> AsyncIterator[Records]:
        """Yield all records, at most `RECORDS_AT_ONCE` at a time; each call starts again.

        Records come after the ones that they refer to: first owners, then tokens, deletions,
        subscriptions, pointers, former states of both, episode actions, documents. Each kind is
        ordered by account, and then by its key in the account.
        """


Check: TypeAlias = Callable[[Archive], Awaitable[None]]
"""Reads the data that was put into a store, and raises an error if it is wrong."""


@dataclass(frozen=True, slots=True)
class StoreSize:
    """Statistics of a store for administrators.

    Attributes:
        kind: Name of the database system, such as "SQLite".
        is_backed_up_here: Whether `feedkeep backup` is the way to back it up.
        last_backup: Time of the last `feedkeep backup`; None if unknown.
    """

    kind: str
    size_bytes: int
    is_backed_up_here: bool = False
    last_backup: Stamp | None = None


@dataclass(frozen=True, slots=True)
class Files:
    """The files of a store.

    Attributes:
        log_bytes: Size of its write-ahead log.
        free_bytes: Free space on their disk.
    """

    data_bytes: int
    log_bytes: int
    free_bytes: int


@dataclass(frozen=True, slots=True)
class Pool:
    """The connections of a store to its server.

    Attributes:
        busy: Number of connections in use.
        idle: Number of open connections that are not in use.
    """

    busy: int
    idle: int
    max_connections: int


@dataclass(frozen=True, slots=True)
class StoreState:
    """The present state of a store, as far as this process knows it without a query.

    Attributes:
        kind: Name of the database system, such as "SQLite".
        files: Its files; None without local files.
        last_backup: Time of the last `feedkeep backup`; None if unknown.
        pool: Its connections; None without a pool.
    """

    kind: str
    files: Files | None = None
    last_backup: Stamp | None = None
    pool: Pool | None = None


class Store(ABC):
    """A database, shared by all requests of a process, with an object for each topic."""

    def __init__(
        self,
        driver: Driver,
        now: Now,
        entries: Entries,
        feed_labels: FeedLabels,
        accounts: Accounts,
        tokens: Tokens,
    ) -> None:
        self.entries = entries
        self.history = ListHistory(driver)
        self.feed_labels = feed_labels
        self.feeds = Feeds(driver)
        self.episode_actions = EpisodeActions(driver, now)
        self.documents = Documents(driver)
        self.logins = Logins(driver)
        self.accounts = accounts
        self.tokens = tokens
        self.attempts = Attempts(driver)
        self.totals = Totals(driver)

    @abstractmethod
    async def assert_ready(self) -> None:
        """Check that the store can read and write.

        Raises:
            StoreUnavailable: It cannot.
        """

    @abstractmethod
    async def missing_rights(self) -> Sequence[str]:
        """Return the names of tables that this process lacks the right to read and write.

        Raises:
            StoreUnavailable: The database cannot be reached.
        """

    @abstractmethod
    async def clock(self) -> Stamp | None:
        """Return the time of the database server's clock; None if the database is on this machine.

        Raises:
            StoreUnavailable: The database cannot be reached.
        """

    @abstractmethod
    async def connection_limit(self) -> int | None:
        """Return the maximum number of connections of the server; None without a server.

        Also None behind a pooler, which has its own limit.

        Raises:
            StoreUnavailable: The database cannot be reached.
        """

    @abstractmethod
    async def size(self) -> StoreSize:
        """Return statistics for administrators."""

    @abstractmethod
    def state(self) -> StoreState:
        """Return the present state; takes microseconds, in any thread."""

    @abstractmethod
    async def faults(self) -> Sequence[str]:
        """Return a sentence for each fault that the database detects in its data."""

    @abstractmethod
    def archive(self) -> AbstractAsyncContextManager[Archive]:
        """Context manager: return a snapshot of all stored data."""

    @abstractmethod
    async def fill(self, records: AsyncIterator[Records], check: Check | None = None) -> None:
        """Store all records of an archive in one commit, or none of them.

        Before the commit, `check` is given the store's content; if it raises, nothing is stored.
        The event loop may be blocked.

        Raises:
            StoreUnusable: The store already has an account.
        """

    @abstractmethod
    async def close(self) -> None:
        """Finish the accepted jobs, and close the database."""
