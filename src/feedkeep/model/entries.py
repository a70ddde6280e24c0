"""The entries of a list: subscriptions and pointers, and how they are shown.

Pure: frozen values; no I/O, no JSON, no decisions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from feedkeep.model.values import Guid, Stamp, Value


class Alias(Value, frozen=True):
    """A URL that a guid is derived from and that is not its subscription's present feed URL.

    Attributes:
        url: The URL as it was sent. Its text is stored since some protocols know feeds by URL only.
        moved_away: Whether the subscription itself once had this feed URL and moved away from it.
            Going back to such a URL undoes a move; going to any other alias is a new move.
        was_own: Whether it was the URL of a feed of its own, so that apps may have it beside
            another URL of the subscription: both came together by a merge.
        retired: Stamp of when apps were sent the removal of this URL; None while they may go on
            with it.
        first_had: As `Subscription.first_had`, of the feed at this URL; `seen_feeds.NEVER` if it
            was only sent beside a guid.
    """

    url: str
    moved_away: bool
    was_own: bool = False
    retired: Stamp | None = None
    first_had: Stamp = Stamp(0)


class Details(Value, frozen=True, kw_only=True):
    """What a PATCH sets of a subscription as it is sent, beside its URL, its guid and its status.

    Requests, replies, rules, history and stores follow a field that is named here: it is a field of
    the JSON and a column of the same name. A PATCH with it stamps the subscription; a merge keeps
    the value of the subscription that stays; undo brings it back. Its type bounds it. Its default
    is what rows from before have; lists leave it out, and it is not None: a PATCH sends no null.

    CONTRIBUTING.md lists the steps of adding a field.
    """


DETAILS: Mapping[str, Any] = dict(
    zip(Details.__struct_fields__, Details.__struct_defaults__, strict=True)
)
"""The names and the defaults of these fields, which are the last ones of `Subscription`."""


class Subscription(Details, frozen=True):
    """A feed that an account has, under its present guid.

    Attributes:
        guid: The present guid.
        feed_url: The present feed URL, as it was sent.
        is_subscribed: False when unsubscribed or deleted.
        subscription_changed: Stamp of the last change of status or feed URL (C4.3).
        guid_changed: Stamp of the last change of the guid, if there was one.
        deleted: Stamp of the deletion; None on a live subscription.
        alias: The other URL that `guid` is derived from, if there is one.
        status_changed: Stamp of when it was last subscribed or unsubscribed. A move changes
            neither, nor does subscribing to it again while it is subscribed. Apps that know feeds
            by URL only are sent these changes and no others.
        app_url: The URL that these apps have it by, if that is not the present feed URL.
        app_url_until: Stamp of when it was unsubscribed, and apps were sent the removal of
            `app_url`; those that have not asked since still have it. None while all have it.
        first_had: Time at which the account first had the feed at the present feed URL, by the
            server's clock and not by the account's. Nothing that was found before is shown
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
        """The stamp of the last change of any kind; lists are ordered by it (C6.10)."""
        if self.guid_changed is None and self.deleted is None:  # as of nearly all
            return self.subscription_changed
        never = Stamp(0)
        return max(self.subscription_changed, self.guid_changed or never, self.deleted or never)


class Pointer(Value, frozen=True):
    """A guid that leads to a subscription without being its present guid (C3.6).

    Attributes:
        guid: The guid that leads there.
        new_guid: The present guid of the subscription; never another pointer.
        guid_changed: Stamp of when a present guid became this pointer. None on a pointer that was
            never a present guid: it is not announced, so that no list shows it (C3.10, C4.4).
        alias: The URL that `guid` is derived from, where that is not the present feed URL.
    """

    guid: Guid
    new_guid: Guid
    guid_changed: Stamp | None = None
    alias: Alias | None = None

    @property
    def revision(self) -> Stamp | None:
        """The pointer's only stamp; None keeps it out of lists."""
        return self.guid_changed


Entry: TypeAlias = Subscription | Pointer


class Counts(Value, frozen=True):
    """How much is in an account's list; stored with the account, so that no request has to count.

    Attributes:
        subscribed: How many subscriptions the account is subscribed to.
        announced: How many entries lists show: subscriptions of any status and announced pointers.
        entries: Sum of the weights of all entries, including pointers that are not announced
            (`model/weights.py`).
    """

    subscribed: int = 0
    announced: int = 0
    entries: int = 0


class View(Value, frozen=True):
    """An entry as an account's owner sees it: a pointer is shown with its subscription.

    Attributes:
        entry: The entry that was asked for.
        subscription: The subscription that it is, or leads to.
    """

    entry: Entry
    subscription: Subscription


class Page(Value, frozen=True):
    """One page of the entries that changed after a stamp, smallest revision first.

    Attributes:
        total: How many entries changed after `since`, on all pages.
        views: The entries of this page.
        has_more: Whether entries follow this page.
    """

    total: int
    views: Sequence[View]
    has_more: bool


class PageRequest(Value, frozen=True):
    """Which page of the entries that changed after a stamp is wanted.

    Attributes:
        since: Only entries with a revision after this stamp.
        after: Only entries with a revision after this stamp too, when the page is reached by
            following `next`; None to count `page` pages off from `since`.
        page: The page's number, from 1.
        per_page: How many entries a page holds at most.
        epoch: The epoch of the list in which the page before was read, when the page is reached by
            following `next`.
    """

    since: Stamp
    after: Stamp | None
    page: int
    per_page: int
    epoch: str | None = None
