"""The apps that are let in to an account, as its owner sees them. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from enum import StrEnum

from feedkeep.errors import AccountError
from feedkeep.model import Scope, Stamp, Token, TokenDecision, TokenId, Value
from feedkeep.rules.credentials import is_alive

MAX_TOKENS = 200
"""How many tokens of an account work at the same time, before its owner can make no more."""

MAX_ENDED_TOKENS = 100
"""How many tokens that have ended are kept; when one is made, the oldest others are forgotten."""


class AppKind(StrEnum):
    """How an app is let in.

    Attributes:
        TOKEN: By a token, which people call an app password.
        PASSWORD: By the account's own password, with which it began sessions.
        NEXTCLOUD: By a token that it fetched in a login of Nextcloud.
    """

    TOKEN = "app password"  # noqa: S105 - what people call it
    PASSWORD = "signed in with your password"  # noqa: S105 - as above
    NEXTCLOUD = "nextcloud login"


class ConnectedApp(Value, frozen=True):
    """An app that is let in: a token with its sessions, or sessions that a password began.

    Attributes:
        ids: The numbers of the token; or of all sessions. Each of them disconnects the app.
        name: Its label.
        kind: How it is let in.
        created: When it was let in first.
        last_used: The beginning of the UTC day of its last use; None if it was never used.
        scope: What it may do.
    """

    ids: Sequence[TokenId]
    name: str
    kind: AppKind
    created: Stamp
    last_used: Stamp | None
    scope: Scope


def connected(tokens: Iterable[Token], now: Stamp) -> list[ConnectedApp]:
    """Return the apps that have these tokens and sessions: those used last come first."""
    alive = [token for token in tokens if is_alive(token, now)]
    sessions: defaultdict[TokenId | None, list[Token]] = defaultdict(list)
    for session in alive:
        if session.is_session:
            sessions[session.of_token].append(session)
    apps = []
    for token in alive:
        if not token.is_session:
            kind = AppKind.NEXTCLOUD if token.is_granted else AppKind.TOKEN
            apps.append(_app(kind, [token.id], [token, *sessions[token.id]]))
    by_label: defaultdict[str, list[Token]] = defaultdict(list)
    for session in sessions[None]:
        by_label[session.label].append(session)
    apps += [
        _app(AppKind.PASSWORD, [session.id for session in alike], alike)
        for alike in by_label.values()
    ]
    return sorted(apps, key=lambda app: (app.last_used or Stamp(0), app.created), reverse=True)


def find(apps: Iterable[ConnectedApp], number: TokenId) -> ConnectedApp:
    """Return the app that has the token or session with a number.

    Raises:
        AccountError: There is none.
    """
    for app in apps:
        if number in app.ids:
            return app
    raise AccountError("That app is not connected; look at the list of apps again.")


def connect(tokens: Iterable[Token], new: Token, now: Stamp) -> TokenDecision:
    """Add a token for an app, and forget what ended long ago.

    Raises:
        AccountError: The account has as many tokens as it may have.
    """
    known = list(tokens)
    own = [one for one in known if not one.is_session]
    ended = [one for one in own if not is_alive(one, now)]
    if len(own) - len(ended) >= MAX_TOKENS:
        raise AccountError(
            "{max} apps have a password of their own, and there may not be more: disconnect"
            " those that you do not use any longer.",
            max=MAX_TOKENS,
        )
    ended.sort(key=_ended, reverse=True)
    gone = {one.id for one in ended[MAX_ENDED_TOKENS:]}
    # Without an operator, since no test can tell the number of a token from its text.
    gone |= {one.id for one in known if not gone.isdisjoint({one.of_token})}
    return TokenDecision([new], sorted(gone))


def _app(kind: AppKind, ids: Sequence[TokenId], parts: Sequence[Token]) -> ConnectedApp:
    first, created = parts[0], min(part.created for part in parts)
    last_used = max(part.last_used or Stamp(0) for part in parts) or None
    return ConnectedApp(ids, first.label, kind, created, last_used, first.scope)


def _ended(token: Token) -> Stamp:
    return token.revoked or token.expires or Stamp(0)
