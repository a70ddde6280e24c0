"""An app that does exactly what the Open Podcast API's draft says."""

from __future__ import annotations

from dataclasses import dataclass, field

from podsync_check.protocols.openpodcast import STAMPS, Entry, OpenPodcastCalls
from podsync_check.simulated.apps import Dialogue, Position


@dataclass
class StrictApp:
    """App on a device: its received entries, and its queue.

    It uploads its changes one by one, in order, then requests changes since the greatest timestamp
    of the last complete list. If the epoch changes, it requests everything, and queues what the
    list lacks.

    Attributes:
        prefix: Prefix of the feed URLs in its world; others are ignored.
        entries: URL of each guid, and whether it is subscribed to.
        queued: Feeds added (true) or removed since the last upload, the oldest first.
    """

    calls: OpenPodcastCalls
    prefix: str
    entries: dict[str, tuple[str, bool]] = field(default_factory=dict)
    queued: list[tuple[str, bool]] = field(default_factory=list)
    positions: dict[str, Position] = field(default_factory=dict)
    since: str = ""
    epoch: str = ""

    @property
    def feeds(self) -> set[str]:
        """Feeds that the owner sees: received entries, with the queue applied."""
        found = dict(self.entries.values()) | dict(self.queued)
        return {url for url, is_subscribed in found.items() if is_subscribed}

    def add(self, url: str) -> bool:
        """Subscribe as the owner; return whether that changed anything."""
        return self._queue(url, is_subscribed=True)

    def remove(self, url: str) -> bool:
        return self._queue(url, is_subscribed=False)

    def _queue(self, url: str, *, is_subscribed: bool) -> bool:
        if (url in self.feeds) is is_subscribed:
            return False
        self.queued.append((url, is_subscribed))
        return True

    def play(self, feed: str, timestamp: str, seconds: int) -> bool:
        # The draft has no episodes.
        return False

    def dialogue(self) -> Dialogue:
        """Upload changes, and get those of other devices."""
        while self.queued:
            url, is_subscribed = self.queued[0]
            if is_subscribed:
                added = yield self.calls.add(url)
                if added:
                    self.entries[added["guid"]] = (url, True)
            else:
                for guid in [one for one, (own, _) in self.entries.items() if own == url]:
                    yield self.calls.change(guid, is_subscribed=False)
                    self.entries[guid] = (url, False)
            self.queued.pop(0)
        page = yield self.calls.changes(self.since)
        is_restored = self.epoch not in {"", page.epoch} and self.since != ""
        if is_restored:
            page = yield self.calls.changes("")
        self.epoch = page.epoch
        found = list[Entry](page.entries)
        while page.next:
            page = yield self.calls.page(page.next)
            found += page.entries
        if is_restored:
            self._queue_lost({entry["guid"] for entry in found})
        for entry in found:
            self._take(entry)
        self.since = max(
            (entry[name] for entry in found for name in STAMPS if name in entry),
            default=self.since,
        )

    def _queue_lost(self, listed: set[str]) -> None:
        """Remove entries that the list lacks, and queue those that are subscribed to."""
        for guid in self.entries.keys() - listed:
            url, is_subscribed = self.entries.pop(guid)
            if is_subscribed and url not in dict(self.queued):
                self.queued.append((url, True))

    def _take(self, entry: Entry) -> None:
        guid, url = entry["guid"], entry["feed_url"]
        if "new_guid" in entry or "deleted" in entry:
            self.entries.pop(guid, None)
        elif url.startswith(self.prefix):
            self.entries[guid] = (url, entry["is_subscribed"])
