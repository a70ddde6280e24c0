"""One-time notes for the next page: results of actions, and secrets that are stored nowhere.

A form redirects to a page that can be reloaded without repeating the action. The note for that page
travels in a cookie. Another host of the same domain can set that cookie, too, so a note needs a MAC
with the browser's session as key, which no other host knows. Its values are also validated: an
attacker may have signed this browser into the attacker's own account. Without a session, only a few
fixed notes are shown.
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
"""Kinds of notes that need no session; they have no values."""

_MAX_CHARACTERS = 3_000
_LAST_US = 253_402_214_400_000_000
"""The last time that calendars can represent in each time zone: a day before the end of 9999."""


class Note(msgspec.Struct, frozen=True):
    """A note that the next page shows once."""

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


class _Filed(_Named):
    count: int


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
    "finished": _Named,
    "filed": _Filed,
    "folder-removed": _Named,
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
"""Types of the values of each kind of note, on which templates rely; other kinds have none."""

_NOTE = msgspec.json.Decoder(Note)


def write_note(request: Request, note: Note, session: str = "") -> str:
    """Return the Set-Cookie header that passes a note to the next page.

    Without `session`, only kinds that need none are possible.
    """
    if note.kind in _TOLD_TO_ANYBODY:
        return set_cookie(request, NOTE, note.kind)
    assert session, "only who is signed in is told more"
    body = msgspec.json.encode(note)
    text = f"{_text(body)}.{_text(_mac(session, body))}"
    assert len(text) <= _MAX_CHARACTERS, "a note is short"
    return set_cookie(request, NOTE, text)


def has_note(request: Request) -> bool:
    """Whether the request has a note, valid or not."""
    return bool(read_cookie(request, NOTE))


def read_note(request: Request, session: str = "") -> Note | None:
    """Return the note of the previous page; None if missing or invalid.

    `session` is "" unless the browser is authenticated.
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
    return expire_cookie(request, NOTE)


def _mac(session: str, body: bytes) -> bytes:
    return hmac.digest(session.encode(), body, hashlib.sha256)


def _text(part: bytes) -> str:
    return base64.urlsafe_b64encode(part).decode().rstrip("=")
