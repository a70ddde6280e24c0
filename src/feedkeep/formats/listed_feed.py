"""One feed in a list that is read or written."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ListedFeed:
    """A feed as a file has it; nothing is checked yet.

    Attributes:
        place: Where in the file it stands, for messages: "line 12".
        feed_url: The text given as its URL.
        guid: The text given as its guid, if there is one.
    """

    place: str
    feed_url: str
    guid: str | None
