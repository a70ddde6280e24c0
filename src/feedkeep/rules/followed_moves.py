"""Changes to a list when a feed's move is proved, or its old URL is dead. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from feedkeep.model import Decision, Guid, Snapshot, Subscription, Value
from feedkeep.model.errors import FeedkeepError
from feedkeep.rules.draft import Draft
from feedkeep.rules.feed_urls import FeedUrl, parse_feed_url
from feedkeep.rules.moves import may_move
from feedkeep.rules.url_lists import move

MAX_REMEMBERED = 1_000
"""Maximum number of moves stored for an account; a new move replaces the oldest."""


class Followed(Value, frozen=True):
    """A move that was made once, as the derived guids of both URLs.

    It is not made again, unless the way back was, too: otherwise the owner or an app has returned
    the feed to its old URL.
    """

    old: Guid
    new: Guid


class MoveOutcome(Value, frozen=True):
    """The result of a move.

    Attributes:
        is_done: Whether the list was changed.
        followed: The moves to store.
    """

    is_done: bool
    followed: Sequence[Followed]


def follow(
    snapshot: Snapshot,
    old: FeedUrl,
    new: FeedUrl,
    followed: Sequence[Followed],
    held: Collection[Guid] = (),
) -> Decision[MoveOutcome]:
    """Give a subscription the URL that its feed moved to, as a PATCH would (C10.11).

    Nothing changes if the account is not subscribed at the old URL, if the move was made before, or
    if the new URL belongs to another feed of the list: feeds are never merged automatically. Nor
    does it if the feed cannot move from this account's spelling of the URL: the move was seen from
    the first subscriber's spelling, which may have been HTTP. `held` is as in
    `subscriptions.update`.
    """
    draft = Draft(snapshot)
    nothing = draft.decision(MoveOutcome(False, followed))
    feed = draft.find(old.guid)
    this = Followed(old.guid, new.guid)
    if feed is None or this in followed or not _is_at(feed, old):
        return nothing
    if not may_move(feed.feed_url, new.text):
        return nothing
    try:
        decision = move(snapshot, old, new, notify_apps=False, held=held)
    except FeedkeepError:  # the list has the new URL as well, or has no room for more pointers
        return nothing
    back = Followed(new.guid, old.guid)
    others = [other for other in followed if other != back]
    return decision.telling(MoveOutcome(True, [*others, this][-MAX_REMEMBERED:]))


def tell_apps(snapshot: Snapshot, old: FeedUrl) -> Decision[Sequence[Guid]]:
    """Make apps replace the dead URL of a feed by the present one.

    The outcome is the derived guids of all URLs of the feed; empty if there is nothing to send.
    """
    draft = Draft(snapshot)
    feed = draft.find(old.guid)
    if feed is None or not feed.is_subscribed or feed.app_url is None:
        return draft.decision(())
    if feed.app_url_until is not None or parse_feed_url(feed.app_url).guid != old.guid:
        return draft.decision(())
    return move(snapshot, old, parse_feed_url(feed.feed_url), notify_apps=True)


def _is_at(feed: Subscription, url: FeedUrl) -> bool:
    return feed.is_subscribed and parse_feed_url(feed.feed_url).guid == url.guid
