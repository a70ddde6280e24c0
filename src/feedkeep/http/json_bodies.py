"""JSON bodies: encoding, and strict or lenient decoding within limits."""

from __future__ import annotations

import math
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from feedkeep.formats.json_bounds import check_json
from feedkeep.model.errors import InvalidInput

Body = TypeVar("Body")


class Problem(Struct):
    """The body of every error: the status as text, and a message for users."""

    code: str
    message: str


class Conflict(Problem):
    """The body of an undo conflict, with the timestamps of the conflicting changes."""

    changed_since: list[int]


def _finite(text: str) -> float:
    """Parse a JSON number that has a fraction or an exponent.

    msgspec takes ten times as long for some of them: 1.2 seconds for a full body.
    """
    number = float(text)
    if math.isinf(number):
        raise ValueError("Number out of range")
    return number


ANY = msgspec.json.Decoder(Any, float_hook=_finite)
LIST = msgspec.json.Decoder(list[Any], float_hook=_finite)

_ENCODER = msgspec.json.Encoder()


def encode(reply: object) -> bytes:
    return _ENCODER.encode(reply)


def decode(decoder: msgspec.json.Decoder[Body], body: bytes) -> Body:
    """Decode a body, whatever its Content-Type (C1.3).

    Raises:
        InvalidInput: The body is not UTF-8, is not JSON, is nested too deeply, has too many values,
            or does not match the decoder's type.
    """
    check_json(body)
    try:
        # msgspec does not check the UTF-8 of unknown fields.
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
        # Of duplicate keys, the last counts, and only it has to be valid (C1.4).
        return msgspec.convert(ANY.decode(text), decoder.type)


def read_object(body: bytes) -> dict[str, Any]:
    """Decode a JSON object.

    Raises:
        InvalidInput: The body is not a JSON object, is nested too deeply or has too many values.
            With status 200, an app would discard the data that it had to send.
    """
    value = decode(ANY, body)
    if not isinstance(value, dict):
        raise InvalidInput("The body has to be a JSON object.")
    return value


def read_list(body: bytes) -> list[Any]:
    """Decode a JSON array; raises as `read_object` does."""
    value = decode(ANY, body)
    if not isinstance(value, list):
        raise InvalidInput("The body has to be a JSON array.")
    return value


def texts(value: object) -> list[str]:
    """Return the strings of a JSON array, without its other values; [] for an empty value.

    Raises:
        InvalidInput: The value is neither empty nor an array.
    """
    if value and not isinstance(value, list):
        raise InvalidInput("A list of URLs has to be a JSON array.")
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def text(value: object) -> str:
    """Return a JSON string; "" for any other value."""
    return value if isinstance(value, str) else ""
