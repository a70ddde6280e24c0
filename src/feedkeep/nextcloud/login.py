"""The login flow v2: an app sends its owner to a page, and fetches a token once they let it in.

The app begins, and gets a secret that only it knows; the page's address has the SHA-256 of that.
Nothing is stored until the owner has logged in on the page, so beginning a login costs nothing.
"""

from __future__ import annotations

import hmac
import secrets
from urllib.parse import parse_qsl, urlencode

from starlette.responses import Response

from feedkeep.errors import NotAuthorized, TooManyAttempts
from feedkeep.http.doors import log_refusal
from feedkeep.http.json_bodies import encode, read_object, text
from feedkeep.http.problems import FORBIDDEN, refusal_of
from feedkeep.http.requests import Request
from feedkeep.http.resource import Resource
from feedkeep.http.responses import JsonResponse
from feedkeep.http.routing import NoSuchRoute
from feedkeep.model import Account
from feedkeep.nextcloud import pages
from feedkeep.rules.credentials import PasswordCredential
from feedkeep.rules.login_links import begun_at, login_of

LOGIN = "[0-9a-f]{64}"
MAX_FORM_BYTES = 16_384

_COOKIE = "feedkeep_login"
_PATH = "/index.php/login/v2"
_UNKNOWN_APP = "An app"
_MAX_APP_CHARACTERS = 100


class BeginResource(Resource):
    """/index.php/login/v2: the beginning of a login."""

    async def post(self, request: Request) -> Response:
        """Give the app a secret to poll with, and the address to send its owner to."""
        base = (self.public_url or request.base_url) + _PATH
        secret = self.service.logins.begin_login()
        app = request.header("user-agent")[:_MAX_APP_CHARACTERS]
        query = urlencode({"begun": begun_at(secret), "app": app})
        poll = {"token": secret, "endpoint": f"{base}/poll"}
        return JsonResponse(
            encode({"poll": poll, "login": f"{base}/flow/{login_of(secret).hex()}?{query}"})
        )


class PollResource(Resource):
    """/index.php/login/v2/poll: whether the owner has let the app in."""

    async def post(self, request: Request) -> Response:
        """Give the app its token, once; 404 until then, and after that."""
        body = await request.body(MAX_FORM_BYTES)
        fetched = await self.service.logins.fetch_login(_polled_with(body))
        if fetched is None:
            raise NoSuchRoute
        server = self.public_url or request.base_url
        return JsonResponse(
            encode({"server": server, "loginName": fetched.name, "appPassword": fetched.text})
        )


class FlowResource(Resource):
    """/index.php/login/v2/flow/{login}: the page on which the owner logs in and lets the app in."""

    async def get(self, request: Request) -> Response:
        """Show the form, unless the link is too old."""
        return self._page(request) if self._is_open(request) else pages.response(pages.too_old())

    async def post(self, request: Request) -> Response:
        """Check name and password, and let the app in."""
        if not self._is_open(request):
            return pages.response(pages.too_old(), FORBIDDEN)
        form = _form(await request.body(MAX_FORM_BYTES))
        if not _is_from_our_page(request, form):
            return self._page(request, "That form was too old. Please try again.", FORBIDDEN)
        request.credential_kind = PasswordCredential.kind
        credential = PasswordCredential(form.get("name", ""), form.get("password", ""))
        try:
            request.asker = await self.service.authentication.admit(credential, request.address)
            is_granted = await self._grant(request, request.asker.account)
        except (NotAuthorized, TooManyAttempts) as error:
            log_refusal(request, error)
            return self._refused(request, error)
        if not is_granted:
            return pages.response(pages.used(), FORBIDDEN)
        return pages.response(pages.granted(_app(request)))

    def _is_open(self, request: Request) -> bool:
        return self.service.logins.is_link_open(request.query("begun"))

    async def _grant(self, request: Request, account: Account) -> bool:
        login = bytes.fromhex(request.parameters["login"])
        return await self.service.logins.grant_login(account, login, _app(request))

    def _refused(self, request: Request, error: Exception) -> Response:
        refusal = refusal_of(error, "")
        if isinstance(error, TooManyAttempts):
            response = self._page(
                request, "Too many attempts. Please wait a while.", refusal.status
            )
            response.headers.update(refusal.headers)
            return response
        return self._page(request, "The name or the password is not right.", FORBIDDEN)

    def _page(self, request: Request, problem: str = "", status: int = 200) -> Response:
        """Return the form, with a secret that only this page can send back."""
        secret = secrets.token_urlsafe(16)
        response = pages.response(pages.form(_app(request), secret, problem), status)
        response.set_cookie(
            _COOKIE, secret, secure=request.is_secure, httponly=True, samesite="strict"
        )
        return response


def _polled_with(body: bytes) -> str:
    """Return the secret that an app polls with, from a form or from JSON (Cardo, PinePods)."""
    if body.lstrip().startswith(b"{"):
        return text(read_object(body).get("token"))
    return _form(body).get("token", "")


def _is_from_our_page(request: Request, form: dict[str, str]) -> bool:
    cookie = request.cookie(_COOKIE)
    return bool(cookie) and hmac.compare_digest(cookie.encode(), form.get("secret", "").encode())


def _app(request: Request) -> str:
    """Return what the app calls itself; anybody can have written that into the address."""
    name = request.query("app")
    return "".join(filter(str.isprintable, name)).strip()[:_MAX_APP_CHARACTERS] or _UNKNOWN_APP


def _form(body: bytes) -> dict[str, str]:
    return dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))
