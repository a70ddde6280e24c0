"""Effects of importing a list, for the page and the command. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from feedkeep.formats.listed_feed import ListedFeed
from feedkeep.model import Guid, Value
from feedkeep.model.errors import Sentence
from feedkeep.rules.subscriptions import Added, Refused

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
    seen: set[Guid] = set()
    for feed, result in zip(feeds, results, strict=True):
        if isinstance(result, Refused):
            refused.append((feed, result.reason))
        elif result.subscription.guid in seen:
            twice.append(feed)
        else:
            kind = known if result.was_subscribed else new
            kind.append(feed)
            seen.add(result.subscription.guid)
    return ImportPlan(new, known, twice, refused)
