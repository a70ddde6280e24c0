"""Letting in by a session's cookie, or else by the Authorization header, which begins a session."""

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
    """Lets in clients with a session, or with a name and a password or token.

    mygpoclient, which gPodder uses, answers three challenges and then gives up for good. So each
    client that is let in by Basic is given a session; and if a cookie has expired, a password
    beside it is checked all the same.
    """

    def __init__(self, service: Service) -> None:
        self._service = service

    async def admit(self, request: Request) -> Admitted:
        """Return who sent a request, with their session; raises as `Authenticator.admit` does."""
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
            # This client keeps cookies. With a session of its own, it can be stored what it was
            # sent; of a shared one, that would say nothing about the other clients. A logout ends
            # the session of the cookie that was sent, whichever it is.
            if admitted.token.is_shared and not request.path.endswith("/logout.json"):
                return await self._begin_session(request, admitted)
        except NotAuthorized:
            return None
        if await self._service.logins.extend_session(admitted.account.id, admitted.token):
            _set_cookie(request, text)
        return admitted

    async def _admit_header(self, request: Request, other: Admitted | None) -> Admitted:
        """Let in by the Authorization header; `other` is the cookie's account, if it is another."""
        if not is_basic(request):  # a token as Bearer needs no session beside it
            return await self._authenticate(request, other)
        if request.path.endswith("/login.json"):
            return await self._begin_session(request, await self._authenticate(request, other))
        return await self._share_session(request, other)

    async def _begin_session(self, request: Request, admitted: Admitted) -> Admitted:
        """Give a client a session of its own, with which is stored what the client was sent."""
        label = request.header("user-agent")
        begun = await self._service.logins.begin_session(admitted, label)
        _set_cookie(request, begun.text)
        return replace(admitted, token=begun.token)

    async def _share_session(self, request: Request, other: Admitted | None) -> Admitted:
        """Give a client the session that all share which send the same header and no cookie.

        Kasts keeps no cookies, and sends the password with each request. A new session for each
        request would be a write for each, and would end the sessions of other apps.
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
            # The cookie is right, but the path is another account's. With 401, apps would send the
            # password again and again.
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
    """Let the response set the cookie; only for HTTPS if the request used it."""
    secure = "; Secure" if request.is_secure else ""
    request.response_headers[b"set-cookie"] = (
        f"{APP_SESSION.name}={text}; Path={request.cookie_path}; Max-Age={max_age_seconds};"
        f" HttpOnly; SameSite=Lax{secure}"
    ).encode("latin-1")


def clear_cookie(request: Request) -> None:
    """Let the response make the client forget its cookie."""
    _set_cookie(request, "", 0)


def _check_is_theirs(request: Request, admitted: Admitted) -> None:
    if not _is_theirs(request, admitted):
        raise Forbidden(_NOT_THEIRS)


def _is_theirs(request: Request, admitted: Admitted) -> bool:
    user = request.parameters.get("user")
    return user is None or name_key(user) == name_key(admitted.account.name)
