"""Restoring feeds to a former state by new changes, without rewriting history. Pure.

A restore is a change like all others (C9.19): each entry that differs gets a new stamp, so that
devices are sent it. A guid that devices were sent never vanishes: it resolves to its feed instead
(C9.13). `undo` chooses the moment and the scope, and reports the result.

`_match` finds the past feed that each present feed becomes, `_own_urls` the URLs that apps may have
beside another URL of a feed, and `_pointers` the targets of the other guids. Then pointers are
written, and after them the feeds: the stamp of a pointer is before its feed's (C4.5).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import IntEnum
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
from feedkeep.rules.feed_urls import guid_of
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
            group, pending = {guid}, {guid}
            while pending:
                ties = _ties(draft, past, pending.pop()) - group
                group |= ties
                pending |= ties
            groups.append(group)
            grouped |= group
    return [*groups, *({guid} for guid in guids if guid not in grouped)]


def _ties(draft: Draft, past: Past, guid: Guid) -> set[Guid]:
    """Return the guids that a guid resolves to, and that resolve to it, then and now."""
    entries = [entry for entry in (past.entries.get(guid), draft.get(guid)) if entry]
    return {*past.entries.pointers_to(guid), *draft.pointers_to(guid), *map(target_guid, entries)}


def restore_entries(draft: Draft, past: Past, scope: Iterable[Guid], *, keep_added: bool) -> None:
    """Restore the entries of a scope, which consists of whole groups of `tied_groups`.

    Feeds that were not in the list at that moment are deleted (C9.13, C9.17). With `keep_added`, no
    feed is removed: feeds that were missing, unsubscribed or deleted at that moment keep their
    present status (C9.16). The caller checks the counts of the list.

    Raises:
        InvalidInput: There would be too many pointers to a subscription.
    """
    match = _match(draft, past, sorted(scope), keep_added=keep_added)
    own_urls = _own_urls(match)
    pointers = _pointers(match, own_urls, past.held, keep_added=keep_added)
    announced = _put_pointers(draft, match, pointers)
    for guid in match.past_feeds:
        _put_feed(draft, match, own_urls, guid, is_announced=guid in announced)
    for feed in match.unmatched:
        if keep_added:
            _end_lost_app_url(draft, feed)
        elif feed.deleted is None:
            stamp = draft.tick()
            draft.put(replace(with_status(feed, False, stamp), deleted=stamp))
    for feed in match.past_feeds.values():
        check_pointers(draft, feed)


class Status(IntEnum):
    """The status of a feed, in the order in which a restore may raise it."""

    DELETED = 0
    UNSUBSCRIBED = 1
    SUBSCRIBED = 2


def status_of(feed: Subscription) -> Status:
    if feed.deleted is not None:
        return Status.DELETED
    return Status.SUBSCRIBED if feed.is_subscribed else Status.UNSUBSCRIBED


_Entries: TypeAlias = Mapping[Guid, Entry]
_Feeds: TypeAlias = Mapping[Guid, Subscription]


class _Match(Value, frozen=True):
    """The entries of a scope, then and now, and the past feeds that present ones become.

    Attributes:
        entries_then: Entries at that moment.
        entries_now: Present entries.
        past_feeds: The feeds among `entries_then`, which are all restored.
        present_feeds: The feeds among `entries_now`.
        unmatched: The present feeds that become no past feed.
        targets: For each guid, the feed that it will resolve to.
        sources: For a past feed, the present feed that becomes it, with its status in apps. A feed
            that was merged with another past feed has no source: apps are sent both again.
        statuses: For each past feed, its future status.
    """

    entries_then: _Entries
    entries_now: _Entries
    past_feeds: _Feeds
    present_feeds: _Feeds
    unmatched: Sequence[Subscription]
    targets: Mapping[Guid, Guid]
    sources: _Feeds
    statuses: Mapping[Guid, Status]


def _match(draft: Draft, past: Past, guids: Sequence[Guid], *, keep_added: bool) -> _Match:
    then = {guid: entry for guid in guids if (entry := past.entries.get(guid))}
    now = {guid: entry for guid in guids if (entry := draft.get(guid))}
    past_feeds = {guid: e for guid, e in then.items() if isinstance(e, Subscription)}
    present_feeds = {guid: e for guid, e in now.items() if isinstance(e, Subscription)}
    others = [feed for guid, feed in present_feeds.items() if guid not in past_feeds]
    becomes = _becomes(others, then, past_feeds, past.states)
    unmatched = [feed for feed in others if feed.guid not in becomes]
    targets = {guid: becomes.get(target_guid(e), target_guid(e)) for guid, e in now.items()}
    # A guid that resolved to a feed at that moment resolves to it again.
    targets |= {guid: target_guid(entry) for guid, entry in then.items()}
    # Subscribed feeds that join a past one; of several, the last one sent to apps.
    joining = {
        becomes[feed.guid]: feed
        for feed in sorted(others, key=lambda feed: feed.status_changed)
        if feed.guid in becomes and feed.is_subscribed
    }
    groups: defaultdict[Guid, list[Guid]] = defaultdict(list)
    for guid in past_feeds:
        if entry := now.get(guid):
            groups[target_guid(entry)].append(guid)
    for feed in unmatched:  # past feeds that it absorbed are restored beside it
        groups.pop(feed.guid, None)
    sources = _sources(groups, present_feeds, joining)
    statuses = {guid: status_of(feed) for guid, feed in past_feeds.items()}
    if keep_added:
        statuses |= _raised_statuses(statuses, groups, present_feeds)
        statuses |= dict.fromkeys(joining, Status.SUBSCRIBED)
    return _Match(then, now, past_feeds, present_feeds, unmatched, targets, sources, statuses)


def _becomes(
    others: Sequence[Subscription], then: _Entries, past_feeds: _Feeds, states: Sequence[EntryState]
) -> dict[Guid, Guid]:
    """Return the past feed that each present feed with another guid becomes, if there is one.

    This is the feed that its guid resolved to, or that was renamed to it since, or else the feed of
    its URL.
    """
    renamed = _renamed(states) if others and past_feeds else {}
    becomes = {}
    for feed in others:
        former: Guid | None = feed.guid
        while former is not None and former not in past_feeds:
            former = renamed.get(former)
        was = then.get(feed.guid)
        if was is None:
            was = past_feeds[former] if former else then.get(guid_of(feed.feed_url))
        if was is not None:
            becomes[feed.guid] = target_guid(was)
    return becomes


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
    groups: Mapping[Guid, Sequence[Guid]], present_feeds: _Feeds, joining: _Feeds
) -> dict[Guid, Subscription]:
    # Apps are sent each merged feed: some have removed one of them as a duplicate.
    alone = {target: group[0] for target, group in groups.items() if len(group) == 1}
    sources = {guid: present_feeds[target] for target, guid in alone.items()}
    for guid, feed in joining.items():  # apps know an unsubscribed feed by a feed that joins it
        if guid in sources and not sources[guid].is_subscribed:
            sources[guid] = replace(
                sources[guid], is_subscribed=True, status_changed=feed.status_changed
            )
    return sources


def _raised_statuses(
    statuses: Mapping[Guid, Status], groups: Mapping[Guid, Sequence[Guid]], present_feeds: _Feeds
) -> dict[Guid, Status]:
    """Return the past feeds whose status must rise to the present one.

    Past feeds that were merged since each keep their status if one of them had the present one
    (C9.18). Otherwise one of them gets it.
    """
    return {
        target if target in group else group[0]: status
        for target, group in groups.items()
        if (status := status_of(present_feeds[target])) > max(statuses[guid] for guid in group)
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

    def former_alias(self, feed: Subscription) -> Alias:
        """Return an alias for the present URL of a feed that leaves it."""
        was_own = feed.guid in self.merged or guid_of(feed.feed_url) in self.guids
        return Alias(feed.feed_url, moved_away=False, was_own=was_own, first_had=feed.first_had)


def _own_urls(match: _Match) -> _OwnUrls:
    # Feeds that become one again are merged. An app with two of them may remove one as a duplicate,
    # and has not unsubscribed.
    becomes = {guid: match.targets[guid] for guid in match.present_feeds}
    becomes |= {source.guid: guid for guid, source in match.sources.items()}
    counts = Counter(becomes.values())
    merged = {target_guid(e) for e in match.entries_now.values() if e.alias and e.alias.was_own}
    own = set()
    for guid, entry in match.entries_now.items():
        present = target_guid(entry)
        target = becomes.get(present, present)
        if counts[target] > 1 and isinstance(entry, Subscription):
            own.add(guid_of(entry.feed_url))
        # Feeds that were already merged, and are not split, stay merged.
        stays = present in merged and target in match.sources and match.targets[guid] == target
        is_changed = not is_same_state(match.entries_then.get(guid), entry)
        if entry.alias and (counts[target] > 1 or (stays and is_changed)):
            own.add(guid)
    return _OwnUrls(merged, own)


def _pointers(
    match: _Match, own_urls: _OwnUrls, held: Collection[Guid], *, keep_added: bool
) -> dict[Guid, Pointer | None]:
    """Return the pointers to write, with their present stamps; None deletes a pointer."""
    redirects = sorted((guid, to) for guid, to in match.targets.items() if guid != to)
    if not redirects:  # nearly always
        return {}
    moved = [
        moved_to(feed, match.past_feeds[guid].feed_url) for guid, feed in match.sources.items()
    ]
    urls = [
        url for feed in [*moved, *match.unmatched] for url in (feed.feed_url, feed.app_url) if url
    ]
    needed = {*map(guid_of, urls), *held}
    pointers: dict[Guid, Pointer | None] = {}
    for guid, target in redirects:
        then, now = match.entries_then.get(guid), match.entries_now.get(guid)
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
    entry = match.entries_then.get(guid) or match.entries_now[guid]
    if entry.alias is not None or guid in match.entries_then or target not in match.past_feeds:
        return own_urls.mark(guid, entry.alias)
    feed = match.present_feeds[target_guid(entry)]
    is_left = guid_of(feed.feed_url) == guid != guid_of(match.past_feeds[target].feed_url)
    return own_urls.former_alias(feed) if is_left else None


def _put_pointers(
    draft: Draft, match: _Match, pointers: Mapping[Guid, Pointer | None]
) -> set[Guid]:
    """Write pointers; return the feeds with a pointer that devices are sent."""
    # Devices may follow one guid to the next. So if a guid comes to resolve to another feed,
    # devices are sent all guids that resolved to the same feed again.
    taken = {
        target_guid(e) for g, e in match.entries_now.items() if match.targets[g] != target_guid(e)
    }
    announced = set()
    for guid, pointer in pointers.items():
        now = match.entries_now.get(guid)
        is_news = not is_same_state(now, pointer) or (now and target_guid(now) in taken)
        if pointer and is_news and (isinstance(now, Subscription) or pointer.guid_changed):
            draft.set(guid, replace(pointer, guid_changed=draft.tick()))
            announced.add(pointer.new_guid)
        elif pointer != now:
            draft.set(guid, pointer)
    return announced


def _future_state(match: _Match, own_urls: _OwnUrls, guid: Guid) -> Subscription:
    """Return a past feed in its future state, with its past stamps."""
    was, source = match.past_feeds[guid], match.sources.get(guid)
    status = match.statuses[guid]
    wanted = replace(
        was,
        is_subscribed=status is Status.SUBSCRIBED,
        deleted=was.deleted if status is Status.DELETED else None,
        alias=own_urls.mark(guid, was.alias),
    )
    if source is None:
        return wanted
    moved = moved_to(source, was.feed_url)  # apps continue with the URL that they have
    return replace(wanted, app_url=moved.app_url, app_url_until=moved.app_url_until)


def _put_feed(
    draft: Draft, match: _Match, own_urls: _OwnUrls, guid: Guid, *, is_announced: bool
) -> None:
    """Write a past feed with a new stamp, unless it is already in that state."""
    was, now, source = match.past_feeds[guid], match.entries_now.get(guid), match.sources.get(guid)
    wanted = _future_state(match, own_urls, guid)
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
        wanted = with_status(known, wanted.is_subscribed, stamp)
    if isinstance(now, Subscription):
        guid_changed, deleted = now.guid_changed, now.deleted or stamp
    else:  # a feed of a backup can have a guid that the list never had
        guid_changed, deleted = stamp if now else None, stamp
    wanted = replace(wanted, deleted=None if wanted.deleted is None else deleted)
    feed = draft.put(replace(wanted, subscription_changed=stamp, guid_changed=guid_changed))
    if source is not None and is_sent_back:
        former = guid_of(source.feed_url)
        then = match.entries_then.get(former)
        alias = own_urls.mark(former, then.alias if then else None) or own_urls.former_alias(source)
        draft.link(former, feed, alias)
        # Apps may have any of its earlier URLs.
        draft.retire_urls(feed, stamp)


def _was_sent_move(match: _Match, was: Subscription) -> bool:
    """Whether apps were sent the removal of the URL that a feed has again.

    Some apps removed it, and others have not asked since. A second removal, of the other URL, makes
    all of them end with the same URL.
    """
    entry = match.entries_now.get(guid_of(was.feed_url))
    return entry is not None and entry.alias is not None and entry.alias.retired is not None


def _end_lost_app_url(draft: Draft, feed: Subscription) -> None:
    """Send apps a feed by its own URL if the URL that they have belongs to another feed."""
    if feed.is_subscribed and feed.app_url and draft.find(guid_of(feed.app_url)) != feed:
        stamp = draft.tick()
        changed = replace(feed, status_changed=stamp, subscription_changed=stamp)
        draft.put(replace(changed, app_url=None, app_url_until=None))


def _is_rebuilt(then: Entry | None, now: Entry | None) -> bool:
    """Whether more than the status of a feed differs."""
    if isinstance(then, Subscription) and isinstance(now, Subscription):
        return then.feed_url != now.feed_url or then.alias != now.alias
    return not is_same_state(then, now)
