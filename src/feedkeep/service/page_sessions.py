"""Browser sessions: valid for pages only, never for the APIs."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from feedkeep.model import (
    UNNUMBERED,
    Account,
    AccountId,
    Admitted,
    DocumentKind,
    NewToken,
    Now,
    Purpose,
    Stamp,
    Token,
    TokenDecision,
    TokenId,
    replace,
)
from feedkeep.model.errors import NotAuthorized
from feedkeep.rules import credentials
from feedkeep.rules.clock import DAY_US, MINUTE_US, minute_of, shift
from feedkeep.rules.credentials import BROWSER_PREFIX, as_label
from feedkeep.security.tokens import new_token
from feedkeep.service.authentication import Authentication
from feedkeep.service.documents import as_json, short_name
from feedkeep.service.logins import MAX_SESSIONS, MAX_SESSIONS_OF_AN_APP
from feedkeep.service.news import News
from feedkeep.store.base import Store

FRESH_MINUTES = 10
"""Time after typing the password in which pages do not ask for it again."""

_MAX_LOGOUTS = 100
_NAME = ""
_LOGOUTS = msgspec.json.Decoder(dict[str, Stamp])


class PageSessions:
    """Starts, extends and ends browser sessions.

    When all sessions, or all others, end, so does the address of the account's news, since a
    browser created it.
    """

    def __init__(self, store: Store, authentication: Authentication, news: News, now: Now) -> None:
        self._store = store
        self._authentication = authentication
        self._news = news
        self._now = now

    async def sign_in(self, name: str, password: str, address: str, label: str) -> NewToken:
        """Start a session for a person with the password; `label` names the browser.

        Raises:
            NotAuthorized: The name or password is wrong, or the account is disabled.
            TooManyAttempts: Too many wrong passwords for this name or from this address.
        """
        admitted = await self._authentication.admit_person(name, password, address)
        return await self.begin(admitted.account, label)

    async def begin(self, account: Account, label: str) -> NewToken:
        """Start a session for a person who has just set the password.

        Raises:
            NotAuthorized: The password was changed again, or the account is disabled or deleted.
        """
        return await self._begin(account, label, None)

    async def admit(self, text: str) -> Admitted:
        """Authenticate a session cookie; postpone the session's end at most once a day.

        Raises:
            NotAuthorized: It is not a browser session, or has ended.
        """
        shown = credentials.read_browser_session(text)
        if shown is None:
            raise NotAuthorized
        admitted = await self._authentication.admit(shown, "")
        session = _session_of(admitted)
        expires = credentials.end_if_used(session, self._now(), credentials.BROWSER_SESSION_DAYS)
        if expires is None:
            return admitted
        await self._store.tokens.extend(admitted.account.id, session.id, expires)
        return replace(admitted, token=replace(session, expires=expires))

    def is_fresh(self, admitted: Admitted) -> bool:
        return self._now() < shift(_session_of(admitted).created, FRESH_MINUTES * MINUTE_US)

    async def confirm(
        self, admitted: Admitted, password: str, address: str, label: str
    ) -> NewToken:
        """Check the password again, and replace the session; raises as `sign_in` does."""
        name = admitted.account.name
        confirmed = await self._authentication.admit_person(name, password, address)
        return await self._begin(confirmed.account, label, _session_of(admitted).id)

    async def sign_out(self, admitted: Admitted) -> None:
        ended = TokenDecision(forgotten=[_session_of(admitted).id])
        await self._store.tokens.change(admitted.account.id, Purpose.PAGES, lambda *_: ended)

    async def end_by_provider(
        self, account_id: AccountId, token_id: str, until: Stamp, valid_until: Stamp
    ) -> bool:
        """End the browser sessions that began by `until`, as a logout token of the provider asks.

        The token's id is stored until `valid_until`. Returns False, without effect, if it already
        was (OpenID Connect Back-Channel Logout, section 2.6).
        """
        documents, kind, name = self._store.documents, DocumentKind.LOGOUTS, short_name(token_id)
        if name in _logouts(await documents.body(account_id, kind, _NAME)):
            return False
        await self._store.tokens.change(
            account_id,
            Purpose.PAGES,
            lambda _, known: TokenDecision(
                forgotten=[one.id for one in known if one.created <= until]
            ),
        )
        await self._news.end_address(account_id)

        def with_token(body: str | None, _: int) -> str:
            now, known = self._now(), _logouts(body)
            valid = {name: valid_until, **known}
            kept = sorted(valid, key=valid.__getitem__, reverse=True)[:_MAX_LOGOUTS]
            return as_json({one: valid[one] for one in kept if valid[one] >= now})

        # Last: if this fails, the provider can send the token again.
        await documents.change(account_id, kind, _NAME, with_token)
        return True

    async def sign_out_everywhere_else(self, admitted: Admitted) -> None:
        """End all browser sessions of the account except this one."""
        own = _session_of(admitted).id
        await self._store.tokens.change(
            admitted.account.id,
            Purpose.PAGES,
            lambda _, known: TokenDecision(
                forgotten=[number for number in (one.id for one in known) if number != own]
            ),
        )
        await self._news.end_address(admitted.account.id)

    async def _begin(self, account: Account, label: str, replaced: TokenId | None) -> NewToken:
        text, now = new_token(account.id, BROWSER_PREFIX), self._now()
        session = Token(
            UNNUMBERED,
            credentials.token_hash(text),
            as_label(label),
            now,
            shift(now, credentials.BROWSER_SESSION_DAYS * DAY_US),
            is_session=True,
            purpose=Purpose.PAGES,
            last_used=minute_of(now),
        )
        stored = await self._store.tokens.add_session(
            account, session, MAX_SESSIONS, MAX_SESSIONS_OF_AN_APP, replaced
        )
        return NewToken(text, stored)


def _logouts(body: str | None) -> Mapping[str, Stamp]:
    """Return the names of received logout tokens, each with the time until which it is valid."""
    return _LOGOUTS.decode(body) if body else {}


def _session_of(admitted: Admitted) -> Token:
    assert admitted.token is not None
    return admitted.token
