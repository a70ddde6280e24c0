"""Every error that feedkeep raises on purpose. They carry data and know no status codes.

FeedkeepError
├── InvalidInput
│   ├── InvalidFeedUrl
│   └── FeedUrlTaken
├── NotAuthorized
│   ├── AppPasswordNeeded
│   └── NotSignedIn
├── Forbidden
│   └── AdministratorsOnly
├── TooManyAttempts
├── UnknownSubscription
├── UnknownChange
├── ChangedSince
├── PreconditionFailed
├── DeletedSubscription
├── NotAFeed
├── NotAPicture
├── StoreUnavailable
│   ├── AccountBusy
│   ├── StoreDamaged
│   ├── StoreReadOnly
│   └── StoreMisconfigured
├── StoreUnusable
└── AccountError
    ├── NameTaken
    └── IdentityTaken
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence for a person to act on: in English, and translatable for pages.

    Attributes:
        text: The sentence, with a name in braces where a value belongs.
    """

    text: str
    values: Mapping[str, int | str] = field(default_factory=dict)

    def __str__(self) -> str:
        values = {
            name: f"{value:,}" if isinstance(value, int) else value
            for name, value in self.values.items()
        }
        return self.text.format_map(values) if values else self.text


class FeedkeepError(Exception):
    """Base class of all errors that feedkeep raises on purpose.

    Attributes:
        sentence: What went wrong, and what to do; `str()` of the error is this in English.
    """

    def __init__(self, text: str = "", **values: int | str) -> None:
        super().__init__(text)
        self.sentence = Sentence(text, values)

    def __str__(self) -> str:
        return str(self.sentence)


class InvalidInput(FeedkeepError):
    """Invalid input; `str()` of it says what is wrong, for a person to act on."""


class InvalidFeedUrl(InvalidInput):
    """A text that is not an accepted feed URL (C3.1)."""


class FeedUrlTaken(InvalidInput):
    """A feed URL that belongs to another subscription of the account (C5.23)."""


class NotAuthorized(FeedkeepError):
    """The client is not authenticated; deliberately without a reason (C2.12)."""


class AppPasswordNeeded(NotAuthorized):
    """An app sent an account's name and a password where apps must use app passwords.

    It does not tell whether they are right; `str()` says where to create an app password.
    """

    def __init__(self, url: str) -> None:
        super().__init__("Use an app password in the app: create one at {url}.", url=url)


class NotSignedIn(NotAuthorized):
    """A browser requested a page without a session."""


class Forbidden(FeedkeepError):
    """The account or the origin of the request does not permit it; `str()` says why."""


class AdministratorsOnly(Forbidden):
    """The account is not an administrator."""


class TooManyAttempts(FeedkeepError):
    """Too many wrong passwords were sent recently.

    Attributes:
        retry_after_seconds: Time until another attempt is checked.
    """

    def __init__(self, retry_after_seconds: int) -> None:
        minutes = -(-retry_after_seconds // 60)
        if minutes == 1:
            super().__init__("Too many attempts. Please wait a minute, then try again.")
        else:
            super().__init__(
                "Too many attempts. Please wait {minutes} minutes, then try again.",
                minutes=minutes,
            )
        self.retry_after_seconds = retry_after_seconds


class UnknownSubscription(FeedkeepError):
    """The account has no such subscription or deletion."""


class UnknownChange(FeedkeepError):
    """The account's history has no such change, or no longer has it."""


class ChangedSince(FeedkeepError):
    """A later change touched what is to be undone; the client has to choose.

    Attributes:
        stamps: Stamps of the later changes, newest first.
        feeds: Number of feeds that they concern.
    """

    def __init__(self, stamps: Sequence[int], feeds: int) -> None:
        super().__init__(
            "{count} of the feeds were changed again since then. Choose whether they stay as they"
            " are or are undone as well.",
            count=feeds,
        )
        self.stamps = stamps
        self.feeds = feeds


class PreconditionFailed(FeedkeepError):
    """An entry is not as the client that wants to change it last saw it."""


class DeletedSubscription(FeedkeepError):
    """The account had such a subscription and deleted it."""


class NotAFeed(FeedkeepError):
    """A host's response cannot be read as a feed; `str()` of it says why."""


class NotAPicture(FeedkeepError):
    """A host's response cannot be shown as a picture; `str()` of it says why."""


class StoreUnavailable(FeedkeepError):
    """The store cannot serve now: it is locked, full, unreachable or damaged.

    Nothing is half done (C8.3). It may be unknown whether a write was done; sending it again is
    safe (C8.4).
    """


class AccountBusy(StoreUnavailable):
    """One account has more pending changes than the store accepts; others are not delayed."""


class StoreDamaged(StoreUnavailable):
    """Stored data is not as it was written; undamaged data is still served."""


class StoreReadOnly(StoreUnavailable):
    """The store can be read but not changed, until its disk is writable and has space."""


class StoreMisconfigured(StoreUnavailable):
    """The database server rejects the connection: a wrong password, or no such database.

    It usually takes the operator to repair that; waiting seldom helps.
    """


class StoreUnusable(FeedkeepError):
    """The store cannot be used as it is: newer than the program, not feedkeep's, or unreachable."""


class AccountError(FeedkeepError):
    """An account or token command that cannot be carried out; `str()` of it says why."""


class NameTaken(AccountError):
    """An account with that name exists already."""

    def __init__(self, name: str) -> None:
        super().__init__("There is an account {name} already.", name=name)


class IdentityTaken(AccountError):
    """A person of another provider is linked to another account."""

    def __init__(self) -> None:
        super().__init__("Another account here is linked to this person already.")
