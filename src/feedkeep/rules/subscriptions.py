"""Adding, reading, updating and deleting subscriptions (contract, section 5). Pure.

Each rule takes a snapshot and returns a decision: the changes and the outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TypeAlias

from feedkeep.model import (
    Alias,
    Decision,
    Deletion,
    Guid,
    NotLookedUp,
    Snapshot,
    Stamp,
    Subscription,
    Value,
    View,
    replace,
)
from feedkeep.model.errors import (
    DeletedSubscription,
    FeedUrlTaken,
    InvalidInput,
    PreconditionFailed,
    Sentence,
    UnknownSubscription,
)
from feedkeep.rules.draft import Draft
from feedkeep.rules.feed_urls import FeedUrl, is_for_apps, parse_feed_url, parse_new_feed_url
from feedkeep.rules.guids import parse_guid

MAX_POINTERS = 1_000
"""Maximum number of pointers to a subscription (C3.11)."""

MAX_REDIRECTS = 20_000
"""Maximum number of pointers that one request redirects, which takes about 0.1 s.

A thousand guids of one URL redirect 500,000.
"""


class Wanted(Value, frozen=True):
    """A valid item to add: a feed URL and, if one was sent, a guid.

    Attributes:
        sent: The URL exactly as it was sent.
        is_from_file: Whether a person typed or imported the item: guids in files are often copied,
            and URLs are copied from the source of web pages.
    """

    sent: str
    url: FeedUrl
    guid: Guid | None
    is_from_file: bool = False

    @property
    def unescaped(self) -> FeedUrl | None:
        """The URL without HTML's `&amp;`, unless an app sent it or a guid is beside it."""
        if not self.is_from_file or self.guid or "&amp;" not in self.url.text:
            return None
        return parse_feed_url(self.url.text.replace("&amp;", "&"))


class Added(Value, frozen=True):
    """An accepted item.

    Attributes:
        feed_url: The URL as it was sent, trimmed.
        subscription: The item's subscription at the end of the request.
        was_subscribed: Whether the account was subscribed to the feed before the item.
    """

    feed_url: str
    subscription: Subscription
    was_subscribed: bool


class Refused(Value, frozen=True):
    """A refused item: the URL exactly as it was sent, and a reason to act on."""

    feed_url: str
    reason: Sentence

    @property
    def message(self) -> str:
        """The reason in English."""
        return str(self.reason)


class Update(Value, frozen=True):
    """Changes of a subscription; None leaves a field unchanged.

    Attributes:
        notify_apps: Whether apps that know only URLs are sent the present URL as a replacement of
            the former ones. They lose downloads and play states of the feed, so only the owner asks
            for this, when the old URL is dead.
    """

    new_feed_url: FeedUrl | None = None
    new_guid: Guid | None = None
    is_subscribed: bool | None = None
    notify_apps: bool = False

    def guids(self) -> list[Guid]:
        """Return the guids, besides the subscription's own, that this update may read or change."""
        url = self.new_feed_url
        guids = (self.new_guid, url.guid if url else None)
        return [guid for guid in guids if guid is not None]


class Updated(Value, frozen=True):
    """The fields that an update changed; the others are None.

    Attributes:
        subscription: The subscription after the update.
    """

    subscription: Subscription
    new_feed_url: str | None = None
    is_subscribed: bool | None = None
    subscription_changed: Stamp | None = None
    new_guid: Guid | None = None
    guid_changed: Stamp | None = None


IsExpected: TypeAlias = Callable[[View], bool]
"""Whether an entry is still as the client last saw it (If-Match)."""


def want(feed_url: str, guid: str | None, *, is_from_file: bool = False) -> Wanted | Refused:
    """Return an item to add, or a refusal if its URL or its guid is not valid (C5.3)."""
    try:
        url = parse_new_feed_url(feed_url)
        return Wanted(feed_url, url, None if guid is None else parse_guid(guid), is_from_file)
    except InvalidInput as reason:
        return Refused(feed_url, reason.sentence)


