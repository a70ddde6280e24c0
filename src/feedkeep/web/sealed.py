"""Texts that a browser keeps for this service, and that only its session opens again.

They are encrypted with the browser's session, so that one tells nothing to who finds it alone, in a
log or in a cache for example, and nothing once the person has signed out. So no process needs a
secret that others have.
"""

from __future__ import annotations

import base64
import hmac

from cryptography.fernet import Fernet, InvalidToken


def seal(session: str, purpose: str, content: bytes) -> str:
    """Return a text for a browser with a session; one for another purpose does not open."""
    return _cipher(session, purpose).encrypt(content).decode()


def unseal(session: str, purpose: str, text: str, max_age_seconds: int | None) -> bytes | None:
    """Return what was sealed; None if it was not, not here, or too long ago."""
    try:
        # Of a text with letters beyond ASCII, Fernet would raise an error of another kind.
        sealed = text.encode(errors="replace")
        return _cipher(session, purpose).decrypt(sealed, ttl=max_age_seconds)
    except InvalidToken:
        return None


def _cipher(session: str, purpose: str) -> Fernet:
    key = hmac.digest(session.encode(), purpose.encode(), "sha256")
    return Fernet(base64.urlsafe_b64encode(key))
