"""The values that everything else uses: accounts, subscriptions, pointers, requests, decisions.

Pure: frozen values; no I/O, no JSON, no decisions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from enum import Enum, StrEnum
from typing import ClassVar, Generic, NewType, TypeAlias, TypeVar

import msgspec
from msgspec.structs import replace as replace  # noqa: PLC0414 - it goes with `Value`

Guid = NewType("Guid", str)
"""A guid in its canonical form: 8-4-4-4-12 hexadecimal digits in lower case."""

Stamp = NewType("Stamp", int)
"""A moment as microseconds since 1970-01-01T00:00:00Z, as an account's own clock counts them."""

Second = NewType("Second", int)
"""A moment as whole seconds since 1970-01-01T00:00:00Z, the finest time that apps know."""

AccountId = NewType("AccountId", int)
"""A random number from 1 to 2**63 - 1."""

TokenId = NewType("TokenId", int)
"""The number of a token or session within its account, from 1; never given out twice."""

UNNUMBERED = TokenId(0)
"""The number of a token that is not stored yet; the store gives it its account's next number."""

Now: TypeAlias = Callable[[], Stamp]
"""Returns the present moment. Services and stores are given one, and read no clock themselves."""

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Value(msgspec.Struct, frozen=True, gc=False):
    """The base class of values: they cannot be changed, and those with equal fields are equal.

    Values are made for each row of each request, and never refer to each other in a cycle, so the
    garbage collector need not look at them. To make a subscription takes 0.07 microseconds; as a
    frozen dataclass it took 0.76.

    Attributes:
        hidden: The fields that `repr()` leaves out, such as secrets: it may end in a log.
    """

    hidden: ClassVar[frozenset[str]] = frozenset()

    def __repr__(self) -> str:
        """Return the name of the class and all fields but the hidden ones."""
        shown = (name for name in self.__struct_fields__ if name not in self.hidden)
        fields = (f"{name}={getattr(self, name)!r}" for name in shown)
        return f"{type(self).__name__}({', '.join(fields)})"


class Alias(Value, frozen=True):
    """A URL that a guid is derived from and that is not its subscription's present feed URL.

    Attributes:
        url: The URL as it was sent. Its text is stored since some protocols know feeds by URL only.
        moved_away: Whether the subscription itself once had this feed URL and moved away from it.
            Going back to such a URL undoes a move; going to any other alias is a new move.
        retired: Stamp of when apps were told to remove this URL; None while they may go on with it.
    """

    url: str
    moved_away: bool
    retired: Stamp | None = None


class Subscription(Value, frozen=True):
    """A feed that an account has, under its present guid (contract, sections 3 and 4).

    Attributes:
        guid: The present guid.
        feed_url: The present feed URL, as it was sent.
        is_subscribed: False when unsubscribed or deleted.
        subscription_changed: Stamp of the last change of status or feed URL.
        guid_changed: Stamp of the last change of the guid, if there was one.
        deleted: Stamp of the deletion; None on a live subscription.
        alias: The other URL that `guid` is derived from, if there is one.
        status_changed: Stamp of when it was last subscribed or unsubscribed. A move changes
            neither, nor does subscribing to it again while it is subscribed. Apps that know feeds
            by URL only are sent these changes and no others.
        app_url: The URL that these apps have it by, if that is not the present feed URL.
        app_url_until: Stamp of when it was unsubscribed, and apps were told to remove `app_url`;
            those that have not asked since still have it. None while all of them have it.
    """

    guid: Guid
    feed_url: str
    is_subscribed: bool
    subscription_changed: Stamp
    guid_changed: Stamp | None = None
    deleted: Stamp | None = None
    alias: Alias | None = None
    status_changed: Stamp = Stamp(0)
    app_url: str | None = None
    app_url_until: Stamp | None = None

    @property
    def revision(self) -> Stamp:
        """The stamp of the last change of any kind; lists are ordered by it."""
        never = Stamp(0)
        return max(self.subscription_changed, self.guid_changed or never, self.deleted or never)


