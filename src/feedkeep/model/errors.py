"""Every error that feedkeep raises on purpose. They carry data and know no status codes.

FeedkeepError
├── InvalidInput            something sent is not valid; the detail says what and what to do
│   ├── InvalidFeedUrl      a text that is not an accepted feed URL
│   └── FeedUrlTaken        a feed URL that belongs to another subscription
├── NotAuthorized           the client is not authenticated; never says why
│   └── NotSignedIn         a browser without a session
├── Forbidden               the client is known, and may not do that
├── TooManyAttempts         too many wrong passwords; carries when to come back
├── UnknownSubscription     no such subscription, or no such deletion
├── UnknownChange           no such change in the history, or no longer
├── ChangedSince            what is to be taken back was changed again since; carries by what
├── PreconditionFailed      what is to be changed is not as the client last saw it
├── DeletedSubscription     there was one
├── NotAFeed                what another host sent cannot be read as a feed; says why
├── NotAPicture             what another host sent cannot be shown as a picture; says why
├── StoreUnavailable        the store is locked, full, away or damaged; later it may work
│   ├── AccountBusy         one account's changes hold each other up for too long
│   ├── StoreDamaged        what is stored is not what was written
│   ├── StoreReadOnly       it can be read and not changed: its disk is full or read-only
│   └── StoreMisconfigured  it rejects connections as it is set up
├── StoreUnusable           the store cannot be used as it is, and waiting does not help
└── AccountError            an account or token command that cannot be carried out
    ├── NameTaken           there is an account with that name
    └── IdentityTaken       another account is linked to that person of a provider
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence for a person to act on: in English, and so that pages can say it in others.

    Attributes:
        text: The sentence, with a name in braces where a value belongs.
        values: The values by their names.
    """

    text: str
    values: Mapping[str, int | str] = field(default_factory=dict)

    def __str__(self) -> str:
        """Return the sentence in English."""
        values = {
            name: f"{value:,}" if isinstance(value, int) else value
            for name, value in self.values.items()
        }
        return self.text.format_map(values) if values else self.text


class FeedkeepError(Exception):
    """The root: catch it to catch everything that feedkeep raises on purpose.

    Attributes:
        sentence: What went wrong, and what to do; `str()` of the error is this in English.
    """

    def __init__(self, text: str = "", **values: int | str) -> None:
        super().__init__(text)
        self.sentence = Sentence(text, values)

    def __str__(self) -> str:
        """Return what went wrong, in English."""
        return str(self.sentence)


class InvalidInput(FeedkeepError):
    """Something that was sent is not valid; `str()` of it says what, for a person to act on."""


class InvalidFeedUrl(InvalidInput):
    """A text that is not an accepted feed URL (C3.1)."""


class FeedUrlTaken(InvalidInput):
    """A feed URL that belongs to another subscription of the account (C5.23)."""


class NotAuthorized(FeedkeepError):
    """The client is not authenticated; deliberately without a reason (C2.12)."""


class AppPasswordNeeded(NotAuthorized):
    """An app sent a name and an account's password, and only app passwords are taken of apps.

    It says nothing of whether they are right; `str()` says where to make an app password.
    """

    def __init__(self, url: str) -> None:
        super().__init__("Use an app password in the app: create one at {url}.", url=url)


class NotSignedIn(NotAuthorized):
    """A browser has no session, so that a page cannot be shown to it."""


class Forbidden(FeedkeepError):
    """The client may not do that, because of its account or its origin; `str()` says why."""


class AdministratorsOnly(Forbidden):
    """The account is no administrator."""


class TooManyAttempts(FeedkeepError):
    """Too many wrong passwords came lately.

    Attributes:
        retry_after_seconds: After how many seconds an attempt is looked at again.
    """

    def __init__(self, retry_after_seconds: int) -> None:
        super().__init__(
            "Too many attempts. Please wait {minutes} min, then try again.",
            minutes=-(-retry_after_seconds // 60),
        )
        self.retry_after_seconds = retry_after_seconds


class UnknownSubscription(FeedkeepError):
    """The account has no such subscription or deletion."""


class UnknownChange(FeedkeepError):
    """The account's history has no such change, or has it no longer."""


class ChangedSince(FeedkeepError):
    """What is to be undone was changed again since; the client has to choose.

    Attributes:
        stamps: The stamps of the changes since, newest first.
        feeds: How many feeds they concern.
    """

    def __init__(self, stamps: Sequence[int], feeds: int) -> None:
        super().__init__(
            "{count} of the feeds were changed again since then. Choose whether these stay as they"
            " are, or are undone, too.",
            count=feeds,
        )
        self.stamps = stamps
        self.feeds = feeds


class PreconditionFailed(FeedkeepError):
    """An entry is not as the client that wants to change it last saw it."""


class DeletedSubscription(FeedkeepError):
    """The account had such a subscription and deleted it."""


class NotAFeed(FeedkeepError):
    """What another host sent cannot be read as a feed; `str()` of it says why."""


class NotAPicture(FeedkeepError):
    """What another host sent cannot be shown as a picture; `str()` of it says why."""


class StoreUnavailable(FeedkeepError):
    """The store cannot serve now: it is locked, full, away or damaged.

    Nothing is half done (C8.3). Whether a write was done may be unknown; sending it again is right
    (C8.4).
    """


class AccountBusy(StoreUnavailable):
    """One account has more changes under way than the store can take; others wait for none."""


class StoreDamaged(StoreUnavailable):
    """What is stored is not what was written; what is whole is served all the same."""


class StoreReadOnly(StoreUnavailable):
    """The store can be read and not changed, until its disk has room and takes writes."""


class StoreMisconfigured(StoreUnavailable):
    """The database server rejects the connection: a wrong password, or no such database.

    That passes when the operator repairs it, and seldom by waiting.
    """


class StoreUnusable(FeedkeepError):
    """The store cannot be used as it is: newer than the program, not feedkeep's, or unreachable."""


class AccountError(FeedkeepError):
    """An account or token command that cannot be carried out; `str()` of it says why."""


class NameTaken(AccountError):
    """An account that cannot be created: there is one with that name."""

    def __init__(self, name: str) -> None:
        super().__init__("There is an account {name} already.", name=name)


class IdentityTaken(AccountError):
    """A person of another provider who is linked to another account."""

    def __init__(self) -> None:
        super().__init__("Another account here is linked to this person already.")
