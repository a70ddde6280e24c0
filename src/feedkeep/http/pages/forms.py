"""Reading forms that browsers send: their bytes, fields and files are counted before the work."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.requests import Request as HTTPRequest
from starlette.types import Message

from feedkeep.errors import InvalidInput
from feedkeep.http.requests import Request
from feedkeep.turns import LONG_BYTES, beside

MAX_FORM_BYTES = 16_384
"""How large a form is that a stranger may send; it takes up to 10 milliseconds to read."""

_MAX_FIELDS = 30
_MAX_NUMBER_DIGITS = 18
_IN_PARTS = "multipart/form-data"
_KINDS = ("application/x-www-form-urlencoded", _IN_PARTS)


@dataclass(frozen=True, slots=True)
class Form:
    """What was typed and chosen in a form.

    Attributes:
        texts: The values of each field.
        files: The bytes of each file; those that were not chosen are left out.
    """

    texts: Mapping[str, Sequence[str]] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)

    def text(self, name: str) -> str:
        """Return the last value of a field; "" if there is none."""
        values = self.texts.get(name)
        return values[-1] if values else ""

    def several(self, name: str) -> Sequence[str]:
        """Return all values of a field."""
        return self.texts.get(name, ())


def read_number(text: str) -> int | None:
    """Return a whole number that a form or a query has; None for any other text."""
    is_number = text.isascii() and text.isdigit() and len(text) <= _MAX_NUMBER_DIGITS
    return int(text) if is_number else None


async def read_form(
    request: Request, max_bytes: int = MAX_FORM_BYTES, max_fields: int = _MAX_FIELDS
) -> Form:
    """Return the form that a request holds.

    Raises:
        InvalidInput: It is no form, is broken, or has too many fields.
        BodyTooLarge: It is larger than `max_bytes`.
    """
    body = await request.body(max_bytes)
    kind, _, parameters = request.header("content-type").lower().partition(";")
    # Parts of a form would be decoded as the client says, by any codec that Python has. To decode
    # "punycode" takes a time that grows with the square of the length. Browsers name none.
    is_decoded_as_told = kind.strip() == _IN_PARTS and "charset" in parameters
    if kind.strip() not in _KINDS or is_decoded_as_told:
        if not body:
            return Form()
        raise InvalidInput("This is not a form that a page of this service sends.")
    parsing = _parsed(request, body, max_bytes, max_fields)
    if len(body) > LONG_BYTES:
        return await beside(True, asyncio.run, parsing)
    return await parsing


async def _parsed(request: Request, body: bytes, max_bytes: int, max_fields: int) -> Form:
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
