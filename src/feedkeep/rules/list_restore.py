"""Restoring feeds to a former state by new changes, without rewriting history. Pure.

A restore is a change like all others (C9.19): each entry that differs gets a new stamp, so that
devices are sent it. A guid that devices were sent never vanishes: it resolves to its feed instead
(C9.13).

`_match` finds the past feed that each present feed becomes, `_own_urls` the URLs that apps may have
beside another URL of a feed, and `_pointers` the targets of the other guids. Then pointers are
written, and after them the feeds: the stamp of a pointer is before its feed's (C4.5).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeAlias

from feedkeep.model import (
    Alias,
    Entry,
    EntryState,
    Guid,
    Pointer,
    Stamp,
    Subscription,
    Value,
    replace,
)
from feedkeep.model.entry_index import EntryIndex, target_guid
from feedkeep.rules.draft import Draft, moved_to
from feedkeep.rules.entry_states import is_same_state
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.subscriptions import check_pointers, with_status


class Past(Value, frozen=True):
    """A list at a moment in the past.

    Attributes:
        entries: Its entries at that moment.
        states: All states that ended later, and all present ones.
        held: The derived guids of URLs that apps are known to have. They keep resolving to their
            feed: an app with no other URL could not unsubscribe otherwise.
    """

    entries: EntryIndex
    states: Sequence[EntryState]
    held: Collection[Guid] = ()


def tied_groups(draft: Draft, past: Past, guids: Collection[Guid]) -> list[set[Guid]]:
    """Return `guids` in complete groups that can only be restored together (C9.12).

    A feed that was unsubscribed is restored alone. If a guid resolved to another feed, or a URL was
    another one, the group has all that was tied to the guid then or is tied to it now.
    """
    groups: list[set[Guid]] = []
    grouped: set[Guid] = set()
    for guid in guids:
        if guid not in grouped and _is_rebuilt(past.entries.get(guid), draft.get(guid)):
            group, left = {guid}, {guid}
            while left:
                ties = _ties(draft, past, left.pop()) - group
                group |= ties
                left |= ties
            groups.append(group)
            grouped |= group
    return [*groups, *({guid} for guid in guids if guid not in grouped)]


def _ties(draft: Draft, past: Past, guid: Guid) -> set[Guid]:
    """Return the guids that a guid resolves to, and that resolve to it, then and now."""
    entries = [entry for entry in (past.entries.get(guid), draft.get(guid)) if entry]
    return {*past.entries.pointers_to(guid), *draft.pointers_to(guid), *map(target_guid, entries)}


def restore_entries(draft: Draft, past: Past, scope: Iterable[Guid], *, keep_added: bool) -> None:
    """Restore the entries of a scope, which consists of whole groups of `tied_groups`.

    A feed that was not in the list then is deleted (C9.13, C9.17), or with `keep_added` left as it
    is: then no present feed is removed, even if it was unsubscribed or deleted at that moment
    (C9.16). The caller checks the counts of the list.

    Raises:
        InvalidInput: There would be too many pointers to a subscription.
    """
    match = _match(draft, past, sorted(scope), keep_added=keep_added)
    own_urls = _own_urls(match)
    pointers = _pointers(match, own_urls, past.held, keep_added=keep_added)
    announced = _put_pointers(draft, match, pointers)
    for guid in match.past:
        _put_feed(draft, match, own_urls, guid, is_announced=guid in announced)
    for feed in match.added:
        if keep_added:
            _end_lost_app_url(draft, feed)
        elif feed.deleted is None:
            stamp = draft.tick()
            draft.put(replace(with_status(feed, False, stamp), deleted=stamp))
    for feed in match.past.values():
        check_pointers(draft, feed)


def status_rank(feed: Subscription) -> tuple[bool, bool]:
    """Return a comparable status: deleted < unsubscribed < subscribed."""
    return feed.deleted is None, feed.is_subscribed


_Entries: TypeAlias = Mapping[Guid, Entry]
_Feeds: TypeAlias = Mapping[Guid, Subscription]
_Rank: TypeAlias = tuple[bool, bool]


class _Match(Value, frozen=True):
    """The entries of a scope, then and now, and the past feeds that present ones become.

    Attributes:
        past: The past feeds, which are all restored.
        present: The present feeds.
        added: The present feeds that do not become past ones.
        targets: For each guid, the feed that it will resolve to.
        sources: For a past feed, the present feed that becomes it, with its status in apps. Feeds
            that were merged since have none.
        ranks: For each past feed, its future `status_rank`.
    """

    then: _Entries
    now: _Entries
    past: _Feeds
    present: _Feeds
    added: Sequence[Subscription]
    targets: Mapping[Guid, Guid]
    sources: _Feeds
    ranks: Mapping[Guid, _Rank]


def _match(draft: Draft, past: Past, guids: Sequence[Guid], *, keep_added: bool) -> _Match:
    then = {guid: entry for guid in guids if (entry := past.entries.get(guid))}
    now = {guid: entry for guid in guids if (entry := draft.get(guid))}
    past_feeds = {guid: e for guid, e in then.items() if isinstance(e, Subscription)}
    present = {guid: e for guid, e in now.items() if isinstance(e, Subscription)}
    others = [feed for guid, feed in present.items() if guid not in past_feeds]
    heirs = _heirs(others, then, past_feeds, past.states)
    added = [feed for feed in others if feed.guid not in heirs]
    targets = {guid: heirs.get(target_guid(e), target_guid(e)) for guid, e in now.items()}
    targets |= {guid: target_guid(entry) for guid, entry in then.items()}
    # Subscribed feeds that join a past one; of several, the last one sent to apps.
    joining = {
        heirs[feed.guid]: feed
        for feed in sorted(others, key=lambda feed: feed.status_changed)
        if feed.guid in heirs and feed.is_subscribed
    }
    groups: defaultdict[Guid, list[Guid]] = defaultdict(list)
    for guid in past_feeds:
        if entry := now.get(guid):
            groups[target_guid(entry)].append(guid)
    for feed in added:  # a feed that absorbed past feeds becomes none of them
        groups.pop(feed.guid, None)
    sources = _sources(groups, present, joining)
    ranks = {guid: status_rank(feed) for guid, feed in past_feeds.items()}
    if keep_added:
        ranks |= _present_ranks(ranks, groups, present) | dict.fromkeys(joining, (True, True))
    return _Match(then, now, past_feeds, present, added, targets, sources, ranks)


def _heirs(
    others: Sequence[Subscription], then: _Entries, past: _Feeds, states: Sequence[EntryState]
) -> dict[Guid, Guid]:
    """Return the past feed that the guid of each other feed will resolve to, except added feeds.

    This is the feed that the guid resolved to then, or that was renamed to it since, or else the
    feed of its URL.
    """
    renamed = _renamed(states) if others and past else {}
    heirs = {}
    for feed in others:
        former: Guid | None = feed.guid
        while former is not None and former not in past:
            former = renamed.get(former)
        was = then.get(feed.guid) or (past[former] if former else then.get(_derived(feed.feed_url)))
        if was:
            heirs[feed.guid] = target_guid(was)
    return heirs


def _renamed(states: Sequence[EntryState]) -> dict[Guid, Guid]:
    """Return the former guids of guids that subscriptions were renamed to when they were new."""
    first: dict[Guid, Stamp] = {}
    for state in states:
        if state.began is not None:
            guid = state.entry.guid
            first[guid] = min(state.began, first.get(guid, state.began))
    ends = {(s.entry.guid, s.ended) for s in states if isinstance(s.entry, Subscription)}
    renames = sorted(  # stores return states in any order
        (state.entry.guid, state.began, state.entry.new_guid)
        for state in states
        if isinstance(state.entry, Pointer) and state.began is not None
    )
    return {new: old for old, at, new in renames if (old, at) in ends and first.get(new) == at}


def _sources(
    groups: Mapping[Guid, Sequence[Guid]], present: _Feeds, joining: _Feeds
) -> dict[Guid, Subscription]:
    # Apps are sent each merged feed: some have removed one of them as a duplicate.
    sources = {group[0]: present[target] for target, group in groups.items() if len(group) == 1}
    for guid, feed in joining.items():  # apps know an unsubscribed feed by a feed that joins it
        if guid in sources and not sources[guid].is_subscribed:
            sources[guid] = replace(
                sources[guid], is_subscribed=True, status_changed=feed.status_changed
            )
    return sources


def _present_ranks(
    ranks: Mapping[Guid, _Rank], groups: Mapping[Guid, Sequence[Guid]], present: _Feeds
) -> dict[Guid, _Rank]:
    """Return the present ranks where they are higher.

    Merged feeds each keep their past rank if one of them was as high (C9.18). Otherwise one of them
    gets the rank that they have together.
    """
    return {
        target if target in group else group[0]: rank
        for target, group in groups.items()
        if (rank := status_rank(present[target])) > max(ranks[guid] for guid in group)
    }


class _OwnUrls(Value, frozen=True):
    """URLs that apps may have beside another URL of the same feed: they were separate feeds.

    Attributes:
        merged: Present feeds with such a former URL.
        guids: The derived guids of such URLs after the restore.
    """

    merged: Collection[Guid]
    guids: Collection[Guid]

    def mark(self, guid: Guid, alias: Alias | None) -> Alias | None:
        """Return the alias of a guid, marked if its URL is one of these."""
        if alias is None or alias.was_own or guid not in self.guids:
            return alias
        return replace(alias, moved_away=False, was_own=True)

    def left(self, feed: Subscription) -> Alias:
        """Return an alias for the present URL of a feed that leaves it."""
        was_own = feed.guid in self.merged or _derived(feed.feed_url) in self.guids
        return Alias(feed.feed_url, moved_away=False, was_own=was_own, first_had=feed.first_had)


def _own_urls(match: _Match) -> _OwnUrls:
    # Feeds that become one again are merged. An app with two of them may remove one as a duplicate,
    # and has not unsubscribed.
    becomes = {guid: match.targets[guid] for guid in match.present}
    becomes |= {source.guid: guid for guid, source in match.sources.items()}
    counts = Counter(becomes.values())
    merged = {target_guid(e) for e in match.now.values() if e.alias and e.alias.was_own}
    own = set()
    for guid, entry in match.now.items():
        present = target_guid(entry)
        target = becomes.get(present, present)
        if counts[target] > 1 and isinstance(entry, Subscription):
            own.add(_derived(entry.feed_url))
        # Feeds that were already merged, and are not split, stay merged.
        stays = present in merged and target in match.sources and match.targets[guid] == target
        if entry.alias and (counts[target] > 1 or stays):
            own.add(guid)
    return _OwnUrls(merged, own)


def _pointers(
    match: _Match, own_urls: _OwnUrls, held: Collection[Guid], *, keep_added: bool
) -> dict[Guid, Pointer | None]:
    """Return the pointers to write, with their present stamps; None deletes a pointer."""
    redirects = sorted((guid, to) for guid, to in match.targets.items() if guid != to)
    if not redirects:  # nearly always
        return {}
    moved = [moved_to(feed, match.past[guid].feed_url) for guid, feed in match.sources.items()]
    urls = [url for feed in [*moved, *match.added] for url in (feed.feed_url, feed.app_url) if url]
    needed = {*map(_derived, urls), *held}
    pointers: dict[Guid, Pointer | None] = {}
    for guid, target in redirects:
        then, now = match.then.get(guid), match.now.get(guid)
        stamp = now.guid_changed if isinstance(now, Pointer) else None
        if then is not None and stamp is None:
            stamp = then.guid_changed
        is_known = then is not None or stamp is not None or isinstance(now, Subscription)
        is_kept = is_known or guid in needed or (keep_added and now and now.alias)
        alias = _alias(match, own_urls, guid, target)
        pointers[guid] = Pointer(guid, target, stamp, alias) if is_kept else None
    return pointers


def _alias(match: _Match, own_urls: _OwnUrls, guid: Guid, target: Guid) -> Alias | None:
    """Return the URL that a pointer's guid is derived from, if its feed will have another one."""
    entry = match.then.get(guid) or match.now[guid]
    if entry.alias is not None or guid in match.then or target not in match.past:
        return own_urls.mark(guid, entry.alias)
    feed = match.present[target_guid(entry)]
    is_left = _derived(feed.feed_url) == guid != _derived(match.past[target].feed_url)
    return own_urls.left(feed) if is_left else None


