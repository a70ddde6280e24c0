"""The Store protocol: all that the service asks of a database, topic by topic.

A store loads entries by guid, saves what a rule decided, lists what changed, and finds credentials.
Every method can raise `StoreUnavailable`: the store is locked, full, away or damaged, and nothing
is half done.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol, TypeAlias

from feedkeep.model import (
    Account,
    AccountId,
    ActionDecision,
    ActionRequest,
    ActionSnapshot,
    Clock,
    Decision,
    Deletion,
    Document,
    DocumentKind,
    DocumentName,
    Entry,
    EpisodeAction,
    Found,
    Grant,
    Guid,
    Page,
    PageRequest,
    Recorded,
    Records,
    Snapshot,
    Stamp,
    T,
    Token,
    TokenId,
    TokenProgress,
    View,
)

RECORDS_AT_ONCE = 1_000
"""How many records are in memory at once while everything is read or written."""

MAX_DELETIONS = 10_000
"""How many deletions of an account can be asked for by their ids; the oldest make room."""

DecideActions: TypeAlias = Callable[[ActionSnapshot, Sequence[EpisodeAction]], ActionDecision]
"""A rule about episode actions: says what is to be kept of some that were sent."""

DecideDocument: TypeAlias = Callable[[str | None, int], str]
"""Makes a document's new body of its old one, or None and how many others of its kind there are."""


class Entries(Protocol):
    """The entries of all lists: subscriptions, and the pointers that lead to them."""

    async def change(
        self,
        account_id: AccountId,
        guids: Sequence[Guid] | None,
        decide: Callable[[Snapshot], Decision[T]],
        documents: Sequence[DocumentName] = (),
    ) -> T:
        """Load what `guids` and `documents` name, let `decide` say what changes, save, commit.

        None names every entry of the account, for a rule that has to see the whole list.

        The only way to write entries. Changes of one account happen one after the other; `decide`
        sees what every change before it committed. It is pure and may run more than once. Returns
        the decision's outcome after the commit is durable.

        Raises:
            NotAuthorized: The account is gone.
            FeedkeepError: Whatever `decide` raises; nothing is changed then.
        """

    async def view(self, account_id: AccountId, guid: Guid) -> View | None:
        """Return the entry of `guid` with the subscription that it is or leads to."""

    async def page(self, account_id: AccountId, request: PageRequest) -> Page:
        """Return announced entries by rising revision, all read at one moment."""

    async def deletion(self, account_id: AccountId, deletion_id: int) -> Deletion | None:
        """Return the deletion of that id."""

    async def whole(self, account_id: AccountId) -> Snapshot:
        """Return all entries of an account, for checks.

        Raises:
            NotAuthorized: The account is gone.
        """

    async def changed(self, account_id: AccountId, first: Stamp) -> Sequence[Entry]:
        """Return every announced entry with a revision from `first` on, in no order.

        With each subscription in it come all pointers to it that have an alias.
        """


class EpisodeActions(Protocol):
    """The episode actions of all accounts."""

    async def record(
        self,
        account_id: AccountId,
        sent: Sequence[EpisodeAction],
        decide: DecideActions,
        until: Callable[[Stamp, Stamp], Stamp],
        token_progress: Callable[[Recorded], TokenProgress | None] = lambda _: None,
    ) -> Recorded:
        """Keep what `decide` makes of episode actions, in one step, however many they are.

        Afterwards the clock of actions stands where `until` puts it, which is given where it stood,
        and where the last of the actions took it. `token_progress` says how far
        the app that sent them knows what changed, if that is to be stored, too.

        They are taken in order, some at a time: `decide` is given those that are there with the
        same keys, and those that were sent. It sees what was decided before. Otherwise as
        `Entries.change`.

        Raises:
            NotAuthorized: The account is gone.
        """

    async def page(self, account_id: AccountId, request: ActionRequest) -> list[EpisodeAction]:
        """Return episode actions by rising revision."""

    async def last_of_each(self, account_id: AccountId, request: ActionRequest) -> Sequence[Stamp]:
        """Return the revision of the last action of each episode, by when it was done; in order.

        All of those wanted, however many: they are numbers, of eight bytes each.
        """


class Documents(Protocol):
    """Small texts that are kept for apps."""

    async def of(self, account_id: AccountId, kind: DocumentKind) -> Sequence[Document]:
        """Return all documents of a kind by name."""

    async def body(self, account_id: AccountId, kind: DocumentKind, name: str) -> str | None:
        """Return the body of a document."""

    async def change(
        self, account_id: AccountId, kind: DocumentKind, name: str, decide: DecideDocument
    ) -> str:
        """Load a document, save what `decide` makes of it, and return that.

        Raises:
            NotAuthorized: The account is gone.
            FeedkeepError: Whatever `decide` raises; nothing is changed then.
        """


