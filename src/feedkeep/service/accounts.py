"""Accounts: creating, changing and deleting them, and their clocks after a restore."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import ClassVar

from feedkeep.model import Account, AccountId, Entry, Now, Person, Restored, Value, replace
from feedkeep.model.errors import AccountError, NameTaken, NotAuthorized
from feedkeep.rules import credentials
from feedkeep.rules.accounts import check_not_last
from feedkeep.rules.database_restores import restored
from feedkeep.security.argon2id import check_hash
from feedkeep.security.passwords import Passwords
from feedkeep.security.tokens import new_account_id, new_epoch
from feedkeep.store.base import Store, anything_goes

PAGE = 256
"""How many accounts are read, and worked on, at once."""

FIRST = AccountId(0)
"""Comes before all ids."""


class ImportedAccount(Value, frozen=True):
    """An account that is created together with others.

    Attributes:
        name: Its name.
        password: Its password; None if a hash is given, or if it is to be used with tokens only.
        password_hash: The argon2id hash of its password in PHC form, made elsewhere.
        is_admin: Whether it is an administrator.
    """

    name: str
    password: str | None = None
    password_hash: str | None = None
    is_admin: bool = False

    hidden: ClassVar[frozenset[str]] = frozenset({"password", "password_hash"})


class Accounts:
    """All accounts."""

    def __init__(self, store: Store, passwords: Passwords, now: Now) -> None:
        self._store = store
        self._passwords = passwords
        self._now = now

    async def count(self, after: AccountId = FIRST) -> int:
        """Return how many accounts have a greater id."""
        return await self._store.accounts.count(after)

    async def by_id(self, after: AccountId = FIRST) -> AsyncIterator[Sequence[Account]]:
        """Yield all accounts with a greater id, ordered by it, up to `PAGE` at a time."""
        while page := await self._store.accounts.by_id(after, PAGE):
            yield page
            after = page[-1].id

    async def by_name(
        self, after: str = "", beginning: str = ""
    ) -> AsyncIterator[Sequence[Account]]:
        """Yield all accounts that `people` returns, up to `PAGE` at a time."""
        while page := await self.people(after, PAGE, beginning):
            yield [person.account for person in page]
            after = page[-1].account.name

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
            raise AccountError(
                'There is no account "{name}"; `feedkeep account list` shows all.', name=name
            )
        return found

    async def people(self, after: str, limit: int, beginning: str = "") -> Sequence[Person]:
        """Return up to `limit` accounts whose names come after another, ordered by name.

        All of these names have the same `beginning`. Upper and lower case do not matter; ""
        comes before all names.
        """
        keys = credentials.name_key(after), credentials.name_key(beginning)
        return await self._store.accounts.people(keys[0], limit, keys[1])

    async def administrators(self) -> Sequence[Account]:
        """Return all administrators that are not disabled, the oldest first."""
        return await self._store.accounts.administrators()

    async def create(self, name: str, password: str | None, *, is_admin: bool = False) -> Account:
        """Create an account; without a password it is used with tokens only.

        Raises:
            AccountError: The name or the password is not acceptable, or the name is taken.
            TooManyAttempts: Too many passwords wait to be hashed.
        """
        account, key = await self.prepared(name, password, is_admin=is_admin)
        await self._store.accounts.create(account, key)
        return account

    async def set_up(self, name: str, password: str | None) -> Account:
        """Create the first account, an administrator; raises as `create` does.

        Raises:
            NotAuthorized: There is an account already.
        """
        if await self.are_there():  # before anything is computed for a stranger
            raise NotAuthorized
        account, key = await self.prepared(name, password, is_admin=True)
        await self._store.accounts.create_first(account, key)
        return account

    async def prepared(
        self, name: str, password: str | None, *, is_admin: bool = False
    ) -> tuple[Account, str]:
        """Return an account that can be created, and the key of its name; nothing is stored.

        Raises:
            AccountError: The name or the password is not acceptable.
            TooManyAttempts: Too many passwords wait to be hashed.
        """
        key = credentials.name_key(credentials.check_name(name))
        password_hash = None if password is None else await self._hash(password)
        account = Account(new_account_id(), name, password_hash, False, self._now())
        return replace(account, is_admin=is_admin), key

    async def create_many(self, wanted: Sequence[ImportedAccount]) -> list[AccountError | None]:
        """Create accounts in one commit; return for each why it was refused, or None.

        A hundred at a time are a good number. Passwords are hashed here, a few at a time, and none
        of a name that is taken; accounts with a hash, or without a password, cost a row each.
        """
        keys = [credentials.name_key(one.name) for one in wanted]
        taken = await self._store.accounts.taken(keys)
        prepared = await asyncio.gather(
            *(
                self._prepared_for_import(one, is_taken=key in taken)
                for one, key in zip(wanted, keys, strict=True)
            )
        )
        ready = [one for one in prepared if not isinstance(one, AccountError)]
        created = iter(await self._store.accounts.create_many(ready))
        return [
            one
            if isinstance(one, AccountError)
            else None
            if next(created)
            else NameTaken(one[0].name)
            for one in prepared
        ]

    async def set_password(self, name: str, password: str) -> Account:
        """Replace a password; return the account as it is now.

        The old password stops working with the next request. Sessions that it began end, of apps
        and of browsers, and links to set a new password, and the address of the news; recovery
        codes stay.

        Raises:
            AccountError: There is no such account, or the password is not acceptable.
            TooManyAttempts: Too many passwords wait to be hashed.
        """
        account = await self.named(name)
        password_hash = await self._hash(password)
        await self._store.accounts.set_password(account.id, password_hash)
        return replace(account, password_hash=password_hash)

    async def set_disabled(self, name: str, is_disabled: bool) -> None:
        """Refuse all credentials of an account from now on, or accept them again.

        Raises:
            AccountError: There is no such account, or it is the last administrator.
        """
        account = await self.named(name)
        check = check_not_last if is_disabled else anything_goes
        await self._store.accounts.set_disabled(account.id, is_disabled, check)

    async def set_admin(self, name: str, is_admin: bool) -> None:
        """Make an account an administrator, or none; raises as `set_disabled` does."""
        account = await self.named(name)
        check = anything_goes if is_admin else check_not_last
        await self._store.accounts.set_admin(account.id, is_admin, check)

    async def delete(self, name: str) -> None:
        """Remove an account with its list and its tokens; raises as `set_disabled` does."""
        account = await self.named(name)
        await self._store.accounts.delete(account.id, check_not_last)

    async def note_restored(self) -> None:
        """Note in each account that an older state of the database was restored."""
        now, epoch = self._now(), new_epoch()

        def decide(account: Account, newest: Entry | None) -> Restored:
            return restored(account, newest, now, epoch)

        async for page in self.by_id():
            await asyncio.gather(
                *(self._store.accounts.note_restored(account.id, decide) for account in page)
            )

    async def _hash(self, password: str) -> str:
        return await self._passwords.hash(credentials.check_password(password))

    async def _prepared_for_import(
        self, wanted: ImportedAccount, *, is_taken: bool
    ) -> tuple[Account, str] | AccountError:
        if is_taken:
            return NameTaken(wanted.name)
        try:
            if wanted.password is not None and wanted.password_hash is not None:
                return AccountError("Give a password or a password_hash, not both.")
            ready = wanted.password_hash and check_hash(wanted.password_hash)
            account, key = await self.prepared(
                wanted.name, wanted.password, is_admin=wanted.is_admin
            )
        except AccountError as error:
            return error
        return (replace(account, password_hash=ready), key) if ready else (account, key)