def guids_wanted(items: Sequence[Wanted | Refused]) -> list[Guid]:
    """Return the guids that adding these items may read or change, each once."""
    wanted = [item for item in items if isinstance(item, Wanted)]
    sent = [item.guid for item in wanted if item.guid]
    unescaped = [item.unescaped.guid for item in wanted if item.unescaped]
    return list(dict.fromkeys([*(item.url.guid for item in wanted), *unescaped, *sent]))


def add(snapshot: Snapshot, items: Sequence[Wanted | Refused]) -> Decision[list[Added | Refused]]:
    """Add each item in turn; each sees earlier ones (C5.2); a refused one changes nothing."""
    draft = Draft(snapshot)
    return draft.decision(add_items(draft, items))


def add_items(draft: Draft, items: Sequence[Wanted | Refused]) -> list[Added | Refused]:
    """Add items, as `add` does, as part of a longer operation."""
    known = [_without_escaped_ampersand(draft, item) for item in _with_own_guids(items)]
    outcomes = [_add_or_refuse(draft, item) for item in known]
    return [_result_of(draft, *outcome) for outcome in outcomes]


def read(view: View | NotLookedUp | None) -> View:
    """Return the entry if its subscription exists and is not deleted (C5.14).

    Raises:
        LookupError: It was not loaded. That is a defect, and must not be reported as missing: apps
            delete a feed on a 404.
        UnknownSubscription: The subscription does not exist.
        DeletedSubscription: The subscription is deleted.
    """
    if view is NotLookedUp.NOT_LOOKED_UP:
        raise LookupError("The entry was not loaded before it is read.")
    if view is None:
        raise UnknownSubscription
    if view.subscription.deleted is not None:
        raise DeletedSubscription
    return view


def update(
    snapshot: Snapshot,
    guid: Guid,
    change: Update,
    held: Collection[Guid] = (),
    is_expected: IsExpected | None = None,
) -> Decision[Updated]:
    """Change the guid, the feed URL and the status of a subscription: all, or nothing (C5.16).

    `held` are the derived guids of URLs that apps may have, which continue to resolve to it.

    Raises:
        UnknownSubscription: `guid` resolves to no subscription, or to a deleted one.
        PreconditionFailed: Neither the entry of `guid` nor the present guid's entry is as expected
            (C5.27).
        InvalidInput: The URL belongs to another subscription, there would be too many pointers, or
            the list is full.
    """
    draft = Draft(snapshot)
    found = _live(draft, guid, is_expected)
    if change == Update():  # C5.18
        return draft.decision(Updated(found))
    renamed, has_merged = _take_guid(draft, found, change.new_guid)
    moved = _take_feed_url(draft, renamed, change.new_feed_url, held)
    check_pointers(draft, moved)

    stamp = draft.tick()
    changed = _with_status_for_apps(draft, moved, found, change, stamp)
    has_new_status = change.is_subscribed is not None or (
        changed.is_subscribed != found.is_subscribed
    )
    # Even if no value changes (C5.19).
    is_sent = has_new_status or change.new_feed_url is not None
    is_renamed = change.new_guid is not None
    subscription = draft.put(
        replace(
            changed,
            subscription_changed=stamp if is_sent or has_merged else changed.subscription_changed,
            guid_changed=stamp if is_renamed else changed.guid_changed,
        )
    )
    draft.check_limits(snapshot.counts)
    return draft.decision(
        Updated(
            subscription=subscription,
            new_feed_url=change.new_feed_url.text if change.new_feed_url else None,
            is_subscribed=subscription.is_subscribed if has_new_status else None,
            subscription_changed=stamp if is_sent else None,
            new_guid=change.new_guid,
            guid_changed=stamp if is_renamed else None,
        )
    )


def delete(
    snapshot: Snapshot, guid: Guid, is_expected: IsExpected | None = None
) -> Decision[Deletion]:
    """Replace a subscription by a tombstone (C6.11).

    Raises:
        UnknownSubscription: `guid` resolves to no subscription, or to a deleted one (C6.12).
        PreconditionFailed: Neither the entry of `guid` nor the present guid's entry is as expected
            (C5.27).
    """
    draft = Draft(snapshot)
    subscription = _live(draft, guid, is_expected)
    stamp = draft.tick()
    draft.put(replace(with_status(subscription, False, stamp), deleted=stamp))
    deletion = Deletion(id=stamp, guid=subscription.guid)
    return draft.decision(deletion, deletion)