class Pointer(Value, frozen=True):
    """A guid that leads to a subscription without being its present guid (contract, section 3).

    Attributes:
        guid: The guid that leads there.
        new_guid: The present guid of the subscription; never another pointer.
        guid_changed: Stamp of when a present guid became this pointer. None on a pointer that was
            never a present guid: it is not announced, which means that no list shows it.
        alias: The URL that `guid` is derived from, where that is not the present feed URL.
    """

    guid: Guid
    new_guid: Guid
    guid_changed: Stamp | None = None
    alias: Alias | None = None

    @property
    def revision(self) -> Stamp | None:
        """The pointer's only stamp; None keeps it out of lists."""
        return self.guid_changed


Entry: TypeAlias = Subscription | Pointer


class Counts(Value, frozen=True):
    """How much is in an account's list; stored with the account, so that no request has to count.

    Attributes:
        subscribed: How many subscriptions the account is subscribed to.
        announced: How many entries lists show: subscriptions of any status and announced pointers.
        entries: How many entries there are, including pointers that are not announced.
    """

    subscribed: int = 0
    announced: int = 0
    entries: int = 0


class DocumentKind(StrEnum):
    """What a document is, as it is stored.

    Attributes:
        DEVICE: A device of an app, by its id.
        SETTINGS: What apps store under a scope.
        SPELLINGS: The URLs that an app has for feeds that moved.
        MIGRATION: How far everything was copied from another server.
        PREFERENCES: How a person wants to see the pages.
    """

    DEVICE = "device"
    SETTINGS = "settings"
    SPELLINGS = "spellings"
    MIGRATION = "migration"
    PREFERENCES = "preferences"


class DocumentName(Value, frozen=True):
    """What identifies a document of an account: its kind, and its name among those of its kind."""

    kind: DocumentKind
    name: str


class KnownDocument(Value, frozen=True):
    """A document as it is when a rule decides, or that there is no such document.

    Attributes:
        body: Its JSON; None if it does not exist.
        others: How many other documents of its kind there are, if it does not exist; else 0.
    """

    body: str | None = None
    others: int = 0


class Snapshot(Value, frozen=True):
    """What a rule is given: an account's clock and the entries that it asked for, at one moment.

    Attributes:
        entries: The entries of the guids asked for, the subscriptions they lead to, and all
            pointers to these. A guid asked for that is not in it is unknown to the account.
        last_stamp: The account's last stamp.
        now: The wall clock, as a stamp.
        counts: How much is in the whole list.
        documents: The documents asked for.
        history: The former states of the list, if they were asked for.
    """

    entries: Mapping[Guid, Entry]
    last_stamp: Stamp
    now: Stamp
    counts: Counts
    documents: Mapping[DocumentName, KnownDocument] = {}
    history: History | None = None


class EntryState(Value, frozen=True):
    """An entry as it was from one change of it to the next.

    A change of stamps alone is none: the entry then goes on in the same state.

    Attributes:
        entry: The entry.
        began: Stamp of the change that brought it to this state; None if that is not known, since
            no history was kept then.
        author: Who made that change, as `service/authors` writes it; "" if that is not known.
        ended: Stamp of the change that ended this state; None while it lasts.
    """

    entry: Entry
    began: Stamp | None = None
    author: str = ""
    ended: Stamp | None = None


class History(Value, frozen=True):
    """States of a list's entries, in any order.

    Attributes:
        states: The states.
        known_from: The stamp from which on every state of the list is known.
    """

    states: Sequence[EntryState]
    known_from: Stamp


class HistoryPage(Value, frozen=True):
    """Some changes of a list that follow each other.

    Attributes:
        stamps: The stamps of the changes, newest first.
        states: Every state that one of these changes began or ended.
        known_from: The stamp from which on every state of the list is known.
    """

    stamps: Sequence[Stamp]
    states: Sequence[EntryState]
    known_from: Stamp


