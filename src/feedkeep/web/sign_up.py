"""Sign-up: of the first account, by invitation, and by anyone if registration is open."""

from __future__ import annotations

import hmac
from typing import Any, ClassVar

from starlette.responses import Response

from feedkeep.config.settings import Settings
from feedkeep.http.cookies import INVITATION
from feedkeep.http.error_responses import FORBIDDEN, OK
from feedkeep.http.pages.forms import read_form
from feedkeep.http.pages.notes import Note
from feedkeep.http.pages.rendering import Pages
from feedkeep.http.requests import Request
from feedkeep.model import Account
from feedkeep.model.errors import AccountError, NotAuthorized, TooManyAttempts
from feedkeep.rules.credentials import (
    INVITATION_PREFIX,
    MAX_NAME_CHARACTERS,
    apps_that_refuse,
    check_name,
    check_password,
    read_link,
)
from feedkeep.service import Service
from feedkeep.web.page import Page, headers_of, label_of, status_of
from feedkeep.web.sign_in import Link


class SignUpPage(Page):
    """/sign-up: name and password for a new account.

    Args:
        first_secret: Secret of the setup link for the first account; "" without a link.
    """

    link: ClassVar[Link] = Link(INVITATION, "/sign-up")

    def __init__(
        self, service: Service, settings: Settings, pages: Pages, first_secret: str
    ) -> None:
        super().__init__(service, settings, pages)
        self._first_secret = first_secret

    async def open(self, request: Request) -> Response:
        """Move the link's secret into a cookie, so that no log or history keeps it."""
        return self.link.open(self.pages, request)

    async def get(self, request: Request) -> Response:
        """Show the form for a new account, if sign-up is permitted."""
        if not await self._may(request):
            return await self._ended(request)
        return await self._form(request)

    async def post(self, request: Request) -> Response:
        """Create the account, and sign in."""
        form = await read_form(request)
        name, password, field = form.text("name").strip(), form.text("password"), "name"
        try:
            check_name(name)
            field = "password"
            check_password(password)
            field = "name"
            account = await self._create(request, name, password)
            session = await self.service.page_sessions.begin(account, label_of(request))
            await self.note_time_zone(session, form.text("time_zone"))
        except NotAuthorized:
            return await self._ended(request)
        except (AccountError, TooManyAttempts) as error:
            response = await self._form(
                request, status_of(error), typed=form, problems={field: error.sentence}
            )
            response.headers.update(headers_of(error))
            return response
        kind = "welcome-but" if apps_that_refuse(account.name) else "welcome"
        response = self.redirect(request, "/", Note(kind), session)
        response.headers.append("set-cookie", self.link.forget(request))
        return response

    async def _create(self, request: Request, name: str, password: str) -> Account:
        text = self._text(request)
        if self._is_first(text):
            return await self.service.accounts.set_up(name, password)
        self.check_passwords_count()
        if text:
            return await self.service.invitations.sign_up(text, name, password)
        return await self.service.invitations.sign_up_openly(name, password, request.address)

    async def _may(self, request: Request) -> bool:
        text = self._text(request)
        if self._is_first(text):
            return not await self.service.accounts.are_there()
        self.check_passwords_count()
        if text:
            return await self.service.invitations.is_open(text)
        return self.settings.registration == "open"

    def _text(self, request: Request) -> str:
        return self.link.text(request)

    def _is_first(self, text: str) -> bool:
        first = self._first_secret
        return bool(first) and hmac.compare_digest(text.encode(), first.encode())

    async def _form(self, request: Request, status: int = OK, **values: Any) -> Response:
        is_first = self._is_first(self._text(request))
        return await self.show(
            request, "sign_up.html", status, is_first=is_first, max=MAX_NAME_CHARACTERS, **values
        )

    async def _ended(self, request: Request) -> Response:
        # An invitation works again once registration is enabled: its owner should keep it.
        is_invitation = read_link(self._text(request), INVITATION_PREFIX) is not None
        is_off = is_invitation and self.settings.registration == "closed"
        kind = "off" if is_off else "invitation"
        return await self.show(request, "link_ended.html", FORBIDDEN, kind=kind)