def with_status(subscription: Subscription, is_subscribed: bool, stamp: Stamp) -> Subscription:
    """Return a subscription with a status; apps are sent it only if the status changed."""
    if subscription.is_subscribed == is_subscribed:
        # AntennaPod uploads its whole list with its first sync. Feeds that were already subscribed
        # are no change for other apps.
        return subscription
    changed = replace(subscription, is_subscribed=is_subscribed, status_changed=stamp)
    if is_subscribed and subscription.app_url is not None:
        # An app that does not know of the unsubscription yet continues with the URL that it has.
        changed = replace(changed, app_url_until=subscription.status_changed)
    return changed


def set_status(
    draft: Draft, subscription: Subscription, is_subscribed: bool, *, is_renamed: bool = False
) -> None:
    """Set the status of a feed, with a stamp after those of changed pointers to it (C4.5)."""
    stamp = draft.tick()
    changed = with_status(subscription, is_subscribed, stamp)
    guid_changed = stamp if is_renamed else subscription.guid_changed
    draft.put(replace(changed, subscription_changed=stamp, guid_changed=guid_changed))


def subscribed(snapshot: Snapshot) -> list[Subscription]:
    """Return the subscribed feeds of a whole account, oldest change first."""
    feeds = [entry for entry in snapshot.entries.values() if isinstance(entry, Subscription)]
    return sorted((feed for feed in feeds if feed.is_subscribed), key=lambda feed: feed.revision)


def _live(draft: Draft, guid: Guid, is_expected: IsExpected | None) -> Subscription:
    view = draft.view(guid)
    if view is None or view.subscription.deleted is not None:
        raise UnknownSubscription
    subscription = view.subscription
    if is_expected and not any(map(is_expected, (view, View(subscription, subscription)))):
        raise PreconditionFailed
    return subscription


def _with_own_guids(items: Sequence[Wanted | Refused]) -> list[Wanted | Refused]:
    """Remove the guid of each item whose guid belongs to another item's feed (C5.29).

    Publishers copy the guid of one podcast to another: each later item with the guid would be added
    to the first item's subscription, and its feed would be missing from the list.
    """
    wanted = [item for item in items if isinstance(item, Wanted)]
    owners = {item.guid: item.url.guid for item in reversed(wanted)}
    owners |= {item.url.guid: item.url.guid for item in wanted}
    return [
        replace(item, guid=None)
        if isinstance(item, Wanted) and owners[item.guid] != item.url.guid
        else item
        for item in items
    ]


def _without_escaped_ampersand(draft: Draft, item: Wanted | Refused) -> Wanted | Refused:
    """Use the URL that the account has if it differs only by `&amp;`."""
    other = item.unescaped if isinstance(item, Wanted) else None
    if isinstance(item, Refused) or other is None or _found_by_url(draft, item.url):
        return item
    return replace(item, url=other) if _found_by_url(draft, other) else item


def _add_or_refuse(draft: Draft, item: Wanted | Refused) -> tuple[Wanted | Refused, bool]:
    if isinstance(item, Refused):
        return item, False
    try:
        return item, draft.attempt(lambda: _add_one(draft, item))
    except InvalidInput as reason:
        return Refused(item.sent, reason.sentence), False


