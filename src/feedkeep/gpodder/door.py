"""Who is asking: a session's cookie, or else the Authorization header, which begins a session."""

from __future__ import annotations

from feedkeep.errors import Forbidden, NotAuthorized
from feedkeep.http.doors import credential_of, is_basic
from feedkeep.http.requests import Request
from feedkeep.model import Admitted, replace
from feedkeep.rules.credentials import name_key, read_session
from feedkeep.service import Service
from feedkeep.service.logins import SESSION_DAYS

_COOKIE = "sessionid"
_NOT_THEIRS = "The resource is another account's."
_SECONDS_PER_DAY = 86_400


class SessionDoor:
    """Lets in who shows a session, or a name with a password or a token.

    mygpoclient, which gPodder uses, answers three challenges and then gives up for good. So whoever
    comes in by Basic is given a session; and a cookie that has ended does not hide a password that
    is right.
    """

    def __init__(self, service: Service) -> None:
        self._service = service

    async def admit(self, request: Request) -> Admitted:
        """Return who asks, with the session that they have from now on."""
        shown = request.http.cookies.get(_COOKIE)
        admitted = await self._admit_session(request, shown) if shown else None
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
            if admitted.token.is_shared:  # so this client keeps cookies
                return await self._begin_session(request, admitted)
        except NotAuthorized:
            return None
        if await self._service.logins.extend_session(admitted.account.id, admitted.token):
            _set_cookie(request, text)
        return admitted

    async def _admit_header(self, request: Request, other: Admitted | None) -> Admitted:
        """Let in by the header; `other` is who the cookie belongs to, if that is another."""
        if not is_basic(request):  # a token as Bearer, which needs no session beside it
            return await self._authenticate(request, other)
        if request.path.endswith("/login.json"):
            return await self._begin_session(request, await self._authenticate(request, other))
        return await self._share_session(request, other)

    async def _begin_session(self, request: Request, admitted: Admitted) -> Admitted:
        """Give a client a session of its own, so that it can be remembered what it was told."""
        label = request.header("user-agent")
        begun = await self._service.logins.begin_session(admitted, label)
        _set_cookie(request, begun.text)
        return replace(admitted, token=begun.token)

    async def _share_session(self, request: Request, other: Admitted | None) -> Admitted:
        """Give a client the session of all that show the same, until it shows that it keeps it.

        Kasts keeps none and shows the password with each request: a new session each time would be
        a write each time, and push out those of others.
        """
        logins, label = self._service.logins, request.header("user-agent")
        shown = request.header("authorization")
        found = await logins.find_shared(shown, label)
        if found is None:
            admitted = await self._authenticate(request, other)
            text = await logins.share_session(shown, label, admitted)
        else:
            text, admitted = found.text, found.admitted
            request.credential_kind = admitted.credential_kind
            _check_is_theirs(request, admitted)
        _set_cookie(request, text)
        return replace(admitted, token=None)

    async def _authenticate(self, request: Request, other: Admitted | None) -> Admitted:
        try:
            credential = credential_of(request)
        except NotAuthorized:
            if other is not None:
                raise Forbidden(_NOT_THEIRS) from None
            raise
        request.credential_kind = credential.kind
        admitted = await self._service.authentication.admit(credential, request.address)
        _check_is_theirs(request, admitted)
        return admitted


def _set_cookie(request: Request, text: str) -> None:
    """Let the response set the cookie: for all paths, and only for HTTPS if it came by that."""
    request.response_headers["Set-Cookie"] = (
        f"{_COOKIE}={text}; Path=/; Max-Age={SESSION_DAYS * _SECONDS_PER_DAY}; HttpOnly;"
        f" SameSite=Lax{'; Secure' if request.is_secure else ''}"
    )


def clear_cookie(request: Request) -> None:
    """Let the response make the client forget its cookie."""
    request.response_headers["Set-Cookie"] = (
        f"{_COOKIE}=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax"
    )


def _check_is_theirs(request: Request, admitted: Admitted) -> None:
    if not _is_theirs(request, admitted):
        raise Forbidden(_NOT_THEIRS)


def _is_theirs(request: Request, admitted: Admitted) -> bool:
    user = request.parameters.get("user")
    return user is None or name_key(user) == name_key(admitted.account.name)
