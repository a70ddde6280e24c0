"""Check credentials: tokens, sessions, and names with passwords (contract, section 2)."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from contextlib import suppress

from feedkeep.model import Account, AccountId, Admitted, Guid, NotLookedUp, Now
from feedkeep.model.errors import (
    AppPasswordNeeded,
    NotAuthorized,
    StoreUnavailable,
    TooManyAttempts,
)
from feedkeep.rules import credentials
from feedkeep.rules.credentials import Credential, PasswordCredential, TokenCredential
from feedkeep.rules.guids import guid_or_none
from feedkeep.runtime.recorder import Recorder
from feedkeep.runtime.tasks import end
from feedkeep.security import argon2id
from feedkeep.security.passwords import Passwords
from feedkeep.security.throttle import WINDOW_SECONDS
from feedkeep.service.last_uses import LastUses
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


_MAX_COUNTED = 10_000


class Authentication:
    """Checks credentials, and slows down password guessing.

    Args:
        recorder: Counts wrong passwords.
        app_passwords_url: URL for creating app passwords, if apps must use them; else "".
    """

    def __init__(
        self,
        store: Store,
        passwords: Passwords,
        rehashing: Rehashing,
        last_uses: LastUses,
        now: Now,
        recorder: Recorder | None = None,
        app_passwords_url: str = "",
    ) -> None:
        self._app_passwords_url = app_passwords_url
        self._recorder = recorder
        self._store = store
        self._passwords = passwords
        self._rehashing = rehashing
        self._last_uses = last_uses
        self._now = now
        self._wrong_at_seconds: deque[float] = deque(maxlen=_MAX_COUNTED)

    async def close(self) -> None:
        await self._rehashing.close()

    def wrong_passwords(self) -> int:
        """Return the number of wrong passwords sent to this process in the last five minutes."""
        since_seconds = time.monotonic() - WINDOW_SECONDS
        return sum(at_seconds > since_seconds for at_seconds in self._wrong_at_seconds)

    async def admit(
        self, credential: Credential, address: str, guid: str | None = None
    ) -> Admitted:
        """Authenticate a credential, with the current state of its account.

        With `guid`, also the entry that `Subscriptions.read` needs: one query for token and entry
        takes little longer than one for the token.

        Raises:
            NotAuthorized: The credential is invalid. The error never says why.
            AppPasswordNeeded: The credential is a password, valid or not, and apps must use app
                passwords.
            TooManyAttempts: Too many wrong passwords for this name or from this address.
        """
        wanted = None if guid is None else guid_or_none(guid)
        if isinstance(credential, TokenCredential):
            return await self._authenticate_token(credential, wanted)
        if self._app_passwords_url:
            raise AppPasswordNeeded(self._app_passwords_url)
        account = await self._authenticate_password(credential, address)
        view = (
            NotLookedUp.NOT_LOOKED_UP
            if wanted is None
            else await self._store.entries.view(account.id, wanted)
        )
        return Admitted(account, credential.kind, view)

    async def admit_person(self, name: str, password: str, address: str) -> Admitted:
        """Authenticate a person by name and password on a page; raises as `admit` does.

        The account's own password is always accepted there.
        """
        shown = PasswordCredential(name, password)
        return Admitted(await self._authenticate_password(shown, address), shown.kind)

    async def _authenticate_token(
        self, credential: TokenCredential, wanted: Guid | None
    ) -> Admitted:
        found = await self._store.tokens.find(credential.account_id, credential.hash, wanted)
        if found is None:
            raise NotAuthorized
        account, token, now = found.account, found.token, self._now()
        if credential.names and not credentials.is_named(account, credential):
            raise NotAuthorized
        if not credentials.admits(account, token, now, credential.purpose):
            raise NotAuthorized
        self._last_uses.note(account.id, token, now)
        view = NotLookedUp.NOT_LOOKED_UP if wanted is None else found.view
        sign_in = token.of_token if token.is_session else token.id
        return Admitted(account, credential.kind, view, token, token.scope, sign_in)

    async def _authenticate_password(self, credential: PasswordCredential, address: str) -> Account:
        counted_key = credentials.name_key(credential.name)
        read, account = await self._named_account(credential)
        key = credentials.name_key(read.name)
        password = credentials.normal_password(read.password)
        stored_hash = account.password_hash if account and not account.is_disabled else None
        # A remembered password skips the queue; tokens do not come here (C2.17).
        if account and self._passwords.remembers(key, password, stored_hash):
            return account

        is_right = await self._passwords.verify(key, password, stored_hash, counted_key, address)
        if account is None or not is_right:
            self._wrong_at_seconds.append(time.monotonic())
            if self._recorder:
                self._recorder.wrong_passwords.inc()
            raise NotAuthorized
        self._rehashing.begin(account, key, password)
        return account

    async def _named_account(
        self, credential: PasswordCredential
    ) -> tuple[PasswordCredential, Account | None]:
        """Return the first reading of a credential that names an account (C2.3), with the account.

        Basic may be in one of two encodings. Both names are always looked up, and attempts are
        always counted for the first: neither time nor count reveals whether a name exists (C2.13).
        """
        account = await self._store.accounts.find(credentials.name_key(credential.name))
        if credential.otherwise is not None:
            other = await self._named_account(credential.otherwise)
            if account is None and other[1] is not None:
                return other
        return credential, account
