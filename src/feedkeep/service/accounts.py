"""Create, change and delete accounts, and advance their clocks after a restore."""

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
"""Number of accounts that are read and processed at a time."""

FIRST = AccountId(0)
"""Less than every id."""


class ImportedAccount(Value, frozen=True):
    """An account to create in an import.

    Attributes:
        password: None if a hash is given, or for tokens only.
        password_hash: Argon2id hash in PHC format, from elsewhere.
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
        """Return the number of accounts with a greater id."""
        return await self._store.accounts.count(after)

    async def by_id(self, after: AccountId = FIRST) -> AsyncIterator[Sequence[Account]]:
        """Yield all accounts with a greater id, in order of ids, in pages of up to `PAGE`."""
        while page := await self._store.accounts.by_id(after, PAGE):
            yield page
            after = page[-1].id

    async def by_name(
        self, after: str = "", beginning: str = ""
    ) -> AsyncIterator[Sequence[Account]]:
        """Yield all accounts that `people` returns, in pages of up to `PAGE`."""
        while page := await self.people(after, PAGE, beginning):
            yield [person.account for person in page]
            after = page[-1].account.name

    async def are_there(self) -> bool:
        return await self._store.accounts.are_there()

    async def named(self, name: str) -> Account:
        """Return the account with a name, ignoring case.

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
        """Return up to `limit` accounts whose names follow `after`, in order of names.

        The names start with `beginning`. Case is ignored; "" precedes all names.
        """
        keys = credentials.name_key(after), credentials.name_key(beginning)
        return await self._store.accounts.people(keys[0], limit, keys[1])

    async def administrators(self) -> Sequence[Account]:
        """Return all enabled administrators, the oldest first."""
        return await self._store.accounts.administrators()

    async def create(self, name: str, password: str | None, *, is_admin: bool = False) -> Account:
        """Create an account; without a password it is for tokens only.

        Raises:
            AccountError: The name or password is unacceptable, or the name is taken.
            TooManyAttempts: The hashing queue is full.
        """
        account, key = await self.prepared(name, password, is_admin=is_admin)
        await self._store.accounts.create(account, key)
        return account

    async def set_up(self, name: str, password: str | None) -> Account:
        """Create the first account, an administrator; raises as `create` does.

        Raises:
            NotAuthorized: There already is an account.
        """
        if await self.are_there():  # before any expensive work for strangers
            raise NotAuthorized
        account, key = await self.prepared(name, password, is_admin=True)
        await self._store.accounts.create_first(account, key)
        return account

    async def prepared(
        self, name: str, password: str | None, *, is_admin: bool = False
    ) -> tuple[Account, str]:
        """Return a new account and the key of its name, without storing anything.

        Raises:
            AccountError: The name or password is unacceptable.
            TooManyAttempts: The hashing queue is full.
        """
        key = credentials.name_key(credentials.check_name(name))
        password_hash = None if password is None else await self._hash(password)
        account = Account(new_account_id(), name, password_hash, False, self._now())
        return replace(account, is_admin=is_admin), key

    async def create_many(self, wanted: Sequence[ImportedAccount]) -> list[AccountError | None]:
        """Create accounts in one commit; return each account's error, or None.

        About a hundred at a time are efficient. Passwords are hashed a few at a time, unless the
        name is taken; accounts with a hash or without a password cost only a row.
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
        """Replace a password; return the changed account.

        The old password is invalid from the next request on. Sessions of apps and browsers that it
        started, reset links and the address of the news end; recovery codes remain.

        Raises:
            AccountError: There is no such account, or the password is unacceptable.
            TooManyAttempts: The hashing queue is full.
        """
        account = await self.named(name)
        password_hash = await self._hash(password)
        await self._store.accounts.set_password(account.id, password_hash)
        return replace(account, password_hash=password_hash)

    async def set_disabled(self, name: str, is_disabled: bool) -> None:
        """Disable an account, which rejects all its credentials, or enable it.

        Raises:
            AccountError: There is no such account, or it is the last administrator.
        """
        account = await self.named(name)
        check = check_not_last if is_disabled else anything_goes
        await self._store.accounts.set_disabled(account.id, is_disabled, check)

    async def set_admin(self, name: str, is_admin: bool) -> None:
        """Grant or revoke administrator rights; raises as `set_disabled` does."""
        account = await self.named(name)
        check = anything_goes if is_admin else check_not_last
        await self._store.accounts.set_admin(account.id, is_admin, check)

    async def delete(self, name: str) -> None:
        """Delete an account with its list and tokens; raises as `set_disabled` does."""
        account = await self.named(name)
        await self._store.accounts.delete(account.id, check_not_last)

    async def note_restored(self) -> None:
        """Record in each account that the database was restored to an older state."""
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
