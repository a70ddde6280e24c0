"""Changes to send to apps that know feeds by URL only. Pure.

Apps are sent subscriptions and unsubscriptions, but no moves (`app_urls`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple, TypeAlias

from feedkeep.model import (
    Alias,
    Entry,
    Guid,
    Pointer,
    Second,
    Stamp,
    Subscription,
    SyncProgress,
    Value,
)
from feedkeep.model.entry_index import target_guid
from feedkeep.model.errors import InvalidFeedUrl
from feedkeep.rules.app_urls import MAX_APP_URLS, UNKNOWN, AppUrls
from feedkeep.rules.escaped_urls import without_escapes
from feedkeep.rules.feed_urls import guid_of, is_for_apps, usual_spellings
from feedkeep.rules.seconds import is_own

FormerUrls: TypeAlias = defaultdict[Guid, dict[Guid, Alias]]
"""The former URLs of each feed, by their derived guids."""


class UrlChanges(Value, frozen=True):
    """The changes that make an app's list the account's; no URL is both added and removed.

    Attributes:
        removed_texts: The texts to send for removals: each URL in all its usual spellings, or one
            text per feed for an app that removes by count. An app may have another spelling than
            the stored one, and AntennaPod removes a podcast by the exact text only.
        removals: The feeds of these removals, for `Echoes.last`; empty without removals.
        app: State of the app after it was sent these changes.
        had: Times at which the account first had the added feeds, as from `seen_feeds.had_at`.
    """

    add: Sequence[str]
    remove: Sequence[str]
    removed_texts: Sequence[str]
    app: AppUrls
    removals: frozenset[Guid] | None = frozenset()
    had: Mapping[str, Stamp] = {}


NO_CHANGES = UrlChanges((), (), (), UNKNOWN)


class _FeedChange(NamedTuple):
    """The URLs by which an app adds a feed and by which it removes it, with the former URLs."""

    former: Mapping[Guid, Alias]
    add: Sequence[str]
    remove: Sequence[str]


def without_own(
    entries: Iterable[Entry], progress: SyncProgress, device: str, since: Second
) -> list[Entry]:
    """Return entries without the app's own changes, unless they changed again since."""
    return [
        entry
        for entry in entries
        if isinstance(entry, Pointer) or not is_own(progress, device, since, entry.status_changed)
    ]


def removes_by_count(user_agent: str) -> bool:
    """Whether an app removes some feed for each removed text.

    Podcini.X does (last read: 11.2.2.7): for any text, it deletes the last feed that it finds, and
    uploads this as its user's wish.
    """
    return "podcini" in user_agent.lower()


def changes_to_send(
    entries: Iterable[Entry],
    first: Stamp,
    app: AppUrls,
    *,
    is_from_nothing: bool = False,
    by_count: bool = False,
) -> UrlChanges:
    """Return the changes for an app that result from entries, which include all former URLs.

    Only subscriptions and unsubscriptions at the stamp `first` or later count. An unsubscribed feed
    is removed by all URLs that it had, since it is unknown which one an app has. An app that starts
    from nothing gets each feed by its present URL, and no removals: its user added the feeds that
    it has, and a removal would delete their files. URLs that apps cannot request are not added
    (C3.18).

    With `by_count`, there is one text to remove for each feed to remove, and none for a remaining
    feed: see `removes_by_count`.
    """
    entries = list(entries)
    former = former_urls_by_feed(entries)
    found = [entry for entry in entries if isinstance(entry, Subscription)]
    feeds = sorted(found, key=lambda feed: feed.status_changed)
    if is_from_nothing:
        return _all_changes(feeds, former, first, app)
    changes = [_change_of(feed, former[feed.guid], first, app) for feed in feeds]
    gone = [guid for one in changes for guid in _guids_to_record(one.remove, one.former, app.known)]
    known = [guid for one in changes for guid in _guids_to_record(one.add, one.former, app.gone)]
    add = dict.fromkeys(url for one in changes for url in one.add)
    remove = dict.fromkeys(url for one in changes for url in one.remove)
    # No spelling of an added feed is removed: AntennaPod would then not add it, and Kasts, which
    # decodes all URLs, would remove what it has just added.
    kept = set(map(guid_of, add)) if remove else set()
    decoded = set(map(without_escapes, add)) if remove else set()
    left = [
        url for url in remove if guid_of(url) not in kept and without_escapes(url) not in decoded
    ]
    texts = [text for url in left for text in usual_spellings(url)]
    if by_count:
        urls = [f.feed_url for f in feeds if not f.is_subscribed and f.status_changed >= first]
        texts = [url for url in urls if is_for_apps(url) and guid_of(url) not in kept]
    after = app.with_gone(gone).with_known(known)
    return UrlChanges(list(add), left, list(dict.fromkeys(texts)), after, _feeds_of(left))


