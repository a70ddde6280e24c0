"""A list that is kept in memory, changed the way a store changes it; and URLs and guids for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kept_states import KeptStates

from feedkeep.model import Counts, Decision, Entry, Guid, Limits, Pointer, Snapshot, Stamp, replace
from feedkeep.model import Subscription as Sub
from feedkeep.rules import subscriptions, undo
from feedkeep.rules.app_urls import UNKNOWN
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.list_limits import MAX_SUBSCRIPTIONS, limits_for
from feedkeep.rules.subscriptions import Added, Refused, Update, want
from feedkeep.rules.undo import ConflictPolicy, ListRestored, Undo
from feedkeep.rules.url_changes import changes_to_send

A, B, C, D, E = (f"https://{letter}.example/feed" for letter in "abcde")
URLS = [f"https://{number}.example/feed" for number in range(12)]
G1, G2, G3 = (Guid(f"00000000-0000-4000-8000-00000000000{i}") for i in (1, 2, 3))
DEFAULT_LIMITS = limits_for(MAX_SUBSCRIPTIONS)


def guid(sent: str) -> Guid:
    """Return the guid of a feed that is named by its URL, or by its guid."""
    return parse_feed_url(sent).guid if ":" in sent else Guid(sent)


class Account:
    """An account's list; items are URLs, or pairs of a URL and a guid."""

    def __init__(
        self, *items: str | tuple[str, str], now: int = 1_000, limits: Limits = DEFAULT_LIMITS
    ) -> None:
        self.entries: dict[Guid, Entry] = {}
        self.last_stamp = Stamp(0)
        self.counts = Counts()
        self.now = now
        self.limits = limits
        self.kept = KeptStates()
        if items:
            self.add(*items)

    def snapshot(self) -> Snapshot:
        state = (dict(self.entries), self.last_stamp, self.now, self.counts)
        return Snapshot(*state, limits=self.limits)

    def snapshot_with_history(self) -> Snapshot:
        return replace(self.snapshot(), history=self.kept.history())

    def keep(self, decision: Decision[Any], author: str = "") -> Any:
        if decision.saved or decision.forgotten:
            self.kept.keep(decision, author)
        self.entries |= {entry.guid: entry for entry in decision.saved}
        for forgotten in decision.forgotten:
            del self.entries[forgotten]
        self.last_stamp = decision.last_stamp
        self.counts = decision.counts
        return decision.outcome

    def do(self, rule: Callable[..., Decision[Any]], *arguments: Any, **named: Any) -> Any:
        return self.keep(rule(self.snapshot(), *arguments, **named))

    def add(self, *items: str | tuple[str, str], **said: bool) -> list[Added | Refused]:
        pairs = [(item, None) if isinstance(item, str) else item for item in items]
        return self.do(subscriptions.add, [want(url, sent, **said) for url, sent in pairs])

    def read_file(self, *items: str | tuple[str, str]) -> list[Added | Refused]:
        return self.add(*items, is_from_file=True)

    def update(self, sent: str, **change: Any) -> subscriptions.Updated:
        return self.do(subscriptions.update, guid(sent), Update(**change))

    def move(self, sent: str, url: str, **change: Any) -> None:
        self.update(sent, new_feed_url=parse_feed_url(url), **change)

    def merge(self, sent: str, other: str) -> None:
        """Make one feed of two, with the URL of the first and the guid of the other one."""
        self.update(sent, new_guid=guid(other))

    def leave(self, *sent: str, author: str = "") -> Stamp:
        """Unsubscribe from feeds by one change; return its stamp."""
        guids = [guid(one) for one in sent]
        self.keep(subscriptions.set_subscribed(self.snapshot(), guids, False), author)
        return self.last_change

    def delete(self, sent: str) -> int:
        return self.do(subscriptions.delete, guid(sent)).id

    @property
    def last_change(self) -> Stamp:
        return self.kept.stamps[-1]

    def bring_back(self, rule: Callable[..., Any], *arguments: Any, **named: Any) -> ListRestored:
        return self.keep(rule(self.snapshot_with_history(), *arguments, **named))

    def undo(self, *stamps: Stamp, guids=None, when=ConflictPolicy.ASK, **held) -> ListRestored:
        """Undo changes, or the last one."""
        wanted = Undo(stamps or self.kept.stamps[-1:], guids, when)
        return self.bring_back(undo.undo, wanted, **held)

    def restore(self, moment: Stamp, *, keep_added: bool = True, **held: Any) -> ListRestored:
        return self.bring_back(undo.restore, moment, keep_added=keep_added, **held)

    def subscription(self, sent: str) -> Sub:
        entry = self.entries[guid(sent)]
        assert isinstance(entry, Sub)
        return entry

    def pointer(self, sent: str) -> Pointer:
        entry = self.entries[guid(sent)]
        assert isinstance(entry, Pointer)
        return entry

    def subscribed(self) -> set[str]:
        """Return the URLs of all feeds that are subscribed to."""
        feeds = (entry for entry in self.entries.values() if isinstance(entry, Sub))
        return {feed.feed_url for feed in feeds if feed.is_subscribed}

    def urls(self) -> list[str]:
        """Return the same in the order of an export."""
        return [feed.feed_url for feed in subscriptions.subscribed(self.snapshot())]

    def polled(self, first: int) -> tuple[list[str], list[str]]:
        """Return the feeds that an app adds and removes in a poll since a stamp."""
        found = changes_to_send(self.entries.values(), Stamp(first), UNKNOWN)
        return sorted(found.add), sorted(found.remove)
