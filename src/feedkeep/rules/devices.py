"""Devices, which are labels of an account's apps, and the settings that apps keep. Pure."""

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
"""The types that gPodder knows; any other type becomes the last of them."""

_ID = re.compile(r"[\w.-]{1,64}")


class Device(Value, frozen=True):
    """A device, or an app: what its owner calls it, and one of `TYPES`."""

    id: str
    caption: str
    type: str


class Favorite(Value, frozen=True):
    """An episode that an app has marked as a favourite.

    Attributes:
        podcast: The podcast's feed URL, as it was sent.
        episode: The URL of the episode's file; "" once it is no favourite any more.
    """

    podcast: str
    episode: str


def is_device_id(text: str) -> bool:
    """Say whether a text can name a device."""
    return bool(_ID.fullmatch(text))


def check_id(text: str) -> None:
    """Check that a text can name a device.

    Raises:
        InvalidInput: It is not valid as an id.
    """
    if not is_device_id(text):
        raise InvalidInput("A device id must have 1 to 64 letters, digits, `_`, `.` or `-`.")


def described(device_id: str, known: Device | None, caption: str, kind: str) -> Device:
    """Return a device with a new caption and type; an empty text leaves the present one.

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
    """Return settings after the `wanted` ones were set and the `removed` ones deleted."""
    settings = {**known, **wanted}
    for name in removed:
        settings.pop(name, None)
    return settings


def is_favorite(settings: Mapping[str, object]) -> bool:
    """Say whether the settings of an episode mark it as a favourite, as gpodder.net's do."""
    return settings.get("is_favorite") is True


def has_room(known: KnownDocument, body: str) -> bool:
    """Whether there is room for a document's new body; always if that is no longer."""
    weight = weight_of_document(body)
    if weight <= weight_of_document(known.body):
        return True
    return known.others + weight <= MAX_DOCUMENTS


def check_room(known: KnownDocument, body: str) -> None:
    """Check that there is room for the new body of a device or set of settings.

    Raises:
        InvalidInput: There is no room.
    """
    if not has_room(known, body):
        raise InvalidInput(
            "An account can have at most {max} devices, and as many sets of settings. Each counts"
            " once for each KiB that it begins.",
            max=MAX_DOCUMENTS,
        )
