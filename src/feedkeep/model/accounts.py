"""Accounts, their owners' preferences, and sign-up."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar

from feedkeep.model.entries import Counts
from feedkeep.model.values import AccountId, Stamp, Value

_PHC_PARTS = 6
"""Number of parts of a PHC hash split at `$`: "", function, version, cost, salt and digest."""


class Account(Value, frozen=True):
    """An account: the owner of a list of feeds, which people and apps sign in to.

    Attributes:
        id: First column of the key of each of the account's rows.
        name: The name as its owner wrote it.
        password_hash: The argon2id hash in PHC form; None for an account that uses tokens only.
        is_disabled: Whether all its credentials are refused; its list stays.
        last_stamp: Clock of its list.
        last_action_stamp: Clock of its episode actions.
        is_admin: Whether its owner administers all accounts.
        epoch: A random number, replaced by each restore of the database; 0 before the first
            restore.
        lost_after: Its clock in the oldest backup that was restored. Changes with later stamps, up
            to `lost_until`, may have been lost.
        lost_until: The greatest value to which a restore set its clock; 0 before the first restore.
        actions_lost_after: As `lost_after`, for the clock of its episode actions.
        actions_lost_until: As `lost_until`, for the clock of its episode actions.
        identity: SHA-256 of its owner's identity at another provider; None if it is not linked.
        action_count: Sum of the weights of its episode actions (`model/weights.py`).
        counts: Counts of its list.
    """

    id: AccountId
    name: str
    password_hash: str | None
    is_disabled: bool
    created: Stamp
    last_stamp: Stamp = Stamp(0)
    last_action_stamp: Stamp = Stamp(0)
    is_admin: bool = False
    epoch: int = 0
    lost_after: Stamp = Stamp(0)
    lost_until: Stamp = Stamp(0)
    actions_lost_after: Stamp = Stamp(0)
    actions_lost_until: Stamp = Stamp(0)
    identity: bytes | None = None
    action_count: int = 0
    counts: Counts = Counts()

    hidden: ClassVar[frozenset[str]] = frozenset({"password_hash"})

    @property
    def salt(self) -> str | None:
        """The salt of the hash, which a new password changes and a rehash of the same one does not.

        A text that is not in PHC form is its own salt.
        """
        parts = (self.password_hash or "").split("$")
        return parts[-2] if len(parts) == _PHC_PARTS else self.password_hash


class Person(Value, frozen=True):
    """An account with the time of its last use, for administrators.

    Attributes:
        last_used: Beginning of the minute of its last use; None if it was never used.
    """

    account: Account
    last_used: Stamp | None


class Registration(StrEnum):
    """Policy for sign-up.

    Attributes:
        CLOSED: Only the operator creates accounts.
        INVITED: People with an invitation by an administrator.
        OPEN: Everybody.
    """

    CLOSED = "closed"
    INVITED = "invited"
    OPEN = "open"


class Preferences(Value, frozen=True):
    """How a person wants to see the pages; for None, their browser decides.

    Attributes:
        language: Language tag, such as "de".
        time_zone: Name of a time zone, such as "Europe/Berlin".
        theme: Light or dark.
        dismissed_mass_unsubscribe: Stamp of the newest mass unsubscribe that the owner
            confirmed; the page does not ask about older ones.
        dismissed_news: Stamp of the newest news that was seen.
        known_apps: Keys of the apps that the owner knows: seen in the news, or connected by a page.
        news_address: Hash, in hexadecimal, of the secret in the URL of the account's news; "" if
            there is no such URL.
        news_salt: Salt of the account's password when that URL was made.
    """

    language: str | None = None
    time_zone: str | None = None
    theme: str | None = None
    dismissed_mass_unsubscribe: Stamp = Stamp(0)
    dismissed_news: Stamp = Stamp(0)
    known_apps: tuple[str, ...] = ()
    news_address: str = ""
    news_salt: str | None = None
