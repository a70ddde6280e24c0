"""A list of feeds as it stands in a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from feedkeep.model.errors import InvalidInput, Sentence
from feedkeep.rules.feed_labels import FiledFeed
from feedkeep.rules.feed_names import Card
from feedkeep.rules.subscriptions import Refused, Wanted, want


@dataclass(frozen=True, slots=True)
class ListedFeed:
    """A feed as it stands in a file; nothing is checked yet.

    Attributes:
        number: The number of its line, or of its item in JSON, from 1; 0 if it is from no file.
        feed_url: The text of its URL; "" if there is something, but no address of a feed.
        guid: The text of its guid, if there is one.
        is_item: Whether items are counted and not lines.
        title: What the file calls it; "" if it does not say.
        folder: The folder that it is in there, as `folder_of` returns it.
        card: What is known of it, for files that are written.
    """

    number: int
    feed_url: str
    guid: str | None
    is_item: bool = False
    title: str = ""
    folder: str = ""
    card: Card | None = None

    @property
    def place(self) -> Sentence:
        """Return where it stands in the file."""
        values = {"number": self.number}
        return (
            Sentence("item {number}", values) if self.is_item else Sentence("line {number}", values)
        )

    def filed(self) -> FiledFeed:
        """Return what its owner called it."""
        return FiledFeed(self.feed_url, self.title, self.folder)

    def wanted(self) -> Wanted | Refused:
        """Return it as an item to add."""
        if not self.feed_url:
            return Refused("", Sentence("No feed address was found here."))
        return want(self.feed_url, self.guid, is_from_file=True)


def check_count(count: int, max_items: int) -> None:
    """Check how many feeds a list has, before anything is made of them.

    Raises:
        InvalidInput: There are too many.
    """
    if count > max_items:
        raise InvalidInput(
            "At most {max} feeds fit in one list; split it into several.", max=max_items
        )


@dataclass(frozen=True, slots=True)
class FeedList:
    """The feeds of a file, in its order.

    Attributes:
        feeds: What the file lists.
        notes: What a person should know about how it was read; none if nothing was left out.
    """

    feeds: Sequence[ListedFeed]
    notes: Sequence[Sentence] = ()
