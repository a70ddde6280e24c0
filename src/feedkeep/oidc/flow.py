"""A sign-in under way, which the browser keeps until it comes back from the provider. Pure."""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import ClassVar
from urllib.parse import urlencode

import msgspec
from cryptography.fernet import Fernet, InvalidToken

from feedkeep.model import Value

MAX_PLACE_CHARACTERS = 1_500

MAX_AGE_SECONDS = 900
"""How long a person may take at the provider."""


class Flow(Value, frozen=True):
    """What was sent to the provider, and what is to happen with its answer.

    Attributes:
        state: What its answer has to have: it then belongs to this browser.
        nonce: What the ID token has to have: it was then issued for this sign-in.
        verifier: What proves to the provider that who has the code also began (RFC 7636).
        place: Where to go afterwards.
        linking: What the session that asked for a link has sealed; empty to sign in.
    """

    state: str
    nonce: str
    verifier: str
    place: str
    linking: str = ""

    hidden: ClassVar[frozenset[str]] = frozenset({"state", "nonce", "verifier", "linking"})

    def is_answered_by(self, state: str) -> bool:
        """Say whether an answer of the provider belongs to this sign-in."""
        return hmac.compare_digest(self.state.encode(), state.encode())


_FLOW = msgspec.json.Decoder(Flow)


class FlowCookies:
    """Sign-ins as cookies have them: encrypted, so that each was begun here.

    Otherwise who can set a cookie could have this service ask the provider, or sign a person in to
    an account that is not theirs. The key is made of the client's secret, which all processes know.
    A public client has none: anybody can write its cookies.
    """

    def __init__(self, client_secret: str) -> None:
        key = hmac.digest(client_secret.encode(), b"feedkeep sign-in under way", "sha256")
        self._cipher = Fernet(base64.urlsafe_b64encode(key))

    def write(self, flow: Flow) -> str:
        """Return the cookie of a sign-in."""
        return self._cipher.encrypt(msgspec.json.encode(flow)).decode()

    def read(self, text: str) -> Flow | None:
        """Return the sign-in of a cookie; None if it has none, or began too long ago."""
        try:
            cookie = text.encode(errors="replace")
            return _FLOW.decode(self._cipher.decrypt(cookie, ttl=MAX_AGE_SECONDS))
        except (InvalidToken, msgspec.MsgspecError):
            return None


def authorization_url(
    endpoint: str, client_id: str, redirect_uri: str, scopes: str, flow: Flow
) -> str:
    """Return where a person goes to sign in (OpenID Connect Core, section 3.1.2.1)."""
    challenge = base64.urlsafe_b64encode(hashlib.sha256(flow.verifier.encode()).digest())
    query = urlencode(
        {
            "response_type": "code",
            "client_id": client_id,
            "redirect_uri": redirect_uri,
            "scope": scopes,
            "state": flow.state,
            "nonce": flow.nonce,
            "code_challenge": challenge.decode().rstrip("="),
            "code_challenge_method": "S256",
        }
    )
    return f"{endpoint}{'&' if '?' in endpoint else '?'}{query}"
