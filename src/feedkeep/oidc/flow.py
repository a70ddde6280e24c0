"""Pending sign-ins, kept in a cookie until the browser returns from the provider. Pure."""

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
"""Maximum time that a person may take at the provider."""


class Flow(Value, frozen=True):
    """Pending sign-in: values sent to the provider, and the next step after its reply.

    Attributes:
        state: Value that the reply must contain: it then belongs to this browser.
        nonce: Value that the ID token must contain: it was then issued for this sign-in.
        verifier: Proof to the provider that the code's owner started the sign-in (RFC 7636).
        place: Path to open afterwards.
        linking: Sealed data of the session that requested a link; empty for signing in.
    """

    state: str
    nonce: str
    verifier: str
    place: str
    linking: str = ""

    hidden: ClassVar[frozenset[str]] = frozenset({"state", "nonce", "verifier", "linking"})

    def is_answered_by(self, state: str) -> bool:
        return hmac.compare_digest(self.state.encode(), state.encode())


_FLOW = msgspec.json.Decoder(Flow)


class FlowCookies:
    """Encrypted cookies of pending sign-ins, which prove that the service started them.

    Otherwise an attacker who can set cookies could make this service send requests to the provider,
    or sign a person in to another account. The key is derived from the client secret, which all
    processes have. A public client has none, so its cookies can be forged.
    """

    def __init__(self, client_secret: str) -> None:
        key = hmac.digest(client_secret.encode(), b"feedkeep sign-in under way", "sha256")
        self._cipher = Fernet(base64.urlsafe_b64encode(key))

    def write(self, flow: Flow) -> str:
        return self._cipher.encrypt(msgspec.json.encode(flow)).decode()

    def read(self, text: str) -> Flow | None:
        """Decrypt a cookie; None if it is not valid or too old."""
        try:
            cookie = text.encode(errors="replace")
            return _FLOW.decode(self._cipher.decrypt(cookie, ttl=MAX_AGE_SECONDS))
        except (InvalidToken, msgspec.MsgspecError):
            return None


def authorization_url(
    endpoint: str, client_id: str, redirect_uri: str, scopes: str, flow: Flow
) -> str:
    """Return the provider's sign-in URL (OpenID Connect Core, section 3.1.2.1)."""
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
