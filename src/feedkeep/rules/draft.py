"""An account's entries during an operation: find, create, rename, absorb, move. Pure.

Each step keeps the contract's invariants: every known guid is a present guid or a pointer (C3.6),
pointers are straight (C3.9), and the guids of a subscription's present and former URLs resolve to
it (C3.7).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TypeVar

from feedkeep.model import (
    Alias,
    Counts,
    Decision,
    Deletion,
    Entry,
    Guid,
    Pointer,
    Snapshot,
    Stamp,
    Subscription,
    T,
    View,
    replace,
)
from feedkeep.model.entry_index import EntryIndex
from feedkeep.model.errors import InvalidInput
from feedkeep.rules.clock import next_stamp
from feedkeep.rules.entry_states import is_same_state
from feedkeep.rules.feed_urls import FeedUrl, parse_feed_url
from feedkeep.rules.list_limits import check_limits, counted
from feedkeep.rules.seen_feeds import NEVER

E = TypeVar("E", bound=Entry)


class Draft:
    """A snapshot with one operation's changes on top, which `decision` returns.

    Attributes:
        counts: The counts of the account's list, with the changes so far.
        redirects: The number of pointers redirected by renames and merges so far.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self.counts = snapshot.counts
        self.redirects = 0
        self._limits = snapshot.limits
        self._now = snapshot.now
        self._last_stamp = snapshot.last_stamp
        self._first_stamp = next_stamp(snapshot.last_stamp, snapshot.now)
        self._index = EntryIndex(snapshot.entries)
        self._before: dict[Guid, Entry | None] = {}  # original states of changed entries
        self._replaced: dict[Guid, Entry | None] = {}  # the same, since the last attempt began

    def find(self, guid: Guid) -> Subscription | None:
        """Resolve `guid` to its subscription, deleted ones included (C3.8)."""
        return self._index.find(guid)

    def get(self, guid: Guid) -> Entry | None:
        """Return the entry of a guid, if it exists."""
        return self._index.get(guid)

    def view(self, guid: Guid) -> View | None:
        """Return the entry of a guid with its subscription, if it exists."""
        subscription = self.find(guid)
        return View(self._index[guid], subscription) if subscription else None

    def pointers_to(self, guid: Guid) -> list[Guid]:
        return self._index.pointers_to(guid)

    def set(self, guid: Guid, entry: Entry | None) -> None:
        """Set or remove the entry of `guid`, for changes without a method of their own.

        The caller ensures that all entries together are consistent in the end.
        """
        old = self._index.set(guid, entry)
        self._before.setdefault(guid, old)
        self._replaced.setdefault(guid, old)
        self.counts = counted(self.counts, old, entry)

    def attempt(self, change: Callable[[], T]) -> T:
        """Make a change and return its outcome; revert it if it is refused or exceeds a limit.

        Raises:
            InvalidInput: A limit is exceeded, or `change` raised it.
        """
        counts, last_stamp = self.counts, self._last_stamp
        self._replaced = {}
        try:
            outcome = change()
            self.check_limits(counts)
        except InvalidInput:
            for guid, entry in self._replaced.items():
                self._index.set(guid, entry)
            self.counts, self._last_stamp = counts, last_stamp
            raise
        return outcome

    def check_limits(self, before: Counts) -> None:
        """Check a list that has grown since `before` against its limits.

        Raises:
            InvalidInput: A limit is exceeded.
        """
        if self._limits is None:
            raise LookupError("The limits were not loaded before they are checked.")
        check_limits(before, self.counts, self._limits)

    def pointer_count(self, subscription: Subscription) -> int:
        return self._index.pointer_count(subscription.guid)

    def former_urls(self, subscription: Subscription) -> dict[Guid, Alias]:
        """Return the subscription's former URLs, by their derived guids."""
        pointers = self._index.pointers_to(subscription.guid)
        if not pointers and self._index[subscription.guid].alias is None:  # nearly always
            return {}
        aliases = {guid: self._index[guid].alias for guid in (subscription.guid, *pointers)}
        return {guid: alias for guid, alias in aliases.items() if alias is not None}

    def first_had(self, url: FeedUrl, *, is_only_sent: bool = False) -> Stamp:
        """Return the time at which the account first had a feed at a former or unknown URL.

        That is now, unless the URL is a recorded former URL: a guid alone, which an account may
        claim without its URL, does not count. A URL that `is_only_sent` beside a guid is not
        fetched for the account, so it never had the feed there: its results would reveal other
        accounts.
        """
        entry = self._index.get(url.guid)
        if entry and entry.alias and entry.alias.first_had != NEVER:
            return entry.alias.first_had
        return NEVER if is_only_sent else self._now

    def tick(self) -> Stamp:
        """Return the account's next stamp (C4.1)."""
        self._last_stamp = next_stamp(self._last_stamp, self._now)
        return self._last_stamp

    @property
    def last_stamp(self) -> Stamp:
        """The account's clock, with the changes so far."""
        return self._last_stamp

    def advance(self, stamp: Stamp) -> None:
        """Make all further stamps later than `stamp`."""
        self._last_stamp = max(self._last_stamp, stamp)

    def put(self, entry: E) -> E:
        self.set(entry.guid, entry)
        return entry

    def create(self, guid: Guid, url: FeedUrl) -> Subscription:
        """Add a subscribed feed, and make its URL resolve to it."""
        first_had = self.first_had(url)
        # A new subscription can take over the guid of a deleted one's former URL, which devices may
        # still follow. Without this they could end at the wrong feed; the random test found it.
        self._take_over(self._index.get(guid))
        if url.guid != guid:  # stamped first, as a pointer to the subscription (C4.5)
            unstamped = Subscription(guid, url.text, True, subscription_changed=Stamp(0))
            self.link(url.guid, self.put(unstamped), alias=None)
        stamp = self.tick()
        return self.put(
            Subscription(guid, url.text, True, stamp, status_changed=stamp, first_had=first_had)
        )

    def link(self, guid: Guid, subscription: Subscription, alias: Alias | None) -> None:
        """Make `guid` resolve to the subscription; `alias` is the URL that `guid` derives from.

        An announced pointer to another subscription is stamped. Redirecting it to a newer guid of
        the same subscription does not change it (C4.4).
        """
        entry = self._index.get(guid)
        if isinstance(entry, Subscription):
            # Some protocols know feeds by URL only, so a former URL is stored even where the guid
            # derived from it is the present one, and has no pointer.
            assert entry.guid == subscription.guid, "the guid is another subscription's own"
            self.put(replace(entry, alias=alias))
            return
        # Devices were sent the pointer's former target, and must be sent the new one.
        stamp = entry.guid_changed if entry else None
        if entry and stamp is not None and entry.new_guid != subscription.guid:
            self._take_over(entry)
            stamp = self.tick()
        self.put(Pointer(guid, subscription.guid, stamp, alias))

    def rename(self, subscription: Subscription, guid: Guid) -> Subscription:
        """Give the subscription another guid; the old one becomes an announced pointer (C3.7).

        `guid` must be unknown, or a pointer to this subscription.
        """
        if guid == subscription.guid:
            return subscription
        # An alias stays with the guid that is derived from its URL, whichever guid is present.
        own = self._index.get(guid)
        self.put(Pointer(subscription.guid, guid, self.tick(), subscription.alias))
        renamed = self.put(replace(subscription, guid=guid, alias=own.alias if own else None))
        self._redirect(subscription.guid, guid)
        return renamed

    def absorb(self, subscription: Subscription, other: Subscription) -> Subscription:
        """Merge `other` into the subscription.

        No guid and no URL is lost, and the result is subscribed if either was (C3.17). The caller
        stamps the result. Moves of both can no longer be undone.
        """
        # The error for a URL of another feed tells clients to merge and then to move. If that move
        # counted as an undo, it would drop the old URL, and an old device that still has this URL
        # would subscribe to the feed a second time.
        for guid in self._index.pointers_to(other.guid):
            self._mark_alias_as_own(guid)
        self._mark_alias_as_own(other.guid)
        subscription = self._end_undoing(subscription)
        absorbed = self._index[other.guid]
        self.put(Pointer(other.guid, subscription.guid, self.tick(), absorbed.alias))
        self._redirect(other.guid, subscription.guid)
        url = parse_feed_url(other.feed_url)
        merged = self.put(_with_status_of_both(subscription, other))
        left = Alias(url.text, moved_away=False, was_own=True, first_had=other.first_had)
        self.link(url.guid, merged, left)
        return self._present(merged)

    def move(
        self,
        subscription: Subscription,
        url: FeedUrl,
        *,
        may_undo: bool,
        held: Collection[Guid] = (),
    ) -> Subscription:
        """Give the subscription another feed URL; the old one still resolves to it.

        With `may_undo`, a move to one of its former URLs undoes a move: the old URL no longer
        resolves to anything, unless its guid was announced, it came from a merge, or it is in
        `held`, the URLs that apps are known to have (C5.26).
        """
        old = parse_feed_url(subscription.feed_url)
        moved = self.put(moved_to(subscription, url.text))
        if old.guid == url.guid:  # for example from http to https: the same feed
            return moved
        moved = self.put(replace(moved, first_had=self.first_had(url)))
        if url.guid == subscription.guid:
            # The feed's first URL is this one, so apps that were never sent another one have it.
            moved = self.put(_known_as(moved, None, None))
        former = self.former_urls(moved)
        taken = former.get(url.guid)  # `link` drops it
        # Apps that were sent the move have the other URL, and could not unsubscribe by it.
        is_undo = may_undo and taken is not None and taken.moved_away and taken.retired is None
        # While no move can be undone, a URL of a merged feed counts as merged.
        was_own = any(alias.was_own for alias in former.values()) and not any(
            alias.moved_away for alias in former.values()
        )
        self.link(url.guid, moved, alias=None)
        # Devices know an announced guid, so it stays even if the move is undone.
        if is_undo and old.guid not in held and self._is_unannounced(old.guid):
            self.set(old.guid, None)
        else:
            first_had = subscription.first_had
            left = Alias(old.text, moved_away=True, was_own=was_own, first_had=first_had)
            self.link(old.guid, self._present(moved), left)
        if taken is not None and taken.was_own:
            return self._end_undoing(moved)
        return self._present(moved)

    def retire_urls(self, subscription: Subscription, stamp: Stamp) -> Subscription:
        """Record that apps are sent the removal of all former URLs from `stamp` on."""
        for guid, alias in self.former_urls(subscription).items():
            self.put(replace(self._index[guid], alias=replace(alias, retired=stamp)))
        return self._present(subscription)

    def decision(self, outcome: T, deletion: Deletion | None = None) -> Decision[T]:
        """Return the draft's changes as a decision, with the outcome for the caller."""
        saved: list[Entry] = []
        forgotten: list[Guid] = []
        ended: list[Guid] = []
        restamped: set[Guid] = set()
        for guid, old in self._before.items():
            new = self._index.get(guid)
            if new == old:
                continue
            if new is None:
                forgotten.append(guid)
            else:
                saved.append(new)
            if old is None:
                continue
            if is_same_state(old, new):
                restamped.add(guid)
            else:
                ended.append(guid)
        is_change = bool(saved or forgotten)
        return Decision(
            outcome=outcome,
            saved=saved,
            forgotten=forgotten,
            last_stamp=max(self._last_stamp, self._first_stamp) if is_change else self._last_stamp,
            counts=self.counts,
            deletion=deletion,
            stamp=self._first_stamp,
            ended=ended,
            restamped=restamped,
        )

    def _present(self, subscription: Subscription) -> Subscription:
        entry = self._index[subscription.guid]
        assert isinstance(entry, Subscription)
        return entry

    def _is_unannounced(self, guid: Guid) -> bool:
        entry = self._index[guid]
        return isinstance(entry, Pointer) and entry.guid_changed is None

    def _mark_alias_as_own(self, guid: Guid) -> None:
        entry = self._index[guid]
        if entry.alias:
            self.put(replace(entry, alias=replace(entry.alias, moved_away=False, was_own=True)))

    def _end_undoing(self, subscription: Subscription) -> Subscription:
        """Prevent moves to former URLs from undoing a move, since the present URL was merged.

        Otherwise it would resolve to nothing, and an app that has it would add the feed again.
        """
        for guid, alias in self.former_urls(subscription).items():
            if alias.moved_away:
                self.put(replace(self._index[guid], alias=replace(alias, moved_away=False)))
        return self._present(subscription)

    def _redirect(self, old: Guid, new: Guid) -> None:
        """Make all pointers to `old` point straight to `new` (C3.9); their stamps stay."""
        for guid in self._index.pointers_to(old):
            pointer = self._index[guid]
            assert isinstance(pointer, Pointer)
            self.put(replace(pointer, new_guid=new))
            self.redirects += 1

    def _take_over(self, taken: Entry | None) -> None:
        """Stamp the pointers that a device may follow through `taken` to their subscription.

        A device that was sent a pointer to `taken` follows `taken` from there. Once `taken` belongs
        to another subscription, that device must be sent the pointer again (C8.5).
        """
        if not isinstance(taken, Pointer) or taken.guid_changed is None:
            return
        for guid in sorted(self._index.pointers_to(taken.new_guid)):
            pointer = self._index[guid]
            assert isinstance(pointer, Pointer)
            if pointer.guid_changed is not None and pointer.guid_changed < taken.guid_changed:
                self.put(replace(pointer, guid_changed=self.tick()))


def moved_to(subscription: Subscription, feed_url: str) -> Subscription:
    """Return a subscription with another feed URL; apps continue with the URL that they have."""
    # AntennaPod and Kasts would take a move for a removal, and delete downloads and play states. If
    # an app was sent another URL since, its record says so (`rules/app_urls.py`).
    app_url = subscription.app_url or subscription.feed_url
    moved = replace(subscription, feed_url=feed_url)
    return _known_as(moved, app_url, subscription.app_url_until)


def _with_status_of_both(subscription: Subscription, other: Subscription) -> Subscription:
    """Return the result of a merge: subscribed if either was, with the URL that apps have.

    Apps are not sent a merge; apps with both feeds keep both.
    """
    if subscription.is_subscribed:
        return subscription
    if not other.is_subscribed:
        latest = max(subscription.status_changed, other.status_changed)
        return replace(subscription, status_changed=latest)
    known = replace(subscription, is_subscribed=True, status_changed=other.status_changed)
    return _known_as(known, other.app_url or other.feed_url, other.app_url_until)


def _known_as(subscription: Subscription, url: str | None, until: Stamp | None) -> Subscription:
    if url == subscription.feed_url:
        url = until = None
    return replace(subscription, app_url=url, app_url_until=until)
