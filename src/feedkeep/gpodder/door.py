"""Who is asking: a session's cookie, or else the Authorization header, which begins a session."""

from __future__ import annotations

from feedkeep.api.auth import basic_of, credential_of
from feedkeep.api.http import Request
from feedkeep.apps import SESSION_DAYS
from feedkeep.errors import Forbidden, NotAuthorized
from feedkeep.model import Admitted, Token, replace
from feedkeep.rules.credentials import name_key, read_session, read_token
from feedkeep.service import Service

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
        shown = request.cookies().get(_COOKIE)
        admitted = await self._admit_session(request, shown) if shown else None
        if admitted is None or not _is_theirs(request, admitted):
            admitted = await self._admit_header(request, admitted)
        return admitted

    async def _admit_session(self, request: Request, text: str) -> Admitted | None:
        credential = read_session(text) or read_token(text)
        if credential is None:
            return None
        request.credential_kind = credential.kind
        try:
            admitted = await self._service.authenticate(credential, request.address)
        except NotAuthorized:
            return None
        assert admitted.token is not None
        if await self._service.apps.keep_session(admitted.account.id, admitted.token):
            _give(request, text)
        return admitted

    async def _admit_header(self, request: Request, other: Admitted | None) -> Admitted:
        """Let in by the header; `other` is who the cookie belongs to, if that is another."""
        try:
            credential = credential_of(request)
        except NotAuthorized:
            if other is not None:
                raise Forbidden(_NOT_THEIRS) from None
            raise
        request.credential_kind = credential.kind
        admitted = await self._service.authenticate(credential, request.address)
        if not _is_theirs(request, admitted):
            raise Forbidden(_NOT_THEIRS)
        if (shown := basic_of(request)) is None:
            return admitted
        if admitted.token is not None:  # it is its own session, and ends when it is revoked
            _give(request, shown.password)
            return admitted
        return replace(admitted, token=await self._begin_session(request, admitted))

    async def _begin_session(self, request: Request, admitted: Admitted) -> Token:
        text, session = await self._service.apps.begin_session(
            admitted.account,
            request.header(b"user-agent"),
            is_asked_for=request.path.endswith("/login.json"),
        )
        _give(request, text)
        return session


def _give(request: Request, text: str) -> None:
    """Let the reply set the cookie: for all paths, and only for HTTPS if it came by that."""
    request.reply_headers["Set-Cookie"] = (
        f"{_COOKIE}={text}; Path=/; Max-Age={SESSION_DAYS * _SECONDS_PER_DAY}; HttpOnly;"
        f" SameSite=Lax{'; Secure' if request.is_secure else ''}"
    )


def take_back(request: Request) -> None:
    """Let the reply make the client forget its cookie."""
    request.reply_headers["Set-Cookie"] = f"{_COOKIE}=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax"


def _is_theirs(request: Request, admitted: Admitted) -> bool:
    user = request.parameters.get("user")
    return user is None or name_key(user) == name_key(admitted.account.name)
