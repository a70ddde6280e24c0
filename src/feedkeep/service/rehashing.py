"""Replace password hashes whose cost is outdated, when their password is used."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from feedkeep.model import Account, AccountId
from feedkeep.model.errors import StoreUnavailable, TooManyAttempts
from feedkeep.runtime.tasks import end
from feedkeep.security import argon2id
from feedkeep.security.passwords import Passwords
from feedkeep.store.base import Store


class Rehashing:
    """Computes new hashes in the background while no login waits."""

    def __init__(self, store: Store, passwords: Passwords) -> None:
        self._store = store
        self._passwords = passwords
        self._tasks: dict[AccountId, asyncio.Task[None]] = {}

    def begin(self, account: Account, name_key: str, password: str) -> None:
        """Start to replace the account's hash if it is outdated; `password` is its password."""
        stored_hash = account.password_hash
        if (
            stored_hash is None
            or account.id in self._tasks
            or not argon2id.is_outdated(stored_hash)
        ):
            return
        work = self._replace(account.id, stored_hash, name_key, password)
        task = asyncio.create_task(work)
        self._tasks[account.id] = task
        task.add_done_callback(lambda _: self._tasks.pop(account.id))

    async def close(self) -> None:
        await end(*self._tasks.values())

    async def _replace(
        self, account_id: AccountId, stored_hash: str, name_key: str, password: str
    ) -> None:
        with suppress(TooManyAttempts, StoreUnavailable):  # the next login tries again
            new_hash = await self._passwords.renewed(password, stored_hash)
            await self._store.accounts.replace_hash(account_id, stored_hash, new_hash)
            self._passwords.remember(name_key, password, new_hash)
