"""An app password that was just made, which a browser keeps until the app has used it.

It is shown while it is typed into a phone: also after a reload, and after a look at another app. It
is stored nowhere else.
"""

from __future__ import annotations

import msgspec

from feedkeep.http.cookies import NEW_PASSWORD, read_cookie, set_cookie
from feedkeep.http.requests import Request
from feedkeep.model import TokenId, Value
from feedkeep.web.sealed import seal, unseal

_PURPOSE = "a new app password"


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
    text = seal(session, _PURPOSE, msgspec.json.encode(made))
    return set_cookie(request, NEW_PASSWORD, text)


def read_new_password(request: Request, session: str) -> NewPassword | None:
    """Return the password that the browser with a session keeps, for as long as it may."""
    text = read_cookie(request, NEW_PASSWORD)
    content = unseal(session, _PURPOSE, text, NEW_PASSWORD.max_age_seconds)
    return _NEW_PASSWORD.decode(content) if content else None
