"""The weights of rows, which limits add up: one for each KiB that a row begins.

Pure: frozen values; no I/O, no JSON, no decisions.
"""

from __future__ import annotations

from operator import attrgetter

from feedkeep.model.entries import DETAILS, Entry, Subscription
from feedkeep.model.episode_actions import EpisodeAction

KIB = 1_024

REST_BYTES = 512
"""Size that a row counts with besides its texts: numbers, author, indexes, unused space."""

TEXTS_OF_ACTION = ("podcast", "episode", "device", "episode_guid")
"""The fields of an episode action that have long texts."""

_TEXTS = ("feed_url", "app_url", *(name for name, it in DETAILS.items() if isinstance(it, str)))
_texts_of = attrgetter(*_TEXTS)
_texts_of_action = attrgetter(*TEXTS_OF_ACTION)


def weight(*texts: str | None) -> int:
    """Return the weight of a row with some texts; `store.tables.weight` is the same in SQL."""
    size = REST_BYTES - 1
    for text in texts:
        if text:
            size += len(text) if text.isascii() else len(text.encode())
    return 1 + size // KIB


def weight_of_entry(entry: Entry) -> int:
    """Return the weight of an entry, and of each state that it was in."""
    alias_url = entry.alias.url if entry.alias else None
    if isinstance(entry, Subscription):
        return weight(alias_url, *_texts_of(entry))
    return weight(alias_url)


def weight_of_action(action: EpisodeAction) -> int:
    """Return the weight of an episode action."""
    return weight(*_texts_of_action(action))


def weight_of_document(body: str | None) -> int:
    """Return the weight of a document with a body; 0 if it does not exist."""
    return 0 if body is None else weight(body)
