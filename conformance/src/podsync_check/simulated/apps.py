"""Simulated apps that sync like real ones: their choice of `since`, and of uploads.

They do no I/O: a sync is a generator of calls, so that its driver can interleave the calls of
several apps and lose replies.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol
from urllib.parse import unquote

from podsync_check.protocols.url_lists import Changes

Dialogue = Generator[Any, Any, None]
"""Calls of an app during one sync; each is answered by `send`."""

_FROM_NOTHING = 0
_NOW = "9999-12-31T23:59:59"  # for queued actions without a time


@dataclass(frozen=True)
class Habits:
    """Differences between kinds of apps.

    Attributes:
        agent: User-Agent, by which some servers tell apps apart.
        since: Source of the next `since`: the "reply"'s timestamp, that "plus one", the "upload"'s
            if there was one, or its own "clock" after an upload.
        sends_all_first: Whether the first sync uploads everything, changed or not.
        echoes_removals: Whether the app uploads removals that it received as its own.
        takes_update_urls: Whether it renames feeds as the server says.
        shows_password: Whether it sends the password with each request, without a session.
        takes_plays: Received plays that it applies, if not older than its own queued play of the
            episode: the "newest" of a reply, "each" in the reply's order, or all "later" than its
            own position.
        decode: Normalizes a URL that is received or typed.
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
    """Decode a URL like AntennaPod."""
    return url.replace("%3A", ":")


# Read from AntennaPod b7ee12c, Kasts cded41de, gPodder 3.11.1, PinePods 4b8785b5, Cardo 723390b,
# and AerialPod.
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
AERIALPOD = Habits("AerialPod", "AerialPod/1.0", "upload", shows_password=True, takes_plays="later")
PINEPODS = Habits("PinePods", "PinePods/0.9", "clock", shows_password=True)
CARDO = Habits("Cardo", "Cardo/1.15", "reply", shows_password=True, takes_plays="later")
ON_GPODDER_NET = [ANTENNAPOD, GPODDER, KASTS, AERIALPOD]
ON_NEXTCLOUD = [ANTENNAPOD_ON_NEXTCLOUD, PINEPODS, CARDO]
"""Apps that send the account's password with each request of Nextcloud's protocol."""


@dataclass(frozen=True)
class Position:
    """Position in an episode, and its time.

    Attributes:
        timestamp: Time in the protocol's format, or a number; times are comparable.
    """

    timestamp: Any
    seconds: int


def plain(url: str) -> str:
    """Return a URL without scheme and trailing slashes."""
    return url.partition("://")[2].rstrip("/")


class AppCalls(Protocol):
    """Calls of an app; the driver of its dialogue answers each with what the comment says."""

    def changes(self, since: int) -> object: ...  # Changes
    def upload(self, add: Sequence[str], remove: Sequence[str]) -> object: ...  # Uploaded
    def actions(self, since: int) -> object: ...  # Actions
    def upload_actions(self, actions: Sequence[Any]) -> object: ...  # Uploaded


@dataclass
class SimulatedApp:
    """App on a device: its list, received state, and queued uploads.

    Attributes:
        prefix: Prefix of the feed URLs in its world; others are ignored.
        clock: Wall clock in seconds.
        queued: Feeds added (true) or removed since the last upload.
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
        """Subscribe as the owner; return whether that changed anything."""
        url = self.habits.decode(url)
        if self.has(url):
            return False
        self.feeds.add(url)
        self.queued[url] = True
        return True

    def has(self, url: str) -> bool:
        """Whether the feed is in the list in any spelling, as AntennaPod checks before adding."""
        return plain(url) in map(plain, self.feeds)

    def remove(self, url: str) -> bool:
        """Unsubscribe as the owner; return whether that changed anything."""
        if url not in self.feeds:
            return False
        self.feeds.discard(url)
        self.queued[url] = False
        return True

    def lose(self, url: str) -> None:
        """Apply a received removal."""
        self.feeds.discard(url)
        if self.habits.echoes_removals:
            self.queued[url] = False

    def play(self, feed: str, timestamp: str, seconds: int) -> bool:
        """Play the episode of a feed up to a position; return whether the app syncs positions."""
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
        """Get and upload changes: first of feeds, then of episodes."""
        yield from self._sync_feeds()
        yield from self._sync_actions()

    def _sync_feeds(self) -> Dialogue:
        told = yield self.calls.changes(self.since)
        if self.since == _FROM_NOTHING and self.habits.sends_all_first:
            self.queued = dict.fromkeys(sorted(self.feeds), True) | self.queued
        sent = dict(self.queued)  # the echo of a removal waits for the next sync
        self._take_over(told)
        if not sent:
            self.since = self._next(told.timestamp, None, has_uploaded=False)
            return
        uploaded = yield self.calls.upload(
            [url for url, is_added in sent.items() if is_added],
            [url for url, is_added in sent.items() if not is_added],
        )
        # AntennaPod clears its whole queue, including echoes of removals in this poll.
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
        """Apply received plays, as far as this kind of app does."""
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
        """Return the episode and position of a play; None for other actions and worlds."""
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
