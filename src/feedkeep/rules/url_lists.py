"""Uploads of apps that know feeds by URL only: changes, whole lists, and moves. Pure.

`url_changes` decides what these apps are sent. Whether removals are a mass unsubscribe is decided
later, from the history (`mass_unsubscribes`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from feedkeep.model import (
    Decision,
    Guid,
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
    UNKNOWN,
    AppUrls,
    UrlGuids,
    has_unsubscribed,
    is_in_doubt,
)
from feedkeep.rules.draft import Draft
from feedkeep.rules.escaped_urls import NONE_ESCAPED, EscapedUrls, as_known
from feedkeep.rules.feed_urls import (
    FeedUrl,
    as_linked,
    guid_of,
    is_for_apps,
    is_safer,
    parse_feed_url,
)
from feedkeep.rules.seconds import NOTHING, clock_after_upload
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
from feedkeep.rules.url_changes import former_urls_by_feed

LOCAL = "antennapod_local:"
"""Prefix of AntennaPod's names of folders on the phone, which are in its list but not feeds."""


class UploadResult(Value, frozen=True):
    """The result of an upload, or of replacing a whole list.

    Attributes:
        app: State of the app after the upload.
        began: The account's clock before it.
        ended: The account's clock after the app's own changes; feeds that are sent to it again have
            later stamps.
    """

    results: Sequence[Added | Refused]
    app: AppUrls
    began: Stamp
    ended: Stamp


