"""An app that does what the Open Podcast API's draft says, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from podsync_check.protocols.openpodcast import Entry, OpenPodcastCalls
from podsync_check.simulated.apps import Dialogue, Position

_STAMPS = ("subscription_changed", "guid_changed", "deleted")


@dataclass
class StrictApp:
    """An app on a device: the entries that it was told, and what it has not told yet.

    It tells its changes one by one, in their order, and then asks for those since the greatest
    stamp of the last list that it has read to its end.

    Attributes:
        prefix: What the feed URLs of its world begin with; it takes no others.
        entries: The URL of each guid, and whether it is subscribed to.
        queued: The feeds that were added (true) or removed since it last told, the oldest first.
    """

    calls: OpenPodcastCalls
    prefix: str
    entries: dict[str, tuple[str, bool]] = field(default_factory=dict)
    queued: list[tuple[str, bool]] = field(default_factory=list)
    positions: dict[str, Position] = field(default_factory=dict)
    since: str = ""

    @property
    def feeds(self) -> set[str]:
        """The feeds that its owner sees: what was told, with what is queued on top."""
        found = dict(self.entries.values()) | dict(self.queued)
        return {url for url, is_subscribed in found.items() if is_subscribed}

    def add(self, url: str) -> bool:
        """Subscribe, as its owner does; return whether that changed anything."""
        return self._queue(url, is_subscribed=True)

    def remove(self, url: str) -> bool:
        """Unsubscribe; return whether that changed anything."""
        return self._queue(url, is_subscribed=False)

    def _queue(self, url: str, *, is_subscribed: bool) -> bool:
        if (url in self.feeds) is is_subscribed:
            return False
        self.queued.append((url, is_subscribed))
        return True

    def play(self, feed: str, timestamp: str, seconds: int) -> bool:
        """Do nothing: the draft has no episodes."""
        return False

    def dialogue(self) -> Dialogue:
        """Tell what was changed here, and ask what was changed elsewhere."""
        while self.queued:
            url, is_subscribed = self.queued[0]
            if is_subscribed:
                added = yield self.calls.add(url)
                if added:
                    self.entries[added["guid"]] = (url, True)
            else:
                for guid in self._guids(url):
                    yield self.calls.change(guid, is_subscribed=False)
                    self.entries[guid] = (url, False)
            self.queued.pop(0)
        found = list[Entry]()
        call = self.calls.changes(self.since)
        while True:
            page = yield call
            found += page.entries
            if not page.next:
                break
            call = self.calls.page(page.next)
        for entry in found:
            self._take(entry)
        self.since = max(
            (entry[name] for entry in found for name in _STAMPS if name in entry),
            default=self.since,
        )

    def _take(self, entry: Entry) -> None:
        guid, url = entry["guid"], entry["feed_url"]
        if "new_guid" in entry or "deleted" in entry:
            self.entries.pop(guid, None)
        elif url.startswith(self.prefix):
            self.entries[guid] = (url, entry["is_subscribed"])

    def _guids(self, url: str) -> Iterator[str]:
        yield from [guid for guid, (own, _) in self.entries.items() if own == url]