def _all_changes(
    feeds: Sequence[Subscription], former: FormerUrls, first: Stamp, app: AppUrls
) -> UrlChanges:
    new = [f for f in feeds if f.is_subscribed and f.status_changed >= first]
    add = {feed.feed_url: former[feed.guid] for feed in new if is_for_apps(feed.feed_url)}
    known = [
        guid for url, aliases in add.items() for guid in _guids_to_record([url], aliases, app.gone)
    ]
    # Also of feeds that are not subscribed, but may be later: the app uploads the URLs that it has.
    gone = [guid for feed in feeds for guid in former[feed.guid]]
    return UrlChanges(list(add), [], [], app.anew().with_gone(gone).with_known(known))


def _guids_to_record(
    urls: Iterable[str], former: Collection[Guid], noted: Collection[Guid]
) -> list[Guid]:
    """Return the guids of those URLs that the app's record needs.

    It needs each URL of a moved feed, and each that `noted` has with the opposite meaning: as gone,
    if the app now gets it, or as known, if it is now removed.
    """
    if not former and not noted:  # nearly always: the URLs need not be parsed again
        return []
    return [guid for guid in map(guid_of, urls) if former or guid in noted]


def _feeds_of(removed: Collection[str]) -> frozenset[Guid] | None:
    """Return the feeds that an app may name if it echoes removals; None if there are too many.

    The app may have decoded the URLs, which may then name other feeds.
    """
    if len(removed) > MAX_APP_URLS:
        return None
    guids = set(map(guid_of, removed))
    for url in removed:
        if "%" in url:
            with suppress(InvalidFeedUrl):
                guids.add(guid_of(f"https://{without_escapes(url)}"))
    return frozenset(guids)


def _change_of(
    feed: Subscription, former: Mapping[Guid, Alias], first: Stamp, app: AppUrls
) -> _FeedChange:
    is_news = feed.status_changed >= first
    if not feed.is_subscribed:
        urls = [feed.feed_url, *filter(None, [feed.app_url]), *(a.url for a in former.values())]
        return _FeedChange(former, (), urls if is_news else ())
    url = _url_for(feed, former, first, app)
    added = [url] if is_news and is_for_apps(url) else []
    removed = [a.url for a in former.values() if a.retired is not None and a.retired >= first]
    if is_news and app.may_have_missed_removals(first):
        # The app may still have the feed by one of these URLs. Then it would have the feed twice,
        # and removing one of them would count as its user's wish.
        spellings = {guid_of(feed.feed_url): feed.feed_url}
        spellings |= {guid: alias.url for guid, alias in former.items()}
        removed += [text for guid, text in spellings.items() if guid in app.gone and text != url]
    return _FeedChange(former, added, removed)


def _url_for(feed: Subscription, former: Mapping[Guid, Alias], first: Stamp, app: AppUrls) -> str:
    """Return the URL by which an app should have a feed: preferably the URL that it already has."""
    was_sent_removal = feed.app_url_until is not None and first > feed.app_url_until
    if was_sent_removal or guid_of(feed.feed_url) in app.known:
        return feed.feed_url
    left = {guid: alias.url for guid, alias in former.items() if alias.retired is None}
    has = [url for guid, url in left.items() if guid in app.known]
    # A former URL of a deleted feed may be another feed when the deleted one is restored.
    had = feed.app_url if feed.app_url and guid_of(feed.app_url) in former else feed.feed_url
    may_have = [*has, had, *left.values()]
    return next((url for url in may_have if guid_of(url) not in app.gone), may_have[0])


def former_urls_by_feed(entries: Iterable[Entry]) -> FormerUrls:
    former: FormerUrls = defaultdict(dict)
    for entry in entries:
        if entry.alias:
            former[target_guid(entry)][entry.guid] = entry.alias
    return former
