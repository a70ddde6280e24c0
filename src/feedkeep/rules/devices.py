"""Devices, which are labels of an account's apps, and settings that apps store. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from feedkeep.model import KnownDocument, Value
from feedkeep.model.errors import InvalidInput
from feedkeep.model.weights import weight_of_document

MAX_DOCUMENTS = 1_000
"""Maximum weight of an account's devices, and of its documents of any other kind."""

MAX_CAPTION_CHARACTERS = 200
TYPES = ("desktop", "laptop", "mobile", "server", "other")
"""The types that gPodder knows; any other type is stored as the last of them."""

_ID = re.compile(r"[\w.-]{1,64}")


class Device(Value, frozen=True):
    """A device, or an app: its caption, and one of `TYPES`."""

    id: str
    caption: str
    type: str


class Favorite(Value, frozen=True):
    """An episode that an app marked as a favourite.

    Attributes:
        podcast: The podcast's feed URL, as it was sent.
        episode: URL of the episode's file; "" once it is no longer a favourite.
    """

    podcast: str
    episode: str


def is_device_id(text: str) -> bool:
    return bool(_ID.fullmatch(text))


def check_id(text: str) -> None:
    """Check that a text is a valid device id.

    Raises:
        InvalidInput: It is not valid.
    """
    if not is_device_id(text):
        raise InvalidInput("A device id must have 1 to 64 letters, digits, `_`, `.` or `-`.")


def described(device_id: str, known: Device | None, caption: str, kind: str) -> Device:
    """Return a device with a new caption and type; an empty text keeps the present one.

    Raises:
        InvalidInput: The id is not valid.
    """
    check_id(device_id)
    known = known or Device(device_id, device_id, "other")
    caption = "".join(filter(str.isprintable, caption)).strip()[:MAX_CAPTION_CHARACTERS]
    kind = kind.strip().lower()
    if kind and kind not in TYPES:
        kind = "other"
    return Device(device_id, caption or known.caption, kind or known.type)


def with_settings(
    known: Mapping[str, object], wanted: Mapping[str, object], removed: Iterable[str]
) -> dict[str, object]:
    """Return the settings after setting `wanted` and deleting `removed`."""
    settings = {**known, **wanted}
    for name in removed:
        settings.pop(name, None)
    return settings


def is_favorite(settings: Mapping[str, object]) -> bool:
    """Whether the settings of an episode mark it as a favourite, as gpodder.net's do."""
    return settings.get("is_favorite") is True


def is_within_limits(known: KnownDocument, body: str) -> bool:
    """Whether a document's new body fits; always true if it is not longer."""
    weight = weight_of_document(body)
    if weight <= weight_of_document(known.body):
        return True
    return known.others + weight <= MAX_DOCUMENTS


def check_limits(known: KnownDocument, body: str) -> None:
    """Check that the new body of a device or set of settings fits.

    Raises:
        InvalidInput: There is no room.
    """
    if not is_within_limits(known, body):
        raise InvalidInput(
            "An account can have at most {max} devices, and as many sets of settings. Each counts"
            " once for each KiB that it begins.",
            max=MAX_DOCUMENTS,
        )
