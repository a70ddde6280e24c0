"""Sync progress of apps that send name and password with each request, and no cookie. Pure.

Kasts, GlassCast and cliamp do so, as do apps on Nextcloud that have the account's password. A
session belongs to one client, but several clients can share such a sign-in. It counts as one app as
long as its requests, and their episode actions, name at most one device. Requests to the Nextcloud
API name none: two installations of one product count as one app there (docs/gpodder.md).
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
    """The stored sync progress of a product without cookies.

    Attributes:
        device: The one device that its requests named; "" before the first of these.
        is_several: Whether they named a second device, after which no progress is recorded.
        subscriptions: Sync progress of the list.
        actions: Sync progress of episode actions.
    """

    device: str = ""
    is_several: bool = False
    subscriptions: SyncProgress = NOTHING
    actions: SyncProgress = NOTHING


def document_of(admitted: Admitted) -> DocumentName:
    """Return the name of the document that stores the client's progress."""
    return DocumentName(DocumentKind.COOKIELESS, app_of(admitted, "").key)


def after_naming(app: CookielessApp, devices: Collection[str]) -> CookielessApp:
    """Return the record after a request that names devices; "" names none."""
    named = {device for device in devices if device}
    if app.is_several or named <= {app.device}:
        return app
    if len(named) > 1 or app.device:
        return CookielessApp(is_several=True)
    return replace(app, device=next(iter(named)))


def progress_of(app: CookielessApp, clock: Clock, since: Second | None = None) -> SyncProgress:
    """Return the app's sync progress.

    `since` is the second since which it requests changes; None for an upload. A request for
    everything can come from a new installation, so earlier progress does not count.
    """
    if app.is_several:
        return NOTHING
    if since == FROM_NOTHING:
        return replace(NOTHING, is_alone=True)
    known = app.subscriptions if clock is Clock.SUBSCRIPTIONS else app.actions
    return replace(known, is_alone=True)


def with_progress(app: CookielessApp, clock: Clock, progress: SyncProgress) -> CookielessApp:
    """Return the record with new progress."""
    if app.is_several:
        return app
    if clock is Clock.SUBSCRIPTIONS:
        return replace(app, subscriptions=progress)
    return replace(app, actions=progress)