def upload(
    snapshot: Snapshot,
    items: Sequence[Wanted | Refused],
    removed: Sequence[FeedUrl],
    app: AppUrls = UNKNOWN,
    progress: SyncProgress = NOTHING,
    escaped: EscapedUrls = NONE_ESCAPED,
) -> Decision[UploadResult]:
    """Unsubscribe from the URLs that an app removed, and add each item in turn.

    A feed that is both removed and added stays subscribed. Removing a feed that is not subscribed
    has no effect, so an upload can be repeated.

    A removal unsubscribes only if the app then has no other URL of the feed, and is not an echo:
    the app repeating a removal that it was sent (`echoes`). Where that is in doubt, the feed stays,
    and is sent to the app as added.
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
    also_added = {feed.guid for feed in found if feed}
    to_resend: list[Guid] = []
    for url in removed:
        app, in_doubt = _remove(draft, url, app, also_added, escaped)
        if in_doubt is not None:
            to_resend.append(in_doubt)
    results = add_items(draft, items)
    for item in results:
        if isinstance(item, Added):
            app = _after_adding(draft, item, app)
    guids = [url.guid for url in removed]
    app = replace(app, echoes=echoes.after_upload(app.echoes, guids, progress.last_sent))
    ended = clock_after_upload(progress, snapshot.last_stamp, draft.last_stamp)
    _send_again(draft, to_resend, ended)
    return draft.decision(UploadResult(results, app, snapshot.last_stamp, ended))


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
    if kept == asked or is_safer(asked, kept) or guid_of(kept) != guid_of(asked):
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
    draft: Draft, url: FeedUrl, app: AppUrls, kept: Collection[Guid], escaped: EscapedUrls
) -> tuple[AppUrls, Guid | None]:
    """Unsubscribe from the feed of a removed URL, unless it is one of `kept` or this is in doubt.

    Returns the app's new state, and the feed if it stays in doubt: the app must be sent it again.
    """
    feed = draft.find(url.guid)
    if feed is None:
        return app, None
    urls = UrlGuids(guid_of(feed.feed_url), draft.former_urls(feed))
    # An app only names URLs that it was sent, or their decoded forms, which may be other URLs.
    alike = [one.guid for one in escaped.others(url.text) if one.guid in urls.all]
    named = next((guid for guid in (url.guid, *alike) if guid in app.known), url.guid)
    # In any case, the app no longer has this URL. A feed that never moved has only one URL, so this
    # needs no record, unless it was a URL of another feed, which was deleted since.
    after = app.with_gone([url.guid, named]) if urls.former or named in app.known else app
    if feed.guid in kept or not feed.is_subscribed:
        return after, None
    may_have_both = bool(urls.merged) or app.may_predate(feed.subscription_changed, urls.all)
    if not has_unsubscribed(named, urls, app, may_have_both=may_have_both):
        # After it is sent another URL of the feed, the app can remove that one without doubt.
        return after, feed.guid if may_have_both and is_in_doubt(named, urls, app) else None
    if app.may_echo(url.guid, feed.status_changed, urls.all):
        return after, feed.guid
    set_status(draft, feed, False)
    return after, None


def _after_adding(draft: Draft, added: Added, app: AppUrls) -> AppUrls:
    feed = added.subscription
    former = draft.former_urls(feed)
    if not (former or app.gone or app.echoes):  # nearly always: its URL need not be parsed again
        return app
    guid = guid_of(added.feed_url)
    if not former:
        app = replace(app, echoes=echoes.after_adding(app.echoes, {guid}))
        return app.with_known([guid]) if guid in app.gone else app
    # A feed can be added with the guid of a URL that it never had, and found by that URL.
    urls = UrlGuids(guid_of(feed.feed_url), former)
    app = replace(app, echoes=echoes.after_adding(app.echoes, urls.all))
    # Otherwise an app that has both URLs and removes the new one would unsubscribe its user.
    older = _urls_of_older_apps(feed, urls) if app.knows_nothing_of(urls.all) else set()
    return app.with_known({*older, guid})


def _urls_of_older_apps(feed: Subscription, urls: UrlGuids) -> set[Guid]:
    """Return the derived guids of URLs that an app without a record may have for a feed.

    An app that is older than all moves has the feed's first URL.
    """
    if feed.guid in urls.all and not urls.merged:
        return {feed.guid}  # derived from its first URL
    retired = {guid for guid, alias in urls.former.items() if alias.retired is not None}
    gone_on_with = guid_of(feed.app_url) if feed.app_url else urls.present
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


def parse_added(url: str) -> Wanted | Refused:
    """Return an item to add from an app's text: a URL, or a link to subscribe.

    A text without a protocol is refused, since it may be anything: in a whole list, `feeds.opml`
    must not count as a feed, or all others would be unsubscribed.
    """
    item = want(as_linked(url), None)
    return replace(item, sent=url) if isinstance(item, Wanted) else replace(item, feed_url=url)


def parse_removed(
    urls: Iterable[str], escaped: EscapedUrls = NONE_ESCAPED
) -> tuple[list[FeedUrl], list[str]]:
    """Return the feed URLs of an app's texts, as `parse_added`, and the texts without a feed URL.

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
    items = [parse_added(url) for url in urls]
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
) -> Decision[UploadResult]:
    """Subscribe a whole account to exactly these feeds; already subscribed feeds do not change.

    If the list has texts that are not valid, feeds are only added: these texts may mean any feed.

    Raises:
        InvalidInput: The list would exceed a limit; nothing is changed (C3.14).
    """
    draft = Draft(snapshot)
    urls = [as_known(url, draft.find, escaped.others(url.text)) for url in wanted.urls]
    added, removed = differences(snapshot, urls)
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
    former = former_urls_by_feed(entries.values())
    moved = [feed for guid in former if isinstance(feed := entries[guid], Subscription)]
    spellings = {guid_of(feed.feed_url) for feed in moved}.union(*former.values())
    return app.with_known(spellings.intersection(sent)).with_gone(spellings.difference(sent))


def _named(snapshot: Snapshot, url: FeedUrl) -> Guid:
    """Return the guid of the feed that a listed URL means.

    A former URL of a deleted feed is kept apart: the list may have its present URL, too.
    """
    entry = snapshot.entries.get(url.guid)
    guid = url.guid if entry is None else target_guid(entry)
    feed = snapshot.entries.get(guid)
    if isinstance(feed, Subscription) and feed.deleted and feed.feed_url != url.text:
        return url.guid
    return guid


def differences(
    snapshot: Snapshot, wanted: Sequence[FeedUrl]
) -> tuple[Sequence[FeedUrl], Sequence[FeedUrl]]:
    """Return the URLs to add and to remove, so that a whole account has exactly the wanted ones.

    Feeds that apps are not sent are not removed (C3.18).
    """
    by_guid = {_named(snapshot, url): url for url in wanted}
    listed = {feed.guid: feed for feed in subscribed(snapshot)}
    add = [url for guid, url in by_guid.items() if guid not in listed]
    left = [feed.feed_url for guid, feed in listed.items() if guid not in by_guid]
    return add, [parse_feed_url(url) for url in left if is_for_apps(url)]
