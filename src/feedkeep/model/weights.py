"""The weights of rows, which limits add up: one for each KiB that a row begins."""

from __future__ import annotations

from operator import attrgetter

from feedkeep.model.entries import Entry, Subscription
from feedkeep.model.episode_actions import EpisodeAction

KIB = 1_024

REST_BYTES = 512
"""Size of a row without its texts: numbers, author or app, indexes, unused space."""

TEXTS_OF_ACTION = ("podcast", "episode", "device", "episode_guid")
"""The fields of an episode action that can hold long texts."""

_texts_of_action = attrgetter(*TEXTS_OF_ACTION)


def weight(*texts: str | None) -> int:
    """Return the weight of a row with these texts; `store.tables.weight` does so in SQL."""
    size = REST_BYTES - 1
    for text in texts:
        if text:
            size += len(text) if text.isascii() else len(text.encode())
    return 1 + size // KIB


def weight_of_entry(entry: Entry) -> int:
    """Return the weight of an entry, which also counts for each of its former states."""
    alias_url = entry.alias.url if entry.alias else None
    if isinstance(entry, Subscription):
        return weight(alias_url, entry.feed_url, entry.app_url)
    return weight(alias_url)


def weight_of_action(action: EpisodeAction) -> int:
    return weight(*_texts_of_action(action))


def weight_of_document(body: str | None) -> int:
    """Return the weight of a document; 0 if it does not exist (None)."""
    return 0 if body is None else weight(body)
