"""Accounts: creating, changing and deleting them, and their clocks after a restore."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from feedkeep.errors import AccountError
from feedkeep.model import Account, AccountId, Clock, Now, Stamp
from feedkeep.rules import credentials
from feedkeep.rules.clock import after_restore
from feedkeep.security.passwords import Passwords
from feedkeep.security.tokens import new_account_id
from feedkeep.store.base import Store

_CLOCKS_AT_ONCE = 256


class Accounts:
    """All accounts."""

    def __init__(self, store: Store, passwords: Passwords, now: Now) -> None:
        self._store = store
        self._passwords = passwords
        self._now = now

    async def all(self) -> Sequence[Account]:
        """Return all accounts, ordered by name."""
        return await self._store.accounts.all()

    async def are_there(self) -> bool:
        """Say whether there is any account."""
        return await self._store.accounts.are_there()

    async def named(self, name: str) -> Account:
        """Return the account with a name; upper and lower case do not matter.

        Raises:
            AccountError: There is no such account.
        """
        found = await self._store.accounts.find(credentials.name_key(name))
        if found is None:
            raise AccountError(f'There is no account "{name}"; `feedkeep account list` shows all.')
        return found

    async def create(self, name: str, password: str | None) -> Account:
        """Create an account; without a password it is used with tokens only.

        Raises:
            AccountError: The name or the password is not acceptable, or the name is taken.
        """
        key = credentials.name_key(credentials.check_name(name))
        password_hash = None if password is None else await self._hash(password)
        account = Account(new_account_id(), name, password_hash, False, self._now())
        await self._store.accounts.create(account, key)
        return account

    async def set_password(self, name: str, password: str) -> None:
        """Replace a password; the old one stops working with the next request.

        Raises:
            AccountError: There is no such account, or the password is not acceptable.
        """
        account = await self.named(name)
        await self._store.accounts.set_password(account.id, await self._hash(password))

    async def set_disabled(self, name: str, is_disabled: bool) -> None:
        """Refuse all credentials of an account from now on, or accept them again.

        Raises:
            AccountError: There is no such account.
        """
        account = await self.named(name)
        await self._store.accounts.set_disabled(account.id, is_disabled)

    async def delete(self, name: str) -> None:
        """Remove an account with its list and its tokens.

        Raises:
            AccountError: There is no such account.
        """
        account = await self.named(name)
        await self._store.accounts.delete(account.id)

    async def move_clocks(self) -> None:
        """Move all clocks past every stamp that clients may have been given since the backup."""
        now = self._now()
        accounts = await self._store.accounts.all()
        for start in range(0, len(accounts), _CLOCKS_AT_ONCE):
            chunk = accounts[start : start + _CLOCKS_AT_ONCE]
            await asyncio.gather(*(self._move_clocks_of(account.id, now) for account in chunk))

    async def _move_clocks_of(self, account_id: AccountId, now: Stamp) -> None:
        for clock in Clock:
            await self._store.accounts.advance(
                account_id, clock, lambda last: after_restore(last, now)
            )

    async def _hash(self, password: str) -> str:
        return await self._passwords.hash(credentials.check_password(password))
