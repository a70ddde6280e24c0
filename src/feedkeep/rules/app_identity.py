"""The identity of an app within its account: device, sign-in and product. Pure.

Kasts, CPod and cliamp request the devices of all apps, each with its own credential: so the device
alone does not identify an app. Nor does a session: AntennaPod begins one with each sync, and Kasts
sends name and password with each request.

Several clients can share such a sign-in without a cookie. It counts as one app as long as its
requests, and their episode actions, name at most one device. Requests to the Nextcloud API name
none: two installations of one product count as one app there (docs/gpodder.md).
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache

from feedkeep.model import (
    Admitted,
    Author,
    Clock,
    CredentialKind,
    DocumentKind,
    DocumentName,
    Second,
    SyncProgress,
    TokenId,
    Value,
    replace,
)
from feedkeep.rules.credentials import as_label
from feedkeep.rules.seconds import FROM_NOTHING, NOTHING

PAGES = "feedkeep"
"""Name of the pages among the apps that sent episode actions."""

_MAX_NAME_BYTES = 64
_VERSION = re.compile(r"(?<![A-Za-z0-9])[vV]?[0-9][^\s;,()]*")
_VERSION_AT_START = re.compile(r"\s*v?\d")
_LAST_PRODUCT = re.compile(r".*\s([^\s/()]+)/v?\d")
_MAX_CHARACTERS = 200
_OF_NO_APP = {CredentialKind.BROWSER, CredentialKind.COMMAND, CredentialKind.FEEDKEEP}


class App(Value, frozen=True):
    """An app, as far as its requests distinguish it from other apps of the account.

    Two installations of one product with the same sign-in and device count as one app.

    Attributes:
        device: Id of the device that the request names; "" if it names none.
        sign_in: Number of the app password, or of another token, that began all its sessions; None
            for the account's own password.
        product: The app's name for itself, without version numbers, which updates change.
    """

    device: str
    sign_in: TokenId | None
    product: str

    @property
    def key(self) -> str:
        """Unique within the account."""
        sign_in = "password" if self.sign_in is None else self.sign_in
        return f"app {sign_in} {self.device} {self.product}"


def app_of(admitted: Admitted, device: str) -> App:
    return App(device, admitted.sign_in, product_of(_label_of(admitted)))


def _label_of(admitted: Admitted) -> str:
    return admitted.token.label if admitted.token else admitted.user_agent


def name_of(admitted: Admitted) -> str | None:
    """Return the name under which an app's episode actions are stored; None if unknown.

    It outlives the app's token, and is short, since an account can have 400,000 actions.
    """
    if admitted.credential_kind is CredentialKind.BROWSER:
        return PAGES
    name = app_name(as_label(_label_of(admitted)))
    return name.encode()[:_MAX_NAME_BYTES].decode(errors="ignore") or None


def app_name(label: str) -> str:
    """Extract an app's name from its User-Agent or label."""
    if label.startswith("Mozilla/") and (last := _LAST_PRODUCT.match(label)):
        return last[1]
    head, _, tail = label.partition("/")
    is_product = "(" not in head and _VERSION_AT_START.match(tail)
    return (head if is_product and head else label).strip()


def author_key(author: Author) -> str:
    """Return the key of the app or browser that made a change."""
    if author.kind in _OF_NO_APP:
        return f"{author.kind} {author.token_id if author.token_id is not None else author.name}"
    # For a session that a token began, the author has the number of the token.
    sign_in = None if author.kind is CredentialKind.SESSION else author.token_id
    return App(author.device, sign_in, product_of(author.name)).key


def product_of(user_agent: str) -> str:
    """Return a User-Agent, or a label, without version numbers."""
    return _product_of(user_agent[:_MAX_CHARACTERS])


@lru_cache(maxsize=1_000)
def _product_of(user_agent: str) -> str:
    return " ".join(_VERSION.sub("", as_label(user_agent)).split())


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
