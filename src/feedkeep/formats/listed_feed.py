"""A list of feeds as it stands in a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from feedkeep.errors import Sentence


@dataclass(frozen=True, slots=True)
class ListedFeed:
    """A feed as it stands in a file; nothing is checked yet.

    Attributes:
        place: Where it stands in the file, for messages: "line 12".
        feed_url: The text of its URL.
        guid: The text of its guid, if there is one.
    """

    place: str
    feed_url: str
    guid: str | None


@dataclass(frozen=True, slots=True)
class FeedList:
    """The feeds of a file, in its order.

    Attributes:
        feeds: What the file lists.
        warning: What a person should know about how it was read; None if all went well.
    """

    feeds: Sequence[ListedFeed]
    warning: Sentence | None = None
