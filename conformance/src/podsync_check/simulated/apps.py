"""Apps that sync as the real ones do: what each takes for its next `since`, and what it sends.

They send nothing themselves: a sync is a generator of calls, so that whoever drives it can let the
calls of several apps alternate, and lose replies.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol
from urllib.parse import unquote

from podsync_check.protocols.url_lists import Changes

Dialogue = Generator[Any, Any, None]
"""What an app asks in one sync, call by call, and what it is answered."""

_FROM_NOTHING = 0
_NOW = "9999-12-31T23:59:59"  # of what is to be uploaded without a time


@dataclass(frozen=True)
class Habits:
    """What a kind of app does that others do not.

    Attributes:
        agent: What it calls itself: servers that know apps by it take each for another.
        since: What it asks with next: the "reply"'s timestamp, that "plus one", the "upload"'s if
            there was one, or its own "clock" after an upload.
        sends_all_first: Whether its first sync uploads all it has, changed or not.
        echoes_removals: Whether it takes what it is told to remove for its owner's wish, and tells
            the server so.
        takes_update_urls: Whether it renames feeds as the server says.
        shows_password: Whether it shows the password with each request, and begins no session.
        takes_plays: Which plays it takes over, of those that are not older than what it has still
            to upload of the same episode: the "newest" of a reply, "each" in the reply's order, or
            the "later" ones than its own position.
        decode: What it makes of a URL that it is told, or that is typed.
    """

    name: str
    agent: str
    since: Literal["reply", "plus one", "upload", "clock"]
    sends_all_first: bool = False
    echoes_removals: bool = False
    takes_update_urls: bool = False
    shows_password: bool = False
    takes_plays: Literal["newest", "each", "later"] = "each"
    decode: Callable[[str], str] = str


def colons_decoded(url: str) -> str:
    """Return a URL as AntennaPod keeps it."""
    return url.replace("%3A", ":")


# Read from AntennaPod b7ee12c, Kasts cded41de, gPodder 3.11.1, PinePods 4b8785b5, Cardo 723390b.
ANTENNAPOD = Habits(
    "AntennaPod",
    "AntennaPod/3.11",
    "upload",
    sends_all_first=True,
    echoes_removals=True,
    takes_plays="newest",
    decode=colons_decoded,
)
ANTENNAPOD_ON_NEXTCLOUD = replace(ANTENNAPOD, name="AntennaPod (Nextcloud)", since="clock")
GPODDER = Habits(
    "gPodder", "mygpoclient/1.10", "reply", takes_update_urls=True, takes_plays="later"
)
KASTS = Habits(
    "Kasts", "Kasts/25.08", "plus one", sends_all_first=True, shows_password=True, decode=unquote
)
PINEPODS = Habits("PinePods", "PinePods/0.9", "clock", shows_password=True)
CARDO = Habits("Cardo", "Cardo/1.15", "reply", shows_password=True, takes_plays="later")


@dataclass(frozen=True)
class Position:
    """Where somebody is in an episode, and since when.

    Attributes:
        timestamp: A time as the protocol writes it, or as a number; they compare.
    """

    timestamp: Any
    seconds: int


def plain(url: str) -> str:
    """Return what all spellings of a URL have in common."""
    return url.partition("://")[2].rstrip("/")


class AppCalls(Protocol):
    """What an app asks, in whatever form the one can answer who drives its dialogue."""

    def changes(self, since: int) -> object:
        """Ask what changed since a second: `Changes`."""

    def upload(self, add: Sequence[str], remove: Sequence[str]) -> object:
        """Tell what was added and removed on the device: `Uploaded`."""

    def actions(self, since: int) -> object:
        """Ask what was played since a second: `Actions`."""

    def upload_actions(self, actions: Sequence[Any]) -> object:
        """Tell what was played on the device: `Uploaded`."""


@dataclass
class SimulatedApp:
    """An app on a device: its list, what it was told, and what it has not told yet.

    Attributes:
        prefix: What the feed URLs of its world begin with; it knows no others.
        clock: Returns the seconds that it takes for now.
        queued: The feeds that were added (true) or removed on it since it last told.
    """

    habits: Habits
    calls: AppCalls
    prefix: str
    clock: Callable[[], float]
    feeds: set[str] = field(init=False, default_factory=set)
    queued: dict[str, bool] = field(init=False, default_factory=dict)
    positions: dict[str, Position] = field(init=False, default_factory=dict)
    queued_actions: list[Any] = field(init=False, default_factory=list)
    since: int = field(init=False, default=_FROM_NOTHING)
    actions_since: int = field(init=False, default=_FROM_NOTHING)

    def add(self, url: str) -> bool:
        """Subscribe, as its owner does; return whether that changed anything."""
        url = self.habits.decode(url)
        if self.has(url):
            return False
        self.feeds.add(url)
        self.queued[url] = True
        return True

    def has(self, url: str) -> bool:
        """Say whether a feed is here in any spelling, as AntennaPod looks before it adds one."""
        return plain(url) in map(plain, self.feeds)

    def remove(self, url: str) -> bool:
        """Unsubscribe; return whether that changed anything."""
        if url not in self.feeds:
            return False
        self.feeds.discard(url)
        self.queued[url] = False
        return True

    def lose(self, url: str) -> None:
        """Remove a feed as it was told."""
        self.feeds.discard(url)
        if self.habits.echoes_removals:
            self.queued[url] = False

    def play(self, feed: str, timestamp: str, seconds: int) -> bool:
        """Play the episode of a feed up to a second; return whether it keeps that."""
        episode = f"{feed}/1.mp3"
        self.positions[episode] = Position(timestamp, seconds)
        self.queued_actions.append(
            {
                "podcast": feed,
                "episode": episode,
                "action": "play",
                "timestamp": timestamp,
                "started": 0,
                "position": seconds,
                "total": 9_999,
            }
        )
        return True

    def dialogue(self) -> Dialogue:
        """Ask what changed, and tell what did here: first of feeds, then of episodes."""
        yield from self._sync_feeds()
        yield from self._sync_actions()

    def _sync_feeds(self) -> Dialogue:
        told = yield self.calls.changes(self.since)
        if self.since == _FROM_NOTHING and self.habits.sends_all_first:
            self.queued = dict.fromkeys(sorted(self.feeds), True) | self.queued
        sent = dict(self.queued)  # the echo of a removal goes with the next sync, if at all
        self._take_over(told)
        if not sent:
            self.since = self._next(told.timestamp, None, has_uploaded=False)
            return
        uploaded = yield self.calls.upload(
            [url for url, is_added in sent.items() if is_added],
            [url for url, is_added in sent.items() if not is_added],
        )
        # AntennaPod clears all of its queue, and with it the echo of what this poll has removed.
        is_cleared = self.habits.echoes_removals
        left = {} if is_cleared else self.queued
        self.queued = {url: to for url, to in left.items() if sent.get(url) != to}
        self.since = self._next(told.timestamp, uploaded.timestamp, has_uploaded=True)
        if self.habits.takes_update_urls:
            renamed = {old: new for old, new in uploaded.update_urls if new}
            self.feeds = {renamed.get(url, url) for url in self.feeds}

    def _take_over(self, told: Changes) -> None:
        left = {plain(url) for url, is_added in self.queued.items() if not is_added}
        for url in self._ours(told.add):
            if plain(url) not in left and not self.has(url):
                self.feeds.add(url)
        for url in self._ours(told.remove):
            if url in self.feeds and not self.queued.get(url):
                self.lose(url)

    def _sync_actions(self) -> Dialogue:
        told = yield self.calls.actions(self.actions_since)
        self._take_plays(told.actions)
        if not self.queued_actions:
            self.actions_since = self._next(told.timestamp, None, has_uploaded=False)
            return
        sent = list(self.queued_actions)
        uploaded = yield self.calls.upload_actions(sent)
        self.queued_actions = self.queued_actions[len(sent) :]
        self.actions_since = self._next(told.timestamp, uploaded.timestamp, has_uploaded=True)

    def _take_plays(self, actions: Sequence[Any]) -> None:
        """Go where other devices were, as far as this app compares that with what it has."""
        waiting = dict(filter(None, map(self.read_play, self.queued_actions)))
        plays = list(filter(None, map(self.read_play, actions)))
        if self.habits.takes_plays == "newest":
            plays = list(dict(sorted(plays, key=lambda play: play[1].timestamp)).items())
        for episode, there in plays:
            own = waiting.get(episode)
            if self.habits.takes_plays == "later":
                own = self.positions.get(episode)
            if own is None or there.timestamp > own.timestamp:
                self.positions[episode] = there

    def read_play(self, action: Any) -> tuple[str, Position] | None:
        """Return the episode and the position of a play; None for other actions and worlds."""
        if not str(action.get("podcast")).startswith(self.prefix):
            return None
        if str(action.get("action")).lower() != "play" or not isinstance(
            action.get("position"), int
        ):
            return None
        timestamp = str(action.get("timestamp") or _NOW)[:19]
        return action["episode"], Position(timestamp, action["position"])

    def _ours(self, urls: Iterable[str]) -> list[str]:
        return [self.habits.decode(url) for url in urls if url.startswith(self.prefix)]

    def _next(self, replied: int, uploaded: int | None, *, has_uploaded: bool) -> int:
        match self.habits.since:
            case "plus one":
                return replied + 1
            case "upload" if uploaded is not None:
                return uploaded
            case "clock" if has_uploaded:
                return int(self.clock())
        return replied
