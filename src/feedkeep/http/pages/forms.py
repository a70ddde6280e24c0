"""Read browser forms; bytes, fields and files are limited before parsing."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote_to_bytes

from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.requests import Request as HTTPRequest
from starlette.types import Message

from feedkeep.http.requests import Request
from feedkeep.model.errors import InvalidInput
from feedkeep.runtime.cooperative import LONG_BYTES, in_thread_if

MAX_FORM_BYTES = 16_384
"""Maximum size of a form from clients without a session."""

_MAX_FIELDS = 30
_MAX_NUMBER_DIGITS = 18
_IN_PARTS = "multipart/form-data"
_URLENCODED = "application/x-www-form-urlencoded"
_AT_ONCE_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class Form:
    """The contents of a form.

    Attributes:
        texts: Values of each field.
        files: Contents of each chosen file.
    """

    texts: Mapping[str, Sequence[str]] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)

    def text(self, name: str) -> str:
        """Return the last value of a field; "" if missing."""
        values = self.texts.get(name)
        return values[-1] if values else ""

    def several(self, name: str) -> Sequence[str]:
        return self.texts.get(name, ())


def read_number(text: str) -> int | None:
    """Parse a whole number from a form or query; None if the text is not one."""
    is_number = text.isascii() and text.isdigit() and len(text) <= _MAX_NUMBER_DIGITS
    return int(text) if is_number else None


async def read_form(
    request: Request, max_bytes: int = MAX_FORM_BYTES, max_fields: int = _MAX_FIELDS
) -> Form:
    """Return the form in a request's body; an empty body is an empty form.

    Raises:
        InvalidInput: The body is not a form, is malformed, or has too many fields.
        BodyTooLarge: The body exceeds `max_bytes`.
    """
    body = await request.body(max_bytes)
    kind, _, parameters = request.header("content-type").lower().partition(";")
    is_long = len(body) > LONG_BYTES
    if kind.strip() == _URLENCODED:
        return await in_thread_if(is_long, _read_fields, body, max_fields)
    # With a charset, parts would be decoded by any codec of Python's that the client names, and
    # "punycode" takes quadratic time. Browsers send no charset.
    if kind.strip() == _IN_PARTS and "charset" not in parameters:
        parsing = _read_parts(request, body, max_bytes, max_fields)
        return await (in_thread_if(True, asyncio.run, parsing) if is_long else parsing)
    if body:
        raise InvalidInput("This is not a form that a page of this service sends.")
    return Form()


def _read_fields(body: bytes, max_fields: int) -> Form:
    """Parse a urlencoded body, `name=value&name=value` (URL Standard, 5.1).

    Raises:
        InvalidInput: It has too many fields.
    """
    if body.count(b"&") >= max_fields:
        raise InvalidInput("The form cannot be read: send it again from the page.")
    texts: dict[str, list[str]] = {}
    for pair in filter(None, body.split(b"&")):
        name, _, value = pair.partition(b"=")
        texts.setdefault(_unescaped(name), []).append(_unescaped(value))
    return Form(texts)


def _unescaped(text: bytes) -> str:
    """Decode percent escapes in pieces, since each escape takes 100 bytes during decoding."""
    whole, start = bytearray(), 0
    while start < len(text):
        end = start + _AT_ONCE_BYTES
        escape = text.rfind(b"%", max(end - 2, start + 1), end)
        end = end if escape < 0 else escape
        whole += unquote_to_bytes(text[start:end].replace(b"+", b" "))
        start = end
    return whole.decode(errors="replace")


async def _read_parts(request: Request, body: bytes, max_bytes: int, max_fields: int) -> Form:
    """Parse a multipart body, which may contain a file (RFC 7578).

    Raises:
        InvalidInput: It is malformed or has too many fields.
    """

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    scope = {"type": "http", "headers": request.http.scope["headers"]}
    texts: dict[str, list[str]] = {}
    files: dict[str, bytes] = {}
    try:
        async with HTTPRequest(scope, receive).form(
            max_files=1, max_fields=max_fields, max_part_size=max_bytes
        ) as form:
            for name, value in form.multi_items():
                if isinstance(value, UploadFile):
                    if value.filename:
                        files[name] = await value.read()
                else:
                    texts.setdefault(name, []).append(value)
    except (MultiPartException, HTTPException, UnicodeDecodeError) as error:
        raise InvalidInput("The form cannot be read: send it again from the page.") from error
    return Form(texts, files)
