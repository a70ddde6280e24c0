"""Lists for protocols that know feeds by URL only: changes to send, and uploads. Pure.

Apps are sent subscriptions and unsubscriptions, but no moves (`app_urls`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple, TypeAlias

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
    SyncProgress,
    Value,
    replace,
)
from feedkeep.model.entry_index import target_guid
from feedkeep.model.errors import InvalidFeedUrl, InvalidInput
from feedkeep.rules import echoes
from feedkeep.rules.app_urls import (
    MAX_APP_URLS,
    UNKNOWN,
    AppUrls,
    FeedUrls,
    has_unsubscribed,
    is_in_doubt,
)
from feedkeep.rules.draft import Draft
from feedkeep.rules.escaped_urls import NONE_ESCAPED, EscapedUrls, as_known, without_escapes
from feedkeep.rules.feed_urls import (
    FeedUrl,
    as_linked,
    is_for_apps,
    is_safer,
    parse_feed_url,
    usual_spellings,
)
from feedkeep.rules.seconds import NOTHING, clock_after_upload, is_own
from feedkeep.rules.subscriptions import (
    Added,
    Refused,
    Update,
    Wanted,
    add_items,
    guids_wanted,
    set_status,
    subscribed,
    update,
    want,
)

_FormerUrls: TypeAlias = defaultdict[Guid, dict[Guid, Alias]]
"""The former URLs of each feed, by their derived guids."""

LOCAL = "antennapod_local:"
"""Prefix of AntennaPod's names of folders on the phone, which are in its list but not feeds."""


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


class Synced(Value, frozen=True):
    """The result of an upload.

    Attributes:
        app: State of the app after the upload.
        began: The account's clock before it.
        ended: The account's clock after it.
    """

    results: Sequence[Added | Refused]
    app: AppUrls
    began: Stamp
    ended: Stamp


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


