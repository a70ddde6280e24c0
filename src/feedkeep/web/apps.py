"""App pages: connected apps, connecting with a new password, and disconnecting."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import msgspec
from starlette.responses import Response

from feedkeep.http.cookies import NEW_PASSWORD, read_cookie, set_cookie
from feedkeep.http.error_responses import OK
from feedkeep.http.pages.forms import Form, read_form, read_number
from feedkeep.http.pages.notes import Note
from feedkeep.http.requests import AdmittedRequest, Request
from feedkeep.http.routing import NoSuchRoute
from feedkeep.model import CredentialKind, NewToken, Scope, Stamp, TokenId, Value, replace
from feedkeep.model.errors import (
    AccountError,
    NotAuthorized,
    Sentence,
    StoreUnavailable,
    TooManyAttempts,
)
from feedkeep.rules.app_identity import app_name
from feedkeep.rules.apps import AppUse, ConnectedApp, fallen_silent
from feedkeep.rules.credentials import apps_that_refuse
from feedkeep.service.history import ListedChanges
from feedkeep.web.authenticator import seal, session_of, unseal
from feedkeep.web.page import Page, headers_of, not_confirmed, qr_code, status_of

_PURPOSE = "a new app password"


class NewPassword(Value, frozen=True):
    """A new password or token for an app.

    Attributes:
        label: Name of the app, chosen by its owner.
        app: Kind of app, a key of `GUIDES`.
        text: The password; "" once used.
    """

    token_id: TokenId
    label: str
    app: str
    text: str


_NEW_PASSWORD = msgspec.json.Decoder(NewPassword)


def write_new_password(request: Request, made: NewPassword, session: str) -> str:
    """Return the Set-Cookie header with a new password, encrypted for the session."""
    text = seal(session, _PURPOSE, msgspec.json.encode(made))
    return set_cookie(request, NEW_PASSWORD, text)


def read_new_password(request: Request, session: str) -> NewPassword | None:
    """Return the password in the browser's cookie; None without a valid one of the session."""
    text = read_cookie(request, NEW_PASSWORD)
    content = unseal(session, _PURPOSE, text, NEW_PASSWORD.max_age_seconds)
    return _NEW_PASSWORD.decode(content) if content else None


GUIDES = {
    "antennapod": "AntennaPod",
    "gpodder": "gPodder",
    "kasts": "Kasts",
    "nextcloud": "Nextcloud",
    "other": "",
    "developer": "",
}
"""Kinds of apps that have a guide, each with the default label of its password."""

_MAX_LABEL_CHARACTERS = 60
_OF_APPS = {CredentialKind.TOKEN, CredentialKind.SESSION}


class ShownApp(Value, frozen=True):
    """An app on its card.

    Attributes:
        name: Name as in the history; "" without one.
        uses: Clients that signed in with it and their last use, if there are several.
        is_silent: Whether it has not synced for weeks, although other apps have.
        sent: Number of feeds in its last change; 0 if the newest changes are all by others.
        sent_at: Time of its last change.
    """

    app: ConnectedApp
    name: str
    uses: Sequence[AppUse] = ()
    is_silent: bool = False
    sent: int = 0
    sent_at: Stamp | None = None


def shown_app(
    app: ConnectedApp, listed: ListedChanges | None = None, *, is_silent: bool = False
) -> ShownApp:
    """Convert an app for display; `listed` has the newest changes of the list. Pure."""
    uses = [AppUse(app_name(use.name), use.last_used) for use in app.used_by]
    for change in listed.changes if listed else ():
        author = listed.author_of(change) if listed else None
        # Not `in`: security checkers take a token's id for its secret.
        if author and author.kind in _OF_APPS and not {author.token_id}.isdisjoint(app.ids):
            sent = len(change.feeds)
            return ShownApp(app, app_name(app.name), uses, is_silent, sent, change.stamp)
    return ShownApp(app, app_name(app.name), uses, is_silent)


