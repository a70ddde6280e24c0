"""Authentication by the Authorization header."""

from __future__ import annotations

import base64
import binascii
from contextlib import suppress

import structlog

from feedkeep.http.requests import Request
from feedkeep.http.routing import READING
from feedkeep.model import Admitted, replace
from feedkeep.model.errors import AppPasswordNeeded, NotAuthorized, TooManyAttempts
from feedkeep.rules.credentials import Credential, read_basic, read_token
from feedkeep.service import Service

# Kodi's podcast plugin encodes Basic with the URL-safe alphabet (RFC 4648, section 5) instead of
# that in RFC 7617. They do not conflict, so both are accepted.
_FROM_URL_SAFE = str.maketrans("-_", "+/")

_log = structlog.get_logger()


class HeaderAuthenticator:
    """Authenticates by the credential in the Authorization header."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def admit(self, request: Request) -> Admitted:
        """Authenticate a request; for a GET, also load the entry named in its path.

        Raises as `Authenticator.admit` does.
        """
        credential = credential_of(request)
        request.credential_kind = credential.kind
        guid = request.parameters.get("guid") if request.method in READING else None
        admitted = await self._service.authentication.admit(credential, request.address, guid)
        if admitted.token is None:  # distinguishes apps that share the password
            admitted = replace(admitted, user_agent=request.header("user-agent"))
        return admitted


def credential_of(request: Request) -> Credential:
    """Return the credential of the Authorization header (C2.1), the only accepted place (C2.4).

    Raises:
        NotAuthorized: The credential is missing or malformed.
    """
    scheme, _, value = request.header("authorization").partition(" ")
    credential: Credential | None = None
    if scheme.lower() == "bearer":
        credential = read_token(value.strip())
    elif scheme.lower() == "basic":
        with suppress(binascii.Error, ValueError):  # invalid base64
            credential = read_basic(
                base64.b64decode(value.strip().translate(_FROM_URL_SAFE), validate=True)
            )
    if credential is None:
        raise NotAuthorized
    return credential


def is_basic(request: Request) -> bool:
    """Whether the header has the Basic scheme, valid or not."""
    scheme, _, _ = request.header("authorization").partition(" ")
    return scheme.lower() == "basic"


def log_refusal(request: Request, error: Exception) -> None:
    """Log a refused login without the name: users type passwords in its place."""
    _log.warning(
        "login refused",
        request_id=request.id,
        address=request.address,
        credential=request.credential_kind,
        reason=_reason(error),
    )


def _reason(error: Exception) -> str:
    match error:
        case TooManyAttempts():
            return "too many attempts"
        case AppPasswordNeeded():
            return "not an app password"
        case _:
            return "not valid"
