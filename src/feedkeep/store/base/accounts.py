"""Protocol for storing accounts."""

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
    """All accounts and their clocks."""

    async def find(self, name_key: str) -> Account | None:
        """Return the account with a name key, if it exists."""

    async def with_id(self, account_id: AccountId) -> Account | None:
        """Return the account with an id, if it exists."""

    async def linked(self, identity: bytes) -> Account | None:
        """Return the account that is linked to a person of a provider, if there is one.

        In a cluster, all machines are searched.
        """

    async def count(self, after: AccountId) -> int:
        """Return the number of accounts with a greater id; all ids are greater than 0."""

    async def by_id(self, after: AccountId, limit: int) -> Sequence[Account]:
        """Return up to `limit` accounts with a greater id, ordered by id."""

    async def people(self, after: str, limit: int, beginning: str = "") -> Sequence[Person]:
        """Return up to `limit` accounts whose name key follows `after`, ordered by name key.

        Only name keys that start with `beginning` are returned.
        """

    async def taken(self, name_keys: Sequence[str]) -> Collection[str]:
        """Return the name keys that belong to an account."""

    async def administrators(self) -> Sequence[Account]:
        """Return all enabled administrators, the oldest first."""

    async def newest_stamp(self) -> Stamp:
        """Return the newest stamp of all lists and their episode actions; 0 without accounts.

        Reads all accounts.
        """

    async def are_there(self) -> bool:
        """Whether any account exists."""

    async def create(self, account: Account, name_key: str) -> None:
        """Add an account without entries.

        Raises:
            NameTaken: Another account has this name.
        """

    async def create_first(self, account: Account, name_key: str) -> None:
        """Add the first account, as `create` does; of concurrent calls, one succeeds.

        Raises:
            NotAuthorized: An account exists.
        """

    async def create_many(self, accounts: Sequence[tuple[Account, str]]) -> Sequence[bool]:
        """Add accounts with their name keys in one commit, except accounts whose name is taken.

        Returns for each account whether it was added.
        """

    async def sign_up(
        self,
        account: Account,
        name_key: str,
        invitation: tuple[AccountId, bytes],
        admits: Callable[[Account, Token], bool],
    ) -> None:
        """Add an account and delete the invitation that allows it, in one commit.

        The invitation is identified by the inviting account and its hash; `admits` is given both as
        stored and returns whether the invitation is still open.

        Raises:
            NotAuthorized: The invitation does not exist or is not open.
            NameTaken: Another account has this name; the invitation stays.
        """

    async def create_linked(self, account: Account, name_key: str) -> None:
        """Add an account with an identity, as `create` does.

        Raises:
            IdentityTaken: Another account is linked to this identity.
        """

    async def set_identity(self, account_id: AccountId, identity: bytes | None) -> None:
        """Link an account to a person of a provider, or unlink it; no effect if it is deleted.

        Raises:
            IdentityTaken: Another account is linked to this person.
        """

    async def set_password(self, account_id: AccountId, password_hash: str) -> None:
        """Replace the password's hash; end sessions and granted logins that were not fetched.

        Links to set a new password end, too. Sessions of a token continue, as the token does.
        """

    async def replace_hash(self, account_id: AccountId, stored_hash: str, new_hash: str) -> None:
        """Replace the hash of a password by another hash of the same password, with the same salt.

        Ends nothing. No effect if the stored hash is not `stored_hash`.
        """

    async def set_disabled(
        self, account_id: AccountId, is_disabled: bool, check: CheckChange = anything_goes
    ) -> None:
        """Disable or enable an account; end granted logins that were not fetched.

        The number of other administrators cannot fall between `check` and the commit. No effect if
        `check` raises or the account does not exist.
        """

    async def set_admin(
        self, account_id: AccountId, is_admin: bool, check: CheckChange = anything_goes
    ) -> None:
        """Grant or revoke administrator rights; otherwise as `set_disabled`."""

    async def delete(self, account_id: AccountId, check: CheckChange = anything_goes) -> None:
        """Remove an account and all its data; otherwise as `set_disabled`.

        One commit removes the account and frees its name. The rest may follow in steps that do not
        block others; if a shutdown interrupts them, `finish_deleting` continues.
        """

    async def finish_deleting(self) -> None:
        """Remove the remaining data of deleted accounts."""

    async def advance(
        self, account_id: AccountId, clock: Clock, to: Callable[[Stamp], Stamp]
    ) -> Stamp:
        """Set a clock to the result of `to` for its present stamp; return the new stamp.

        Raises:
            NotAuthorized: The account is deleted.
        """

    async def note_restored(self, account_id: AccountId, decide: DecideRestored) -> None:
        """Store the result of `decide` for an account; no effect if it is deleted."""

    async def restamp(self, account_id: AccountId, now: Stamp, decide: DecideStamps) -> None:
        """Replace an account's stamps that are later than `now` as `decide` returns, in one commit.

        Forgets which URLs its apps have; each app that was sent anything counts as informed up to
        the stamp from `decide`. No effect if the account is deleted.
        """
