"""Sign-in, sign-out, new passwords, and links with a secret."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from feedkeep.http.authenticators import log_refusal
from feedkeep.http.cookies import PASSWORD_RESET, Cookie, expire_cookie, read_cookie, set_cookie
from feedkeep.http.error_responses import FORBIDDEN, OK
from feedkeep.http.pages.forms import read_form
from feedkeep.http.pages.notes import SIGNED_OUT, Note
from feedkeep.http.pages.rendering import Pages
from feedkeep.http.requests import AdmittedRequest, Request
from feedkeep.model import CredentialKind
from feedkeep.model.errors import AccountError, NotAuthorized, TooManyAttempts
from feedkeep.web.authenticator import HOME, SIGN_IN, no_session_cookie
from feedkeep.web.page import Page, headers_of, label_of, status_of

_MAX_CHARACTERS = 100


@dataclass(frozen=True, slots=True)
class Link:
    """A kind of link with a secret.

    In a page's address, the secret would get into the browser's history, proxies' logs of each
    form, and the Referer of the page's files.

    Attributes:
        cookie: Cookie that holds the secret after the link was opened.
        place: Path of the page to redirect to.
    """

    cookie: Cookie
    place: str

    def open(self, pages: Pages, request: Request) -> Response:
        """Move the secret into the cookie, and redirect."""
        text = request.parameters["link"][:_MAX_CHARACTERS]
        response = pages.redirect(self.place)
        # The text goes into a header: keep only characters of our own links.
        safe = "".join(
            letter for letter in text if letter.isascii() and (letter.isalnum() or letter in "_-")
        )
        response.headers.append("set-cookie", set_cookie(request, self.cookie, safe))
        return response

    def text(self, request: Request) -> str:
        """Return the secret of the link opened last; "" without one."""
        return read_cookie(request, self.cookie)[:_MAX_CHARACTERS]

    def forget(self, request: Request) -> str:
        """Return the Set-Cookie header that expires the cookie."""
        return expire_cookie(request, self.cookie)


class SignInPage(Page):
    """/sign-in and /sign-out."""

    async def get(self, request: Request) -> Response:
        """Show the sign-in form."""
        return await self.form(request)

    async def post(self, request: Request) -> Response:
        """Sign in."""
        self.check_passwords_count()
        form = await read_form(request)
        request.credential_kind = CredentialKind.PASSWORD
        try:
            session = await self.service.page_sessions.sign_in(
                form.text("name"), form.text("password"), request.address, label_of(request)
            )
        except (NotAuthorized, TooManyAttempts) as error:
            log_refusal(request, error)
            response = await self.form(
                request, status_of(error), typed=form, problems={"password": error.sentence}
            )
            response.headers.update(headers_of(error))
            return response
        await self.note_time_zone(session, form.text("time_zone"))
        return self.redirect(request, local(form.text("next")), session=session)

    async def sign_out(self, request: AdmittedRequest) -> Response:
        """End the session of this browser."""
        await self.service.page_sessions.sign_out(request.admitted)
        response = self.redirect(request, SIGN_IN, Note(SIGNED_OUT))
        response.headers.append("set-cookie", no_session_cookie(request))
        # The next person at this browser must not see cached pages.
        response.headers["Clear-Site-Data"] = '"cache"'
        return response

    async def form(self, request: Request, status: int = OK, **values: Any) -> Response:
        """Render the form, with its problems if any."""
        given = {"next": local(request.query("next")), **values}
        return await self.show(
            request,
            "sign_in.html",
            status,
            is_open=self.settings.registration == "open" and self.settings.password_login,
            is_new=not await self.service.accounts.are_there(),
            **given,
        )


class RecoverPage(Page):
    """/recover: a new password by a recovery code."""

    async def get(self, request: Request) -> Response:
        """Show the form for a recovery code."""
        self.check_passwords_count()
        return await self.show(request, "recover.html")

    async def post(self, request: Request) -> Response:
        """Set a new password by a recovery code, and sign in."""
        self.check_passwords_count()
        form = await read_form(request)
        request.credential_kind = CredentialKind.PASSWORD
        try:
            account = await self.service.recovery.recover(
                form.text("name"), form.text("code"), form.text("password"), request.address
            )
            session = await self.service.page_sessions.begin(account, label_of(request))
        except (AccountError, NotAuthorized, TooManyAttempts) as error:
            place = "password" if isinstance(error, AccountError) else "code"
            if place == "code":
                log_refusal(request, error)
            response = await self.show(
                request,
                "recover.html",
                status_of(error),
                typed=form,
                problems={place: error.sentence},
            )
            response.headers.update(headers_of(error))
            return response
        return self.redirect(request, HOME, Note("new-password"), session)


class ResetPage(Page):
    """/reset: a new password by an administrator's link."""

    link = Link(PASSWORD_RESET, "/reset")

    async def open(self, request: Request) -> Response:
        """Move the link's secret into a cookie, so that no log or history keeps it."""
        return self.link.open(self.pages, request)

    async def get(self, request: Request) -> Response:
        """Show the form for a new password, while the link is valid."""
        self.check_passwords_count()
        owner = await self.service.recovery.account_of(self.link.text(request))
        if owner is None:
            return await self.show(request, "link_ended.html", FORBIDDEN, kind="reset")
        return await self.show(request, "reset.html", name=owner.name)

    async def post(self, request: Request) -> Response:
        """Set the new password, and sign in."""
        self.check_passwords_count()
        form = await read_form(request)
        text = self.link.text(request)
        try:
            account = await self.service.recovery.reset(text, form.text("password"))
            session = await self.service.page_sessions.begin(account, label_of(request))
        except NotAuthorized:
            return await self.show(request, "link_ended.html", FORBIDDEN, kind="reset")
        except AccountError as error:
            owner = await self.service.recovery.account_of(text)
            return await self.show(
                request,
                "reset.html",
                status_of(error),
                name=owner.name if owner else "",
                problems={"password": error.sentence},
            )
        response = self.redirect(request, HOME, Note("new-password"), session)
        response.headers.append("set-cookie", self.link.forget(request))
        return response


def local(place: str) -> str:
    """Return a path of this service; an external or invalid one becomes the home page."""
    is_local = place.startswith("/") and not place.startswith(("//", "/\\")) and place.isprintable()
    return place if is_local else HOME