def _put_pointers(
    draft: Draft, match: _Match, pointers: Mapping[Guid, Pointer | None]
) -> set[Guid]:
    """Write pointers; return the feeds with a pointer that devices are sent."""
    # Devices may follow one guid to the next. So if a guid comes to resolve to another feed,
    # devices are sent all guids that resolved to the same feed again.
    taken = {target_guid(e) for g, e in match.now.items() if match.targets[g] != target_guid(e)}
    announced = set()
    for guid, pointer in pointers.items():
        now = match.now.get(guid)
        is_news = not is_same_state(now, pointer) or (now and target_guid(now) in taken)
        if pointer and is_news and (isinstance(now, Subscription) or pointer.guid_changed):
            draft.set(guid, replace(pointer, guid_changed=draft.tick()))
            announced.add(pointer.new_guid)
        elif pointer != now:
            draft.set(guid, pointer)
    return announced


def _restored(match: _Match, own_urls: _OwnUrls, guid: Guid) -> Subscription:
    """Return a past feed in its future state, with the stamps of then."""
    was, source = match.past[guid], match.sources.get(guid)
    is_live, is_subscribed = match.ranks[guid]
    deleted, alias = None if is_live else was.deleted, own_urls.mark(guid, was.alias)
    wanted = replace(was, is_subscribed=is_subscribed, deleted=deleted, alias=alias)
    if source is None:
        return wanted
    moved = moved_to(source, was.feed_url)  # apps continue with the URL that they have
    return replace(wanted, app_url=moved.app_url, app_url_until=moved.app_url_until)