def _add_one(draft: Draft, item: Wanted) -> bool:
    """Add one item; return whether the account was already subscribed to its feed.

    Raises:
        InvalidInput: There would be too many pointers; nothing was changed.
    """
    by_url = _found_by_url(draft, item.url)
    guid = _guid_from_file(draft, item, by_url) if item.is_from_file else item.guid
    by_guid = draft.find(guid) if guid else None
    if by_guid is not None:
        # The sent guid is authoritative (C5.5). It renames nothing, as it may be a former guid,
        # sent by a device that was offline for a long time (C5.12).
        found = _absorb_by_guid(draft, by_guid, by_url, item.url)
    elif by_url is not None:
        check_pointers(draft, by_url, gained=1 if guid else 0)
        found = by_url
        if guid and guid != by_url.guid:
            _check_redirects(draft, by_url)
            found = draft.rename(by_url, guid)  # C5.10
    else:
        draft.create(guid or item.url.guid, item.url)  # C5.7
        return False
    linked = _link_url(draft, found, item.url)
    is_renamed = guid is not None and by_guid is None
    set_status(draft, replace(linked, deleted=None), True, is_renamed=is_renamed)
    return found.is_subscribed


def _guid_from_file(draft: Draft, item: Wanted, by_url: Subscription | None) -> Guid | None:
    """Return the guid of an item from a file, unless it may be another podcast's.

    Publishers copy the guid of one podcast to another. So a guid renames and merges nothing, and
    identifies a listed feed only if it is derived from one of that feed's URLs: then the file, such
    as our own export, names a feed that has moved.
    """
    if item.guid is None or by_url is not None:
        return None
    view = draft.view(item.guid)
    if view is None or view.entry.alias is not None:
        return item.guid
    derived = parse_feed_url(view.subscription.feed_url).guid
    return derived if item.guid == derived else None


def _absorb_by_guid(
    draft: Draft, by_guid: Subscription, by_url: Subscription | None, url: FeedUrl
) -> Subscription:
    """Merge the subscription of the URL into the subscription of the guid (C5.11).

    Two subscriptions merge by a sent guid, never by a URL alone: an app that mistakes a login page
    for a moved feed would merge thirty feeds (C3.16).
    """
    if by_url is None or by_url.guid == by_guid.guid:
        # A URL that already resolves to it needs no new pointer, so sending it again never fails.
        check_pointers(draft, by_guid, gained=0 if draft.find(url.guid) == by_guid else 1)
        return by_guid
    # Checked first: moving a thousand pointers per refused item blocked other writers.
    check_pointers(draft, by_guid, gained=draft.pointer_count(by_url) + 1)
    _check_redirects(draft, by_url)
    return draft.absorb(by_guid, by_url)


def _link_url(draft: Draft, subscription: Subscription, url: FeedUrl) -> Subscription:
    """Make a sent URL resolve to the subscription; a deleted one adopts it (C5.8, C5.9).

    A client that adds a feed does not know its moves, so this undoes no move and drops no URL.
    """
    if subscription.deleted is not None:
        return draft.move(subscription, url, may_undo=False)
    if draft.find(url.guid) != subscription:
        # The feed never moved away from this URL: moving to it later is a new move, not an undo.
        first_had = draft.first_had(url, is_only_sent=True)
        draft.link(url.guid, subscription, Alias(url.text, moved_away=False, first_had=first_had))
    return subscription


def _found_by_url(draft: Draft, url: FeedUrl) -> Subscription | None:
    """Return the subscription of a URL; a deleted one only by its current URL or guid.

    A sent guid finds it by any of its guids (C5.6), before this is asked.
    """
    found = draft.find(url.guid)
    if found is None or found.deleted is None or _is_current_url(found, url.guid):
        return found
    return None


def _is_current_url(subscription: Subscription, url_guid: Guid) -> bool:
    return url_guid in {subscription.guid, parse_feed_url(subscription.feed_url).guid}


def _result_of(draft: Draft, item: Wanted | Refused, was_subscribed: bool) -> Added | Refused:
    if isinstance(item, Refused):
        return item
    # A later item of the same request may have renamed or absorbed the subscription (C5.13).
    subscription = draft.find(item.url.guid)
    assert subscription is not None, "an accepted URL leads to its subscription"
    return Added(item.url.text, subscription, was_subscribed)


