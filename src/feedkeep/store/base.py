"""The Store protocol: all that the service asks of a database, topic by topic.

A store loads entries by guid, saves what a rule decided, lists what changed, and finds credentials.
Every method can raise `StoreUnavailable`: the store is locked, full, away or damaged. Then the
operation was done as a whole, or not at all.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
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
    HistoryPage,
    Page,
    PageRequest,
    Person,
    Purpose,
    Recorded,
    Records,
    Snapshot,
    Stamp,
    T,
    Token,
    TokenDecision,
    TokenId,
    TokenProgress,
    TokensChanged,
    View,
)

RECORDS_AT_ONCE = 1_000
"""How many records are in memory at once while everything is read or written."""

MAX_DELETIONS = 10_000
"""How many deletions of an account are stored; a new one replaces the oldest."""

MAX_FORMER_STATES = 100_000
"""How many former states of an account's entries are stored; new ones replace the oldest."""

DecideActions: TypeAlias = Callable[[ActionSnapshot, Sequence[EpisodeAction]], ActionDecision]
"""A rule about episode actions: decides what is saved of a chunk of those that were sent."""

DecideDocument: TypeAlias = Callable[[str | None, int], str]
"""Returns a document's new body; is given the old one, or None and how many others there are."""

DecideTokens: TypeAlias = Callable[[Account, Sequence[Token]], TokenDecision]
"""Decides about an account's secrets of one purpose; is given them as they are, by number."""

CheckChange: TypeAlias = Callable[[Account, int], None]
"""Raises an error if an account must stay as it is.

It is given the account, and how many other administrators are not disabled.
"""


def anything_goes(_account: Account, _others: int) -> None:
    """Allow each change of an account."""


class Entries(Protocol):
    """The entries of all lists: subscriptions, and the pointers that lead to them."""

    async def change(
        self,
        account_id: AccountId,
        guids: Sequence[Guid] | None,
        decide: Callable[[Snapshot], Decision[T]],
        documents: Sequence[DocumentName] = (),
        *,
        author: str | None = None,
        history_from: Stamp | None = None,
    ) -> T:
        """Load what `guids` and `documents` name, let `decide` say what changes, save, commit.

        If `guids` is None, every entry of the account is loaded, for a rule that needs the whole
        list. With `history_from` as well, the snapshot has every state that ended then or later,
        and all present ones.

        The states that end with the change are stored, and of the new ones that `author` made them.
        Without an author no history is kept: the list is known from this change on.

        This is the only way to write entries. Changes of one account happen one after the other:
        `decide` sees what every change before it committed. `decide` has to be pure, and may run
        more than once. Returns the decision's outcome once the commit is durable.

        Raises:
            NotAuthorized: The account is gone.
            FeedkeepError: Whatever `decide` raises; nothing is changed then.
        """

    async def view(self, account_id: AccountId, guid: Guid) -> View | None:
        """Return the entry of `guid`, if there is one, with the subscription that it leads to."""

    async def page(self, account_id: AccountId, request: PageRequest) -> Page:
        """Return a page of announced entries by rising revision, all read at one moment."""

    async def deletion(self, account_id: AccountId, deletion_id: int) -> Deletion | None:
        """Return the deletion with that id, if it is stored."""

    async def whole(self, account_id: AccountId, history_from: Stamp | None = None) -> Snapshot:
        """Return all entries of an account, all read at one moment; `history_from` as in `change`.

        Raises:
            NotAuthorized: The account is gone.
        """

    async def changed(self, account_id: AccountId, first: Stamp) -> Sequence[Entry]:
        """Return every announced entry with a revision of at least `first`, in any order.

        For each subscription among them, all pointers to it that have an alias are returned, too.
        """


