"""Storing accounts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Protocol

from feedkeep.model import (
    Account,
    AccountId,
    Clock,
    Person,
    Stamp,
    Token,
)
from feedkeep.store.portable.accounts import CheckChange, DecideRestored, anything_goes
from feedkeep.store.portable.stamping import DecideStamps


class Accounts(Protocol):
    """All accounts, and their clocks."""

    async def find(self, name_key: str) -> Account | None:
        """Return the account with that name key, as it is now, if there is one."""

    async def with_id(self, account_id: AccountId) -> Account | None:
        """Return the account with that id, if there is one."""

    async def linked(self, identity: bytes) -> Account | None:
        """Return the account that is linked to a person of a provider, if there is one.

        The accounts of a cluster are searched on all its machines.
        """

    async def count(self, after: AccountId) -> int:
        """Return how many accounts have a greater id; those of all are greater than 0."""

    async def by_id(self, after: AccountId, limit: int) -> Sequence[Account]:
        """Return up to `limit` accounts with a greater id, ordered by it."""

    async def people(self, after: str, limit: int, beginning: str = "") -> Sequence[Person]:
        """Return up to `limit` accounts whose name key comes after another, ordered by it.

        All of these name keys have the same `beginning`.
        """

    async def taken(self, name_keys: Sequence[str]) -> Collection[str]:
        """Return which of these name keys belong to an account."""

    async def administrators(self) -> Sequence[Account]:
        """Return all administrators that are not disabled, the oldest first."""

    async def newest_stamp(self) -> Stamp:
        """Return the newest stamp of all lists and of their episode actions; 0 without accounts.

        All accounts are read.
        """

    async def are_there(self) -> bool:
        """Say whether there is any account."""

    async def create(self, account: Account, name_key: str) -> None:
        """Add an account without entries.

        Raises:
            NameTaken: There is an account with that name.
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
            NameTaken: There is an account with that name; the invitation stays.
        """

    async def create_linked(self, account: Account, name_key: str) -> None:
        """Do what `create` does for an account with an identity.

        Raises:
            IdentityTaken: Another account is linked to it.
        """

    async def set_identity(self, account_id: AccountId, identity: bytes | None) -> None:
        """Link an account to a person of a provider, or unlink it; do nothing if it is gone.

        Raises:
            IdentityTaken: Another account is linked to that person.
        """

    async def set_password(self, account_id: AccountId, password_hash: str) -> None:
        """Replace the password's hash; end sessions, and logins that were granted but not fetched.

        Links to set a new password end, too. Sessions that belong to a token do not end, since the
        token does not.
        """

    async def replace_hash(self, account_id: AccountId, stored_hash: str, new_hash: str) -> None:
        """Replace the hash of a password by another of the same password, with the same salt.

        Nothing ends with it. Nothing is done if the account has another hash by now.
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
        """Remove an account and all that is stored for it; all else is as in `set_disabled`.

        It is gone, and its name is free, with one commit. The rest may go in steps that others do
        not wait for; what a stop leaves of it, `finish_deleting` removes.
        """

    async def finish_deleting(self) -> None:
        """Remove what is left of accounts that are deleted."""

    async def advance(
        self, account_id: AccountId, clock: Clock, to: Callable[[Stamp], Stamp]
    ) -> Stamp:
        """Set a clock to what `to` returns for its present stand, and return that.

        Raises:
            NotAuthorized: The account is gone.
        """

    async def note_restored(self, account_id: AccountId, decide: DecideRestored) -> None:
        """Store what `decide` returns for an account; do nothing if the account is gone."""

    async def restamp(self, account_id: AccountId, now: Stamp, decide: DecideStamps) -> None:
        """Replace stamps of an account that are later than `now`, as `decide` says, in one commit.

        The URLs that its apps are known to have are forgotten, and each app that was sent anything
        counts as informed as `decide` says. Nothing is done if the account is gone.
        """