class AppsPage(Page):
    """/apps and the pages below it."""

    async def get(self, request: AdmittedRequest) -> Response:
        """Show all connected apps."""
        account_id, now = request.admitted.account.id, self.service.now()
        apps = await self.service.apps.of(account_id)
        listed = await self.service.history.page(account_id) if apps else None
        silent = {app.ids[0] for app in fallen_silent(apps, now)}
        shown = [shown_app(app, listed, is_silent=app.ids[0] in silent) for app in apps]
        return await self.show(request, "apps.html", is_long=True, apps=shown, now=now)

    async def choose(self, request: AdmittedRequest) -> Response:
        """Show the kinds of apps to connect."""
        return await self.show(request, "connect.html")

    async def guide(self, request: AdmittedRequest) -> Response:
        """Show the first steps for one kind of app."""
        return await self._guide(request, self._kind(request))

    async def connect(self, request: AdmittedRequest) -> Response:
        """Create an app password; the next page shows it once."""
        kind = self._kind(request)
        form = await read_form(request)
        label = form.text("label").strip()[:_MAX_LABEL_CHARACTERS] or GUIDES[kind] or "app"
        scope = Scope.READ if form.text("scope") == "read" else Scope.WRITE
        session = None
        try:
            session = await self.confirmed(request, form)
            made = await self.service.apps.connect(request.admitted.account, label, scope)
        except AccountError as error:
            response = await self._refused(request, kind, form, {"label": error.sentence}, error)
            return self.signed_in(request, response, session)
        except (NotAuthorized, TooManyAttempts) as error:
            problems = {"password": not_confirmed(form, error)}
            return await self._refused(request, kind, form, problems, error)
        with suppress(StoreUnavailable):  # the password exists, and has to be shown
            await self.service.news.know_app(request.admitted.account.id, made.token.id)
        response = self.redirect(request, "/apps/connected", session=session)
        kept = NewPassword(made.token.id, label, kind, made.text)
        return self._keeping(request, response, kept, session)

    async def connected(self, request: AdmittedRequest) -> Response:
        """Show a new app password with instructions, until the app has used it."""
        made = read_new_password(request, session_of(request))
        app = await self._connected(request, str(made.token_id)) if made else None
        was_used = app is not None and app.last_used is not None
        response = await self.show(
            request,
            "connected.html",
            made=made if app else None,
            app=shown_app(app) if app and was_used else None,
            now=self.service.now(),
            server=self.base_url(request),
            qr=qr_code,
        )
        if made and made.text and was_used:
            return self._keeping(request, response, replace(made, text=""))
        return response

    async def ask(self, request: AdmittedRequest) -> Response:
        """Ask whether to disconnect an app, and explain the consequences."""
        app = await self._connected(request, request.query("id"))
        if app is None:
            return self.redirect(request, "/apps")
        return await self.show(request, "disconnect.html", app=shown_app(app))

    async def disconnect(self, request: AdmittedRequest) -> Response:
        """Disconnect an app."""
        form = await read_form(request)
        app = await self._connected(request, form.text("id"))
        if app is not None:
            with suppress(AccountError):  # disconnected by a concurrent request
                await self.service.apps.disconnect(request.admitted.account.id, app.ids[0])
        name = shown_app(app).name if app else ""
        return self.redirect(request, "/apps", Note("disconnected", {"name": name}))

    async def _connected(self, request: AdmittedRequest, text: str) -> ConnectedApp | None:
        """Return the app with an id; None if it was disconnected, by another page for example.

        Raises:
            NoSuchRoute: The text is not an id.
        """
        number = read_number(text)
        if number is None:
            raise NoSuchRoute
        for app in await self.service.apps.of(request.admitted.account.id):
            if number in app.ids:
                return app
        return None

    def _keeping(
        self,
        request: Request,
        response: Response,
        made: NewPassword,
        session: NewToken | None = None,
    ) -> Response:
        text = session.text if session else session_of(request)
        cookie = write_new_password(request, made, text)
        response.headers.append("set-cookie", cookie)
        return response

    def _kind(self, request: AdmittedRequest) -> str:
        kind = request.parameters["app"]
        if kind not in GUIDES:
            raise NoSuchRoute
        return kind

    async def _refused(
        self,
        request: AdmittedRequest,
        kind: str,
        form: Form,
        problems: dict[str, Sentence],
        error: Exception,
    ) -> Response:
        response = await self._guide(request, kind, status_of(error), typed=form, problems=problems)
        response.headers.update(headers_of(error))
        return response

    async def _guide(
        self, request: AdmittedRequest, kind: str, status: int = OK, **values: Any
    ) -> Response:
        return await self.show(
            request,
            "guide.html",
            status,
            app=kind,
            name=GUIDES[kind],
            is_fresh=self.is_fresh(request),
            server=self.base_url(request),
            base_path=request.base_path,
            refusing=apps_that_refuse(request.admitted.account.name),
            **values,
        )
