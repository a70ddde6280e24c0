"""Routes of the Nextcloud endpoints, with login flow v2.

An app opens a page, and polls for a token until its owner grants it. Any app may use it. Nextcloud
has no scopes: without one, the app gets read and write access.

The app starts with a new secret, whose SHA-256 is in the page's address. Nothing is stored before
the owner has logged in on the page, so starting a login costs nothing.
"""

from __future__ import annotations

import hmac
import secrets
from urllib.parse import parse_qsl, urlencode

from starlette.responses import Response

from feedkeep.config.settings import Settings
from feedkeep.http.authenticators import log_refusal
from feedkeep.http.cookies import (
    BROWSER_SESSION,
    GRANTED_APPS,
    NEXTCLOUD_LOGIN,
    read_cookie,
    set_cookie,
)
from feedkeep.http.error_responses import FORBIDDEN, OK, refusal_of
from feedkeep.http.json_bodies import encode, read_object, text
from feedkeep.http.pages.forms import MAX_FORM_BYTES, Form, read_form
from feedkeep.http.pages.notes import GRANTED, Note, forget_note, read_note, write_note
from feedkeep.http.pages.rendering import Pages, localizer_for
from feedkeep.http.requests import Request
from feedkeep.http.responses import JsonResponse
from feedkeep.http.routing import NoSuchRoute, PublicRoute, Resource, Route
from feedkeep.model import Account, Admitted, Scope
from feedkeep.model.errors import InvalidInput, NotAuthorized, Sentence, TooManyAttempts
from feedkeep.rules.app_identity import app_name
from feedkeep.rules.credentials import PasswordCredential, as_label
from feedkeep.rules.notices import with_grant
from feedkeep.rules.seconds import second_of
from feedkeep.service import Service
from feedkeep.service.logins import begun_at, login_of
from feedkeep.url_sync.handlers import Syncing

LOGIN = "[0-9a-f]{64}"
_PATH = "/index.php/login/v2"
_OTHER = "other"
"""Query parameter for granting access to another account than the signed-in one."""

_MAX_APP_CHARACTERS = 100

_ASKING, _TOO_OLD, _USED = "asking", "too-old", "used"
"""States of the page."""

_UNKNOWN_APP = Sentence("An app")
_FORM_TOO_OLD = Sentence("That form was too old. Please try again.")
_WRONG = Sentence("The name or the password is not right.")


class BeginResource(Resource):
    """/index.php/login/v2: start of a login."""

    async def post(self, request: Request) -> Response:
        base = self.base_url(request) + _PATH
        scope = _scope(request)
        secret = self.service.logins.begin_login(scope)
        app = (request.query("app") or request.header("user-agent"))[:_MAX_APP_CHARACTERS]
        values = {"begun": begun_at(secret), "app": app}
        query = urlencode(values | ({"scope": scope} if scope is Scope.READ else {}))
        poll = {"token": secret, "endpoint": f"{base}/poll"}
        return JsonResponse(
            encode({"poll": poll, "login": f"{base}/flow/{login_of(secret).hex()}?{query}"})
        )


class PollResource(Resource):
    """/index.php/login/v2/poll: delivery of the token."""

    async def post(self, request: Request) -> Response:
        body = await request.body(MAX_FORM_BYTES)
        fetched = await self.service.logins.fetch_login(_polled_with(body))
        if fetched is None:
            raise NoSuchRoute
        server = self.base_url(request)
        return JsonResponse(
            encode({"server": server, "loginName": fetched.name, "appPassword": fetched.text})
        )


