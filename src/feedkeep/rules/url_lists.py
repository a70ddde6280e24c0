"""A list as protocols see it that know feeds by URL only: what to add, what to remove. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from feedkeep.errors import InvalidFeedUrl, InvalidInput
from feedkeep.model import Decision, Entry, Pointer, Snapshot, Subscription, Value
from feedkeep.rules.feed_urls import FeedUrl, parse_feed_url
from feedkeep.rules.subscriptions import Added, Refused, sync, want


class UrlChanges(Value, frozen=True):
    """What an app has to do for its list to be the account's; no URL is in both."""

    add: Sequence[str]
    remove: Sequence[str]


def url_changes(entries: Iterable[Entry], *, is_from_nothing: bool = False) -> UrlChanges:
    """Return what entries, which changed, and pointers to them mean to an app.

    A feed that moved is two changes: its present URL is added, and its former ones are removed. An
    app that starts from nothing has nothing of ours to remove. What it has is its owner's, and
    removing that would delete their files.
    """
    add: dict[str, None] = {}
    remove: dict[str, None] = {}
    for entry in sorted(entries, key=lambda entry: entry.revision or 0):
        if entry.alias:
            remove[entry.alias.url] = None
        if isinstance(entry, Subscription):
            (add if entry.is_subscribed else remove)[entry.feed_url] = None
    if is_from_nothing:
        remove = {}
    return UrlChanges(list(add), [url for url in remove if url not in add])


def parsed(urls: Iterable[str]) -> tuple[list[FeedUrl], list[str]]:
    """Return the URLs that are accepted, and the texts that are none."""
    accepted, refused = [], []
    for url in urls:
        try:
            accepted.append(parse_feed_url(url))
        except InvalidFeedUrl:
            refused.append(url)
    return accepted, refused


def whole_list(urls: Iterable[str]) -> list[FeedUrl]:
    """Return the URLs of a list that is to replace an account's; bad ones are left out.

    Raises:
        InvalidInput: There are things in it, and no URL: then it is no list, and all that the
            account has would be unsubscribed.
    """
    accepted, refused = parsed(urls)
    if refused and not accepted:
        raise InvalidInput("None of what was sent is a feed URL, so nothing was changed.")
    return accepted


def replace(snapshot: Snapshot, wanted: Sequence[FeedUrl]) -> Decision[list[Added | Refused]]:
    """Let a whole account be subscribed to exactly these; nothing else of it is touched."""
    added, left = to_replace(snapshot, wanted)
    return sync(snapshot, [want(url.text, None) for url in added], left)


def to_replace(
    snapshot: Snapshot, wanted: Sequence[FeedUrl]
) -> tuple[Sequence[FeedUrl], Sequence[FeedUrl]]:
    """Return which URLs to add and which to leave, so that a whole account has the wanted ones."""
    kept = {_present(snapshot, url): url for url in wanted}
    subscribed = {
        entry.guid: entry
        for entry in snapshot.entries.values()
        if isinstance(entry, Subscription) and entry.is_subscribed
    }
    add = [url for guid, url in kept.items() if guid not in subscribed]
    leave = [parse_feed_url(s.feed_url) for guid, s in subscribed.items() if guid not in kept]
    return add, leave


def _present(snapshot: Snapshot, url: FeedUrl) -> str:
    entry = snapshot.entries.get(url.guid)
    return entry.new_guid if isinstance(entry, Pointer) else url.guid
