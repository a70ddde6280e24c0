"""Bringing feeds back to what they were at a moment, without rewriting anything. Pure.

What comes back is a change like all others (C9.19): every entry that differs gets a new stamp, so
that each device learns of it. A guid that devices were sent never vanishes: it resolves to its feed
instead (C9.13).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

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
    """A list as it was at a moment.

    Attributes:
        entries: Its entries at that moment.
        index: The same, to look pointers up in.
        states: All states that ended later, and all present ones.
        held: The derived guids of URLs that apps are known to have. They go on leading to their
            feed, whatever came first: an app that has no other URL could not unsubscribe from it.
    """

    entries: Mapping[Guid, Entry]
    index: EntryIndex
    states: Sequence[EntryState]
    held: Collection[Guid] = ()


def scope_of(draft: Draft, past: Past, guids: Iterable[Guid]) -> set[Guid]:
    """Return `guids`, and what has to be brought back with them.

    A feed that was unsubscribed comes back alone. Where a guid leads elsewhere than it did, or an
    address changed, all guids come along that are tied to it now or were tied to it then.
    """
    scope = set(guids)
    tied = [guid for guid in scope if _is_rebuilt(past.entries.get(guid), draft.get(guid))]
    if not tied:
        return scope
    then = past.index
    seen = set(tied)
    while tied:
        guid = tied.pop()
        ties = {*then.pointers_to(guid), *draft.pointers_to(guid)}
        ties |= {target_guid(entry) for entry in (then.get(guid), draft.get(guid)) if entry}
        tied += ties - seen
        seen |= ties
    return scope | seen


def bring_back(draft: Draft, past: Past, scope: Iterable[Guid], *, keeps_added: bool) -> None:
    """Let the entries of a scope be what they were; `scope_of` made the scope.

    A feed that was not in the list then is deleted (C9.13, C9.17), or with `keeps_added` left as it
    is: no present feed goes then, also if it was unsubscribed or deleted at that
    moment (C9.16). The counts of the list are for the caller to check.

    Raises:
        InvalidInput: There would be too many pointers to a subscription.
    """
    work = _Work(draft, past, sorted(scope), keeps_added=keeps_added)
    work.lead_pointers()
    work.put_subscriptions()


class _Work:
    """What is known while feeds are brought back.

    Attributes:
        back: The subscriptions of that moment.
        heirs: For present subscriptions that were none then: what they are to lead to.
        joining: For subscriptions of that moment: one that was none then, that is
            subscribed, and that is to resolve to it.
        groups: For present subscriptions: those of that moment whose guids lead there now.
        sources: For subscriptions of that moment: the present one that goes on as it.
        staying: For subscriptions of that moment: the present one whose status it gets, since it
            was added since, and that is kept (C9.16).
        taken: Subscriptions of which a guid comes to lead elsewhere. A device may have been sent
            that one guid resolves to the next, so it is sent all again that resolve there.
        merged: Present subscriptions with a former URL that was a feed of its own.
        beside: The derived guids of URLs that apps may have beside another URL of the feed that
            they come to lead to.
    """

    def __init__(
        self, draft: Draft, past: Past, scope: Sequence[Guid], *, keeps_added: bool
    ) -> None:
        self.draft = draft
        self.scope = scope
        self.held = past.held
        self.keeps_added = keeps_added
        self.then = {guid: past.entries.get(guid) for guid in scope}
        self.now = {guid: draft.get(guid) for guid in scope}
        self.back = {g: e for g, e in self.then.items() if isinstance(e, Subscription)}
        present = {g: e for g, e in self.now.items() if isinstance(e, Subscription)}
        self.others = {g: e for g, e in present.items() if g not in self.back}
        renamed = _renamed(past.states) if self.others and self.back else {}
        self.heirs = {g: h for g, e in self.others.items() if (h := self._heir(e, renamed))}
        self.joining = self._joining()
        self.groups = self._groups()
        self.sources = self._sources(present)
        self.staying = self._staying(present) if keeps_added else {}
        self.taken = {
            target_guid(entry)
            for guid, entry in self.now.items()
            if entry is not None and self._target(guid) != target_guid(entry)
        }
        self.merged = {
            target_guid(e) for e in self.now.values() if e and e.alias and e.alias.was_own
        }
        self.beside = self._beside(present)
        self.stamped: set[Guid] = set()

    def _heir(self, feed: Subscription, renamed: Mapping[Guid, Guid]) -> Guid | None:
        """Return what a subscription that was none then is to lead to, unless it is a new feed."""
        was = self.then[feed.guid]
        if was is not None:
            return target_guid(was)
        guid: Guid | None = feed.guid
        while guid is not None and guid not in self.back:
            guid = renamed.get(guid)
        if guid is None and (had_url := self.then.get(_derived(feed.feed_url))):
            guid = target_guid(had_url)
        return guid

    def _joining(self) -> dict[Guid, Subscription]:
        joining: dict[Guid, Subscription] = {}
        for guid, heir in self.heirs.items():
            feed, other = self.others[guid], joining.get(heir)
            if feed.is_subscribed and (not other or other.status_changed < feed.status_changed):
                joining[heir] = feed
        return joining

    def _groups(self) -> dict[Guid, list[Guid]]:
        groups: defaultdict[Guid, list[Guid]] = defaultdict(list)
        for guid in self.back:
            if entry := self.now[guid]:
                groups[target_guid(entry)].append(guid)
        # A feed of its own that absorbed others goes on as none of them.
        return {g: group for g, group in groups.items() if g not in self.others or g in self.heirs}

    def _sources(self, present: Mapping[Guid, Subscription]) -> dict[Guid, Subscription]:
        # Of several that were one, apps hear of each: some have removed one of them as a duplicate.
        return {group[0]: present[g] for g, group in self.groups.items() if len(group) == 1}

    def _staying(self, present: Mapping[Guid, Subscription]) -> dict[Guid, Subscription]:
        # Feeds that became one are each as they were if one of them was subscribed to (C9.18). Else
        # one of them gets the status that they have together.
        staying: dict[Guid, Subscription] = {}
        for guid, group in self.groups.items():
            if all(status_rank(self.back[g]) < status_rank(present[guid]) for g in group):
                staying[guid if guid in group else group[0]] = present[guid]
        for guid, feed in self.joining.items():
            was = self.back.get(guid)
            if was and status_rank(staying.get(guid, was)) < status_rank(feed):
                staying[guid] = feed
        return staying

    def _beside(self, present: Mapping[Guid, Subscription]) -> set[Guid]:
        # Feeds that become one again are merged. An app that has two of them may remove one as a
        # double, and has not unsubscribed.
        goes_on_as = self.heirs | {feed.guid: guid for guid, feed in self.sources.items()}
        become = Counter(goes_on_as.get(guid, guid) for guid in present)
        beside = set()
        for guid, entry in self.now.items():
            if entry is None:
                continue
            target = goes_on_as.get(target_guid(entry), target_guid(entry))
            is_merged = become[target] > 1
            if is_merged and isinstance(entry, Subscription):
                beside.add(_derived(entry.feed_url))
            # What was merged before, and is not taken apart, stays so.
            was_merged = target_guid(entry) in self.merged and target in self.sources
            if entry.alias and (is_merged or (was_merged and self._target(guid) == target)):
                beside.add(guid)
        return beside

    def _marked(self, guid: Guid, alias: Alias | None) -> Alias | None:
        """Return the alias that a guid had, marked if apps may have its URL beside another."""
        if alias is None or alias.was_own or guid not in self.beside:
            return alias
        return replace(alias, moved_away=False, was_own=True)

    def _target(self, guid: Guid) -> Guid | None:
        """Return where a guid leads in the end; None if it is forgotten."""
        then, now = self.then[guid], self.now[guid]
        if then is not None:
            return target_guid(then)
        if now is None:
            return None
        target = target_guid(now)
        return self.heirs.get(target, target)

    def lead_pointers(self) -> None:
        """Put all pointers where they belong."""
        pointers = [
            (guid, target)
            for guid in self.scope
            if guid not in self.back and (target := self._target(guid)) and target != guid
        ]
        if not pointers:
            return
        moved = {g: _at(s, self.back[g].feed_url) for g, s in self.sources.items()}
        feeds = [*moved.values(), *(e for g, e in self.others.items() if g not in self.heirs)]
        needed = {_derived(feed.feed_url) for feed in feeds}
        needed |= {_derived(feed.app_url) for feed in feeds if feed.app_url}
        for guid, target in pointers:
            is_needed = guid in needed or guid in self.held
            self._lead(guid, self._pointer(guid, target, is_needed=is_needed))

    def _pointer(self, guid: Guid, target: Guid, *, is_needed: bool) -> Pointer | None:
        then, now = self.then[guid], self.now[guid]
        stamp = now.guid_changed if isinstance(now, Pointer) else None
        is_announced = isinstance(now, Subscription) or stamp is not None
        if isinstance(then, Pointer):
            if then.guid_changed is not None and stamp is None:
                stamp, is_announced = then.guid_changed, True
            alias = self._marked(guid, then.alias)
            return Pointer(guid, target, stamp if is_announced else None, alias)
        assert now is not None, "a guid that has no target now and had none then"
        alias = self._marked(guid, now.alias) or self._alias_of(guid, target_guid(now), target)
        is_kept = is_announced or is_needed or (self.keeps_added and now.alias is not None)
        return Pointer(guid, target, stamp, alias) if is_kept else None

    def _alias_of(self, guid: Guid, source: Guid, target: Guid) -> Alias | None:
        """Return the URL that a guid is derived from if its feed has another one from now on."""
        feed = self.now[source]
        assert isinstance(feed, Subscription), "a pointer leads to nothing"
        after = self.back.get(target) or feed
        if _derived(feed.feed_url) != guid or _derived(after.feed_url) == guid:
            return None
        return self._new_alias(feed)

    def _new_alias(self, feed: Subscription) -> Alias:
        """Return the present URL of a feed as one that it no longer has."""
        was_own = feed.guid in self.merged or _derived(feed.feed_url) in self.beside
        return Alias(feed.feed_url, moved_away=False, was_own=was_own, first_had=feed.first_had)

    def _lead(self, guid: Guid, pointer: Pointer | None) -> None:
        now = self.now[guid]
        if pointer is not None:
            is_sent = isinstance(now, Subscription) or pointer.guid_changed is not None
            is_news = not is_same_state(now, pointer) or (now and target_guid(now) in self.taken)
            if is_sent and is_news:
                pointer = replace(pointer, guid_changed=self.draft.tick())
                self.stamped.add(pointer.new_guid)
            if pointer == now:
                return
        self.draft.set(guid, pointer)

    def put_subscriptions(self) -> None:
        """Put all subscriptions of that moment where they were, and deal with those added since."""
        for guid, was in self.back.items():
            self._put_back(guid, was)
        for guid, feed in self.others.items():
            if guid not in self.heirs and not self.keeps_added and feed.deleted is None:
                stamp = self.draft.tick()
                self.draft.put(replace(with_status(feed, False, stamp), deleted=stamp))
        for guid in self.others:
            self._end_app_url(guid)
        for guid in self.back:
            check_pointers(self.draft, self.back[guid])

    def _end_app_url(self, guid: Guid) -> None:
        """Have apps sent a feed by its own URL if the one that they have it by leads elsewhere."""
        feed = self.draft.get(guid)
        if not isinstance(feed, Subscription) or not (feed.is_subscribed and feed.app_url):
            return
        if self.draft.find(_derived(feed.app_url)) != feed:
            stamp = self.draft.tick()
            self.draft.put(
                replace(
                    feed,
                    status_changed=stamp,
                    subscription_changed=stamp,
                    app_url=None,
                    app_url_until=None,
                )
            )

    def _put_back(self, guid: Guid, was: Subscription) -> None:
        now, source = self.now[guid], self.sources.get(guid)
        alias = self._marked(guid, was.alias)
        wanted = replace(was, alias=alias)
        if source is not None:
            # What apps know of it goes on; all else is as it was.
            gone_on = replace(
                wanted,
                feed_url=source.feed_url,
                status_changed=source.status_changed,
                app_url=source.app_url,
                app_url_until=source.app_url_until,
            )
            wanted = _at(gone_on, was.feed_url)
        status = self.staying.get(guid, was)
        wanted = replace(wanted, is_subscribed=status.is_subscribed, deleted=status.deleted)
        if is_same_state(now, wanted) and guid not in self.stamped:
            return
        stamp = self.draft.tick()
        is_moved_back = source is not None and self._was_sent_move(source, was)
        if source is None:  # apps that know only URLs hear of it as of a new feed
            wanted = replace(wanted, status_changed=stamp)
        elif is_moved_back:  # so they do here, and are sent the removal of its other URL
            wanted = replace(wanted, status_changed=stamp, app_url=None, app_url_until=None)
        else:
            # Apps know it by what joins it: from then on they need not be sent it.
            known = source if source.is_subscribed else self.joining.get(guid, source)
            wanted = replace(
                wanted, is_subscribed=known.is_subscribed, status_changed=known.status_changed
            )
            wanted = with_status(wanted, status.is_subscribed, stamp)
        feed = self.draft.put(
            replace(
                wanted,
                subscription_changed=stamp,
                guid_changed=self._guid_changed(now, stamp),
                deleted=self._deleted(now, status, stamp),
            )
        )
        if source is not None and is_moved_back:
            self._retire(source, feed, stamp)

    def _retire(self, source: Subscription, feed: Subscription, stamp: Stamp) -> None:
        """Have apps sent the removal of the URL that a feed had, and of all since."""
        given_up = _derived(source.feed_url)
        then = self.then.get(given_up)
        alias = self._marked(given_up, then.alias if then else None)
        if alias is None:
            alias = self._new_alias(source)
        self.draft.lead(given_up, feed, alias)
        # Apps may have it by any that came before the last one.
        self.draft.retire_urls(feed, stamp)

    def _was_sent_move(self, source: Subscription, was: Subscription) -> bool:
        """Say whether apps were sent the removal of the URL that a feed has again.

        Some of them have done so, and others have not asked since. Sent it once more, the other
        way round, all of them end with the same URL.
        """
        led = self.now.get(_derived(was.feed_url))
        alias = led.alias if led else None
        return source.feed_url != was.feed_url and alias is not None and alias.retired is not None

    def _guid_changed(self, now: Entry | None, stamp: Stamp) -> Stamp | None:
        # A feed of a backup can have a guid that the list has never had.
        if now is None:
            return None
        return now.guid_changed if isinstance(now, Subscription) else stamp

    def _deleted(self, now: Entry | None, status: Subscription, stamp: Stamp) -> Stamp | None:
        if status.deleted is None:
            return None
        since = now.deleted if isinstance(now, Subscription) else None
        return since or stamp


def status_rank(feed: Subscription) -> tuple[bool, bool]:
    """Return how much a feed is in the list: deleted, unsubscribed and subscribed rise."""
    return feed.deleted is None, feed.is_subscribed


def _renamed(states: Iterable[EntryState]) -> dict[Guid, Guid]:
    """Return the former guids of guids that subscriptions were renamed to when they were new."""
    first: dict[Guid, Stamp] = {}
    ends: dict[tuple[Guid, Stamp], Guid] = {}
    pointed: dict[tuple[Guid, Stamp], Guid] = {}
    for state in states:
        guid, began = state.entry.guid, state.began
        if began is not None:
            first[guid] = min(began, first.get(guid, began))
            if isinstance(state.entry, Pointer):
                pointed[guid, began] = state.entry.new_guid
        if state.ended is not None and isinstance(state.entry, Subscription):
            ends[guid, state.ended] = guid
    return {
        new: old
        for (old, stamp), new in sorted(pointed.items())  # stores list states in any order
        if (old, stamp) in ends and first.get(new) == stamp
    }


def _is_rebuilt(then: Entry | None, now: Entry | None) -> bool:
    """Say whether more than the status of a feed differs."""
    if isinstance(then, Subscription) and isinstance(now, Subscription):
        return then.feed_url != now.feed_url or then.alias != now.alias
    return not is_same_state(then, now)


def _at(feed: Subscription, feed_url: str) -> Subscription:
    return feed if feed.feed_url == feed_url else moved_to(feed, feed_url)


def _derived(url: str) -> Guid:
    return parse_feed_url(url).guid