def url_changes(
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
    former = _former_urls(entries)
    found = [entry for entry in entries if isinstance(entry, Subscription)]
    feeds = sorted(found, key=lambda feed: feed.status_changed)
    if is_from_nothing:
        return _all_changes(feeds, former, first, app)
    changes = [_change_of(feed, former[feed.guid], first, app) for feed in feeds]
    gone = [guid for one in changes for guid in _to_note(one.remove, one.former, app.known)]
    known = [guid for one in changes for guid in _to_note(one.add, one.former, app.gone)]
    add = dict.fromkeys(url for one in changes for url in one.add)
    remove = dict.fromkeys(url for one in changes for url in one.remove)
    # No spelling of an added feed is removed: AntennaPod would then not add it, and Kasts, which
    # decodes all URLs, would remove what it has just added.
    kept = set(map(_guid_of, add)) if remove else set()
    decoded = set(map(without_escapes, add)) if remove else set()
    left = [
        url for url in remove if _guid_of(url) not in kept and without_escapes(url) not in decoded
    ]
    texts = [text for url in left for text in usual_spellings(url)]
    if by_count:
        urls = [f.feed_url for f in feeds if not f.is_subscribed and f.status_changed >= first]
        texts = [url for url in urls if is_for_apps(url) and _guid_of(url) not in kept]
    after = app.with_gone(gone).with_known(known)
    return UrlChanges(list(add), left, list(dict.fromkeys(texts)), after, _feeds_of(left))


def _all_changes(
    feeds: Sequence[Subscription], former: _FormerUrls, first: Stamp, app: AppUrls
) -> UrlChanges:
    new = [f for f in feeds if f.is_subscribed and f.status_changed >= first]
    add = {feed.feed_url: former[feed.guid] for feed in new if is_for_apps(feed.feed_url)}
    known = [guid for url, aliases in add.items() for guid in _to_note([url], aliases, app.gone)]
    # Also of feeds that are not subscribed, but may be later: the app uploads the URLs that it has.
    gone = [guid for feed in feeds for guid in former[feed.guid]]
    return UrlChanges(list(add), [], [], app.anew().with_gone(gone).with_known(known))


def _to_note(urls: Iterable[str], former: Collection[Guid], noted: Collection[Guid]) -> list[Guid]:
    """Return the URLs to record for an app: of a moved feed, or with a contrary record."""
    if not former and not noted:  # nearly always: the URLs need not be parsed again
        return []
    return [guid for guid in map(_guid_of, urls) if former or guid in noted]


def _feeds_of(removed: Collection[str]) -> frozenset[Guid] | None:
    """Return the feeds that an app may name if it echoes removals; None if there are too many.

    The app may have decoded the URLs, which may then name other feeds.
    """
    if len(removed) > MAX_APP_URLS:
        return None
    guids = set(map(_guid_of, removed))
    for url in removed:
        if "%" in url:
            with suppress(InvalidFeedUrl):
                guids.add(_guid_of(f"https://{without_escapes(url)}"))
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
        spellings = {_guid_of(feed.feed_url): feed.feed_url}
        spellings |= {guid: alias.url for guid, alias in former.items()}
        removed += [text for guid, text in spellings.items() if guid in app.gone and text != url]
    return _FeedChange(former, added, removed)


def _url_for(feed: Subscription, former: Mapping[Guid, Alias], first: Stamp, app: AppUrls) -> str:
    """Return the URL by which an app should have a feed: preferably the URL that it already has."""
    was_sent_removal = feed.app_url_until is not None and first > feed.app_url_until
    if was_sent_removal or _guid_of(feed.feed_url) in app.known:
        return feed.feed_url
    left = {guid: alias.url for guid, alias in former.items() if alias.retired is None}
    has = [url for guid, url in left.items() if guid in app.known]
    # A former URL of a deleted feed may be another feed when the deleted one is restored.
    had = feed.app_url if feed.app_url and _guid_of(feed.app_url) in former else feed.feed_url
    may_have = [*has, had, *left.values()]
    return next((url for url in may_have if _guid_of(url) not in app.gone), may_have[0])


def _former_urls(entries: Iterable[Entry]) -> _FormerUrls:
    former: _FormerUrls = defaultdict(dict)
    for entry in entries:
        if entry.alias:
            former[target_guid(entry)][entry.guid] = entry.alias
    return former


def _guid_of(url: str) -> Guid:
    return parse_feed_url(url).guid


def upload(
    snapshot: Snapshot,
    items: Sequence[Wanted | Refused],
    removed: Sequence[FeedUrl],
    app: AppUrls = UNKNOWN,
    progress: SyncProgress = NOTHING,
    escaped: EscapedUrls = NONE_ESCAPED,
) -> Decision[Synced]:
    """Unsubscribe from the URLs that an app removed, and add each item in turn.

    A feed that is both removed and added stays subscribed. Removing a feed that is not subscribed
    has no effect, so an upload can be repeated. A feed whose removal may be an echo stays, and is
    sent to the app as added.
    """
    draft = Draft(snapshot)
    items = [
        replace(item, url=as_known(item.url, draft.find, escaped.others(item.url.text)))
        if isinstance(item, Wanted)
        else item
        for item in items
    ]
    removed = [
        as_known(url, draft.find, escaped.others(url.text), may_be_unsubscribed=True)
        for url in removed
    ]
    # AntennaPod renames a feed itself when its old URL redirects. An app that reports this removes
    # the old URL and adds the new one, and has not unsubscribed.
    found = [draft.find(item.url.guid) for item in items if isinstance(item, Wanted)]
    wanted = {feed.guid for feed in found if feed}
    again: list[Guid] = []
    for url in removed:
        app, to_send = _remove(draft, url, app, wanted, escaped)
        again += to_send
    results = add_items(draft, items)
    for item in results:
        if isinstance(item, Added):
            app = _after_adding(draft, item, app)
    guids = [url.guid for url in removed]
    app = replace(app, echoes=echoes.after_upload(app.echoes, guids, progress.last_sent))
    ended = clock_after_upload(progress, snapshot.last_stamp, draft.last_stamp)
    _send_again(draft, again, ended)
    return draft.decision(Synced(results, app, snapshot.last_stamp, ended))


def guids_named(
    items: Sequence[Wanted | Refused], removed: Sequence[FeedUrl], escaped: EscapedUrls
) -> list[Guid]:
    """Return the guids that an upload may read or change, each once."""
    urls = [*(item.url for item in items if isinstance(item, Wanted)), *removed]
    others = [other.guid for url in urls for other in escaped.others(url.text)]
    return list(dict.fromkeys([*guids_wanted(items), *(url.guid for url in removed), *others]))


def kept_as(item: Wanted | Refused, result: Added | Refused) -> tuple[str, str]:
    """Return a URL as an app sent it, and as it is stored; "" if it was refused.

    gPodder adopts the second URL. So it is not the present URL of a moved feed: feedkeep would not
    know that the app has the present URL, and would ignore its removal. Nor is https replaced by
    http: gPodder adopts https from a redirect, and must not be sent back.
    """
    sent = item.sent if isinstance(item, Wanted) else item.feed_url
    if isinstance(result, Refused):
        return sent, ""
    kept, asked = result.subscription.feed_url, result.feed_url
    if kept == asked or is_safer(asked, kept) or _guid_of(kept) != _guid_of(asked):
        return sent, asked
    return sent, kept


def _send_again(draft: Draft, guids: Iterable[Guid], ended: Stamp) -> None:
    """Stamp feeds after the end of an upload, so that they do not count as the app's own change."""
    draft.advance(ended)
    for guid in dict.fromkeys(guids):
        feed = draft.find(guid)
        if feed is not None and feed.is_subscribed:
            stamp = draft.tick()
            draft.put(replace(feed, status_changed=stamp, subscription_changed=stamp))


def _remove(
    draft: Draft, url: FeedUrl, app: AppUrls, wanted: Collection[Guid], escaped: EscapedUrls
) -> tuple[AppUrls, list[Guid]]:
    """Unsubscribe from a feed, unless it is `wanted`, if removing its URL means that.

    Returns the app's new state, and the feed if it must be sent to the app again.
    """
    feed = draft.find(url.guid)
    if feed is None:
        return app, []
    urls = FeedUrls(_guid_of(feed.feed_url), draft.former_urls(feed))
    # An app only names URLs that it was sent, or their decoded forms, which may be other URLs.
    alike = [one.guid for one in escaped.others(url.text) if one.guid in urls.all]
    removed = next((guid for guid in (url.guid, *alike) if guid in app.known), url.guid)
    # In any case, the app no longer has this URL. A feed that never moved has only one URL, so this
    # needs no record, unless it was a URL of another feed, which was deleted since.
    after = app.with_gone([url.guid, removed]) if urls.former or removed in app.known else app
    if feed.guid in wanted or not feed.is_subscribed:
        return after, []
    may_have_both = bool(urls.merged) or app.may_predate(feed.subscription_changed, urls.all)
    if not has_unsubscribed(removed, urls, app, may_have_both=may_have_both):
        # After it is sent another URL of the feed, the app can remove that one without doubt.
        return after, [feed.guid] if may_have_both and is_in_doubt(removed, urls, app) else []
    if app.may_echo(url.guid, feed.status_changed, urls.all):
        return after, [feed.guid]
    set_status(draft, feed, False)
    return after, []


def _after_adding(draft: Draft, added: Added, app: AppUrls) -> AppUrls:
    feed = added.subscription
    former = draft.former_urls(feed)
    if not (former or app.gone or app.echoes):  # nearly always: its URL need not be parsed again
        return app
    guid, urls = _guid_of(added.feed_url), FeedUrls(_guid_of(feed.feed_url), former)
    # A feed can be added with the guid of a URL that it never had, and found by that URL.
    app = replace(app, echoes=echoes.after_adding(app.echoes, urls.all if former else {guid}))
    if not former:
        return app.with_known([guid]) if guid in app.gone else app
    # Otherwise an app that has both URLs and removes the new one would unsubscribe its user.
    older = _urls_of_older_apps(feed, urls) if app.knows_nothing_of(urls.all) else set()
    return app.with_known({*older, guid})


def _urls_of_older_apps(feed: Subscription, urls: FeedUrls) -> set[Guid]:
    """Return the derived guids of URLs that an app without a record may have for a feed.

    An app that is older than all moves has the feed's first URL.
    """
    if feed.guid in urls.all and not urls.merged:
        return {feed.guid}  # derived from its first URL
    retired = {guid for guid, alias in urls.former.items() if alias.retired is not None}
    gone_on_with = _guid_of(feed.app_url) if feed.app_url else urls.present
    return {gone_on_with, *retired} | ({urls.present, *urls.merged} if urls.merged else set())


def move(
    snapshot: Snapshot,
    old: FeedUrl,
    new: FeedUrl,
    *,
    notify_apps: bool,
    held: Collection[Guid] = (),
) -> Decision[list[Guid]]:
    """Give a feed another URL, as `update` does; return the derived guids of all its URLs.

    Raises the same errors as `update`.
    """
    decision = update(snapshot, old.guid, Update(new, notify_apps=notify_apps), held)
    after = {**snapshot.entries, **{entry.guid: entry for entry in decision.saved}}
    moved = target_guid(after[new.guid])
    guids = [guid for guid, entry in after.items() if target_guid(entry) == moved]
    return decision.telling(guids)


def subscribed_for_apps(snapshot: Snapshot) -> list[Subscription]:
    """Return the subscribed feeds of a whole account that apps are sent, oldest change first."""
    return [feed for feed in subscribed(snapshot) if is_for_apps(feed.feed_url)]


def to_add(url: str) -> Wanted | Refused:
    """Return an item to add from an app's text: a URL, or a link to subscribe.

    A text without a protocol is refused, since it may be anything: in a whole list, `feeds.opml`
    must not count as a feed, or all others would be unsubscribed.
    """
    item = want(as_linked(url), None)
    return replace(item, sent=url) if isinstance(item, Wanted) else replace(item, feed_url=url)


def to_remove(
    urls: Iterable[str], escaped: EscapedUrls = NONE_ESCAPED
) -> tuple[list[FeedUrl], list[str]]:
    """Return the feed URLs of an app's texts, as in `to_add`, and the texts without a feed URL.

    URLs that can no longer be added can still be removed from lists.
    """
    accepted, refused = [], []
    for url in urls:
        try:
            accepted.append(escaped.parsed(url))
        except InvalidFeedUrl:
            refused.append(url)
    return accepted, refused


class WholeList(Value, frozen=True):
    """A list that is to replace an account's.

    Attributes:
        urls: The valid feed URLs.
        refused_count: Number of texts that are not valid, but may have been meant as feed URLs.
    """

    urls: Sequence[FeedUrl]
    refused_count: int


def whole_list(urls: Iterable[str]) -> WholeList:
    """Return the parsed form of a list that is to replace an account's.

    Raises:
        InvalidInput: It is not empty, but has no valid URL. Such a list would unsubscribe the
            account from everything.
    """
    items = [to_add(url) for url in urls]
    accepted = [item.url for item in items if isinstance(item, Wanted)]
    refused = [item.feed_url for item in items if isinstance(item, Refused)]
    if refused and not accepted:
        raise InvalidInput(
            "No valid feed URL was sent, so nothing was changed. To unsubscribe from all feeds,"
            " send an empty list."
        )
    return WholeList(accepted, sum(not url.startswith(LOCAL) for url in refused))


def replace_list(
    snapshot: Snapshot,
    wanted: WholeList,
    app: AppUrls = UNKNOWN,
    progress: SyncProgress = NOTHING,
    escaped: EscapedUrls = NONE_ESCAPED,
) -> Decision[Synced]:
    """Subscribe a whole account to exactly these feeds; already subscribed feeds do not change.

    If the list has texts that are not valid, feeds are only added: these texts may mean any feed.

    Raises:
        InvalidInput: The list would exceed a limit; nothing is changed (C3.14).
    """
    draft = Draft(snapshot)
    urls = [as_known(url, draft.find, escaped.others(url.text)) for url in wanted.urls]
    added, removed = to_replace(snapshot, urls)
    # An invalid text may mean any feed of the account, and gPodder's button "Upload local
    # subscriptions" would unsubscribe that feed everywhere.
    if wanted.refused_count:
        removed = []
    # The list states its user's wish: a feed that it lacks is not an echo of a removal.
    app = replace(_after_replacing(snapshot, {url.guid for url in urls}, app), echoes=None)
    decision = upload(snapshot, [want(url.text, None) for url in added], removed, app, progress)
    for result in decision.outcome.results:
        if isinstance(result, Refused):
            # mygpoclient takes every reply with content for a failure, so a reply cannot report
            # that the list was stored in part.
            raise InvalidInput(f"{result.message} So nothing was changed.")
    return decision


def _after_replacing(snapshot: Snapshot, sent: Collection[Guid], app: AppUrls) -> AppUrls:
    """Return the state of an app after it sent its whole list."""
    entries = snapshot.entries
    former = _former_urls(entries.values())
    moved = [feed for guid in former if isinstance(feed := entries[guid], Subscription)]
    spellings = {_guid_of(feed.feed_url) for feed in moved}.union(*former.values())
    return app.with_known(spellings.intersection(sent)).with_gone(spellings.difference(sent))


def to_replace(
    snapshot: Snapshot, wanted: Sequence[FeedUrl]
) -> tuple[Sequence[FeedUrl], Sequence[FeedUrl]]:
    """Return the URLs to add and to remove, so that a whole account has exactly the wanted ones.

    Feeds that apps are not sent are not removed (C3.18).
    """
    known = snapshot.entries
    by_guid = {
        target_guid(known[url.guid]) if url.guid in known else url.guid: url for url in wanted
    }
    listed = {feed.guid: feed for feed in subscribed(snapshot)}
    add = [url for guid, url in by_guid.items() if guid not in listed]
    left = [feed.feed_url for guid, feed in listed.items() if guid not in by_guid]
    return add, [parse_feed_url(url) for url in left if is_for_apps(url)]
