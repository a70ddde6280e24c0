"""Sign-in with an account of an OpenID Connect provider, and linking accounts to it."""

from __future__ import annotations

import secrets

import structlog
from starlette.responses import Response

from feedkeep.config.settings import Settings
from feedkeep.http.cookies import PROVIDER_SIGN_IN, expire_cookie, read_cookie, set_cookie
from feedkeep.http.error_responses import BAD_REQUEST, FORBIDDEN, OK
from feedkeep.http.pages.forms import read_form
from feedkeep.http.pages.notes import Note
from feedkeep.http.pages.rendering import Pages
from feedkeep.http.requests import AdmittedRequest, Request
from feedkeep.http.routing import NoSuchRoute
from feedkeep.model import Account, CredentialKind, Stamp, replace
from feedkeep.model.errors import (
    AccountError,
    FeedkeepError,
    NotAuthorized,
    Sentence,
    TooManyAttempts,
)
from feedkeep.oidc.claims import LEEWAY_SECONDS, ProviderAway, SignInFailed
from feedkeep.oidc.flow import MAX_AGE_SECONDS, MAX_PLACE_CHARACTERS, Flow
from feedkeep.oidc.provider import Provider
from feedkeep.rules.accounts import identity_of
from feedkeep.rules.clock import SECOND_US
from feedkeep.security.throttle import provider_limits
from feedkeep.service import Service
from feedkeep.web.account import PLACE as ACCOUNT
from feedkeep.web.account import AccountPage
from feedkeep.web.authenticator import HOME, SIGN_IN, seal, session_of, unseal
from feedkeep.web.page import Page, headers_of, label_of, not_confirmed, status_of
from feedkeep.web.sign_in import SignInPage, local

PLACE = f"{SIGN_IN}/provider"
_LINKING = "link to the provider"
_UNAVAILABLE = 503
_MAX_PARAMETER_CHARACTERS = 4_096

_CANCELLED = Sentence("You did not allow it there, so you are not signed in.")
_TOO_OLD = Sentence("That sign-in was too old, or began in another window. Please try again.")
_NOT_LET_IN = Sentence(
    "Your account here is disabled. Ask the person who runs this service about it."
)
_LAST_WAY_IN = Sentence("Set a password first. Without one, you could no longer sign in.")

_log = structlog.get_logger()


