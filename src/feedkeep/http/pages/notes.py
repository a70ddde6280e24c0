"""Things that the next page shows once: what was done, and secrets that are stored nowhere.

After a form, the browser is led to a page that can be loaded again without doing a thing twice.
What that page has to say once travels in a cookie that only this service reads. Another host of the
same domain may set that cookie, too, so it is believed only if it was written with the browser's
session, which no other host knows, and if it has the values of its kind: an attacker may have
led this browser into the attacker's own account. A visitor who is not signed in is told a few
fixed things alone.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from typing import Annotated, NotRequired, TypedDict

import msgspec

from feedkeep.http.cookies import NOTE, expire_cookie, read_cookie, set_cookie
from feedkeep.http.requests import Request

GRANTED, SIGNED_OUT, ACCOUNT_DELETED = "granted", "signed-out", "account-deleted"
_TOLD_TO_ANYBODY = frozenset({GRANTED, SIGNED_OUT, ACCOUNT_DELETED})
"""The kinds of notes for people who are not signed in: these have no values."""

_MAX_CHARACTERS = 3_000
_LAST_US = 253_402_214_400_000_000
"""The last moment that a calendar has in each time zone: the day before the end of 9999."""


class Note(msgspec.Struct, frozen=True):
    """What a page is to say once.

    Attributes:
        kind: What it is about.
        values: What belongs to it.
    """

    kind: str
    values: dict[str, str | int | bool | list[str]] = {}


class _Nothing(TypedDict):
    pass


class _Named(TypedDict):
    name: str


class _OfAFeed(_Named):
    stamps: str


class _OfFeeds(_OfAFeed):
    count: int
    refused: NotRequired[int]


class _Refused(TypedDict):
    refused: int


class _TakenBack(TypedDict):
    count: int
    left: int
    stamps: str


class _Restored(TypedDict):
    count: int
    moment: Annotated[int, msgspec.Meta(ge=0, le=_LAST_US)]
    stamps: str


class _Link(_Named):
    link: str
    kind: str


class _Address(TypedDict):
    link: str


class _Codes(TypedDict):
    codes: list[str]


_VALUES: dict[str, type] = {
    "added": _OfFeeds,
    "none-added": _Refused,
    "already-subscribed": _Named,
    "unsubscribed": _OfFeeds,
    "subscribed": _OfFeeds,
    "taken-back": _TakenBack,
    "back": _TakenBack,
    "restored": _Restored,
    "moved": _OfAFeed,
    "merged": _OfAFeed,
    "deleted": _OfAFeed,
    "disconnected": _Named,
    "account-disable": _Named,
    "account-enable": _Named,
    "account-admin": _Named,
    "account-no-admin": _Named,
    "account-delete": _Named,
    "link": _Link,
    "news-address": _Address,
    "codes": _Codes,
}
"""What values a note of a kind has, which templates rely on; all other kinds have none."""

_NOTE = msgspec.json.Decoder(Note)


def write_note(request: Request, note: Note, session: str = "") -> str:
    """Return the Set-Cookie header that brings a note to the next page.

    `session` is that of the browser; without one, only fixed things can be told.
    """
    if note.kind in _TOLD_TO_ANYBODY:
        return set_cookie(request, NOTE, note.kind)
    assert session, "only who is signed in is told more"
    body = msgspec.json.encode(note)
    text = f"{_text(body)}.{_text(_mac(session, body))}"
    assert len(text) <= _MAX_CHARACTERS, "a note is short"
    return set_cookie(request, NOTE, text)


def has_note(request: Request) -> bool:
    """Say whether there is a note, also one that is not believed."""
    return bool(read_cookie(request, NOTE))


def read_note(request: Request, session: str = "") -> Note | None:
    """Return the note that the page before left, if there is one that is believed.

    `session` is that of the browser if it was let in with this request, else "".
    """
    text = read_cookie(request, NOTE)
    if text in _TOLD_TO_ANYBODY:
        return Note(text)
    if not session or len(text) > _MAX_CHARACTERS:
        return None
    try:
        body, mac = (base64.urlsafe_b64decode(part + "==") for part in text.split(".", 1))
    except (binascii.Error, ValueError):
        return None
    if not hmac.compare_digest(mac, _mac(session, body)):
        return None
    try:
        note = _NOTE.decode(body)
        msgspec.convert(note.values, _VALUES.get(note.kind, _Nothing))
    except msgspec.DecodeError:
        return None
    return note


def forget_note(request: Request) -> str:
    """Return the Set-Cookie header that ends a note."""
    return expire_cookie(request, NOTE)


def _mac(session: str, body: bytes) -> bytes:
    return hmac.digest(session.encode(), body, hashlib.sha256)


def _text(part: bytes) -> str:
    return base64.urlsafe_b64encode(part).decode().rstrip("=")
