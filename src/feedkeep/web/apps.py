"""My apps: what is let in, connecting another one, and ending it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import segno
from starlette.responses import Response

from feedkeep.http.error_responses import OK
from feedkeep.http.pages.forms import read_form, read_number
from feedkeep.http.pages.notes import Note
from feedkeep.http.requests import AdmittedRequest
from feedkeep.http.routing import NoSuchRoute
from feedkeep.model import Scope, TokenId
from feedkeep.model.errors import AccountError
from feedkeep.rules.credentials import apps_that_refuse
from feedkeep.web.page import Page, status_of

GUIDES = {
    "antennapod": "AntennaPod",
    "gpodder": "gPodder",
    "kasts": "Kasts",
    "nextcloud": "Nextcloud",
    "other": "",
    "developer": "",
}
"""The kinds of apps that a page explains, each with the name that its password gets."""

_MAX_LABEL_CHARACTERS = 60


class AppsPage(Page):
    """/apps, and what leads on from there."""

    async def get(self, request: AdmittedRequest) -> Response:
        """Show all connected apps."""
        apps = await self.service.apps.of(request.admitted.account.id)
        return await self.show(
            request, "apps.html", is_long=True, apps=apps, now=self.service.now()
        )

    async def choose(self, request: AdmittedRequest) -> Response:
        """Show the kinds of apps."""
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
        try:
            made = await self.service.apps.connect(request.admitted.account, label, scope)
        except AccountError as error:
            return await self._guide(
                request, kind, status_of(error), typed=form, problems={"label": error.sentence}
            )
        note = Note("secret", {"text": made.text, "label": label, "app": kind})
        return self.leading_to(request, "/apps/connected", note)

    async def connected(self, request: AdmittedRequest) -> Response:
        """Show a new app password once, with instructions."""
        return await self.show(
            request,
            "connected.html",
            server=self.base_url(request),
            refusing=apps_that_refuse(request.admitted.account.name),
            qr=_qr,
        )

    async def disconnect(self, request: AdmittedRequest) -> Response:
        """Disconnect an app."""
        form = await read_form(request)
        number = read_number(form.text("id"))
        if number is None:
            raise NoSuchRoute
        with suppress(AccountError):  # it was ended by another page, or this form was sent twice
            await self.service.apps.disconnect(request.admitted.account.id, TokenId(number))
        return self.leading_to(request, "/apps", Note("disconnected"))

    def _kind(self, request: AdmittedRequest) -> str:
        kind = request.parameters["app"]
        if kind not in GUIDES:
            raise NoSuchRoute
        return kind

    async def _guide(
        self, request: AdmittedRequest, kind: str, status: int = OK, **values: Any
    ) -> Response:
        return await self.show(
            request,
            "guide.html",
            status,
            app=kind,
            name=GUIDES[kind],
            server=self.base_url(request),
            base_path=request.base_path,
            refusing=apps_that_refuse(request.admitted.account.name),
            **values,
        )


def _qr(text: str) -> str:
    """Return a picture of a text that a phone's camera reads, as an address of data."""
    return segno.make(text, error="m", micro=False).svg_data_uri(scale=4, border=1)
