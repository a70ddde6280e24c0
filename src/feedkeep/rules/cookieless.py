"""Sync progress of an app that sends name and password with each request, and no cookie. Pure.

Kasts, GlassCast and cliamp do, and apps on Nextcloud that were given the account's password. A
session belongs to one client; such a sign-in may be that of several. It counts as one app's for as
long as its requests, and the episode actions in them, name one device at most. Nextcloud's name
none: two installations of one product count as one app there (docs/gpodder.md).
"""

from __future__ import annotations

from collections.abc import Collection

from feedkeep.model import (
    Admitted,
    Clock,
    DocumentKind,
    DocumentName,
    Second,
    SyncProgress,
    Value,
    replace,
)
from feedkeep.rules.app_identity import app_of
from feedkeep.rules.seconds import FROM_NOTHING, NOTHING


class CookielessApp(Value, frozen=True):
    """What is known of a product that is signed in so.

    Attributes:
        device: The one device that its requests named; "" before the first of these.
        is_several: Whether they named a second one, so that nothing is known from then on.
        subscriptions: How far it knows what changed in the list.
        actions: How far it knows what changed of episode actions.
    """

    device: str = ""
    is_several: bool = False
    subscriptions: SyncProgress = NOTHING
    actions: SyncProgress = NOTHING


def document_of(admitted: Admitted) -> DocumentName:
    """Return the name of the document that has what is known of the app that was let in."""
    return DocumentName(DocumentKind.COOKIELESS, app_of(admitted, "").key)


def after_naming(app: CookielessApp, devices: Collection[str]) -> CookielessApp:
    """Return what is known after a request that names devices; "" names none."""
    named = {device for device in devices if device}
    if app.is_several or named <= {app.device}:
        return app
    if len(named) > 1 or app.device:
        return CookielessApp(is_several=True)
    return replace(app, device=next(iter(named)))


def progress_of(app: CookielessApp, clock: Clock, since: Second | None = None) -> SyncProgress:
    """Return how far the app knows what changed.

    `since` is what it asks for, if it asks. An app that asks for everything can be installed anew:
    what it was sent before says nothing about it then.
    """
    if app.is_several:
        return NOTHING
    if since == FROM_NOTHING:
        return replace(NOTHING, is_alone=True)
    known = app.subscriptions if clock is Clock.SUBSCRIPTIONS else app.actions
    return replace(known, is_alone=True)


def with_progress(app: CookielessApp, clock: Clock, progress: SyncProgress) -> CookielessApp:
    """Return what is known of the app once it knows what changed up to there."""
    if app.is_several:
        return app
    if clock is Clock.SUBSCRIPTIONS:
        return replace(app, subscriptions=progress)
    return replace(app, actions=progress)