class Deletion(Value, frozen=True):
    """A request to delete that was carried out; clients can read it by its id.

    Attributes:
        id: The stamp of the deletion, which makes it unique in its account.
        guid: The guid of the subscription that was deleted.
    """

    id: int
    guid: Guid


class Decision(Value, Generic[T_co], frozen=True):
    """What a rule returns: what has to change, and the outcome for the caller.

    Attributes:
        outcome: What the caller is given.
        saved: Entries that are new or changed; no guid occurs twice.
        forgotten: Guids whose entries are to be removed.
        last_stamp: The account's clock after this operation.
        counts: How much is in the whole list after it.
        deletion: The deletion to store, if there was one.
        documents: Documents that are new or changed, all among those asked for; none occurs twice.
        token_progress: How far an app knows what changed, if that is to be stored, too.
        stamp: The stamp of this change of the list: no entry's new stamp is smaller.
        ended: Guids of entries, saved or forgotten, whose state before ended with this change.
        restamped: Guids of saved entries of which only stamps changed: their state goes on.
    """

    outcome: T_co
    saved: Sequence[Entry]
    forgotten: Sequence[Guid]
    last_stamp: Stamp
    counts: Counts
    deletion: Deletion | None = None
    documents: Sequence[Document] = ()
    token_progress: TokenProgress | None = None
    stamp: Stamp = Stamp(0)
    ended: Sequence[Guid] = ()
    restamped: Collection[Guid] = ()

    def telling(self, outcome: T) -> Decision[T]:
        """Return the same decision with another outcome."""
        entries = (self.saved, self.forgotten, self.last_stamp, self.counts, self.deletion)
        others = (self.documents, self.token_progress, self.stamp, self.ended, self.restamped)
        return Decision(outcome, *entries, *others)


class View(Value, frozen=True):
    """An entry as an account's owner sees it: a pointer is shown with its subscription.

    Attributes:
        entry: The entry that was asked for.
        subscription: The subscription that it is, or leads to.
    """

    entry: Entry
    subscription: Subscription


class Page(Value, frozen=True):
    """One page of the entries that changed after a stamp, smallest revision first.

    Attributes:
        total: How many entries changed after `since`, on all pages.
        views: The entries of this page.
        has_more: Whether entries follow this page.
    """

    total: int
    views: Sequence[View]
    has_more: bool


class PageRequest(Value, frozen=True):
    """Which page of the entries that changed after a stamp is wanted (contract, section 6).

    Attributes:
        since: Only entries with a revision after this stamp.
        after: Only entries with a revision after this stamp too, when the page is reached by
            following `next`; None to count `page` pages off from `since`.
        page: The page's number, from 1.
        per_page: How many entries a page holds at most.
    """

    since: Stamp
    after: Stamp | None
    page: int
    per_page: int


class Account(Value, frozen=True):
    """An account: it has a list of feeds, and people and apps log in to it.

    Attributes:
        id: The number that every one of the account's rows starts with.
        name: The name as its owner wrote it.
        password_hash: The argon2id hash in PHC form; None for an account that uses tokens only.
        is_disabled: Whether all its credentials are refused; its list stays.
        created: When it was created.
        last_stamp: Its clock.
        last_action_stamp: The clock of its episode actions.
        is_admin: Whether it is an administrator, who looks after all accounts.
        counts: How much is in its list.
    """

    id: AccountId
    name: str
    password_hash: str | None
    is_disabled: bool
    created: Stamp
    last_stamp: Stamp = Stamp(0)
    last_action_stamp: Stamp = Stamp(0)
    is_admin: bool = False
    counts: Counts = Counts()

    hidden: ClassVar[frozenset[str]] = frozenset({"password_hash"})


class Person(Value, frozen=True):
    """An account as administrators see it: with the day on which it was last used.

    Attributes:
        account: The account.
        last_used: The beginning of the UTC day of its last use; None if it never was.
    """

    account: Account
    last_used: Stamp | None


