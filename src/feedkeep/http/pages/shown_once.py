"""Things that the next page shows once: what was done, and secrets that are stored nowhere.

After a form, the browser is led to a page that can be loaded again without doing a thing twice.
What that page has to say once travels in a cookie that only this service reads.
"""

from __future__ import annotations

import base64
import binascii

import msgspec

from feedkeep.http.requests import Request

_MAX_CHARACTERS = 3_000
_SECONDS = 60


class Note(msgspec.Struct, frozen=True):
    """What a page is to say once.

    Attributes:
        kind: What it is about.
        values: What belongs to it.
    """

    kind: str
    values: dict[str, str | int | bool | list[str]] = {}


_NOTE = msgspec.json.Decoder(Note)


def cookie_name(request: Request, name: str) -> str:
    """Return the name of a cookie that, over HTTPS, no plain page can set, nor another host.

    Under a path, a cookie is for that path only, as the other services of that host are not to get
    it; such a cookie may not have the name that keeps other hosts out (RFC 6265bis, section 4.1.3).
    """
    if not request.is_secure:
        return name
    return f"__Secure-{name}" if request.base_path else f"__Host-{name}"


def cookie(request: Request, name: str, value: str, max_age_seconds: int) -> str:
    """Return a Set-Cookie header for pages of this service only."""
    secure = "; Secure" if request.is_secure else ""
    return (
        f"{cookie_name(request, name)}={value}; Path={request.base_path or '/'};"
        f" Max-Age={max_age_seconds}; HttpOnly; SameSite=Lax{secure}"
    )


def write_note(request: Request, note: Note) -> str:
    """Return the Set-Cookie header that brings a note to the next page."""
    text = base64.urlsafe_b64encode(msgspec.json.encode(note)).decode().rstrip("=")
    assert len(text) <= _MAX_CHARACTERS, "a note is short"
    return cookie(request, "feedkeep_note", text, _SECONDS)


def read_note(request: Request) -> Note | None:
    """Return the note that the page before left, if there is one."""
    text = request.cookie(cookie_name(request, "feedkeep_note"))
    if not text or len(text) > _MAX_CHARACTERS:
        return None
    try:
        return _NOTE.decode(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (binascii.Error, ValueError, msgspec.DecodeError):
        return None


def forget_note(request: Request) -> str:
    """Return the Set-Cookie header that ends a note."""
    return cookie(request, "feedkeep_note", "", 0)
