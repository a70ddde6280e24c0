"""Logins of podcast apps: sessions, and logins granted by an account's owner on a web page.

Nothing is stored about a Nextcloud login until it is granted. So the secret, which only the app
has, contains the second in which the login began and the requested scope. The link contains both,
too, and the SHA-256 of the secret. If a link's second or scope was changed, the login can be
granted, but the app cannot fetch it.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from typing import ClassVar

from feedkeep.model import (
    UNNUMBERED,
    Account,
    AccountId,
    Admitted,
    Grant,
    NewToken,
    Now,
    Scope,
    Stamp,
    Token,
    TokenId,
    Value,
    replace,
)
from feedkeep.rules import app_identity, credentials
from feedkeep.rules.clock import DAY_US, SECOND_US, minute_of, shift
from feedkeep.rules.credentials import SESSION_PREFIX, as_label
from feedkeep.security.tokens import SharedSession, SharedSessions, new_token
from feedkeep.service.last_uses import LastUses
from feedkeep.store.base import Store

OPEN_SECONDS = 1_200
"""Time within which a login can be granted and fetched; apps wait five minutes."""

_CLOCKS_DIFFER_SECONDS = 60
"""The maximum difference between the clocks of the service's machines."""

REMEMBERED_SECONDS = OPEN_SECONDS + 2 * _CLOCKS_DIFFER_SECONDS
"""Retention of granted logins; afterwards they could no longer be granted anyway."""

_READS = "read."
_SECRET = re.compile(rf"([0-9]{{1,12}})\.({re.escape(_READS)})?[A-Za-z0-9_-]{{20,}}")


def new_secret(random: str, now_seconds: int, scope: Scope = Scope.WRITE) -> str:
    """Return the secret of an app that begins a login; `random` must be unguessable."""
    return f"{now_seconds}.{_READS if scope is Scope.READ else ''}{random}"


def login_of(secret: str) -> bytes:
    """Return the hash of the secret, which is part of the link."""
    return hashlib.sha256(secret.encode()).digest()


def scope_of(secret: str) -> Scope:
    found = _SECRET.fullmatch(secret)
    return Scope.READ if found and found[2] else Scope.WRITE


def granted_as(login: bytes, scope: Scope) -> bytes:
    """Return the key under which a login granted with a scope is stored.

    The page knows only the secret's hash, not the requested scope. If the link's scope differs from
    the secret's, the login is stored under a key that the app does not look up.
    """
    return login if scope is Scope.WRITE else hashlib.sha256(login + b"read").digest()


def begun_at(secret: str) -> int | None:
    """Return the second in which a login began; None if the secret is invalid."""
    found = _SECRET.fullmatch(secret)
    return int(found[1]) if found else None


def read_begun(text: str) -> int | None:
    """Return the second in a link; None if invalid."""
    return int(text) if re.fullmatch(r"[0-9]{1,12}", text) else None


def is_open(begun_seconds: int | None, now_seconds: int) -> bool:
    """Whether a login begun at that second can still be granted and fetched."""
    if begun_seconds is None:
        return False
    return -_CLOCKS_DIFFER_SECONDS <= now_seconds - begun_seconds <= OPEN_SECONDS


MAX_SESSIONS = 100
MAX_SESSIONS_OF_AN_APP = 20
"""Maximum number of sessions of an account, and of one app.

A new session replaces the session that would end first. AntennaPod starts one with each sync;
without the second limit, it would end the sessions of all other apps.
"""


class FoundSession(Value, frozen=True):
    """A session shared by all cookieless clients with the same Authorization header.

    Attributes:
        text: The session token.
    """

    text: str
    admitted: Admitted

    hidden: ClassVar[frozenset[str]] = frozenset({"text"})


class FetchedLogin(Value, frozen=True):
    """A granted login, as an app receives it.

    Attributes:
        text: New token, which only this app has.
    """

    name: str
    text: str

    hidden: ClassVar[frozenset[str]] = frozenset({"text"})


