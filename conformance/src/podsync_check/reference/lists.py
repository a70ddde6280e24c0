"""What the reference server keeps of feeds and actions, and what it tells apps since a second."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass
class SecondClock:
    """Seconds that tell changes apart from what was told before.

    A change gets a later second than any that was told, so that an app may go on from that one or
    from the next. A `since` that the app was never told, as that of its own clock, means all.

    Attributes:
        told: The seconds that each app was told, and so may ask since.
        last_told: The second that each session was told last.
    """

    now: Callable[[], float]
    last: int = 0
    told: dict[str, set[int]] = field(default_factory=dict)
    last_told: dict[str, int] = field(default_factory=dict)

    def stamp(self) -> int:
        """Return the second of a change."""
        self.last = max(int(self.now()), self.last)
        if self.last in self.last_told.values():
            self.last += 1
        return self.last

    def tell(self, app: str, session: str) -> int:
        """Return the second that an app is told with a poll."""
        second = max(int(self.now()), self.last)
        self.told.setdefault(app, set()).update({second, second + 1})
        self.last_told[session] = second
        return second

    def first(self, app: str, since: int) -> int:
        """Return the second from which on an app has to be told everything."""
        return since if since in self.told.get(app, ()) else 0


@dataclass
class Feed:
    """A feed of the list: whether it is subscribed to, and since when."""

    is_subscribed: bool
    changed: int


@dataclass
class FeedList:
    """The feeds of the account: one list for all devices.

    Attributes:
        corrected: What is kept in place of a URL that is sent.
    """

    clock: SecondClock
    feeds: dict[str, Feed] = field(default_factory=dict)
    corrected: dict[str, str] = field(default_factory=dict)

    def change(self, add: Sequence[str], remove: Iterable[str]) -> list[tuple[str, str]]:
        """Add and remove feeds; return each URL that is not kept as sent, with the one that is."""
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
        """Return the feeds that were added and removed since a second."""
        first = self.clock.first(app, since)
        changed = {url: feed for url, feed in self.feeds.items() if feed.changed >= first}
        add = [url for url, feed in changed.items() if feed.is_subscribed]
        gone = [url for url, feed in changed.items() if not feed.is_subscribed]
        return add, gone if since else []

    def subscribed(self) -> list[str]:
        """Return the whole list."""
        return [url for url, feed in self.feeds.items() if feed.is_subscribed]


_NUMBERS = ("started", "position", "total")


@dataclass
class ActionLog:
    """What was played, in the order in which it was received."""

    clock: SecondClock
    actions: list[tuple[int, dict[str, Any]]] = field(default_factory=list)

    def record(self, sent: Sequence[Mapping[str, Any]], device: str) -> None:
        """Keep actions; what says nothing of where it was is left out."""
        for action in sent:
            kept = {name: value for name, value in action.items() if value is not None}
            numbers = [kept.get(name) for name in _NUMBERS]
            if any(number is not None and number < 0 for number in numbers):
                continue
            kept["action"] = str(kept["action"]).lower()
            kept["timestamp"] = str(kept.get("timestamp", "1970-01-01T00:00:00"))[:19]
            kept.setdefault("device", device)
            self.actions.append((self.clock.stamp(), kept))

    def since(self, app: str, since: int) -> list[dict[str, Any]]:
        """Return the actions received since a second; of plays, the newest one of each episode.

        Apps go where any play says that they are sent.
        """
        first = self.clock.first(app, since)
        plays = [action for _, action in self.actions if action["action"] == "play"]
        in_order = sorted(plays, key=lambda play: play["timestamp"])
        newest = {(play["podcast"], play["episode"]): play for play in in_order}.values()
        older = {id(play) for play in plays} - {id(play) for play in newest}
        return [one for stamp, one in self.actions if stamp >= first and id(one) not in older]


def latest(actions: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the last action of each episode."""
    by_episode = {action["episode"]: action for action in actions}
    return list(by_episode.values())
