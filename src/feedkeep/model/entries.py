"""The entries of a list: subscriptions and pointers, and how they are shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from feedkeep.model.values import Guid, Stamp, Value


class Alias(Value, frozen=True):
    """A URL that a guid is derived from and that is not its subscription's present feed URL.

    Attributes:
        url: The URL as it was sent; stored since some protocols identify feeds by URL only.
        moved_away: Whether the subscription once had this feed URL and moved away from it.
            Returning to such a URL undoes a move; moving to any other alias is a new move.
        was_own: Whether it was the URL of a separate feed that a merge joined to the subscription,
            so that apps may have it beside another URL of the subscription.
        retired: Stamp at which apps were sent the removal of this URL; None while they may keep it.
        first_had: As `Subscription.first_had`, for the feed at this URL; `seen_feeds.NEVER` if the
            URL was only sent beside a guid.
    """

    url: str
    moved_away: bool
    was_own: bool = False
    retired: Stamp | None = None
    first_had: Stamp = Stamp(0)


class Subscription(Value, frozen=True):
    """A feed of an account, under its present guid.

    Attributes:
        feed_url: The present feed URL, as it was sent.
        is_subscribed: False when unsubscribed or deleted.
        subscription_changed: Stamp of the last change of status or feed URL (C4.3).
        guid_changed: Stamp of the last change of the guid; None if it never changed.
        deleted: Stamp of the deletion; None on a live subscription.
        alias: The URL that `guid` is derived from; None if that is the present feed URL or no URL.
        status_changed: Stamp of the last change between subscribed and unsubscribed. A move does
            not change it, nor does subscribing again while subscribed. Apps that identify feeds by
            URL are sent only these changes.
        app_url: The URL by which these apps have the feed; None if that is the present feed URL.
        app_url_until: Stamp at which it was unsubscribed and apps were sent the removal of
            `app_url`; apps that have not synced since still have it. None while all have it.
        first_had: Time at which the account first had the feed at the present feed URL, by the
            server's clock and not by the account's. Nothing fetched before is shown
            (`rules/seen_feeds.py`).
    """

    guid: Guid
    feed_url: str
    is_subscribed: bool
    subscription_changed: Stamp
    guid_changed: Stamp | None = None
    deleted: Stamp | None = None
    alias: Alias | None = None
    status_changed: Stamp = Stamp(0)
    app_url: str | None = None
    app_url_until: Stamp | None = None
    first_had: Stamp = Stamp(0)

    @property
    def revision(self) -> Stamp:
        """Stamp of the last change of any kind; lists are ordered by it (C6.10)."""
        if self.guid_changed is None and self.deleted is None:  # true for nearly all
            return self.subscription_changed
        never = Stamp(0)
        return max(self.subscription_changed, self.guid_changed or never, self.deleted or never)


class Pointer(Value, frozen=True):
    """A former or derived guid that resolves to a subscription (C3.6).

    Attributes:
        new_guid: The present guid of the subscription; never another pointer.
        guid_changed: Stamp at which a present guid became this pointer. None on a pointer that was
            never a present guid: it is not announced, and no list shows it (C3.10, C4.4).
        alias: The URL that `guid` is derived from; None if that is the present feed URL or no URL.
    """

    guid: Guid
    new_guid: Guid
    guid_changed: Stamp | None = None
    alias: Alias | None = None

    @property
    def revision(self) -> Stamp | None:
        """Its only stamp; None keeps it out of lists."""
        return self.guid_changed


Entry: TypeAlias = Subscription | Pointer


class Counts(Value, frozen=True):
    """Size of an account's list; stored with the account, so that no request has to count.

    Attributes:
        subscribed: Number of subscriptions with the status subscribed.
        announced: Number of entries in lists: subscriptions of any status and announced pointers.
        entries: Sum of the weights of all entries, including pointers that are not announced
            (`model/weights.py`).
    """

    subscribed: int = 0
    announced: int = 0
    entries: int = 0


class Limits(Value, frozen=True):
    """The limits of an account's list.

    Attributes:
        subscriptions: Maximum number of subscribed feeds.
        entries: Maximum weight of all entries, including unsubscribed and deleted feeds and former
            guids and URLs. These stay for devices that were offline for a year, so an account that
            adds and deletes without end reaches this limit.
    """

    subscriptions: int
    entries: int


class View(Value, frozen=True):
    """An entry as the account's owner sees it: a pointer is shown with its subscription.

    Attributes:
        entry: The requested entry.
        subscription: The subscription that it is or resolves to.
    """

    entry: Entry
    subscription: Subscription


class Page(Value, frozen=True):
    """One page of the entries that changed after a stamp, smallest revision first.

    Attributes:
        total: Number of entries that changed after `since`, on all pages.
        has_more: Whether entries follow this page.
    """

    total: int
    views: Sequence[View]
    has_more: bool


class PageRequest(Value, frozen=True):
    """A request for one page of the entries that changed after a stamp.

    Attributes:
        since: Only entries with a greater revision.
        after: Only entries with a revision greater than this, too, if the page is reached by
            following `next`; None to count `page` pages from `since`.
        page: Number of the page, from 1.
        per_page: Maximum number of entries of a page.
        epoch: Epoch of the list in which the previous page was read, if the page is reached by
            following `next`.
    """

    since: Stamp
    after: Stamp | None
    page: int
    per_page: int
    epoch: str | None = None
