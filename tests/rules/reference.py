"""A naive account to compare the rules with: a plain list of feeds, searched from end to end."""

from collections.abc import Collection, Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field

from feedkeep.model import Entry, Pointer, Subscription
from feedkeep.rules.feed_urls import parse_feed_url


def derive(url: str) -> str:
    return parse_feed_url(url).guid


@dataclass(eq=False)
class Feed:
    guid: str
    url: str
    on: bool = True
    deleted: bool = False
    aliases: dict[str, bool] = field(default_factory=dict)  # guid: was it ever announced
    moved_from: set[str] = field(default_factory=set)  # derived guids of URLs it moved away from
    former: set[str] = field(default_factory=set)  # derived guids of all URLs but the present one
    merged: set[str] = field(default_factory=set)  # those of them that came from a merge


class Account:
    def __init__(self) -> None:
        self.feeds: list[Feed] = []
        self.past: dict[int, list[Feed]] = {0: []}  # by the stamp of the change that led to it

    def remember(self, stamp: int) -> None:
        self.past[stamp] = deepcopy(self.feeds)

    def at(self, moment: int) -> list[Feed]:
        """Return the feeds as they were at a moment: a copy that was put aside then."""
        return self.past[max(stamp for stamp in self.past if stamp <= moment)]

    def become(self, entries: Iterable[Entry]) -> None:
        """Go on from what undoing or restoring made, once it was compared with the past."""
        known = list(entries)
        self.feeds = []
        for entry in known:
            if isinstance(entry, Subscription):
                feed = Feed(entry.guid, entry.feed_url, entry.is_subscribed, bool(entry.deleted))
                led = [p for p in known if isinstance(p, Pointer) and p.new_guid == entry.guid]
                feed.aliases = {p.guid: p.guid_changed is not None for p in led}
                feed.moved_from = {
                    e.guid for e in [entry, *led] if e.alias is not None and e.alias.moved_away
                }
                feed.former = {e.guid for e in [entry, *led] if e.alias is not None}
                feed.merged = {e.guid for e in [entry, *led] if e.alias and e.alias.was_own}
                self.feeds.append(feed)

    def leads(self, guid: str | None) -> Feed | None:
        (found,) = [f for f in self.feeds if guid == f.guid or guid in f.aliases] or [None]
        return found

    def size(self) -> tuple[int, int]:
        """Return the number of subscribed feeds, and of known guids."""
        return sum(f.on for f in self.feeds), sum(1 + len(f.aliases) for f in self.feeds)

    def own_guids(self, items: Sequence[tuple[str, str | None]]) -> list[str | None]:
        """Return the guids that the items of a request keep: a copied one counts once."""
        urls = [derive(url) for url, _ in items]
        first = {guid: url for url, (_, guid) in reversed(list(zip(urls, items, strict=True)))}
        return [
            guid if url == (guid if guid in urls else first[guid]) else None
            for url, (_, guid) in zip(urls, items, strict=True)
        ]

    def add(self, url: str, guid: str | None) -> bool:
        by_url, by_guid = self.leads(derive(url)), self.leads(guid)
        if by_url and by_url.deleted and derive(url) not in (by_url.guid, derive(by_url.url)):
            by_url = None
        feed = by_guid or by_url
        if feed is None:
            feed = Feed(guid or derive(url), url)
            self.take(feed.guid)
            self.feeds.append(feed)
        elif guid and not by_guid:
            self.rename(feed, guid)
        elif by_url and by_url is not feed:
            self.absorb(feed, by_url)
        if feed.deleted:
            self.move(feed, url)
        self.claim(derive(url), feed)
        feed.on, feed.deleted = True, False
        return True

    def update(
        self,
        guid: str,
        url: str | None,
        new_guid: str | None,
        on: bool | None,
        held: Collection[str] = (),
    ) -> bool:
        feed = self.leads(guid)
        known, other = self.leads(new_guid), self.leads(derive(url)) if url else None
        if not feed or feed.deleted or (other and other not in (feed, known) and not other.deleted):
            return False
        if known and known is not feed:
            self.absorb(feed, known)
        if new_guid:
            self.rename(feed, new_guid)
        if url:
            other = self.leads(derive(url))
            if other and other is not feed and derive(url) in (other.guid, derive(other.url)):
                self.absorb(feed, other)
            old, is_undo = derive(feed.url), derive(url) in feed.moved_from
            self.move(feed, url)
            if is_undo and feed.aliases.get(old) is False and old not in held:
                self.take(old)
        feed.on = feed.on if on is None else on
        return True

    def delete(self, guid: str) -> bool:
        feed = self.leads(guid)
        if feed is None or feed.deleted:
            return False
        feed.on, feed.deleted = False, True
        return True

    def take(self, guid: str) -> bool:
        for feed in self.feeds:
            if guid in feed.aliases:
                for guids in (feed.moved_from, feed.former, feed.merged):
                    guids.discard(guid)
        return max(feed.aliases.pop(guid, False) for feed in self.feeds) if self.feeds else False

    def claim(self, guid: str, feed: Feed) -> None:
        if guid != feed.guid and guid not in feed.aliases:
            feed.aliases[guid] = self.take(guid)
            if guid != derive(feed.url):
                feed.former.add(guid)

    def move(self, feed: Feed, url: str) -> None:
        old, new = derive(feed.url), derive(url)
        is_to_merged = new in feed.merged
        if old != new:
            if feed.merged and not feed.moved_from:
                feed.merged.add(old)
            feed.former.add(old)
            feed.moved_from.add(old)
        for guids in (feed.moved_from, feed.former, feed.merged):
            guids.discard(new)
        if is_to_merged:
            feed.moved_from = set()
        feed.url = url
        self.claim(derive(url), feed)

    def rename(self, feed: Feed, guid: str) -> None:
        if guid != feed.guid:
            feed.aliases[feed.guid] = True
            feed.aliases.pop(guid, None)
            feed.guid = guid

    def absorb(self, feed: Feed, other: Feed) -> None:
        self.feeds.remove(other)
        feed.moved_from = set()
        feed.merged |= other.former | {derive(other.url)}
        feed.former |= other.former | {derive(other.url)}
        feed.aliases |= other.aliases | {other.guid: True}
        feed.on |= other.on
