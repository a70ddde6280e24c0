"""Authentication by session cookie, or by the Authorization header, which starts a session."""

from __future__ import annotations

from feedkeep.http.authenticators import credential_of, is_basic
from feedkeep.http.cookies import APP_SESSION
from feedkeep.http.requests import Request
from feedkeep.model import Admitted, replace
from feedkeep.model.errors import Forbidden, NotAuthorized
from feedkeep.rules.credentials import name_key, read_session
from feedkeep.service import Service

_NOT_THEIRS = "The resource is another account's."


class SessionAuthenticator:
    """Authenticates clients by a session, or by a name and a password or token.

    mygpoclient, which gPodder uses, answers three challenges and then never again. So each client
    authenticated by Basic gets a session, and with an expired cookie, the password is still
    checked.
    """

    def __init__(self, service: Service) -> None:
        self._service = service

    async def admit(self, request: Request) -> Admitted:
        """Authenticate a request, with its session; raises as `Authenticator.admit` does."""
        cookie = request.cookie(APP_SESSION.name)
        admitted = await self._admit_session(request, cookie) if cookie else None
        if admitted is None or not _is_theirs(request, admitted):
            admitted = await self._admit_header(request, admitted)
        return admitted

    async def _admit_session(self, request: Request, text: str) -> Admitted | None:
        credential = read_session(text)
        if credential is None:
            return None
        request.credential_kind = credential.kind
        try:
            admitted = await self._service.authentication.admit(credential, request.address)
            assert admitted.token is not None
            # This client keeps cookies, so it gets a session of its own, which can record what was
            # sent to it; a shared session cannot. A logout ends the session of the cookie sent,
            # shared or not.
            if admitted.token.is_shared and not request.path.endswith("/logout.json"):
                return await self._begin_session(request, admitted)
        except NotAuthorized:
            return None
        if await self._service.logins.extend_session(admitted.account.id, admitted.token):
            _set_cookie(request, text)
        return admitted

    async def _admit_header(self, request: Request, other: Admitted | None) -> Admitted:
        """Authenticate by header; `other` is the cookie's client if the path is not its own."""
        if not is_basic(request):  # bearer tokens need no session
            return await self._authenticate(request, other)
        if request.path.endswith("/login.json"):
            return await self._begin_session(request, await self._authenticate(request, other))
        return await self._share_session(request, other)

    async def _begin_session(self, request: Request, admitted: Admitted) -> Admitted:
        """Start a session for one client, which records what was sent to it."""
        label = request.header("user-agent")
        begun = await self._service.logins.begin_session(admitted, label)
        _set_cookie(request, begun.text)
        return replace(admitted, token=begun.token)

    async def _share_session(self, request: Request, other: Admitted | None) -> Admitted:
        """Use the session shared by all cookieless clients with the same header.

        Kasts keeps no cookies and sends the password with each request. A session per request would
        cost a write each, and end the sessions of other apps.
        """
        logins, label = self._service.logins, request.header("user-agent")
        header = request.header("authorization")
        found = await logins.find_shared(header, label)
        if found is None:
            admitted = await self._authenticate(request, other)
            found = await logins.share_session(header, label, admitted)
        else:
            request.credential_kind = found.admitted.credential_kind
            _check_is_theirs(request, found.admitted)
        _set_cookie(request, found.text)
        return found.admitted

    async def _authenticate(self, request: Request, other: Admitted | None) -> Admitted:
        try:
            credential = credential_of(request)
        except NotAuthorized:
            # The cookie is valid, but the path belongs to another account. After a 401, apps would
            # resend the password again and again.
            if other is not None:
                raise Forbidden(_NOT_THEIRS) from None
            raise
        request.credential_kind = credential.kind
        admitted = await self._service.authentication.admit(credential, request.address)
        _check_is_theirs(request, admitted)
        return admitted


def _set_cookie(
    request: Request, text: str, max_age_seconds: int | None = APP_SESSION.max_age_seconds
) -> None:
    """Set the session cookie in the response; Secure if the request used HTTPS."""
    secure = "; Secure" if request.is_secure else ""
    request.response_headers[b"set-cookie"] = (
        f"{APP_SESSION.name}={text}; Path={request.cookie_path}; Max-Age={max_age_seconds};"
        f" HttpOnly; SameSite=Lax{secure}"
    ).encode("latin-1")


def clear_cookie(request: Request) -> None:
    _set_cookie(request, "", 0)


def _check_is_theirs(request: Request, admitted: Admitted) -> None:
    if not _is_theirs(request, admitted):
        raise Forbidden(_NOT_THEIRS)


def _is_theirs(request: Request, admitted: Admitted) -> bool:
    user = request.parameters.get("user")
    return user is None or name_key(user) == name_key(admitted.account.name)