class OwnUpload(Value, frozen=True):
    """What an app itself has changed: everything with a stamp after `began`, up to `ended`.

    Attributes:
        device: The id of the device that the app named; "" if it named none.
        known: The second up to which it had been sent all changes.
        began: The account's clock before the upload.
        ended: The account's clock after it.
    """

    device: str
    known: Second
    began: Stamp
    ended: Stamp


class Purpose(StrEnum):
    """What a stored secret is for; a secret of one purpose never works for another.

    Attributes:
        APPS: Tokens and sessions, which let apps in to the list.
        PAGES: Sessions of browsers, which open the pages.
        INVITATION: Links with which somebody creates an account; they belong to the administrator
            who made them.
        RESET: Links with which somebody sets a new password.
        RECOVERY: Codes with which somebody sets a new password without the help of another person.
    """

    APPS = "apps"
    PAGES = "pages"
    INVITATION = "invitation"
    RESET = "reset"
    RECOVERY = "recovery"


class Scope(StrEnum):
    """What a credential may do with what belongs to its account.

    Attributes:
        WRITE: Read and change everything.
        READ: Only read.
    """

    WRITE = "write"
    READ = "read"


class Registration(StrEnum):
    """Who may create an account for themselves.

    Attributes:
        CLOSED: Nobody.
        INVITED: Whoever was given an invitation by an administrator.
        OPEN: Everybody.
    """

    CLOSED = "closed"
    INVITED = "invited"
    OPEN = "open"


class Token(Value, frozen=True):
    """A secret as it is stored: a token, a session, a link or a code; never its text.

    Attributes:
        id: Its number within its account.
        hash: SHA-256 of its text.
        label: What its owner calls it.
        created: When it was created.
        expires: When it stops working; None if never.
        revoked: When it was revoked; None if it was not.
        is_session: Whether it is a session, whose text is a cookie; otherwise it is a token that
            was created by a command or fetched by a login of Nextcloud.
        is_shared: Whether all clients that send the same password or token, and no cookie, share
            this session. A client that sends its cookie back is given a session of its own.
        of_token: The number of the token that was sent in place of a password when this session
            began: the session ends with that token. None if it was the password.
        is_granted: Whether exactly one app has it, since it was fetched by a login of Nextcloud.
        purpose: What it is for.
        scope: What it may do; a session may do what the token may that began it.
        last_used: The beginning of the UTC day of its last use; None if it was never used.
        told_subscriptions: The second up to which its app was last sent all changes of the list;
            None if it never asked.
        heard_subscriptions: The second up to which it is known to have received them.
        told_actions: As `told_subscriptions`, of episode actions.
        heard_actions: As `heard_subscriptions`, of episode actions.
        own_subscriptions: What its app uploaded last to the list, oldest first.
        own_actions: As `own_subscriptions`, of episode actions.
    """

    id: TokenId
    hash: bytes
    label: str
    created: Stamp
    expires: Stamp | None = None
    revoked: Stamp | None = None
    is_session: bool = False
    is_shared: bool = False
    of_token: TokenId | None = None
    is_granted: bool = False
    purpose: Purpose = Purpose.APPS
    scope: Scope = Scope.WRITE
    last_used: Stamp | None = None
    told_subscriptions: Second | None = None
    heard_subscriptions: Second | None = None
    told_actions: Second | None = None
    heard_actions: Second | None = None
    own_subscriptions: Sequence[OwnUpload] = ()
    own_actions: Sequence[OwnUpload] = ()

    hidden: ClassVar[frozenset[str]] = frozenset({"hash"})


class TokenDecision(Value, frozen=True):
    """What a rule makes of an account's secrets of one purpose.

    Attributes:
        added: New ones; the store numbers them.
        forgotten: The numbers of those to delete; a secret of another purpose stays.
        password_hash: The hash of the account's new password; None to leave it as it is.
    """

    added: Sequence[Token] = ()
    forgotten: Sequence[TokenId] = ()
    password_hash: str | None = None

    hidden: ClassVar[frozenset[str]] = frozenset({"password_hash"})