class ProviderSignIn(Page):
    """/sign-in/provider, and the forms that link an account to the provider.

    Args:
        sign_in: Page that shows failed sign-ins.
        account: Page that shows problems of the forms.
    """

    def __init__(
        self,
        service: Service,
        settings: Settings,
        pages: Pages,
        sign_in: SignInPage,
        account: AccountPage,
    ) -> None:
        super().__init__(service, settings, pages)
        self._sign_in, self._account = sign_in, account
        self._provider = Provider(settings) if settings.oidc_issuer else None

    @property
    def provider(self) -> Provider:
        """The configured provider.

        Raises:
            NoSuchRoute: No provider is configured.
        """
        if self._provider is None:
            raise NoSuchRoute
        return self._provider

    async def begin(self, request: Request) -> Response:
        """Redirect to the provider."""
        place = local(request.query("next"))
        try:
            url, cookie = await self._begun(request, place)
        except ProviderAway as error:
            return await self._refused(request, error, place)
        response = self.pages.redirect_external(url)
        response.headers.append("set-cookie", cookie)
        return response

    async def come_back(self, request: Request) -> Response:
        """Handle the provider's response: sign in, or link the account."""
        self.provider  # noqa: B018 - raises without a provider
        flow = self._flow(request)
        try:
            response = await self._done(request, flow)
        except (SignInFailed, ProviderAway, AccountError, NotAuthorized, TooManyAttempts) as error:
            response = await self._refused(request, error, flow.place if flow else HOME)
        response.headers.append("set-cookie", expire_cookie(request, PROVIDER_SIGN_IN))
        return response

    async def link(self, request: AdmittedRequest) -> Response:
        """Link the account: show a page that redirects to the provider, since forms may not."""
        form, session = await read_form(request), None
        try:
            session = await self.confirmed(request, form)
            text = session_of(request) if session is None else session.text
            url, cookie = await self._begun(request, ACCOUNT, linked_by=text)
        except (NotAuthorized, TooManyAttempts) as error:
            response = await self._on_account(request, not_confirmed(form, error), status_of(error))
            response.headers.update(headers_of(error))
            return response
        except ProviderAway as error:
            response = await self._on_account(request, error.sentence, _UNAVAILABLE)
            return self.signed_in(request, response, session)
        response = await self.show(request, "provider.html", url=url)
        response.headers.append("set-cookie", cookie)
        return self.signed_in(request, response, session)

    async def unlink(self, request: AdmittedRequest) -> Response:
        """Unlink the account from the provider."""
        self.provider  # noqa: B018 - raises without a provider
        form, session = await read_form(request), None
        account = request.admitted.account
        if account.password_hash is None or not self.settings.password_login:
            return await self._on_account(request, _LAST_WAY_IN, BAD_REQUEST)
        try:
            session = await self.confirmed(request, form)
        except (NotAuthorized, TooManyAttempts) as error:
            response = await self._on_account(request, not_confirmed(form, error), status_of(error))
            response.headers.update(headers_of(error))
            return response
        await self.service.identities.unlink(account)
        return self.redirect(request, ACCOUNT, Note("unlinked"), session)

    async def log_out(self, request: Request) -> Response:
        """End the sessions of a person who signed out at the provider (Back-Channel Logout)."""
        provider, form = self.provider, await read_form(request)
        try:
            logout = await provider.logged_out(form.text("logout_token"))
        except (SignInFailed, ProviderAway) as error:
            _log.warning("logout token rejected", reason=error.reason)
            return Response(status_code=BAD_REQUEST)
        identity = identity_of(provider.issuer, logout.subject)
        account_id = await self.service.identities.linked(identity)
        if account_id is not None and not await self.service.page_sessions.end_by_provider(
            account_id,
            logout.token_id,
            until=Stamp(int(logout.issued + LEEWAY_SECONDS) * SECOND_US),
            valid_until=Stamp(int(logout.valid_until + 1) * SECOND_US),
        ):
            _log.warning("logout token rejected", reason="it was sent before")
            return Response(status_code=BAD_REQUEST)
        return Response(status_code=OK)

    def _own(self, request: Request) -> str:
        """Return the redirect URI for the provider."""
        return f"{self.base_url(request)}{PLACE}/back"

    async def _begun(
        self, request: Request, place: str, linked_by: str | None = None
    ) -> tuple[str, str]:
        """Return the provider's sign-in URL, and the cookie with the state of the sign-in.

        `linked_by`: session that requested a link; None to sign in.
        """
        place = place if len(place) <= MAX_PLACE_CHARACTERS else HOME
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        linking = "" if linked_by is None else seal(linked_by, _LINKING, state.encode())
        flow = Flow(state, nonce, verifier, place, linking)
        url = await self.provider.sign_in_url(self._own(request), flow)
        return url, set_cookie(request, PROVIDER_SIGN_IN, self.provider.cookies.write(flow))

    def _flow(self, request: Request) -> Flow | None:
        """Return this browser's pending sign-in, with a path of this service as its place."""
        flow = self.provider.cookies.read(read_cookie(request, PROVIDER_SIGN_IN))
        return None if flow is None else replace(flow, place=local(flow.place))

    async def _done(self, request: Request, flow: Flow | None) -> Response:
        """Sign in or link, once the provider's response is verified to belong to the flow."""
        state, code, issuer = (
            request.query(name)[:_MAX_PARAMETER_CHARACTERS] for name in ("state", "code", "iss")
        )
        if flow is None or not flow.is_answered_by(state):
            raise SignInFailed("the answer belongs to no sign-in of this browser")
        if not code:
            raise SignInFailed("the provider sent no code")
        account = await self._to_link(request, flow) if flow.linking else None
        limits = provider_limits(request.address)
        with self.service.refusals.counted(limits, SignInFailed):
            claims = await self.provider.claims(
                code, issuer, self._own(request), flow, request.address
            )
        identities = self.service.identities
        identity = identity_of(self.provider.issuer, claims["sub"])
        if account is not None:
            await identities.link(account, identity)
            return self.redirect(request, ACCOUNT, Note("linked"))
        request.credential_kind = CredentialKind.BROWSER
        account = await identities.account_of(
            identity,
            claims,
            may_create=self.settings.oidc_new_accounts,
            admin_claim=self.settings.oidc_admin_claim,
        )
        session = await self.service.page_sessions.begin(account, label_of(request))
        return self.redirect(request, flow.place, session=session)

    async def _to_link(self, request: Request, flow: Flow) -> Account:
        """Return the account to link, whose session recently requested it.

        Raises:
            SignInFailed: Another session requested the link, or too long ago.
            NotAuthorized: The browser has no valid session.
        """
        text = session_of(request)
        admitted = await self.service.page_sessions.admit(text)
        if unseal(text, _LINKING, flow.linking, MAX_AGE_SECONDS) != flow.state.encode():
            raise SignInFailed("another session asked for the link")
        return admitted.account

    async def _refused(self, request: Request, error: FeedkeepError, place: str) -> Response:
        """Show the sign-in form with the problem."""
        problem, status = error.sentence, FORBIDDEN
        if request.query("error") == "access_denied":
            problem = _CANCELLED
        elif isinstance(error, ProviderAway):
            status = _UNAVAILABLE
            _log.warning("sign-in provider unavailable", reason=error.reason)
        elif isinstance(error, SignInFailed):
            _log.warning("sign-in rejected", reason=error.reason, address=request.address)
            is_stale = self._flow(request) is None
            problem = _TOO_OLD if is_stale else problem
        elif isinstance(error, NotAuthorized):
            problem = _NOT_LET_IN
        elif isinstance(error, TooManyAttempts):
            status = status_of(error)
        problems = {"provider": problem}
        response = await self._sign_in.form(request, status, next=place, problems=problems)
        response.headers.update(headers_of(error))
        return response

    async def _on_account(
        self, request: AdmittedRequest, problem: Sentence, status: int
    ) -> Response:
        return await self._account.shown(request, status, problems={"provider": problem})
