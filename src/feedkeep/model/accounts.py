"""Accounts and the people who have them.

Pure: frozen values; no I/O, no JSON, no decisions.
"""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar

from feedkeep.model.entries import Counts
from feedkeep.model.values import AccountId, Stamp, Value

_PHC_PARTS = 6
"""Of a hash in PHC form, divided by `$`: nothing, function, version, cost, salt and digest."""


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
        epoch: A random number that each restore of the database replaces; 0 before the first one.
        lost_after: Its clock in the oldest backup that was restored. Changes with later stamps, up
            to `lost_until`, may have been lost.
        lost_until: The latest stand to which a restore moved its clock; 0 before the first one.
        actions_lost_after: As `lost_after`, of the clock of its episode actions.
        actions_lost_until: As `lost_until`, of the clock of its episode actions.
        identity: SHA-256 of who it belongs to at another provider; None if it is not linked.
        action_count: Sum of the weights of its episode actions (`model/weights.py`).
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
        """The salt of the hash: a new password has a new one, a new hash of the same one has not.

        A text that is not in PHC form is its own salt.
        """
        parts = (self.password_hash or "").split("$")
        return parts[-2] if len(parts) == _PHC_PARTS else self.password_hash


class Person(Value, frozen=True):
    """An account as administrators see it: with the moment of its last use.

    Attributes:
        account: The account.
        last_used: The beginning of the minute of its last use; None if it never was.
    """

    account: Account
    last_used: Stamp | None


class Registration(StrEnum):
    """Who may create an account for themselves.

    Attributes:
        CLOSED: Only the operator creates accounts.
        INVITED: People with an invitation by an administrator.
        OPEN: All.
    """

    CLOSED = "closed"
    INVITED = "invited"
    OPEN = "open"


class Preferences(Value, frozen=True):
    """How a person wants to see the pages; what is None is decided by their browser.

    Attributes:
        language: The tag of a language, such as "de".
        time_zone: The name of a time zone, such as "Europe/Berlin".
        theme: Light or dark.
        dismissed_wipe: Stamp of the newest wipe of the list that was meant, and is not asked about
            again.
        dismissed_news: Stamp up to which news was seen.
        known_apps: The keys of the apps that were connected then.
        news_address: The hash of the secret in the address of the news, in hexadecimal; "" if there
            is none.
        news_salt: Salt of the password that the account had when the address was made.
    """

    language: str | None = None
    time_zone: str | None = None
    theme: str | None = None
    dismissed_wipe: Stamp = Stamp(0)
    dismissed_news: Stamp = Stamp(0)
    known_apps: tuple[str, ...] = ()
    news_address: str = ""
    news_salt: str | None = None
