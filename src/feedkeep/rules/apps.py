"""The connected apps of an account, as its owner sees them. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from enum import StrEnum

from feedkeep.model import Scope, Stamp, Token, TokenDecision, TokenId, Value
from feedkeep.model.errors import AccountError
from feedkeep.rules.app_identity import product_of
from feedkeep.rules.clock import DAY_US, shift
from feedkeep.rules.credentials import is_alive

MAX_TOKENS = 200
"""Maximum number of valid tokens of an account."""

SILENT_DAYS = 14
"""Days without use after which an app is reported, if others were used since."""

MAX_ENDED_TOKENS = 100
"""Number of expired and revoked tokens kept; creating a token deletes the oldest of the rest."""


class AppKind(StrEnum):
    """The way in which an app signs in.

    Attributes:
        TOKEN: By a token, which people call an app password.
        PASSWORD: By the account's own password, with which it began sessions.
        NEXTCLOUD: By a token that it fetched in a login of Nextcloud.
    """

    TOKEN = "app password"  # noqa: S105 - people's name for it
    PASSWORD = "signed in with your password"  # noqa: S105 - as above
    NEXTCLOUD = "nextcloud login"


class AppUse(Value, frozen=True):
    """A product that has signed in with a token, and the time of its last use."""

    name: str
    last_used: Stamp | None


class ConnectedApp(Value, frozen=True):
    """A connected app: a token with its sessions, or sessions that a password began.

    Attributes:
        ids: Number of the token, or numbers of all sessions. Each of them disconnects the app.
        name: Its label.
        created: Time of its first sign-in.
        last_used: Beginning of the minute of its last use; None if it was never used.
        used_by: The products that have signed in with the token, most recently used first; empty
            for a single one. The use of one product does not show that the others are in use.
    """

    ids: Sequence[TokenId]
    name: str
    kind: AppKind
    created: Stamp
    last_used: Stamp | None
    scope: Scope
    used_by: Sequence[AppUse] = ()


def connected(tokens: Iterable[Token], now: Stamp) -> list[ConnectedApp]:
    """Return the apps that have these tokens and sessions, most recently used first."""
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
    """Return the apps that were not used for `SILENT_DAYS` while another app was.

    If all are silent, their owner is away or has none of them any more. Apps that were never used
    are not included: their owner may be about to connect them.
    """
    silent_since = shift(now, -SILENT_DAYS * DAY_US)
    last = [app.last_used for app in apps if app.last_used is not None]
    if not any(used > silent_since for used in last):
        return []
    return [app for app in apps if app.last_used is not None and app.last_used <= silent_since]


def find(apps: Iterable[ConnectedApp], number: TokenId) -> ConnectedApp:
    """Return the app that has the token or session with a number.

    Raises:
        AccountError: No app has it.
    """
    for app in apps:
        if number in app.ids:
            return app
    raise AccountError("That app is not connected; look at the list of apps again.")


def connect(tokens: Iterable[Token], new: Token, now: Stamp) -> TokenDecision:
    """Add a token for an app, and delete tokens that ended long ago.

    Raises:
        AccountError: The account has `MAX_TOKENS` valid tokens.
    """
    known = list(tokens)
    own = [one for one in known if not one.is_session]
    ended = [one for one in own if not is_alive(one, now)]
    if len(own) - len(ended) >= MAX_TOKENS:
        raise AccountError(
            "{max} apps have an app password, which is the maximum: disconnect apps that you no"
            " longer use.",
            max=MAX_TOKENS,
        )
    ended.sort(key=_ended, reverse=True)
    gone = {one.id for one in ended[MAX_ENDED_TOKENS:]}
    # Not `one.of_token in gone`: no test could tell the number of a token from its text.
    gone |= {one.id for one in known if not gone.isdisjoint({one.of_token})}
    return TokenDecision([new], sorted(gone))


def _app(
    kind: AppKind, ids: Sequence[TokenId], parts: Sequence[Token], uses: Sequence[AppUse] = ()
) -> ConnectedApp:
    first, created = parts[0], min(part.created for part in parts)
    used_by = uses if len(uses) > 1 else ()
    return ConnectedApp(ids, first.label, kind, created, _last_used(parts), first.scope, used_by)


def _by_product(sessions: Iterable[Token]) -> list[list[Token]]:
    """Group sessions by product, newest first: an updated app stays the same app."""
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
