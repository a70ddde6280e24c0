"""The apps that are let in to an account, as its owner sees them. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from enum import StrEnum

from feedkeep.model import Scope, Stamp, Token, TokenDecision, TokenId, Value
from feedkeep.model.errors import AccountError
from feedkeep.rules.app_identity import product_of
from feedkeep.rules.clock import DAY_US, later
from feedkeep.rules.credentials import is_alive

MAX_TOKENS = 200
"""How many tokens of an account work at the same time, before its owner can make no more."""

SILENT_DAYS = 14
"""After how many days without any use an app is pointed out, if others were used since."""

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


class AppUse(Value, frozen=True):
    """What a product calls itself that has signed in with a token, and when that was last used."""

    name: str
    last_used: Stamp | None


class ConnectedApp(Value, frozen=True):
    """An app that is let in: a token with its sessions, or sessions that a password began.

    Attributes:
        ids: The numbers of the token; or of all sessions. Each of them disconnects the app.
        name: Its label.
        kind: How it is let in.
        created: When it was let in first.
        last_used: The beginning of the minute of its last use; None if it was never used.
        scope: What it may do.
        used_by: Each product that has signed in with the token, last used first, if there are
            several: the use of one of them is no sign of life of the others.
    """

    ids: Sequence[TokenId]
    name: str
    kind: AppKind
    created: Stamp
    last_used: Stamp | None
    scope: Scope
    used_by: Sequence[AppUse] = ()


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
            own = sessions[token.id]
            apps.append(_app(kind, [token.id], [token, *own], _uses(own)))
    apps += [
        _app(AppKind.PASSWORD, [session.id for session in alike], alike)
        for alike in _by_product(sessions[None])
    ]
    return sorted(apps, key=lambda app: (app.last_used or Stamp(0), app.created), reverse=True)


def fallen_silent(apps: Sequence[ConnectedApp], now: Stamp) -> list[ConnectedApp]:
    """Return the apps that have not been used for weeks, while another one was used since.

    Where all are silent, their owner is away, or has none of them any more. What was never used is
    not meant: its owner may still be about to connect it.
    """
    silent_since = later(now, -SILENT_DAYS * DAY_US)
    last = [app.last_used for app in apps if app.last_used is not None]
    if not any(used > silent_since for used in last):
        return []
    return [app for app in apps if app.last_used is not None and app.last_used <= silent_since]


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
            "{max} apps have an app password, which is the maximum: disconnect those that you no"
            " longer use.",
            max=MAX_TOKENS,
        )
    ended.sort(key=_ended, reverse=True)
    gone = {one.id for one in ended[MAX_ENDED_TOKENS:]}
    # Without an operator, since no test can tell the number of a token from its text.
    gone |= {one.id for one in known if not gone.isdisjoint({one.of_token})}
    return TokenDecision([new], sorted(gone))


def _app(
    kind: AppKind, ids: Sequence[TokenId], parts: Sequence[Token], uses: Sequence[AppUse] = ()
) -> ConnectedApp:
    first, created = parts[0], min(part.created for part in parts)
    used_by = uses if len(uses) > 1 else ()
    return ConnectedApp(ids, first.label, kind, created, _last_used(parts), first.scope, used_by)


def _by_product(sessions: Iterable[Token]) -> list[list[Token]]:
    """Return sessions by what began them, the newest first: an update makes no other app of it."""
    by_product: defaultdict[str, list[Token]] = defaultdict(list)
    for session in sessions:
        by_product[product_of(session.label)].insert(0, session)
    return list(by_product.values())


def _uses(sessions: Iterable[Token]) -> list[AppUse]:
    uses = [AppUse(alike[0].label, _last_used(alike)) for alike in _by_product(sessions)]
    return sorted(uses, key=lambda use: use.last_used or Stamp(0), reverse=True)


def _last_used(parts: Iterable[Token]) -> Stamp | None:
    return max(part.last_used or Stamp(0) for part in parts) or None


def _ended(token: Token) -> Stamp:
    return token.revoked or token.expires or Stamp(0)
