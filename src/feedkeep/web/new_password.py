"""A new app password, kept in an encrypted cookie until the app has used it.

So the page can show it again after a reload or a switch to another app, while the person types it
into a phone. It is stored nowhere else.
"""

from __future__ import annotations

import msgspec

from feedkeep.http.cookies import NEW_PASSWORD, read_cookie, set_cookie
from feedkeep.http.requests import Request
from feedkeep.model import TokenId, Value
from feedkeep.web.sealed import seal, unseal

_PURPOSE = "a new app password"


class NewPassword(Value, frozen=True):
    """A new password or token for an app.

    Attributes:
        label: Name of the app, chosen by its owner.
        app: Kind of app, a key of `GUIDES`.
        text: The password; "" once used.
    """

    token_id: TokenId
    label: str
    app: str
    text: str


_NEW_PASSWORD = msgspec.json.Decoder(NewPassword)


def write_new_password(request: Request, made: NewPassword, session: str) -> str:
    """Return the Set-Cookie header with a new password, encrypted for the session."""
    text = seal(session, _PURPOSE, msgspec.json.encode(made))
    return set_cookie(request, NEW_PASSWORD, text)


def read_new_password(request: Request, session: str) -> NewPassword | None:
    """Return the password in the browser's cookie; None without a valid one of the session."""
    text = read_cookie(request, NEW_PASSWORD)
    content = unseal(session, _PURPOSE, text, NEW_PASSWORD.max_age_seconds)
    return _NEW_PASSWORD.decode(content) if content else None
