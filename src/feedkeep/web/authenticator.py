"""Authentication of browsers by session cookie, and texts encrypted for a session.

Without the session, such a text from a log or cache, for example, reveals nothing; nor does it
after the person has signed out. Processes need no shared secret.
"""

from __future__ import annotations

import base64
import hmac
from urllib.parse import quote

from cryptography.fernet import Fernet, InvalidToken
from starlette.responses import Response

from feedkeep.http.cookies import BROWSER_SESSION, expire_cookie, read_cookie, set_cookie
from feedkeep.http.pages.notes import SIGNED_OUT, Note, write_note
from feedkeep.http.pages.rendering import Pages
from feedkeep.http.requests import Request
from feedkeep.http.responses import Refusal
from feedkeep.http.routing import READING, NoSuchMethod
from feedkeep.model import Admitted, CredentialKind
from feedkeep.model.errors import AdministratorsOnly, NotAuthorized, NotSignedIn
from feedkeep.service import Service

SIGN_IN, HOME = "/sign-in", "/"


class PageAuthenticator:
    """Authenticates browser sessions, which the interface and apps' protocols do not accept."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def admit(self, request: Request) -> Admitted:
        """Authenticate a request; raises the same errors as `Authenticator.admit`."""
        text = session_of(request)
        if not text:
            raise NotSignedIn
        request.credential_kind = CredentialKind.BROWSER
        return await self._service.page_sessions.admit(text)


def session_of(request: Request) -> str:
    """Return the unverified text of the session cookie; "" without one."""
    return read_cookie(request, BROWSER_SESSION)


def session_cookie(request: Request, text: str) -> str:
    """Return the Set-Cookie header that signs a browser in."""
    return set_cookie(request, BROWSER_SESSION, text)


def no_session_cookie(request: Request) -> str:
    """Return the Set-Cookie header that expires the session cookie."""
    return expire_cookie(request, BROWSER_SESSION)


def refused(pages: Pages, error: Exception, request: Request, refusal: Refusal) -> Response:
    """Return the error page; redirect a GET that lacks a session or has a form's address."""
    if isinstance(error, NotAuthorized) and request.method in READING:
        return _to_sign_in(pages, request, is_ended=not isinstance(error, NotSignedIn))
    if isinstance(error, NoSuchMethod) and request.method in READING:
        # A refused form is shown at its own address, which the browser may reload.
        return pages.redirect(request.path.rpartition("/")[0] or HOME)
    for_administrators = isinstance(error, AdministratorsOnly)
    return pages.refusal(refusal, request, for_administrators=for_administrators)


def _to_sign_in(pages: Pages, request: Request, *, is_ended: bool) -> Response:
    """Redirect to the sign-in form, which returns here and tells if the session has ended."""
    query = request.http.url.query
    wanted = f"{request.path}?{query}" if query else request.path
    back = f"?next={quote(wanted)}" if wanted != HOME else ""
    response = pages.redirect(SIGN_IN + back)
    if is_ended:
        response.headers.append("set-cookie", write_note(request, Note(SIGNED_OUT)))
        response.headers.append("set-cookie", no_session_cookie(request))
    return response


def seal(session: str, purpose: str, content: bytes) -> str:
    """Encrypt content for a session; it can be decrypted for the same purpose only."""
    return _cipher(session, purpose).encrypt(content).decode()


def unseal(session: str, purpose: str, text: str, max_age_seconds: int | None) -> bytes | None:
    """Decrypt a sealed text; None if it is invalid, too old, or of another session or purpose."""
    try:
        # Fernet raises another error for non-ASCII text.
        sealed = text.encode(errors="replace")
        return _cipher(session, purpose).decrypt(sealed, ttl=max_age_seconds)
    except InvalidToken:
        return None


def _cipher(session: str, purpose: str) -> Fernet:
    key = hmac.digest(session.encode(), purpose.encode(), "sha256")
    return Fernet(base64.urlsafe_b64encode(key))
