"""Feed lists as read from files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from feedkeep.model.errors import InvalidInput, Sentence
from feedkeep.rules.feed_labels import FiledFeed
from feedkeep.rules.feed_names import Card
from feedkeep.rules.subscriptions import Refused, Wanted, want

LEFT = Sentence("You had left this feed in the app that wrote the file.")
_FEED_SIGN = re.compile(r"rss|feed|atom|xml", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ListedFeed:
    """Feed in a file, not yet validated.

    Attributes:
        number: The number of its line, or of its item in JSON, from 1; 0 if it is from no file.
        feed_url: The text of its URL; "" if there is something, but no address of a feed.
        guid: The text of its guid, if there is one.
        is_item: Whether items are counted and not lines.
        title: What the file calls it; "" if it does not say.
        folder: The folder that it is in there, as `folder_of` returns it.
        card: What is known of it, for files that are written.
        doubt: Reason to add it only if its owner says so; None without one.
    """

    number: int
    feed_url: str
    guid: str | None
    is_item: bool = False
    title: str = ""
    folder: str = ""
    card: Card | None = None
    doubt: Sentence | None = None

    @property
    def place(self) -> Sentence:
        """Its place in the file."""
        values = {"number": self.number}
        return (
            Sentence("item {number}", values) if self.is_item else Sentence("line {number}", values)
        )

    @property
    def seen(self) -> str:
        """Text that the file has in its place, for a person who looks for it there."""
        return self.feed_url or self.title

    def filed(self) -> FiledFeed:
        return FiledFeed(self.feed_url, self.title, self.folder)

    def wanted(self) -> Wanted | Refused:
        if not self.feed_url:
            return Refused("", Sentence("No feed address was found here."))
        return want(self.feed_url, self.guid, is_from_file=True)


def check_count(count: int, max_items: int) -> None:
    """Check the number of feeds before they are processed.

    Raises:
        InvalidInput: There are too many.
    """
    if count > max_items:
        raise InvalidInput(
            "At most {max} feeds fit in one list; split it into several.", max=max_items
        )


def has_feed_sign(url: str) -> bool:
    """Whether a URL contains a word that addresses of feeds have."""
    return _FEED_SIGN.search(url) is not None


def not_a_list() -> InvalidInput:
    """Return the error for a file of another kind."""
    return InvalidInput(
        "This is not a list of feeds. Choose the file that your app exported: mostly, its name ends"
        " in .opml."
    )


@dataclass(frozen=True, slots=True)
class FeedList:
    """Feeds of a file, in order.

    Attributes:
        notes: Remarks for the person about ignored or interpreted parts.
    """

    feeds: Sequence[ListedFeed]
    notes: Sequence[Sentence] = ()