class ListHistory(Protocol):
    """The former states of the entries of all lists; `Entries.change` writes them."""

    async def page(
        self, account_id: AccountId, before: Stamp, limit: int, guid: Guid | None = None
    ) -> HistoryPage:
        """Return the last changes before a stamp, at most `limit`, all read at one moment.

        With `guid`, only changes of its entry count, and only its states are returned.

        Raises:
            NotAuthorized: The account is gone.
        """

    async def forget(
        self, after: AccountId, until: Stamp, max_states: int, *, with_authors: bool
    ) -> AccountId | None:
        """Forget, of the next account, up to `max_states` states that ended at a stamp or before.

        That is the account with the smallest id greater than `after` of which there is anything to
        look at. With `with_authors`, who made its entries as they are is forgotten as well. Returns
        the id to go on after, which is `after` while there is more to forget; None after the last.
        It takes a millisecond or so, and waits for nobody: an account that is being changed is
        passed over.
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
        """Save what `decide` makes of the actions `sent`, in one commit, however many they are.

        They are taken in order, in chunks: `decide` is given the stored actions with the same keys,
        and those that were sent; it sees what was decided about the chunks before. In the end the
        clock of actions is set to what `until` returns. It is given where the clock stood before,
        and where the last decision moved it. What `token_progress` then returns is stored with the
        token of the app that sent them. All else is as in `Entries.change`.

        Raises:
            NotAuthorized: The account is gone.
        """

    async def page(self, account_id: AccountId, request: ActionRequest) -> list[EpisodeAction]:
        """Return the episode actions that are wanted, by rising revision."""

    async def last_of_each(self, account_id: AccountId, request: ActionRequest) -> Sequence[Stamp]:
        """Return the revision of the last action of each episode, by rising revision.

        The last action is the one that was done last. The limit of the request does not apply:
        revisions are numbers, which take eight bytes each.
        """


class Documents(Protocol):
    """Small texts that are stored for apps."""

    async def of(self, account_id: AccountId, kind: DocumentKind) -> Sequence[Document]:
        """Return all documents of a kind, ordered by name."""

    async def body(self, account_id: AccountId, kind: DocumentKind, name: str) -> str | None:
        """Return the body of a document, if it exists."""

    async def change(
        self, account_id: AccountId, kind: DocumentKind, name: str, decide: DecideDocument
    ) -> str:
        """Load a document, save what `decide` makes of it, and return that.

        Raises:
            NotAuthorized: The account is gone.
            FeedkeepError: Whatever `decide` raises; nothing is changed then.
        """


class Logins(Protocol):
    """Logins of Nextcloud that accounts' owners have granted."""

    async def save(self, account: Account, grant: Grant, forgotten_before: Stamp) -> bool:
        """Save a grant; say whether that was done: a login can be granted only once.

        That holds also after it was fetched. All grants that were made before `forgotten_before`
        are deleted.

        Raises:
            NotAuthorized: The account now has another password than `account`, is disabled, or is
                gone.
        """

    async def find(self, login: bytes) -> Grant | None:
        """Return the grant of a login, unless it was fetched; nothing is written."""

    async def fetch(self, grant: Grant, token: Token, now: Stamp) -> Account | None:
        """Save the token that an app gets for a grant, and that it was fetched, in one commit.

        Returns the account of the grant; None if it was fetched before, or was deleted.
        """


class Accounts(Protocol):
    """All accounts, and their clocks."""

    async def find(self, name_key: str) -> Account | None:
        """Return the account with that name key, as it is now, if there is one."""

    async def all(self) -> Sequence[Account]:
        """Return all accounts, ordered by name."""

    async def people(self, after_name_key: str, limit: int) -> Sequence[Person]:
        """Return up to `limit` accounts whose name key comes after another, ordered by it."""

    async def administrators(self) -> Sequence[Account]:
        """Return all administrators that are not disabled, the oldest first."""

    async def are_there(self) -> bool:
        """Say whether there is any account."""

    async def create(self, account: Account, name_key: str) -> None:
        """Add an account without entries.

        Raises:
            AccountError: The name is taken.
        """

    async def create_first(self, account: Account, name_key: str) -> None:
        """Do what `create` does if there is no account at all; of several at once, one does it.

        Raises:
            NotAuthorized: There is an account.
        """

    async def create_many(self, accounts: Sequence[tuple[Account, str]]) -> Sequence[bool]:
        """Add accounts with their name keys in one commit, but none whose name is taken.

        Says of each whether it was added.
        """

    async def sign_up(
        self,
        account: Account,
        name_key: str,
        invitation: tuple[AccountId, bytes],
        admits: Callable[[Account, Token], bool],
    ) -> None:
        """Add an account, and delete the invitation that allows it, in one commit.

        The invitation is given as the account that it belongs to and its hash; `admits` says of
        both, as they are then, whether it is still open.

        Raises:
            NotAuthorized: There is no such invitation, or it is not open.
            AccountError: The name is taken; the invitation stays.
        """

    async def set_password(self, account_id: AccountId, password_hash: str) -> None:
        """Replace the password's hash; end sessions, and logins that were granted but not fetched.

        Links to set a new password end, too. Sessions that belong to a token do not end, since the
        token does not.
        """

    async def set_disabled(
        self, account_id: AccountId, is_disabled: bool, check: CheckChange = anything_goes
    ) -> None:
        """Disable or enable an account; end logins that were granted but not fetched.

        No other administrator ceases to be one between `check` and the commit. Nothing is changed
        if it raises an error, or if there is no such account.
        """

    async def set_admin(
        self, account_id: AccountId, is_admin: bool, check: CheckChange = anything_goes
    ) -> None:
        """Make an account an administrator, or none; all else is as in `set_disabled`."""

    async def delete(self, account_id: AccountId, check: CheckChange = anything_goes) -> None:
        """Remove an account and all that is stored for it; all else is as in `set_disabled`."""

    async def advance(
        self, account_id: AccountId, clock: Clock, to: Callable[[Stamp], Stamp]
    ) -> Stamp:
        """Set a clock to what `to` returns for its present stand, and return that.

        Raises:
            NotAuthorized: The account is gone.
        """


