"""JSON in bodies: written, and read within limits, either strictly or leniently, as apps need."""

from __future__ import annotations

import math
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from feedkeep.formats.json_bounds import check_json
from feedkeep.model.errors import InvalidInput

Body = TypeVar("Body")


class Problem(Struct):
    """The body of every error: the status as text, and a message for people."""

    code: str
    message: str


class Conflict(Problem):
    """The body of an error that tells by which changes it came about: their stamps."""

    changed_since: list[int]


def _finite(text: str) -> float:
    """Return a JSON number that has a fraction or an exponent.

    msgspec takes ten times as long to read some of these: 1.2 seconds for a body full of them.
    """
    number = float(text)
    if math.isinf(number):
        raise ValueError("Number out of range")
    return number


ANY = msgspec.json.Decoder(Any, float_hook=_finite)
LIST = msgspec.json.Decoder(list[Any], float_hook=_finite)

_ENCODER = msgspec.json.Encoder()


def encode(reply: object) -> bytes:
    """Return a reply as JSON."""
    return _ENCODER.encode(reply)


def decode(decoder: msgspec.json.Decoder[Body], body: bytes) -> Body:
    """Return what a body says, whatever its Content-Type calls it (C1.3).

    Raises:
        InvalidInput: It is not UTF-8, is not JSON, is too deep, has too many values, or does not
            have the shape of the request.
    """
    check_json(body)
    try:
        # Decoded first, since msgspec does not check that fields it does not know are UTF-8.
        return _decode_text(decoder, body.decode())
    except UnicodeDecodeError as error:
        raise InvalidInput(f"The body is not UTF-8 at byte {error.start}.") from error
    except msgspec.ValidationError as error:
        raise InvalidInput(str(error).replace("`", "").replace(" - at ", " at ")) from error
    except msgspec.DecodeError as error:
        reason = error if body.strip() else "it is empty"
        raise InvalidInput(f"The body is not valid JSON: {reason}.") from error


def _decode_text(decoder: msgspec.json.Decoder[Body], text: str) -> Body:
    try:
        return decoder.decode(text)
    except msgspec.ValidationError:
        # If a key occurs twice, the last one counts, and only that one has to be valid (C1.4).
        return msgspec.convert(ANY.decode(text), decoder.type)


def read_object(body: bytes) -> dict[str, Any]:
    """Return a JSON object.

    Raises:
        InvalidInput: It is something else: answered 200, an app would forget what it had to send.
            Or it is not valid JSON, or too deep, or has too many values.
    """
    value = decode(ANY, body)
    if not isinstance(value, dict):
        raise InvalidInput("The body has to be a JSON object.")
    return value


def read_list(body: bytes) -> list[Any]:
    """Return a JSON array; raises as `read_object` does."""
    value = decode(ANY, body)
    if not isinstance(value, list):
        raise InvalidInput("The body has to be a JSON array.")
    return value


def texts(value: object) -> list[str]:
    """Return the texts of a JSON array; other values in it are left out, and nothing has none.

    Raises:
        InvalidInput: It is something, and no array.
    """
    if value and not isinstance(value, list):
        raise InvalidInput("A list of URLs has to be a JSON array.")
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def text(value: object) -> str:
    """Return a JSON string; anything else counts as an empty one."""
    return value if isinstance(value, str) else ""
