"""A list as protocols see it that know feeds by URL only: what is told, and what an upload means.

Pure. Apps are told when a feed was subscribed to or left, and nothing of a feed that moved
(`spellings`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from feedkeep.entry_index import led_to
from feedkeep.errors import InvalidFeedUrl, InvalidInput
from feedkeep.model import (
    Alias,
    Decision,
    Entry,
    Guid,
    Pointer,
    Second,
    Snapshot,
    Stamp,
    Subscription,
    Told,
    Value,
    replace,
)
from feedkeep.rules.draft import Draft
from feedkeep.rules.feed_urls import FeedUrl, parse_feed_url
from feedkeep.rules.room import EVERYONES, Most
from feedkeep.rules.seconds import NOTHING, clock_after_upload, is_own
from feedkeep.rules.spellings import UNKNOWN, Spellings, after_adding, is_left
from feedkeep.rules.subscriptions import (
    Added,
    Refused,
    Update,
    Wanted,
    add_items,
    update,
    want,
    with_status,
)

LOCAL = "antennapod_local:"
"""What AntennaPod calls folders on the phone; they are in its list, and no feeds."""


class UrlChanges(Value, frozen=True):
    """What an app has to do for its list to be the account's; no URL is in both.

    Attributes:
        add: The URLs to add.
        remove: The URLs to remove.
        app: What is known of the app once it was told that.
    """

    add: Sequence[str]
    remove: Sequence[str]
    app: Spellings


NO_CHANGES = UrlChanges((), (), UNKNOWN)


class Synced(Value, frozen=True):
    """What became of an upload.

    Attributes:
        results: What became of each item, in order.
        app: What is known of the app after it.
        began: The account's clock before it.
        ended: The account's clock after it.
    """

    results: Sequence[Added | Refused]
    app: Spellings
    began: Stamp
    ended: Stamp


def has_moved(entries: Iterable[Entry]) -> bool:
    """Say whether any of the feeds has, or had, another URL."""
    return any(entry.alias for entry in entries)


def without_own(entries: Iterable[Entry], told: Told, device: str, since: Second) -> list[Entry]:
    """Return entries without the feeds that an app itself has added or left, and nobody since."""
    return [
        entry
        for entry in entries
        if isinstance(entry, Pointer) or not is_own(told, device, since, entry.status_changed)
    ]


def url_changes(
    entries: Iterable[Entry], first: Stamp, app: Spellings, *, is_from_nothing: bool = False
) -> UrlChanges:
    """Return what entries that changed, with all former URLs of them, mean to an app.

    Only what was subscribed to, or left, from the stamp `first` on counts. What was left is removed
    by each URL that it had. An app that starts from nothing gets each feed by its present
    URL, and has nothing of ours to remove: what it has is its owner's, and removing that would
    delete their files.
    """
    entries = list(entries)
    former = _former_urls(entries)
    feeds = [entry for entry in entries if isinstance(entry, Subscription)]
    add: dict[str, None] = {}
    remove: dict[str, None] = {}
    known: list[Guid] = []
    gone: list[Guid] = []
    for feed in sorted(feeds, key=lambda feed: feed.status_changed):
        aliases = former.get(feed.guid, {})
        added, removed = _told(feed, aliases, first, app, is_from_nothing=is_from_nothing)
        add |= dict.fromkeys(added)
        remove |= dict.fromkeys(removed)
        if aliases:
            gone += [_guid_of(url) for url in removed]
            known += [_guid_of(url) for url in added]
    told = (UNKNOWN if is_from_nothing else app).with_gone(gone).with_known(known)
    return UrlChanges(list(add), [url for url in remove if url not in add], told)


def _told(
    feed: Subscription,
    former: Mapping[Guid, Alias],
    first: Stamp,
    app: Spellings,
    *,
    is_from_nothing: bool,
) -> tuple[list[str], list[str]]:
    """Return by which URLs a feed is added, and by which it is removed."""
    is_news = feed.status_changed >= first
    if not feed.is_subscribed:
        # AntennaPod removes a podcast by the exact text of its URL; nobody knows which URL it has.
        urls = [feed.feed_url, *filter(None, [feed.app_url]), *(a.url for a in former.values())]
        return [], urls if is_news and not is_from_nothing else []
    url = feed.feed_url
    # Who has the former one goes on so; unless it was told the present one, or is told that now.
    has_former = feed.app_url_until is None or first <= feed.app_url_until
    if not is_from_nothing and has_former and _guid_of(feed.feed_url) not in app.known:
        url = feed.app_url or feed.feed_url
    retired = [a.url for a in former.values() if a.retired is not None and a.retired >= first]
    return [url] if is_news else [], [] if is_from_nothing else retired


def _former_urls(entries: Iterable[Entry]) -> dict[Guid, dict[Guid, Alias]]:
    """Return the former URLs of each feed that has any, by what they derive."""
    former: dict[Guid, dict[Guid, Alias]] = {}
    for entry in entries:
        if entry.alias:
            former.setdefault(led_to(entry), {})[entry.guid] = entry.alias
    return former


def _guid_of(url: str) -> Guid:
    return parse_feed_url(url).guid


def upload(
    snapshot: Snapshot,
    items: Sequence[Wanted | Refused],
    left: Sequence[FeedUrl],
    app: Spellings = UNKNOWN,
    told: Told = NOTHING,
    most: Most = EVERYONES,
) -> Decision[Synced]:
    """Unsubscribe from the URLs that an app left, and add each item in turn.

    A feed that is both left and wanted is wanted. Leaving a feed that is not subscribed changes
    nothing, so sending it again does no harm.
    """
    draft = Draft(snapshot, most)
    # AntennaPod renames a feed by itself when its old URL redirects. An app that says so removes
    # the old URL and adds the new one, and has not unsubscribed.
    found = [draft.find(item.url.guid) for item in items if isinstance(item, Wanted)]
    wanted = {feed.guid for feed in found if feed is not None}
    for url in left:
        app = _leave(draft, url, app, wanted)
    results = add_items(draft, items)
    for item in results:
        if isinstance(item, Added):
            app = _after_adding(draft, item, app)
    decision = draft.decision(None)
    ended = clock_after_upload(told, snapshot.last_stamp, decision.last_stamp)
    synced = Synced(results, app, snapshot.last_stamp, ended)
    return replace(decision, last_stamp=ended).telling(synced)


def _leave(draft: Draft, url: FeedUrl, app: Spellings, wanted: Collection[Guid]) -> Spellings:
    """Unsubscribe from a URL, if that is what it means; return what is known of the app then."""
    feed = draft.find(url.guid)
    if feed is None:
        return app
    former = draft.former_urls(feed)
    is_kept = not feed.is_subscribed or feed.guid in wanted
    if not is_kept and is_left(url.guid, _guid_of(feed.feed_url), former, app):
        stamp = draft.tick()
        draft.put(replace(with_status(feed, False, stamp), subscription_changed=stamp))
    # Whatever it meant, the app no longer has this URL. A feed that never moved has only one, so
    # there is nothing to remember.
    return app.with_gone([url.guid]) if former else app


def _after_adding(draft: Draft, added: Added, app: Spellings) -> Spellings:
    feed = added.subscription
    former = draft.former_urls(feed)
    if not former:
        return app
    return after_adding(_guid_of(added.feed_url), _guid_of(feed.feed_url), former, app)


def move(
    snapshot: Snapshot, old: FeedUrl, new: FeedUrl, *, is_told: bool, most: Most = EVERYONES
) -> Decision[list[Guid]]:
    """Give a feed another URL, as `update` does; return what all its URLs derive then.

    Raises as `update` does.
    """
    decision = update(snapshot, old.guid, Update(new, is_told_to_apps=is_told), most)
    after = {**snapshot.entries, **{entry.guid: entry for entry in decision.saved}}
    moved = led_to(after[new.guid])
    guids = [guid for guid, entry in after.items() if led_to(entry) == moved]
    return decision.telling(guids)


def parsed(urls: Iterable[str]) -> tuple[list[FeedUrl], list[str]]:
    """Return the URLs that are accepted, and the texts that are none."""
    accepted, refused = [], []
    for url in urls:
        try:
            accepted.append(parse_feed_url(url))
        except InvalidFeedUrl:
            refused.append(url)
    return accepted, refused


class WholeList(Value, frozen=True):
    """A list that is to replace an account's.

    Attributes:
        urls: The URLs that are accepted.
        refused_count: How many things are in it that are no feed URLs, but may have been meant to
            be some.
    """

    urls: Sequence[FeedUrl]
    refused_count: int


def whole_list(urls: Iterable[str]) -> WholeList:
    """Return what a list that is to replace an account's holds.

    Raises:
        InvalidInput: There are things in it, and no URL: then it is no list, and all that the
            account has would be unsubscribed.
    """
    accepted, refused = parsed(urls)
    if refused and not accepted:
        raise InvalidInput("None of what was sent is a feed URL, so nothing was changed.")
    return WholeList(accepted, sum(not url.startswith(LOCAL) for url in refused))


def replace_list(
    snapshot: Snapshot,
    wanted: WholeList,
    app: Spellings = UNKNOWN,
    told: Told = NOTHING,
    most: Most = EVERYONES,
) -> Decision[Synced]:
    """Let a whole account be subscribed to exactly these; what is there already stays as it is.

    Nobody knows which feeds were meant by what was refused. So then none is left: feeds are added
    only.

    Raises:
        InvalidInput: There is no room for one of them; then nothing is changed.
    """
    added, left = to_replace(snapshot, wanted.urls)
    # A text that is not a URL may have meant any feed of the account, and gPodder's button "Upload
    # local subscriptions" would unsubscribe that feed everywhere.
    if wanted.refused_count:
        left = []
    app = _after_replacing(snapshot, {url.guid for url in wanted.urls}, app)
    decision = upload(snapshot, [want(url.text, None) for url in added], left, app, told, most)
    for result in decision.outcome.results:
        if isinstance(result, Refused):
            # mygpoclient takes every reply but an empty one for a failure, so a reply cannot say
            # that the list was stored in part.
            raise InvalidInput(f"{result.message} So nothing was changed.")
    return decision


def _after_replacing(snapshot: Snapshot, sent: Collection[Guid], app: Spellings) -> Spellings:
    """Return what is known of an app that has told its whole list."""
    spellings: set[Guid] = set()
    for guid, former in _former_urls(snapshot.entries.values()).items():
        feed = snapshot.entries[guid]
        assert isinstance(feed, Subscription)
        spellings |= {_guid_of(feed.feed_url), *former}
    return app.with_known(spellings.intersection(sent)).with_gone(spellings.difference(sent))


def to_replace(
    snapshot: Snapshot, wanted: Sequence[FeedUrl]
) -> tuple[Sequence[FeedUrl], Sequence[FeedUrl]]:
    """Return which URLs to add and which to leave, so that a whole account has the wanted ones."""
    known = snapshot.entries
    kept = {led_to(known[url.guid]) if url.guid in known else url.guid: url for url in wanted}
    subscribed = {
        entry.guid: entry
        for entry in snapshot.entries.values()
        if isinstance(entry, Subscription) and entry.is_subscribed
    }
    add = [url for guid, url in kept.items() if guid not in subscribed]
    leave = [parse_feed_url(s.feed_url) for guid, s in subscribed.items() if guid not in kept]
    return add, leave