class TokensChanged(Value, frozen=True):
    """What became of an account and its secrets.

    Attributes:
        account: The account as it is now.
        added: The new secrets with their numbers, in the order in which they were decided.
    """

    account: Account
    added: Sequence[Token]


class NewToken(Value, frozen=True):
    """A secret that was created just now.

    Attributes:
        text: Its text, which is stored nowhere.
        token: What is stored of it.
    """

    text: str
    token: Token

    hidden: ClassVar[frozenset[str]] = frozenset({"text"})


class SyncProgress(Value, frozen=True):
    """How far an app knows what changed, in whole seconds.

    Attributes:
        last_sent: The second up to which it was last sent all changes; None if it never asked. That
            reply may have been lost.
        acknowledged: The second up to which it is known to have received them; None if not even one
            reply is known to have arrived.
        own_uploads: What it sent last, oldest first: that need not be sent back to it.
        is_alone: Whether no other app can have been sent, or have sent, any of that.
    """

    last_sent: Second | None = None
    acknowledged: Second | None = None
    own_uploads: Sequence[OwnUpload] = ()
    is_alone: bool = False


class TokenProgress(Value, frozen=True):
    """How far the app that has a token knows what changed, to be stored with the token."""

    token_id: TokenId
    clock: Clock
    progress: SyncProgress


class Found(Value, frozen=True):
    """What a token leads to, all as it is at one moment.

    Attributes:
        account: The account that it belongs to.
        token: What is stored of it.
        view: The entry that was asked for in the same query; None if there is no such entry, or if
            none was asked for.
    """

    account: Account
    token: Token
    view: View | None = None


class CredentialKind(StrEnum):
    """The kind of credential that a request came with, as the log calls it.

    What nobody asked for, since feedkeep did it by itself, came with `FEEDKEEP`.
    """

    TOKEN = "token"  # noqa: S105 - a name of it
    SESSION = "session"
    BROWSER = "browser"
    PASSWORD = "password"  # noqa: S105 - as above
    COMMAND = "command"
    FEEDKEEP = "feedkeep"
    NONE = "none or malformed"


class Author(Value, frozen=True):
    """Who changed a list, and with which request.

    Attributes:
        kind: The kind of credential that let them in.
        token_id: The number of their token or session; None if it was neither.
        name: What their token or session was called then, or what the app calls itself.
        device: The id of the device that an app named; "" if it named none.
        request: The id of the request, as the log has it; of a command, one of its own.
    """

    kind: CredentialKind
    token_id: TokenId | None = None
    name: str = ""
    device: str = ""
    request: str = ""


class NotLookedUp(Enum):
    """Stands for an entry that was not looked up: whether it exists is not known."""

    NOBODY_LOOKED = "nobody looked"


class Admitted(Value, frozen=True):
    """Who sent a request, once the credential was accepted.

    Attributes:
        account: The account that the credential belongs to.
        credential_kind: The kind of the credential.
        view: The entry that was looked up together with the credential; None if it does not exist.
        token: The token or session that was sent; None for a password and for a shared session.
        scope: What the credential may do.
    """

    account: Account
    credential_kind: CredentialKind
    view: View | NotLookedUp | None = NotLookedUp.NOBODY_LOOKED
    token: Token | None = None
    scope: Scope = Scope.WRITE

    @property
    def is_read_only(self) -> bool:
        """Whether the credential may change nothing."""
        return self.scope is Scope.READ


class Preferences(Value, frozen=True):
    """How a person wants to see the pages; what is None is decided by their browser.

    Attributes:
        language: The tag of a language, such as "de".
        time_zone: The name of a time zone, such as "Europe/Berlin".
        theme: Light or dark.
        meant: Stamp of the newest wipe of the list that was meant, and is not asked about again.
    """

    language: str | None = None
    time_zone: str | None = None
    theme: str | None = None
    meant: Stamp = Stamp(0)


