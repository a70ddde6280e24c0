"""A sign-in under way, which the browser keeps until it comes back from the provider. Pure."""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import ClassVar
from urllib.parse import urlencode

import msgspec

from feedkeep.model import AccountId, Value

MAX_PLACE_CHARACTERS = 1_500


class Flow(Value, frozen=True):
    """What was sent to the provider, and what is to happen with its answer.

    Attributes:
        state: What its answer has to have: it then belongs to this browser.
        nonce: What the ID token has to have: it was then issued for this sign-in.
        verifier: What proves to the provider that who has the code also began (RFC 7636).
        place: Where to go afterwards.
        linking: The account that is to be linked; None to sign in.
    """

    state: str
    nonce: str
    verifier: str
    place: str
    linking: AccountId | None = None

    hidden: ClassVar[frozenset[str]] = frozenset({"state", "nonce", "verifier"})

    def is_answered_by(self, state: str) -> bool:
        """Say whether an answer of the provider belongs to this sign-in."""
        return hmac.compare_digest(self.state.encode(), state.encode())


_FLOW = msgspec.json.Decoder(Flow)


def write_flow(flow: Flow) -> str:
    """Return a sign-in as a cookie has it."""
    return base64.urlsafe_b64encode(msgspec.json.encode(flow)).decode().rstrip("=")


def read_flow(text: str) -> Flow | None:
    """Return the sign-in of a cookie; None if it has none."""
    try:
        return _FLOW.decode(base64.urlsafe_b64decode(text.encode() + b"=="))
    except (ValueError, msgspec.MsgspecError):
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
