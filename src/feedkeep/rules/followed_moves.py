"""What becomes of a list when a move of a feed is proved, or an old URL is dead. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from feedkeep.model import Decision, Guid, Snapshot, Subscription, Value
from feedkeep.model.errors import FeedkeepError
from feedkeep.rules.draft import Draft
from feedkeep.rules.feed_urls import FeedUrl, parse_feed_url
from feedkeep.rules.moves import may_move
from feedkeep.rules.room import DEFAULT_LIMITS, Limits
from feedkeep.rules.url_lists import move

MAX_REMEMBERED = 1_000
"""How many moves of an account are remembered; a new one replaces the oldest."""


class Followed(Value, frozen=True):
    """A move that was carried out once, as the guids that are derived from both URLs.

    It is not carried out again, unless the way back was, too: where the feed is at its old URL
    otherwise, its owner or an app has put it there.
    """

    old: Guid
    new: Guid


class MoveOutcome(Value, frozen=True):
    """What became of a move.

    Attributes:
        is_done: Whether the list was changed.
        followed: The moves that are remembered from now on.
    """

    is_done: bool
    followed: Sequence[Followed]


def follow(
    snapshot: Snapshot,
    old: FeedUrl,
    new: FeedUrl,
    followed: Sequence[Followed],
    limits: Limits = DEFAULT_LIMITS,
    held: Collection[Guid] = (),
) -> Decision[MoveOutcome]:
    """Give a subscription the URL that its feed moved to, as a PATCH would (C10.11).

    Nothing is changed if the account is not subscribed at the old URL, if this was done before, or
    if the new URL leads to another feed of the list: nothing is merged by itself. Neither is it if
    the feed cannot move there from the spelling that this account has: the move was seen from that
    of the first subscriber, which may have been http. `held` is as in `subscriptions.update`.
    """
    draft = Draft(snapshot, limits)
    nothing = draft.decision(MoveOutcome(False, followed))
    feed = draft.find(old.guid)
    this = Followed(old.guid, new.guid)
    if feed is None or this in followed or not _is_at(feed, old):
        return nothing
    if not may_move(feed.feed_url, new.text):
        return nothing
    try:
        decision = move(snapshot, old, new, notify_apps=False, limits=limits, held=held)
    except FeedkeepError:  # the list has the new one as well, or has no room for more pointers
        return nothing
    back = Followed(new.guid, old.guid)
    others = [other for other in followed if other != back]
    return decision.telling(MoveOutcome(True, [*others, this][-MAX_REMEMBERED:]))


def tell_apps(
    snapshot: Snapshot, old: FeedUrl, limits: Limits = DEFAULT_LIMITS
) -> Decision[Sequence[Guid]]:
    """Have apps replace the URL that they know a feed by, which is dead, by its present one.

    Returns the derived guids of all URLs of the feed; none if there is nothing to tell.
    """
    draft = Draft(snapshot, limits)
    feed = draft.find(old.guid)
    if feed is None or not feed.is_subscribed or feed.app_url is None:
        return draft.decision(())
    if feed.app_url_until is not None or parse_feed_url(feed.app_url).guid != old.guid:
        return draft.decision(())
    return move(snapshot, old, parse_feed_url(feed.feed_url), notify_apps=True, limits=limits)


def _is_at(feed: Subscription, url: FeedUrl) -> bool:
    return feed.is_subscribed and parse_feed_url(feed.feed_url).guid == url.guid