class Logins:
    """Starts, extends and ends sessions; grants Nextcloud logins, and lets apps fetch them."""

    def __init__(self, store: Store, last_uses: LastUses, now: Now) -> None:
        self._store = store
        self._last_uses = last_uses
        self._now = now
        self._shared = SharedSessions()

    async def begin_session(
        self, admitted: Admitted, label: str, *, is_shared: bool = False
    ) -> NewToken:
        """Start a session with the permissions of the credential.

        It ends when the password that was sent changes, or with the token sent instead of a
        password.

        Raises:
            NotAuthorized: The password or token has become invalid.
        """
        text, now = new_token(admitted.account.id, SESSION_PREFIX), self._now()
        expires, of_token = _end_of_session(admitted.token, now)
        session = Token(
            UNNUMBERED,
            credentials.token_hash(text),
            as_label(label),
            now,
            expires,
            is_session=True,
            is_shared=is_shared,
            of_token=of_token,
            scope=admitted.scope,  # C2.10
            last_used=minute_of(now),
        )
        stored = await self._store.tokens.add_session(
            admitted.account, session, MAX_SESSIONS, MAX_SESSIONS_OF_AN_APP
        )
        return NewToken(text, stored)

    async def find_shared(self, header: str, label: str) -> FoundSession | None:
        """Return the session shared by cookieless clients with this Authorization header.

        None if missing or ended. One transaction also reads the sync progress, so a password with
        each request costs little more than a cookie.
        """
        mark = self._shared.mark(header, label)
        session = self._shared.find(mark)
        if session is None:
            return None
        found = await self._store.tokens.find(
            session.account_id, session.hash, document=session.document
        )
        now = self._now()
        if found is None or not credentials.admits(found.account, found.token, now):
            self._shared.forget(mark, session)
            return None
        self._last_uses.note(session.account_id, found.token, now)
        if await self.extend_session(session.account_id, found.token):
            # Meanwhile, another request of the app may have been answered.
            return await self.find_shared(header, label)
        kind, token = session.credential_kind, found.token
        # Without the session, no progress is recorded for it: what one client of a shared session
        # was sent says nothing about the others.
        admitted = Admitted(
            found.account,
            kind,
            scope=token.scope,
            sign_in=token.of_token,
            user_agent=label,
            document=found.document,
        )
        return FoundSession(session.text, admitted)

    async def share_session(self, header: str, label: str, admitted: Admitted) -> FoundSession:
        """Return the shared session of an accepted header; start it if needed.

        Raises:
            NotAuthorized: The password or token has become invalid.
        """

        async def begin() -> SharedSession:
            begun = await self.begin_session(admitted, label, is_shared=True)
            kind, token_hash = admitted.credential_kind, begun.token.hash
            document = app_identity.document_of(shared)
            return SharedSession(admitted.account.id, kind, begun.text, token_hash, document)

        shared = replace(admitted, token=None, user_agent=label)
        session = await self._shared.begun(self._shared.mark(header, label), begin)
        return FoundSession(session.text, shared)

    async def extend_session(self, account_id: AccountId, session: Token) -> bool:
        """Postpone the end of a used session if due; return whether it was postponed."""
        expires = credentials.end_if_used(session, self._now(), credentials.APP_SESSION_DAYS)
        if expires is None:
            return False
        await self._store.tokens.extend(account_id, session.id, expires)
        return True

    async def end_session(self, account_id: AccountId, session: Token) -> None:
        await self._store.tokens.revoke(account_id, session.id, self._now())

    def begin_login(self, scope: Scope = Scope.WRITE) -> str:
        """Return the secret of a new login for the app; nothing is stored."""
        return new_secret(secrets.token_urlsafe(32), self._now() // SECOND_US, scope)

    def is_link_open(self, begun: str) -> bool:
        """Whether a login can still be granted, by the start time in its link."""
        return is_open(read_begun(begun), self._now() // SECOND_US)

    async def grant_login(
        self, account: Account, login: bytes, label: str, scope: Scope = Scope.WRITE
    ) -> bool:
        """Grant a login; return whether this was the first time, since it works only once.

        `login` is the SHA-256 of the app's secret. If `scope` is not the one that the app
        requested, the app cannot fetch the login.

        Raises:
            NotAuthorized: The password was changed in the meantime, or the account is disabled.
        """
        now = self._now()
        granted = granted_as(login, scope)
        grant = Grant(granted, account.id, as_label(label), now)
        forgotten_before = shift(now, -REMEMBERED_SECONDS * SECOND_US)
        return await self._store.logins.save(account, grant, forgotten_before)

    async def fetch_login(self, secret: str) -> FetchedLogin | None:
        """Return the account's name and a new token, once per granted login; else None."""
        now = self._now()
        if not is_open(begun_at(secret), now // SECOND_US):
            return None
        scope = scope_of(secret)
        login = granted_as(login_of(secret), scope)
        grant = await self._store.logins.find(login)
        if grant is None:
            return None
        text = new_token(grant.account_id)
        token = Token(
            UNNUMBERED,
            credentials.token_hash(text),
            grant.label,
            now,
            is_granted=True,
            scope=scope,
        )
        account = await self._store.logins.fetch(grant, token, now)
        return FetchedLogin(account.name, text) if account else None


def _end_of_session(token: Token | None, now: Stamp) -> tuple[Stamp, TokenId | None]:
    """Return the expiry of a new session, and the id of the token with which it ends, if any.

    `token` is the credential that starts the session; None if it was a password.
    """
    expires = shift(now, credentials.APP_SESSION_DAYS * DAY_US)
    if token is None:
        return expires, None
    of_token = token.of_token if token.is_session else token.id
    if of_token is None:
        return expires, None
    return min(expires, token.expires or expires), of_token
