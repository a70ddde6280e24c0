"""What the owner of a list would want to be told, although they are not looking. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum

from feedkeep.model import Author, CredentialKind, Guid, Snapshot, Stamp, Subscription, Value
from feedkeep.rules.app_identity import product_of
from feedkeep.rules.apps import SILENT_DAYS, AppKind, ConnectedApp, fallen_silent
from feedkeep.rules.clock import DAY_US, later
from feedkeep.rules.feed_labels import Labels
from feedkeep.rules.feed_names import Headline, name_of
from feedkeep.rules.list_changes import ChangeKind, ListChange
from feedkeep.rules.wipes import Wipe

TOLD_DAYS = 30
"""For how many days something is news."""

UNREADABLE_DAYS = 7
"""After how many days a feed that cannot be read is news: most come back within hours."""

MAX_NOTICES = 50
_EVER = Stamp(0)


class NoticeKind(StrEnum):
    """What an owner is told.

    Attributes:
        WIPE: An app unsubscribed from much of the list at once.
        UNREADABLE: A feed has not been readable for a week.
        MOVED: The list followed a feed to its new address.
        SILENT: An app has not synchronized for weeks, although others have.
        NEW_APP: An app was connected.
    """

    WIPE = "wipe"
    UNREADABLE = "unreadable"
    MOVED = "moved"
    SILENT = "silent"
    NEW_APP = "new app"


class Notice(Value, frozen=True):
    """Something that the owner of a list is told.

    Attributes:
        kind: What it is.
        at: When it became news.
        key: What tells it from all other news of the account, always.
        name: What the feed or the app is called; "" if that is not known. Never the address of a
            feed that looks like one person's own.
        guid: The feed that it is about, if it is about one.
        count: How many feeds it is about.
    """

    kind: NoticeKind
    at: Stamp
    key: str
    name: str
    guid: Guid | None = None
    count: int = 1


def newest(
    notices: Iterable[Notice], now: Stamp, since: Stamp = _EVER, known: Collection[str] = ()
) -> list[Notice]:
    """Return what is news at a moment and came after another, newest first, and bounded.

    `known` has the keys of apps that are not new to their owner any more.
    """
    begun = max(since, later(now, -TOLD_DAYS * DAY_US))
    some = [one for one in notices if begun < one.at <= now and one.key not in known]
    return sorted(some, key=lambda notice: (-notice.at, notice.key))[:MAX_NOTICES]


def app_key(app: ConnectedApp) -> str:
    """Return what tells an app from the others of its account.

    Some apps begin a session with each sync, and end it: with the password of the account, only
    their name stays.
    """
    is_by_name = app.kind is AppKind.PASSWORD
    return f"app {product_of(app.name)}" if is_by_name else f"app {app.ids[0]}"


def may_have_moved(whole: Snapshot) -> bool:
    """Say, without its history, whether any feed of a list may have moved."""
    return any(entry.alias is not None for entry in whole.entries.values())


def of_list(
    whole: Snapshot,
    known: Mapping[str, Headline],
    labels: Labels,
    apps: Sequence[ConnectedApp],
    now: Stamp,
) -> list[Notice]:
    """Return the notices of the feeds and of the apps of an account."""
    return [*_of_apps(apps, now), *_of_feeds(whole, known, labels)]


def of_wipe(wipe: Wipe, app: str) -> Notice:
    """Return the notice of a wipe that an app of that name made."""
    at = wipe.stamps[0]
    return Notice(NoticeKind.WIPE, at, f"wipe {at}", app, count=len(wipe.feeds))


def _of_apps(apps: Sequence[ConnectedApp], now: Stamp) -> Iterator[Notice]:
    """Yield the notices of apps that were connected, and of those that fell silent."""
    for app in apps:
        if app.last_used is None:  # its password was made a moment ago
            continue
        yield Notice(NoticeKind.NEW_APP, app.created, app_key(app), app.name)
    for app in fallen_silent(apps, now):
        last = app.last_used or app.created
        at = later(last, SILENT_DAYS * DAY_US)
        yield Notice(NoticeKind.SILENT, at, f"silent since {last}: {app_key(app)}", app.name)


def _of_feeds(whole: Snapshot, known: Mapping[str, Headline], labels: Labels) -> Iterator[Notice]:
    """Yield the notices of subscribed feeds that are not readable."""
    for feed in whole.entries.values():
        if not isinstance(feed, Subscription) or not feed.is_subscribed:
            continue
        headline = known.get(feed.feed_url)
        if headline is None or headline.failing is None:
            continue
        at = later(headline.failing, UNREADABLE_DAYS * DAY_US)
        name = name_of(feed.feed_url, labels.title(feed.feed_url, headline.title))
        key = f"unreadable {feed.guid} {headline.failing}"
        yield Notice(NoticeKind.UNREADABLE, at, key, name, feed.guid)


def of_changes(
    changes: Iterable[ListChange], authors: Mapping[str, Author], titles: Mapping[str, str]
) -> Iterator[Notice]:
    """Yield the notices of feeds that a list followed; `titles` is by their URLs."""
    for change in changes:
        author = authors.get(change.author)
        if author is None or author.kind is not CredentialKind.FEEDKEEP:
            continue
        for feed in change.feeds:
            if feed.what is ChangeKind.MOVED:
                name = name_of(feed.feed_url, titles.get(feed.feed_url, ""))
                key = f"moved {feed.guid} {change.stamp}"
                yield Notice(NoticeKind.MOVED, change.stamp, key, name, feed.guid)
