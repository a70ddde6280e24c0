"""Feed lists as read from files, and the effects of importing them. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from feedkeep.model import Guid, Value
from feedkeep.model.errors import InvalidInput, Sentence
from feedkeep.rules.feed_labels import FiledFeed
from feedkeep.rules.feed_names import Card
from feedkeep.rules.subscriptions import Added, Refused, Wanted, want

LEFT = Sentence("You had left this feed in the app that wrote the file.")
INSIDE = Sentence("The file has this feed inside another feed.")
LINK = Sentence("This is a link, and nothing shows that it leads to a feed.")
_FEED_SIGN = re.compile(r"rss|feed|atom|xml", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ListedFeed:
    """Feed in a file, not yet validated.

    Attributes:
        number: Line number, or number of the JSON item, from 1; 0 if the feed is not from a file.
        feed_url: Text of its URL; "" if the entry has no address of a feed.
        guid: Text of its guid; None without one.
        is_item: Whether `number` counts items instead of lines.
        title: Title in the file; "" if missing.
        folder: Folder in the file, in the form of `folder_of`.
        card: Summary of the feed, for writing.
        doubt: Reason to add it only if its owner confirms it; None without one.
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
        """Text in its place, by which a person finds it in the file."""
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
    """Whether a URL has a word that is common in addresses of feeds."""
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


TWICE = Sentence("The file has this feed more than once; the first one counts.")


class ImportPlan(Value, frozen=True):
    """Effects of importing a list.

    Attributes:
        new: Feeds to subscribe to; with a doubt, only if their owner says so.
        known: Feeds that are subscribed already.
        twice: Feeds that repeat an earlier one.
        refused: Feeds that cannot be added, with the reasons.
    """

    new: Sequence[ListedFeed]
    known: Sequence[ListedFeed]
    twice: Sequence[ListedFeed]
    refused: Sequence[tuple[ListedFeed, Sentence]]

    @property
    def sure(self) -> Sequence[ListedFeed]:
        """The new feeds without a doubt."""
        return [feed for feed in self.new if feed.doubt is None]

    @property
    def dropped(self) -> Sequence[tuple[ListedFeed, Sentence]]:
        """The feeds of the list that are not used, with the reasons."""
        return [*self.refused, *((feed, TWICE) for feed in self.twice)]


def plan_import(feeds: Sequence[ListedFeed], results: Sequence[Added | Refused]) -> ImportPlan:
    """Sort feeds by the results that adding them would have, in the same order."""
    new: list[ListedFeed] = []
    known: list[ListedFeed] = []
    twice: list[ListedFeed] = []
    refused: list[tuple[ListedFeed, Sentence]] = []
    # Being inside another feed is no reason for a doubt if the file also has it elsewhere.
    elsewhere = {
        result.subscription.guid
        for feed, result in zip(feeds, results, strict=True)
        if isinstance(result, Added) and feed.doubt is None
    }
    seen: set[Guid] = set()
    for feed, result in zip(feeds, results, strict=True):
        if isinstance(result, Refused):
            refused.append((feed, result.reason))
        elif (guid := result.subscription.guid) in seen:
            twice.append(feed)
        else:
            kind = known if result.was_subscribed else new
            is_sure = feed.doubt is INSIDE and guid in elsewhere
            kind.append(replace(feed, doubt=None) if is_sure else feed)
            seen.add(guid)
    return ImportPlan(new, known, twice, refused)
