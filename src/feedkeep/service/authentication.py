"""Checking credentials: a token, a session, or a name and a password (contract, section 2)."""

from __future__ import annotations

import time
from collections import deque

from feedkeep.model import Account, Admitted, Guid, NotLookedUp, Now
from feedkeep.model.errors import AppPasswordNeeded, NotAuthorized
from feedkeep.rules import credentials
from feedkeep.rules.credentials import Credential, PasswordCredential, TokenCredential
from feedkeep.rules.guids import guid_or_none
from feedkeep.runtime.recorder import Recorder
from feedkeep.security.guessing import WINDOW_SECONDS
from feedkeep.security.passwords import Passwords
from feedkeep.service.last_uses import LastUses
from feedkeep.service.rehashing import Rehashing
from feedkeep.store.base import Store

_MAX_COUNTED = 10_000


class Authentication:
    """Checks credentials, and slows down the guessing of passwords."""

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
        """Use these; `recorder` counts wrong passwords, if it is given.

        `app_passwords_url` is where people make app passwords, if apps are let in by nothing else.
        """
        self._app_passwords_url = app_passwords_url
        self._recorder = recorder
        self._store = store
        self._passwords = passwords
        self._rehashing = rehashing
        self._last_uses = last_uses
        self._now = now
        self._wrong_at_seconds: deque[float] = deque(maxlen=_MAX_COUNTED)

    async def close(self) -> None:
        """Leave hashes as they are that would have been replaced."""
        await self._rehashing.close()

    def wrong_passwords(self) -> int:
        """Return how many wrong passwords came to this process in the last five minutes."""
        since_seconds = time.monotonic() - WINDOW_SECONDS
        return sum(at_seconds > since_seconds for at_seconds in self._wrong_at_seconds)

    async def admit(
        self, credential: Credential, address: str, guid: str | None = None
    ) -> Admitted:
        """Return the account that a credential belongs to, as it is at this moment.

        With `guid`, also the entry that `Subscriptions.read` is to return: a token and an entry are
        found with one query, which takes little longer than a query for the token alone.

        Raises:
            NotAuthorized: The credential is not valid. The error never says why.
            AppPasswordNeeded: It is a password, valid or not, and apps are let in by none.
            TooManyAttempts: Too many wrong passwords came for this name or from this address.
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
        """Return the account of a person who types name and password on a page; raises as `admit`.

        An account's own password is always taken there.
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
        # What is remembered waits for nothing; tokens do not come here (C2.17).
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
        """Return the first reading of a credential that names an account (C2.3), and that account.

        Basic can be read in two encodings. Both names are always looked up, and attempts are always
        counted for the first: neither the time nor the count tells whether a name exists (C2.13).
        """
        account = await self._store.accounts.find(credentials.name_key(credential.name))
        if credential.otherwise is not None:
            other = await self._named_account(credential.otherwise)
            if account is None and other[1] is not None:
                return other
        return credential, account