def _take_guid(
    draft: Draft, subscription: Subscription, guid: Guid | None
) -> tuple[Subscription, bool]:
    """Make `guid` the present guid (C5.20); return whether another subscription was absorbed."""
    if guid is None:
        return subscription, False
    other = draft.find(guid)
    # Deleted or not: a rename over another subscription's guid would lose it (C5.21).
    has_merged = other is not None and other.guid != subscription.guid
    if other is not None and has_merged:
        subscription = draft.absorb(subscription, other)
    return draft.rename(subscription, guid), has_merged


def _take_feed_url(
    draft: Draft, subscription: Subscription, url: FeedUrl | None, held: Collection[Guid]
) -> Subscription:
    if url is None:
        return subscription
    other = draft.find(url.guid)
    if other is not None and other.guid != subscription.guid:
        if other.deleted is None:
            # Never merged by a URL alone (C3.16, C5.23): an app that mistakes a login page for a
            # moved feed sends that one URL for many feeds.
            raise FeedUrlTaken(
                "The feed URL belongs to another subscription; to merge the two,"
                " send its guid {guid} as new_guid.",
                guid=other.guid,
            )
        # A deleted subscription is absorbed (C5.24). If this is one of its former URLs, only the
        # URL is moved: the tombstone stays (C5.25).
        if _is_current_url(other, url.guid):
            subscription = draft.absorb(subscription, other)
    return draft.move(subscription, url, may_undo=True, held=held)


def _with_status_for_apps(
    draft: Draft, moved: Subscription, before: Subscription, change: Update, stamp: Stamp
) -> Subscription:
    """Set the status, which merges no longer change (C5.22), and the changes to send to apps."""
    # Apps were not sent the feed by its former URL, and would not be sent the move (C3.18).
    is_new_to_apps = not is_for_apps(before.app_url or before.feed_url)
    if change.notify_apps or (change.new_feed_url is not None and is_new_to_apps):
        # Apps that know only URLs are sent this as a new subscription, and no other change.
        moved = draft.retire_urls(moved, stamp)
        moved = replace(moved, status_changed=stamp, app_url=None, app_url_until=None)
    if change.is_subscribed is None:
        return moved
    return with_status(moved, change.is_subscribed, stamp)


def check_pointers(draft: Draft, subscription: Subscription, gained: int = 0) -> None:
    """Check the number of pointers to a subscription after `gained` more.

    Raises:
        InvalidInput: There are too many.
    """
    if draft.pointer_count(subscription) + gained > MAX_POINTERS:
        raise InvalidInput(
            "Too many guids and URLs lead to the subscription {guid}:"
            " there can be at most {max}. Keep the guid and the URL that it has.",
            guid=subscription.guid,
            max=MAX_POINTERS,
        )


def _check_redirects(draft: Draft, subscription: Subscription) -> None:
    if draft.redirects + draft.pointer_count(subscription) > MAX_REDIRECTS:
        raise InvalidInput(
            "Too many guids of the same feeds in one request: send this item in another one."
        )


def set_subscribed(snapshot: Snapshot, guids: Iterable[Guid], is_subscribed: bool) -> Decision[int]:
    """Subscribe to or unsubscribe from listed feeds; return the number of changed feeds.

    Feeds that are unchanged, deleted or unknown to the account are skipped.

    Raises:
        InvalidInput: The list is full; nothing is changed.
    """
    draft = Draft(snapshot)
    changed = 0
    for guid in dict.fromkeys(guids):
        found = draft.find(guid)
        if found and found.deleted is None and found.is_subscribed != is_subscribed:
            set_status(draft, found, is_subscribed)
            changed += 1
    draft.check_limits(snapshot.counts)
    return draft.decision(changed)


def count_added(results: Sequence[Added | Refused]) -> int:
    added = [result for result in results if isinstance(result, Added)]
    return len({item.subscription.guid for item in added if not item.was_subscribed})


def count_unsubscribed(snapshot: Snapshot) -> int:
    """Return the number of feeds of a whole account that are unsubscribed but not deleted."""
    feeds = [entry for entry in snapshot.entries.values() if isinstance(entry, Subscription)]
    return sum(not feed.is_subscribed and feed.deleted is None for feed in feeds)
