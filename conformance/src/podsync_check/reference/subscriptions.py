"""Subscriptions of the reference server for the Open Podcast API."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from podsync_check.simulated.apps import plain

_NAMESPACE = uuid.UUID("ead4c236-bf58-58c6-a2c6-a6b28d128cb6")


@dataclass
class Entry:
    """A subscription, or a former guid that redirects to `new_guid`."""

    guid: str
    feed_url: str
    is_subscribed: bool
    changed: str
    guid_changed: str = ""
    deleted: str = ""
    new_guid: str = ""

    @property
    def revision(self) -> str:
        """Its last timestamp."""
        if self.new_guid:
            return self.guid_changed
        return max(self.changed, self.guid_changed, self.deleted)

    def shown(self) -> dict[str, Any]:
        """Return the JSON object of the entry."""
        fields = {
            "feed_url": self.feed_url,
            "guid": self.guid,
            "is_subscribed": self.is_subscribed,
            "subscription_changed": "" if self.new_guid else self.changed,
            "guid_changed": self.guid_changed,
            "deleted": self.deleted,
            "new_guid": self.new_guid,
        }
        return {name: value for name, value in fields.items() if value != ""}


@dataclass
class Subscriptions:
    """All entries of the account by guid; `urls` maps all known URLs to guids.

    Attributes:
        epoch: Id that changes when a backup is restored.
        restored: Time of the last restore; an earlier `since` returns everything.
    """

    now: Callable[[], float]
    epoch: str = "0"
    restored: str = ""
    entries: dict[str, Entry] = field(default_factory=dict)
    urls: dict[str, str] = field(default_factory=dict)
    _last_us: int = 0
    _deletions: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def stamp(self) -> str:
        """Return a timestamp later than all before."""
        self._last_us = max(int(self.now() * 1e6), self._last_us + 1)
        return datetime.fromtimestamp(self._last_us / 1e6, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    def find(self, guid: str) -> Entry | None:
        """Return the subscription of a guid, following redirects."""
        entry = self.entries.get(guid.lower())
        while entry and entry.new_guid:
            entry = self.entries[entry.new_guid]
        return entry

    def find_url(self, url: str) -> Entry | None:
        return self.find(self.urls.get(plain(url), ""))

    def add(self, item: Mapping[str, Any]) -> dict[str, Any] | None:
        """Add a feed; return its item of the reply, None if its URL has no protocol."""
        url = str(item["feed_url"])
        if not url.startswith(("http://", "https://")):
            return None
        sent = str(item.get("guid") or "")
        guid = sent or self.urls.get(plain(url)) or str(uuid.uuid5(_NAMESPACE, plain(url)))
        entry = self.find(guid)
        if entry is None:
            entry = self.entries[guid] = Entry(guid, url, True, "")
        entry.is_subscribed, entry.deleted = True, ""
        entry.changed = self.stamp()
        self.urls[plain(url)] = entry.guid
        return {
            "feed_url": url,
            "guid": entry.guid,
            "is_subscribed": True,
            "subscription_changed": entry.changed,
        }

    def change(self, entry: Entry, sent: Mapping[str, Any]) -> dict[str, Any]:
        """Change a subscription; return the reply."""
        reply: dict[str, Any] = {}
        if "new_guid" in sent:
            old, entry.guid = entry.guid, str(sent["new_guid"])
            if (absorbed := self.find(entry.guid)) and absorbed.is_subscribed:
                entry.is_subscribed, entry.changed = True, self.stamp()
            moved = Entry(old, entry.feed_url, entry.is_subscribed, "", self.stamp())
            entry.guid_changed = reply["guid_changed"] = self.stamp()
            reply["new_guid"] = moved.new_guid = entry.guid
            self.entries |= {entry.guid: entry, old: moved}
            self.urls = {url: entry.guid if to == old else to for url, to in self.urls.items()}
        if "new_feed_url" in sent:
            entry.feed_url = reply["new_feed_url"] = str(sent["new_feed_url"])
            self.urls[plain(entry.feed_url)] = entry.guid
        if "is_subscribed" in sent:
            entry.is_subscribed = reply["is_subscribed"] = bool(sent["is_subscribed"])
        if {"new_feed_url", "is_subscribed"} & set(sent):
            entry.changed = reply["subscription_changed"] = self.stamp()
        return reply

    def delete(self, entry: Entry) -> int:
        """Delete a subscription; return the number of the deletion."""
        entry.deleted, entry.is_subscribed = self.stamp(), False
        return next(self._deletions)

    def forget(self, url: str) -> None:
        """Restore a backup from before a feed was added."""
        guid = self.urls.pop(plain(url))
        del self.entries[guid]
        self.restored = self.epoch = self.stamp()

    def since(self, moment: str) -> list[Entry]:
        """Return the entries changed after a timestamp, in order."""
        moment = moment if moment > self.restored else ""
        entries = sorted(self.entries.values(), key=lambda entry: entry.revision)
        return [entry for entry in entries if entry.revision > moment]
