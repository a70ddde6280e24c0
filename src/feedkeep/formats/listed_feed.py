"""A list of feeds as a file has it."""

from __future__ import annotations

from collections.abc import Sequence
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


@dataclass(frozen=True, slots=True)
class FeedList:
    """The feeds of a file, in its order.

    Attributes:
        feeds: What the file lists.
        warning: What a person should know about how it was read; empty if all went well.
    """

    feeds: Sequence[ListedFeed]
    warning: str = ""
