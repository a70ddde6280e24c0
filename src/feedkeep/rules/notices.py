"""Notices for the owner of a list. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum

from feedkeep.model import (
    AccountId,
    Author,
    CredentialKind,
    Guid,
    Snapshot,
    Stamp,
    Subscription,
    TokenId,
    Value,
)
from feedkeep.rules.app_identity import product_of
from feedkeep.rules.apps import SILENT_DAYS, AppKind, ConnectedApp, fallen_silent
from feedkeep.rules.clock import DAY_US, shift
from feedkeep.rules.feed_labels import Labels
from feedkeep.rules.feed_names import Headline, name_of
from feedkeep.rules.list_changes import ChangeKind, ListChange
from feedkeep.rules.mass_unsubscribes import MassUnsubscribe
from feedkeep.rules.seconds import second_of

TOLD_DAYS = 30
"""Lifetime of news, in days."""

UNREADABLE_DAYS = 7
"""Days after which an unreadable feed is news: most recover within hours."""

MAX_NOTICES = 50

MAX_KNOWN_APPS = 200
"""Maximum number of apps that are stored as known to their owner."""

MAX_GRANTS = 8
"""Maximum number of grants that a browser remembers."""

_MARK = re.compile(r"[0-9]{1,12}\.[0-9a-f]{32}")
_EVER = Stamp(0)


class NoticeKind(StrEnum):
    """The subject of a notice.

    Attributes:
        MASS_UNSUBSCRIBE: An app unsubscribed from much of the list at once.
        UNREADABLE: A feed has not been readable for a week.
        MOVED: The list followed a feed to its new address.
        SILENT: An app has not synchronized for weeks, although others have.
        NEW_APP: An app was connected.
    """

    MASS_UNSUBSCRIBE = "mass unsubscribe"
    UNREADABLE = "unreadable"
    MOVED = "moved"
    SILENT = "silent"
    NEW_APP = "new app"


class Notice(Value, frozen=True):
    """A notice to the owner of a list.

    Attributes:
        at: Time at which it became news.
        key: Permanently unique among all notices of the account.
        name: Name of the feed or the app; "" if unknown. Never a personal-looking address.
        guid: The feed that it concerns; None if it is not about one feed.
        count: Number of feeds that it concerns.
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
    """Return the news between `since` and `now`, newest first, up to `MAX_NOTICES`.

    `known` has the keys of apps that are no longer new to their owner.
    """
    begun = max(since, shift(now, -TOLD_DAYS * DAY_US))
    some = [one for one in notices if begun < one.at <= now and one.key not in known]
    return sorted(some, key=lambda notice: (-notice.at, notice.key))[:MAX_NOTICES]


def app_key(app: ConnectedApp) -> str:
    """Return the key of an app within its account.

    Some apps begin and end a session with each sync: with the account's password, only their name
    is constant.
    """
    is_by_name = app.kind is AppKind.PASSWORD
    return f"app {product_of(app.name)}" if is_by_name else token_key(app.ids[0])


def token_key(token_id: TokenId) -> str:
    """Return the key of the app that has a token."""
    return f"app {token_id}"


def with_grant(marks: str, account_id: AccountId, label: str, second: int) -> str:
    """Add a mark by which a browser knows an app that it granted access; keep the latest marks.

    Marks name neither accounts nor apps: other people may use the browser.
    """
    kept = marks.split("-") if marks else []
    return "-".join([*kept, _mark(account_id, label, second)][-MAX_GRANTS:])


def granted_keys(
    apps: Iterable[ConnectedApp], account_id: AccountId, marks: str, fetched_within_seconds: int
) -> list[str]:
    """Return the keys of the apps that a browser with these marks granted access.

    An app gets its token within `fetched_within_seconds` of the grant. Other browsers still warn of
    the app: the owner may not have granted it.
    """
    known = {mark for mark in marks.split("-")[:MAX_GRANTS] if _MARK.fullmatch(mark)}
    seconds = {mark: int(mark.partition(".")[0]) for mark in known}
    return [
        app_key(app)
        for app in apps
        if app.kind is AppKind.NEXTCLOUD
        and any(
            0 <= second_of(app.created) - second <= fetched_within_seconds
            and mark == _mark(account_id, app.name, second)
            for mark, second in seconds.items()
        )
    ]


def _mark(account_id: AccountId, label: str, second: int) -> str:
    text = f"{account_id} {label}"
    return f"{second}.{hashlib.sha256(text.encode()).hexdigest()[:32]}"


def may_have_moved(whole: Snapshot) -> bool:
    """Whether any feed of a list may have moved, judged without its history."""
    return any(entry.alias is not None for entry in whole.entries.values())


def of_list(
    whole: Snapshot,
    known: Mapping[str, Headline],
    labels: Labels,
    apps: Sequence[ConnectedApp],
    now: Stamp,
) -> list[Notice]:
    return [*_of_apps(apps, now), *_of_feeds(whole, known, labels)]


def of_mass_unsubscribe(mass_unsubscribe: MassUnsubscribe, app: str) -> Notice:
    at = mass_unsubscribe.stamps[0]
    return Notice(
        NoticeKind.MASS_UNSUBSCRIBE,
        at,
        f"mass-unsubscribe {at}",
        app,
        count=len(mass_unsubscribe.feeds),
    )


def _of_apps(apps: Sequence[ConnectedApp], now: Stamp) -> Iterator[Notice]:
    for app in apps:
        if app.last_used is None:  # its password was just created
            continue
        yield Notice(NoticeKind.NEW_APP, app.created, app_key(app), app.name)
    for app in fallen_silent(apps, now):
        last = app.last_used or app.created
        at = shift(last, SILENT_DAYS * DAY_US)
        yield Notice(NoticeKind.SILENT, at, f"silent since {last}: {app_key(app)}", app.name)


def _of_feeds(whole: Snapshot, known: Mapping[str, Headline], labels: Labels) -> Iterator[Notice]:
    for feed in whole.entries.values():
        if not isinstance(feed, Subscription) or not feed.is_subscribed:
            continue
        headline = known.get(feed.feed_url)
        if headline is None or headline.failing is None:
            continue
        at = shift(headline.failing, UNREADABLE_DAYS * DAY_US)
        name = name_of(feed.feed_url, labels.title(feed.feed_url, headline.title))
        key = f"unreadable {feed.guid} {headline.failing}"
        yield Notice(NoticeKind.UNREADABLE, at, key, name, feed.guid)


def of_changes(
    changes: Iterable[ListChange], authors: Mapping[str, Author], titles: Mapping[str, str]
) -> Iterator[Notice]:
    """Yield the notices about moves that feedkeep made; `titles` is by feed URL."""
    for change in changes:
        author = authors.get(change.author)
        if author is None or author.kind is not CredentialKind.FEEDKEEP:
            continue
        for feed in change.feeds:
            if feed.what is ChangeKind.MOVED:
                name = name_of(feed.feed_url, titles.get(feed.feed_url, ""))
                key = f"moved {feed.guid} {change.stamp}"
                yield Notice(NoticeKind.MOVED, change.stamp, key, name, feed.guid)
