"""Feeds and episode actions of the reference server, and timestamps for apps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any


@dataclass
class SecondClock:
    """Timestamps that separate changes from earlier replies.

    A change gets a later second than any timestamp that was sent, so that apps may continue from
    that or from the next second. A `since` that the app never received, such as its own clock,
    returns all.

    Attributes:
        told: Valid `since` values of each app.
        last_told: Last timestamp sent to each session.
    """

    now: Callable[[], float]
    last: int = 0
    told: dict[str, set[int]] = field(default_factory=dict)
    last_told: dict[str, int] = field(default_factory=dict)

    def stamp(self) -> int:
        """Return the timestamp of a change."""
        self.last = max(int(self.now()), self.last)
        if self.last in self.last_told.values():
            self.last += 1
        return self.last

    def tell(self, app: str, session: str) -> int:
        """Return the timestamp for the reply to a poll."""
        second = max(int(self.now()), self.last)
        self.told.setdefault(app, set()).update({second, second + 1})
        self.last_told[session] = second
        return second

    def first(self, app: str, since: int) -> int:
        """Return the first second of the changes for a `since`."""
        return since if since in self.told.get(app, ()) else 0


@dataclass
class Feed:
    """A feed of the list: its state, and the time of its last change."""

    is_subscribed: bool
    changed: int


@dataclass
class FeedList:
    """Feeds of the account: one list for all devices.

    Attributes:
        corrected: Replacements of uploaded URLs.
    """

    clock: SecondClock
    feeds: dict[str, Feed] = field(default_factory=dict)
    corrected: dict[str, str] = field(default_factory=dict)

    def change(self, add: Sequence[str], remove: Iterable[str]) -> list[tuple[str, str]]:
        """Add and remove feeds; return replaced URLs, each with its replacement, "" if refused."""
        replaced = [(url, self.corrected[url]) for url in add if url in self.corrected]
        add = [self.corrected.get(url, url) for url in add]
        for url in remove:
            if url in self.feeds and self.feeds[url].is_subscribed:
                self.feeds[url] = Feed(is_subscribed=False, changed=self.clock.stamp())
        for url in add:
            if not url.startswith(("http://", "https://")):
                replaced.append((url, ""))
            elif url not in self.feeds or not self.feeds[url].is_subscribed:
                self.feeds[url] = Feed(is_subscribed=True, changed=self.clock.stamp())
        return replaced

    def changes(self, app: str, since: int) -> tuple[list[str], list[str]]:
        """Return the feeds added and removed since a time."""
        first = self.clock.first(app, since)
        changed = {url: feed for url, feed in self.feeds.items() if feed.changed >= first}
        add = [url for url, feed in changed.items() if feed.is_subscribed]
        gone = [url for url, feed in changed.items() if not feed.is_subscribed]
        return add, gone if since else []

    def subscribed(self) -> list[str]:
        return [url for url, feed in self.feeds.items() if feed.is_subscribed]


_NUMBERS = ("started", "position", "total")


@dataclass
class ActionLog:
    """Episode actions in the order of receipt."""

    clock: SecondClock
    actions: list[tuple[int, dict[str, Any]]] = field(default_factory=list)

    def record(self, sent: Sequence[Mapping[str, Any]], device: str) -> None:
        """Store actions, except actions with negative numbers."""
        for action in sent:
            kept = {name: value for name, value in action.items() if value is not None}
            numbers = [kept.get(name) for name in _NUMBERS]
            if any(number is not None and number < 0 for number in numbers):
                continue
            kept["action"] = str(kept["action"]).lower()
            kept["timestamp"] = _in_utc(str(kept.get("timestamp", "1970-01-01T00:00:00")))
            kept.setdefault("device", device)
            self.actions.append((self.clock.stamp(), kept))

    def since(self, app: str, since: int) -> list[dict[str, Any]]:
        """Return the actions received since a time; of plays, the newest one of each episode.

        Apps jump to the position of every play that they receive.
        """
        first = self.clock.first(app, since)
        plays = [action for _, action in self.actions if action["action"] == "play"]
        in_order = sorted(plays, key=lambda play: play["timestamp"])
        newest = {(play["podcast"], play["episode"]): play for play in in_order}.values()
        older = {id(play) for play in plays} - {id(play) for play in newest}
        return [one for stamp, one in self.actions if stamp >= first and id(one) not in older]


def _in_utc(time: str) -> str:
    """Return a time in UTC, in whole seconds and without an offset; other texts are cut."""
    with suppress(ValueError):
        moment = datetime.fromisoformat(time)
        time = (moment.astimezone(UTC) if moment.tzinfo else moment).isoformat()
    return time[:19]
