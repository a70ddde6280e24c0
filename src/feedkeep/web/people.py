"""Pages for administrators: accounts, invitations, password reset links and health."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.responses import Response

from feedkeep.config.networks import leads_to_loopback
from feedkeep.http.error_responses import OK
from feedkeep.http.pages.forms import Form, read_form, read_number
from feedkeep.http.pages.notes import Note
from feedkeep.http.requests import AdmittedRequest
from feedkeep.http.routing import NoSuchRoute
from feedkeep.model import Account, NewToken, TokenId
from feedkeep.model.errors import AccountError, AdministratorsOnly, NotAuthorized, TooManyAttempts
from feedkeep.rules.credentials import assert_typed
from feedkeep.web.page import Page, headers_of, not_confirmed, qr_code, status_of

PLACE = "/people"
PEOPLE_ON_A_PAGE = 100
_PASSWORD_FIELDS = {
    "admin": "role_password",
    "no-admin": "role_password",
    "disable": "state_password",
    "enable": "state_password",
    "delete": "delete_password",
}
"""Name of the password field by action; in the form of the reset link it is "password"."""


class PeoplePage(Page):
    """/people and its forms."""

    async def get(self, request: AdmittedRequest) -> Response:
        """Show accounts, invitations and health."""
        return await self._people(request)

    async def link(self, request: AdmittedRequest) -> Response:
        """Show a new link once."""
        _assert_admin(request)
        is_loopback = leads_to_loopback(self.base_url(request))
        return await self.show(request, "link.html", qr=qr_code, is_loopback=is_loopback)

    async def invite(self, request: AdmittedRequest) -> Response:
        """Create an invitation; the next page shows its link once."""
        _assert_admin(request)
        form = await read_form(request)
        label = form.text("label").strip()[:60]
        try:
            made = await self.service.invitations.invite(request.admitted.account, label)
        except AccountError as error:
            return await self._refused(request, form, "label", error)
        link = f"{self.base_url(request)}/sign-up/{made.text}"
        return self.redirect(
            request,
            f"{PLACE}/link",
            Note("link", {"link": link, "kind": "invitation", "name": label}),
        )

    async def withdraw(self, request: AdmittedRequest) -> Response:
        """Revoke an unused invitation."""
        _assert_admin(request)
        form = await read_form(request)
        number = read_number(form.text("id"))
        if number is None:
            raise NoSuchRoute
        account = await self._named(form.text("by"))
        await self.service.invitations.revoke(account.id, TokenId(number))
        return self.redirect(request, PLACE, Note("withdrawn"))

    async def reset_link(self, request: AdmittedRequest) -> Response:
        """Create a password reset link; the next page shows it once."""
        return await self._confirmed(request, self._make_reset_link)

    async def _make_reset_link(
        self, request: AdmittedRequest, form: Form, session: NewToken | None
    ) -> Response:
        name = form.text("name")
        made = await self.service.recovery.reset_link(name)
        link = f"{self.base_url(request)}/reset/{made.text}"
        note = Note("link", {"link": link, "kind": "reset", "name": name})
        return self.redirect(request, f"{PLACE}/link", note, session)

    async def change(self, request: AdmittedRequest) -> Response:
        """Disable, enable or delete an account, or change its administrator role."""
        return await self._confirmed(request, self._change)

    async def _change(
        self, request: AdmittedRequest, form: Form, session: NewToken | None
    ) -> Response:
        name, action = form.text("name"), form.text("action")
        accounts = self.service.accounts
        match action:
            case "disable" | "enable":
                await accounts.set_disabled(name, action == "disable")
            case "admin" | "no-admin":
                await accounts.set_admin(name, action == "admin")
            case "delete":
                assert_typed(form.text("typed"), await self._named(name))
                await accounts.delete(name)
            case _:
                raise NoSuchRoute
        note = Note(f"account-{action}", {"name": name[:64]})
        return self.redirect(request, PLACE, note, session)

    async def one(self, request: AdmittedRequest) -> Response:
        """Show one account."""
        _assert_admin(request)
        return await self._one(request, request.parameters["name"])

    async def _one(
        self, request: AdmittedRequest, name: str, status: int = OK, **values: Any
    ) -> Response:
        return await self.show(
            request,
            "person.html",
            status,
            person=await self._named(name),
            is_fresh=self.is_fresh(request),
            **values,
        )

    async def _confirmed(
        self,
        request: AdmittedRequest,
        act: Callable[[AdmittedRequest, Form, NewToken | None], Awaitable[Response]],
    ) -> Response:
        _assert_admin(request)
        form = await read_form(request)
        action, session = form.text("action"), None
        try:
            session = await self.confirmed(request, form)
            return await act(request, form, session)
        except AccountError as error:
            field, problem = "typed" if action == "delete" else "action", error.sentence
            status, headers = status_of(error), headers_of(error)
        except (NotAuthorized, TooManyAttempts) as error:
            field, problem = _PASSWORD_FIELDS.get(action, "password"), not_confirmed(form, error)
            status, headers = status_of(error), headers_of(error)
        response = await self._one(
            request, form.text("name"), status, typed=form, problems={field: problem}
        )
        response.headers.update(headers)
        return self.signed_in(request, response, session)

    async def _named(self, name: str) -> Account:
        try:
            return await self.service.accounts.named(name)
        except AccountError:
            raise NoSuchRoute from None

    async def _refused(
        self, request: AdmittedRequest, form: Form, field: str, error: AccountError
    ) -> Response:
        return await self._people(
            request, status_of(error), typed=form, problems={field: error.sentence}
        )

    async def _people(self, request: AdmittedRequest, status: int = OK, **values: Any) -> Response:
        _assert_admin(request)
        after, beginning = request.query("after")[:64], request.query("q").strip()[:64]
        people = await self.service.accounts.people(after, PEOPLE_ON_A_PAGE + 1, beginning)
        has_more = len(people) > PEOPLE_ON_A_PAGE
        return await self.show(
            request,
            "people.html",
            status,
            people=people[:PEOPLE_ON_A_PAGE],
            has_more=has_more,
            is_part=has_more or bool(after or beginning),
            beginning=beginning,
            invitations=await self.service.invitations.all(),
            registration=self.settings.registration,
            now=self.service.now(),
            health=await self.service.health(),
            fetch=self.settings.fetch,
            **values,
        )


def _assert_admin(request: AdmittedRequest) -> None:
    if not request.admitted.account.is_admin:
        raise AdministratorsOnly("Only an administrator may see this page.")
