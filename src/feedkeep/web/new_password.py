"""An app password that was just made, which a browser keeps until the app has used it.

It is shown while it is typed into a phone: also after a reload, and after a look at another app. It
is stored nowhere else. The cookie is encrypted with the browser's session, so that
it tells nothing to who finds it alone, in a log for example, and nothing once the person has
signed out.
"""

from __future__ import annotations

import base64
import hmac

import msgspec
from cryptography.fernet import Fernet, InvalidToken

from feedkeep.http.cookies import NEW_PASSWORD, read_cookie, set_cookie
from feedkeep.http.requests import Request
from feedkeep.model import TokenId, Value


class NewPassword(Value, frozen=True):
    """A password, or a token, that was made for an app.

    Attributes:
        token_id: Its number.
        label: What its owner calls the app.
        app: The kind of app that the page explains.
        text: The password; "" once it was used.
    """

    token_id: TokenId
    label: str
    app: str
    text: str


_NEW_PASSWORD = msgspec.json.Decoder(NewPassword)


def write_new_password(request: Request, made: NewPassword, session: str) -> str:
    """Return the Set-Cookie header that keeps a new password in the browser with a session."""
    text = _cipher(session).encrypt(msgspec.json.encode(made)).decode()
    return set_cookie(request, NEW_PASSWORD, text)


def read_new_password(request: Request, session: str) -> NewPassword | None:
    """Return the password that the browser with a session keeps, for as long as it may."""
    try:
        text = _cipher(session).decrypt(
            read_cookie(request, NEW_PASSWORD), ttl=NEW_PASSWORD.max_age_seconds
        )
        return _NEW_PASSWORD.decode(text)
    except (InvalidToken, msgspec.DecodeError):
        return None


def _cipher(session: str) -> Fernet:
    key = hmac.digest(session.encode(), b"a new app password", "sha256")
    return Fernet(base64.urlsafe_b64encode(key))