class Tokens(Protocol):
    """The tokens and sessions of all accounts, and how far their apps know what changed."""

    async def find(
        self, account_id: AccountId, token_hash: bytes, guid: Guid | None = None
    ) -> Found | None:
        """Return the token with that hash, and its account, as they are now.

        With `guid`, also its entry in that account, as `Entries.view` does, in the same query.
        """

    async def of(self, account_id: AccountId) -> Sequence[Token]:
        """Return all tokens of an account by number, including sessions and revoked ones."""

    async def add(self, account_id: AccountId, token: Token) -> Token:
        """Save a token, and return it with its new id: the account's next number."""

    async def add_session(
        self,
        account: Account,
        token: Token,
        max_sessions: int,
        max_alike: int,
        replaced: TokenId | None = None,
    ) -> Token:
        """Add a session as `add` does, and delete those that end first, down to two limits.

        At most `max_sessions` of its purpose stay, and at most `max_alike` of them with the same
        label. The new session always stays; the session `replaced` is deleted in any case.

        Raises:
            NotAuthorized: The token that it belongs to was revoked. Or it belongs to none, and the
                account now has another password than `account`, is disabled, or is gone.
        """

    async def change(
        self, account_id: AccountId, purpose: Purpose, decide: DecideTokens
    ) -> TokensChanged:
        """Load all secrets of one purpose, let `decide` say what changes, save, commit.

        Nothing else changes them, or the password, meanwhile. `decide` has to be pure, and may run
        more than once. A new password ends all that `Accounts.set_password` says.

        Raises:
            NotAuthorized: The account is gone.
            FeedkeepError: Whatever `decide` raises; nothing is changed then.
        """

    async def mark_used(self, used: Sequence[tuple[AccountId, TokenId]], day: Stamp) -> None:
        """Save that tokens were used on a day; tokens that are gone are left out.

        It waits for nobody: tokens that somebody else is changing may be left out, too.
        """

    async def extend(self, account_id: AccountId, token_id: TokenId, expires: Stamp) -> None:
        """Set when a token expires, unless it was revoked."""

    async def revoke(self, account_id: AccountId, token_id: TokenId, now: Stamp) -> Token | None:
        """Revoke a token, unless it was revoked before, and every session that belongs to it.

        Returns the token, or None if there is no such token.
        """

    async def save_progress(self, account_id: AccountId, changed: TokenProgress) -> None:
        """Store how far a token's app knows what changed; what it acknowledged never goes back."""


class Archive(Protocol):
    """Everything that is stored, as it is at one moment."""

    async def count(self) -> int:
        """Return how many records there are."""

    def records(self) -> AsyncIterator[Records]:
        """Yield all records, at most `RECORDS_AT_ONCE` at a time, as often as it is called.

        First owners, then tokens, deletions, subscriptions, pointers, former states of both,
        episode actions, documents: what other records refer to comes before them. Each kind is
        ordered by account, and then by its key in the account.
        """


Check: TypeAlias = Callable[[Archive], Awaitable[None]]
"""Reads what was put into a store, and raises an error if it is not what it should be."""


@dataclass(frozen=True, slots=True)
class StoreSize:
    """What kind of database a store is, such as "SQLite", and how many bytes it takes."""

    kind: str
    size_bytes: int


class Store(Protocol):
    """One database, shared by all requests of a process."""

    @property
    def entries(self) -> Entries:
        """The entries of all lists."""

    @property
    def history(self) -> ListHistory:
        """The former states of these entries."""

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

    async def assert_ready(self) -> None:
        """Return if the store can read and write now.

        Raises:
            StoreUnavailable: It cannot.
        """

    async def size(self) -> StoreSize:
        """Return what kind of database it is, and how much it takes."""

    async def damages(self) -> Sequence[str]:
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