class FlowResource(Resource):
    """/index.php/login/v2/flow/{login}: the page on which the owner logs in and grants access."""

    def __init__(self, service: Service, settings: Settings, pages: Pages) -> None:
        super().__init__(service, settings)
        self._pages = pages
        self._provider = settings.oidc_name if settings.oidc_issuer else ""
        self._password_login = settings.password_login

    async def get(self, request: Request) -> Response:
        note = read_note(request)
        if note and note.kind == GRANTED:
            response = self._page(request, GRANTED)
            response.headers.append("set-cookie", forget_note(request))
            return response
        if not self._is_open(request):
            return self._page(request, _TOO_OLD)
        known = await self._signed_in(request)
        if known is None or self.service.page_sessions.is_fresh(known):
            return self._form(request, owner=known)
        return self._form(request, name=known.account.name)

    async def post(self, request: Request) -> Response:
        if not self._is_open(request):
            return self._page(request, _TOO_OLD, FORBIDDEN)
        form = await read_form(request)
        if not _is_from_our_page(request, form):
            return self._form(request, _FORM_TOO_OLD, FORBIDDEN)
        name = form.text("name")
        try:
            request.asker = await self._let_in(request, form)
            is_granted = await self._grant(request, request.asker.account)
        except (NotAuthorized, TooManyAttempts) as error:
            log_refusal(request, error)
            return self._refused(request, error, name)
        if not is_granted:
            return self._page(request, _USED, FORBIDDEN)
        place = f"{request.path}?{request.http.url.query}"
        response = self._pages.redirect(place)
        response.headers.append("set-cookie", write_note(request, Note(GRANTED)))
        # This browser need not warn its owner of the app.
        account_id, second = request.asker.account.id, second_of(self.service.now())
        marks = read_cookie(request, GRANTED_APPS)
        marks = with_grant(marks, account_id, as_label(_label(request)), second)
        response.headers.append("set-cookie", set_cookie(request, GRANTED_APPS, marks))
        return response

    async def _let_in(self, request: Request, form: Form) -> Admitted:
        """Return the authenticated owner; raises as `Authentication.admit_person`."""
        name, password = form.text("name"), form.text("password")
        owner = None if name else await self._signed_in(request)
        if owner and self.service.page_sessions.is_fresh(owner):
            return owner
        request.credential_kind = PasswordCredential.kind
        if not self._password_login:
            raise NotAuthorized
        return await self.service.authentication.admit_person(name, password, request.address)

    async def _signed_in(self, request: Request) -> Admitted | None:
        """Return the account signed in in this browser, unless another is requested."""
        text = read_cookie(request, BROWSER_SESSION)
        if not text or request.query(_OTHER):
            return None
        try:
            return await self.service.page_sessions.admit(text)
        except NotAuthorized:
            return None

    def _is_open(self, request: Request) -> bool:
        return self.service.logins.is_link_open(request.query("begun"))

    async def _grant(self, request: Request, account: Account) -> bool:
        login = bytes.fromhex(request.parameters["login"])
        return await self.service.logins.grant_login(
            account, login, _label(request), _scope(request)
        )

    def _refused(
        self, request: Request, error: NotAuthorized | TooManyAttempts, name: str
    ) -> Response:
        if isinstance(error, TooManyAttempts):
            refusal = refusal_of(error, "")
            response = self._form(request, error.sentence, refusal.status, name)
            response.headers.update(refusal.headers)
            return response
        return self._form(request, _WRONG, FORBIDDEN, name)

    def _page(
        self, request: Request, state: str, status: int = OK, **values: str | bool
    ) -> Response:
        localizer = localizer_for(request)
        app = app_name(_app(request)) or localizer.say(_UNKNOWN_APP)
        is_read_only = _scope(request) is Scope.READ
        return self._pages.response(
            "nextcloud/login.html",
            localizer,
            status,
            state=state,
            app=app,
            is_read_only=is_read_only,
            **values,
        )

    def _form(
        self,
        request: Request,
        problem: Sentence | None = None,
        status: int = OK,
        name: str = "",
        owner: Admitted | None = None,
    ) -> Response:
        """Return the form, with a secret that only this page can send back."""
        secret = secrets.token_urlsafe(16)
        said = localizer_for(request).say(problem) if problem else ""
        here = f"{request.path}?{request.http.url.query}"
        response = self._page(
            request,
            _ASKING,
            status,
            secret=secret,
            problem=said,
            name=name,
            signed_in=owner.account.name if owner else "",
            provider=self._provider,
            password_login=self._password_login,
            here=here,
            other=f"{here}&{_OTHER}=1",
        )
        response.set_cookie(
            NEXTCLOUD_LOGIN.name,
            secret,
            path=request.cookie_path,
            secure=request.is_secure,
            httponly=True,
            samesite="strict",
        )
        return response


def _polled_with(body: bytes) -> str:
    # Most apps send a form, Cardo and PinePods JSON.
    if body.lstrip().startswith(b"{"):
        return text(read_object(body).get("token"))
    return dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True)).get("token", "")


def _is_from_our_page(request: Request, form: Form) -> bool:
    cookie = request.cookie(NEXTCLOUD_LOGIN.name)
    return bool(cookie) and hmac.compare_digest(cookie.encode(), form.text("secret").encode())


def _scope(request: Request) -> Scope:
    """Return the requested scope.

    Raises:
        InvalidInput: The scope does not exist.
    """
    try:
        return Scope(request.query("scope") or Scope.WRITE)
    except ValueError:
        raise InvalidInput("There are two scopes: read and write.") from None


def _app(request: Request) -> str:
    # Links can contain any name.
    name = request.query("app")
    return "".join(filter(str.isprintable, name)).strip()[:_MAX_APP_CHARACTERS]


def _label(request: Request) -> str:
    return _app(request) or str(_UNKNOWN_APP)


_LOGIN = "/index.php/login/v2"
_SYNC = "/index.php/apps/gpoddersync"


def nextcloud_routes(
    service: Service, settings: Settings, pages: Pages
) -> list[Route | PublicRoute]:
    known = (service, settings)
    flow, syncing = FlowResource(*known, pages), Syncing(*known)
    return [
        PublicRoute(_LOGIN, post=BeginResource(*known).post),
        PublicRoute(f"{_LOGIN}/poll", post=PollResource(*known).post),
        PublicRoute(f"{_LOGIN}/flow/{{login:{LOGIN}}}", get=flow.get, post=flow.post),
        Route(f"{_SYNC}/subscriptions", get=syncing.tell_changes),
        Route(f"{_SYNC}/subscription_change/create", post=syncing.receive_changes),
        Route(f"{_SYNC}/episode_action", get=syncing.tell_actions),
        Route(f"{_SYNC}/episode_action/create", post=syncing.receive_actions),
    ]