class Logins(Protocol):
    """What accounts' owners have granted: that the app which began a login is let in."""

    async def save(self, account: Account, grant: Grant, forgotten_before: Stamp) -> bool:
        """Remember a grant; say whether that was done: a login is granted once, by one account.

        Also where it was fetched. Those that were made before a stamp are forgotten.

        Raises:
            NotAuthorized: By now the account has another password than `account`, is disabled, or
                is gone.
        """

    async def find(self, login: bytes) -> Grant | None:
        """Return the grant of a login, unless it was fetched. That writes nothing."""

    async def fetch(self, grant: Grant, token: Token, now: Stamp) -> Account | None:
        """Remember the token that an app gets for a grant, and that it was fetched, in one step.

        Return whose it is; None if it was fetched before, or is not there any more.
        """


class Accounts(Protocol):
    """All accounts, and their clocks."""

    async def find(self, name_key: str) -> Account | None:
        """Return the account whose name has that key, as it is now."""

    async def all(self) -> Sequence[Account]:
        """Return all accounts by name."""

    async def are_there(self) -> bool:
        """Say whether there is any account."""

    async def create(self, account: Account, name_key: str) -> None:
        """Add an account without entries.

        Raises:
            AccountError: The name is taken.
        """

    async def set_password(self, account_id: AccountId, password_hash: str) -> None:
        """Replace the password's hash; sessions, and logins granted but not fetched, end with it.

        Sessions that belong to a token live on, as the token does.
        """

    async def set_disabled(self, account_id: AccountId, is_disabled: bool) -> None:
        """Disable or enable an account; logins that were granted but not fetched end with it."""

    async def delete(self, account_id: AccountId) -> None:
        """Remove an account and all that is kept for it."""

    async def advance(
        self, account_id: AccountId, clock: Clock, to: Callable[[Stamp], Stamp]
    ) -> Stamp:
        """Set a clock to what `to` makes of it, after every change before, and return that.

        Raises:
            NotAuthorized: The account is gone.
        """


class Tokens(Protocol):
    """The tokens and sessions of all accounts, and how far their bearers know what changed."""

    async def find(
        self, account_id: AccountId, token_hash: bytes, guid: Guid | None = None
    ) -> Found | None:
        """Return the token of that hash with its account, as they are now.

        With `guid`, also its entry in that account, as `Entries.view` does, in the same query.
        """

    async def of(self, account_id: AccountId) -> Sequence[Token]:
        """Return all tokens of an account by number, sessions and revoked ones too."""

    async def add(self, account_id: AccountId, token: Token) -> Token:
        """Remember a token; return it under the account's next number, whatever id it came with."""

    async def add_session(
        self, account: Account, token: Token, max_sessions: int, max_alike: int
    ) -> Token:
        """Add a session as `add` does, and delete those that end first, down to two limits.

        At most `max_sessions` stay, and at most `max_alike` with the same label. The new session
        always stays.

        Raises:
            NotAuthorized: It belongs to a token that is revoked; or to none, and the account has
                another password by now than `account`, or is gone.
        """

    async def extend(self, account_id: AccountId, token_id: TokenId, expires: Stamp) -> None:
        """Let a token that is not revoked end at another time."""

    async def revoke(self, account_id: AccountId, token_id: TokenId, now: Stamp) -> Token | None:
        """Let a token end now, unless it ended before, and every session that belongs to it.

        Return it, or None if there is none.
        """

    async def save_progress(self, account_id: AccountId, changed: TokenProgress) -> None:
        """Store how far a token's app knows what changed; what it acknowledged never goes back."""


class Archive(Protocol):
    """Everything that a store keeps, as it is at one moment."""

    async def count(self) -> int:
        """Return how many records there are."""

    def records(self) -> AsyncIterator[Records]:
        """Yield all records, at most `RECORDS_AT_ONCE` at a time, as often as it is called.

        First owners, then tokens, deletions, subscriptions, pointers, episode actions, documents:
        what others refer to comes before them. Each kind is ordered by account, and then by what is
        its key there.
        """


Check: TypeAlias = Callable[[Archive], Awaitable[None]]
"""Looks at what was put into a store, and raises if it is not what it should be."""


class Store(Protocol):
    """One database, shared by all requests of a process."""

    @property
    def entries(self) -> Entries:
        """The entries of all lists."""

    @property
    def episode_actions(self) -> EpisodeActions:
        """Episode actions."""

    @property
    def documents(self) -> Documents:
        """What is kept for apps."""

    @property
    def logins(self) -> Logins:
        """Logins that were granted."""

    @property
    def accounts(self) -> Accounts:
        """Accounts."""

    @property
    def tokens(self) -> Tokens:
        """Tokens and sessions."""

    async def assert_ready(self) -> None:
        """Return if the store can read and write now; else raise `StoreUnavailable`."""

    async def damages(self) -> Sequence[str]:
        """Return a sentence for everything that the database itself finds wrong with its data."""

    def archive(self) -> AbstractAsyncContextManager[Archive]:
        """Give everything as it is at this moment, for as long as the context is open."""

    async def fill(self, records: AsyncIterator[Records], check: Check | None = None) -> None:
        """Put all records of an archive into this store, in one step: all of them, or none.

        Before anybody else can see them, `check` is shown what is there; if it raises, all is
        undone. The event loop may be held up meanwhile.

        Raises:
            StoreUnusable: There is an account in it already.
        """

    async def close(self) -> None:
        """Finish what was accepted, and let go of the database."""
