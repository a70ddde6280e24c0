"""Encryption of texts that a browser stores for this service, with its session as the key.

Without the session, a text from a log or cache, for example, reveals nothing; nor does it after the
person has signed out. Processes need no shared secret.
"""

from __future__ import annotations

import base64
import hmac

from cryptography.fernet import Fernet, InvalidToken


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