def _put_feed(
    draft: Draft, match: _Match, own_urls: _OwnUrls, guid: Guid, *, is_announced: bool
) -> None:
    """Write a past feed with a new stamp, unless it is already in that state."""
    was, now, source = match.past[guid], match.now.get(guid), match.sources.get(guid)
    is_live, is_subscribed = match.ranks[guid]
    wanted = _restored(match, own_urls, guid)
    if is_same_state(now, wanted) and not is_announced:
        return
    stamp = draft.tick()
    is_sent_back = source is not None and _was_sent_move(match, was)
    if source is None:  # apps that know only URLs are sent a new feed
        wanted = replace(wanted, status_changed=stamp)
    elif is_sent_back:  # sent here, too, with the removal of its other URL
        wanted = replace(wanted, status_changed=stamp, app_url=None, app_url_until=None)
    else:
        known = replace(
            wanted, is_subscribed=source.is_subscribed, status_changed=source.status_changed
        )
        wanted = with_status(known, is_subscribed, stamp)
    if isinstance(now, Subscription):
        guid_changed, deleted = now.guid_changed, now.deleted or stamp
    else:  # a feed of a backup can have a guid that the list never had
        guid_changed, deleted = stamp if now else None, stamp
    wanted = replace(wanted, deleted=None if is_live else deleted)
    feed = draft.put(replace(wanted, subscription_changed=stamp, guid_changed=guid_changed))
    if source is not None and is_sent_back:
        left = _derived(source.feed_url)
        then = match.then.get(left)
        alias = own_urls.mark(left, then.alias if then else None) or own_urls.left(source)
        draft.lead(left, feed, alias)
        # Apps may have any of its earlier URLs.
        draft.retire_urls(feed, stamp)


def _was_sent_move(match: _Match, was: Subscription) -> bool:
    """Whether apps were sent the removal of the URL that a feed has again.

    Some apps removed it, and others have not asked since. A second removal, of the other URL, makes
    all of them end with the same URL.
    """
    entry = match.now.get(_derived(was.feed_url))
    return entry is not None and entry.alias is not None and entry.alias.retired is not None


def _end_lost_app_url(draft: Draft, feed: Subscription) -> None:
    """Send apps a feed by its own URL if the URL that they have belongs to another feed."""
    if feed.is_subscribed and feed.app_url and draft.find(_derived(feed.app_url)) != feed:
        stamp = draft.tick()
        changed = replace(feed, status_changed=stamp, subscription_changed=stamp)
        draft.put(replace(changed, app_url=None, app_url_until=None))


def _is_rebuilt(then: Entry | None, now: Entry | None) -> bool:
    """Whether more than the status of a feed differs."""
    if isinstance(then, Subscription) and isinstance(now, Subscription):
        return then.feed_url != now.feed_url or then.alias != now.alias
    return not is_same_state(then, now)


def _derived(url: str) -> Guid:
    return parse_feed_url(url).guid
