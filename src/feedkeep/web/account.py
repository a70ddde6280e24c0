"""Account page: password, recovery codes, preferences, download and deletion."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from starlette.responses import Response

from feedkeep.http.error_responses import OK
from feedkeep.http.json_bodies import encode
from feedkeep.http.pages.forms import Form, read_form
from feedkeep.http.pages.languages import LANGUAGES, time_zones
from feedkeep.http.pages.notes import ACCOUNT_DELETED, Note
from feedkeep.http.requests import AdmittedRequest
from feedkeep.http.responses import streamed
from feedkeep.model import Preferences
from feedkeep.model.errors import AccountError, NotAuthorized, TooManyAttempts
from feedkeep.model.stamps import write_stamp
from feedkeep.rules.credentials import assert_typed
from feedkeep.runtime.cooperative import TimeSlice
from feedkeep.web.authenticator import SIGN_IN, no_session_cookie
from feedkeep.web.page import Page, headers_of, label_of, not_confirmed, status_of

PLACE = "/account"
THEMES = ("light", "dark")


class AccountPage(Page):
    """/account and its forms."""

    async def get(self, request: AdmittedRequest) -> Response:
        """Show the account."""
        return await self.shown(request)

    async def codes(self, request: AdmittedRequest) -> Response:
        """Show new recovery codes once."""
        return await self.show(request, "codes.html")

    async def change_password(self, request: AdmittedRequest) -> Response:
        """Set a new password, and sign out browsers and apps that use the old one."""
        form = await read_form(request)
        account, session = request.admitted.account, None
        try:
            session = await self.confirmed(request, form)
            changed = await self.service.accounts.set_password(
                account.name, form.text("new_password")
            )
            session = await self.service.page_sessions.begin(changed, label_of(request))
        except AccountError as error:
            response = await self._refused(request, form, "new_password", error)
            return self.signed_in(request, response, session)
        except (NotAuthorized, TooManyAttempts) as error:
            response = await self._refused(request, form, "password", error)
            return self.signed_in(request, response, session)
        return self.redirect(request, PLACE, Note("new-password"), session)

    async def change_preferences(self, request: AdmittedRequest) -> Response:
        """Set language, time zone and theme, overriding the browser's."""
        form = await read_form(request)
        language, zone, theme = form.text("language"), form.text("time_zone"), form.text("theme")
        wanted = Preferences(
            language if language in LANGUAGES else None,
            zone if zone in time_zones() else None,
            theme if theme in THEMES else None,
        )
        await self.service.preferences.change(request.admitted.account.id, wanted)
        return self.redirect(request, PLACE, Note("saved"))

    async def make_codes(self, request: AdmittedRequest) -> Response:
        """Create recovery codes; the next page shows them once."""
        form = await read_form(request)
        try:
            session = await self.confirmed(request, form)
        except (NotAuthorized, TooManyAttempts) as error:
            return await self._refused(request, form, "codes_password", error)
        codes = await self.service.recovery.new_codes(request.admitted.account)
        return self.redirect(request, f"{PLACE}/codes", Note("codes", {"codes": codes}), session)

    async def sign_out_others(self, request: AdmittedRequest) -> Response:
        """End the sessions of all other browsers."""
        await self.service.page_sessions.sign_out_everywhere_else(request.admitted)
        return self.redirect(request, PLACE, Note("signed-out-others"))

    async def delete(self, request: AdmittedRequest) -> Response:
        """Delete the account; its name must be typed to confirm."""
        form = await read_form(request)
        account, session = request.admitted.account, None
        try:
            assert_typed(form.text("name"), account)
            session = await self.confirmed(request, form)
            await self.service.accounts.delete(account.name)
        except AccountError as error:
            response = await self._refused(request, form, "name", error)
            return self.signed_in(request, response, session)
        except (NotAuthorized, TooManyAttempts) as error:
            return await self._refused(request, form, "delete_password", error)
        response = self.redirect(request, SIGN_IN, Note(ACCOUNT_DELETED))
        response.headers.append("set-cookie", no_session_cookie(request))
        return response

    async def download(self, request: AdmittedRequest) -> Response:
        """Download everything stored about the account, except secrets, as JSON."""
        response = await streamed(self._everything(request), is_head=request.method == "HEAD")
        response.headers["Content-Disposition"] = 'attachment; filename="feedkeep.json"'
        return response

    async def _everything(self, request: AdmittedRequest) -> AsyncGenerator[bytes, None]:
        account, turn = request.admitted.account, TimeSlice()
        yield b'{"account":' + encode(account.name)
        yield b',\n"made":' + encode(write_stamp(account.created))
        for name, values in (await self.service.own_data.parts(account.id)).items():
            yield f',\n"{name}":['.encode()
            separator = b"\n"
            async for value in values:
                yield separator + encode(value)
                separator = b",\n"
                await turn.yield_if_long()
            yield b"]"
        yield b"}\n"

    async def _refused(
        self,
        request: AdmittedRequest,
        form: Form,
        field: str,
        error: AccountError | NotAuthorized | TooManyAttempts,
    ) -> Response:
        problem = error.sentence if isinstance(error, AccountError) else not_confirmed(form, error)
        response = await self.shown(
            request, status_of(error), typed=form, problems={field: problem}
        )
        response.headers.update(headers_of(error))
        return response

    async def shown(self, request: AdmittedRequest, status: int = OK, **values: Any) -> Response:
        """Render the account page, with a form's problems if any."""
        account = request.admitted.account
        return await self.show(
            request,
            "account.html",
            status,
            is_fresh=self.is_fresh(request),
            codes_left=await self.service.recovery.codes_left(account.id),
            preferences=await self.service.preferences.of(account.id),
            languages=LANGUAGES,
            zones=time_zones(),
            **values,
        )