class Owner(Value, frozen=True):
    """All that is stored of an account itself, as it is copied to another store.

    Attributes:
        account: The account.
        name_key: Its name in the form in which names are compared.
        last_token_id: The greatest number that one of its tokens was ever given.
        known_from: The stamp from which on every state of its list is known.
        former_count: How many former states of its entries are stored.
    """

    account: Account
    name_key: str
    last_token_id: TokenId
    known_from: Stamp = Stamp(0)
    former_count: int = 0


class Clock(Enum):
    """Which clock of an account: its list's, or its episode actions'."""

    SUBSCRIPTIONS = "subscriptions"
    ACTIONS = "actions"


class EpisodeAction(Value, frozen=True):
    """The latest action of one kind with an episode on a device.

    Attributes:
        key: 16 bytes that identify it in its account: a hash of podcast, episode, device and kind.
        podcast_guid: The derived guid of the podcast's URL.
        podcast: The podcast's feed URL, as it was sent.
        episode: The URL of the episode's file.
        device: The id of the device; "" if none was sent.
        kind: What was done, such as "play".
        done: When, by the device's own clock, in seconds since 1970.
        started: The position in seconds at which playing began; None if it was not sent.
        position: The position in seconds at which playing ended; None if it was not sent.
        total: The episode's length in seconds; None if it was not sent.
        episode_guid: The guid that the feed gives the episode; None if it was not sent.
        revision: The stamp of when the server received it.
    """

    key: bytes
    podcast_guid: Guid
    podcast: str
    episode: str
    device: str
    kind: str
    done: int
    started: int | None = None
    position: int | None = None
    total: int | None = None
    episode_guid: str | None = None
    revision: Stamp = Stamp(0)


class ActionSnapshot(Value, frozen=True):
    """What a rule about episode actions is given.

    Attributes:
        known: Those of the actions asked for that are stored, by their keys.
        last_stamp: The clock of the account's actions.
        now: The wall clock, as a stamp.
    """

    known: Mapping[bytes, EpisodeAction]
    last_stamp: Stamp
    now: Stamp


class ActionDecision(Value, frozen=True):
    """The actions to save, which are new or changed, and the clock of actions after that."""

    saved: Sequence[EpisodeAction]
    last_stamp: Stamp


class Recorded(Value, frozen=True):
    """From where to where an upload of episode actions moved the clock of actions.

    Attributes:
        began: Where it stood before.
        ended: Where it stands now.
    """

    began: Stamp
    ended: Stamp


class ActionRequest(Value, frozen=True):
    """Which episode actions are wanted, by rising revision.

    Attributes:
        first: The smallest revision.
        podcast_guid: If it is not None, only actions of this podcast are wanted.
        limit: The maximum number of actions.
        last: The greatest revision.
    """

    first: Stamp
    podcast_guid: Guid | None
    limit: int
    last: Stamp = Stamp(2**63 - 1)


class Document(Value, frozen=True):
    """A small text that is stored for an app.

    Attributes:
        kind: What it is about.
        name: Its name among the documents of its kind in the account.
        body: JSON.
    """

    kind: DocumentKind
    name: str
    body: str


class Grant(Value, frozen=True):
    """That an account's owner has let in the app that began a login of Nextcloud.

    Attributes:
        login: SHA-256 of the secret that only that app knows.
        account_id: The account.
        label: What the app calls itself.
        created: When it was granted.
    """

    login: bytes
    account_id: AccountId
    label: str
    created: Stamp


Record: TypeAlias = Owner | Token | Deletion | EntryState | EpisodeAction | Document
"""One thing that is stored for an account."""

Records: TypeAlias = Sequence[tuple[AccountId, Record]]
"""A chunk of what is stored: records of one kind, each with its account."""
