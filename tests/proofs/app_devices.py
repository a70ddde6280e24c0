"""The simulated apps of podsync-check on devices that ask a service in the same process.

Their owners are as rough as people are: some have a feed twice, by an old URL and by a new one.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from dataclasses import replace as with_other
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import unquote

from authors import TESTER
from podsync_check.protocols.url_lists import Actions, Changes, Uploaded
from podsync_check.simulated import apps
from podsync_check.simulated.apps import Position, SimulatedApp, plain

from feedkeep.model import Admitted, CredentialKind, EpisodeAction, replace
from feedkeep.model.errors import NotAuthorized
from feedkeep.rules.credentials import read_session, read_token
from feedkeep.rules.episode_actions import SentAction
from feedkeep.service import Service

EPISODES = 3
LAST_SECOND = 1_850_000_000  # no server's clock comes to it, that of a simulated year neither
TOTAL = 10**6  # the length of every episode


class Play(NamedTuple):
    """Progress of a play on a device: positions rise by a clock that all other devices share.

    If the device's own clock is ahead, the time of receipt counts, which is later than all others.
    Without the length of an episode, no app can be sent it.
    """

    device: str
    is_ahead: bool
    position: int
    has_length: bool


class ReplyLost(Exception):
    """The server's reply was lost."""


@dataclass
class Feeds:
    """The feeds that there are in the world, and what devices did with them."""

    urls: dict[str, list[str]]  # that each feed has and had, the present one last
    taken: set[str] = field(default_factory=set)
    left: set[str] = field(default_factory=set)
    # They may be two by now: of a new URL and an old one, or added without escapes.
    doubled: set[str] = field(default_factory=set)
    plays: dict[str, list[Play]] = field(default_factory=dict)

    def newest(self):
        """Return the owner's position in each episode that apps can be sent."""
        return {
            episode: max(plays, key=lambda play: (play.is_ahead, play.position)).position
            for episode, plays in self.plays.items()
            if any(play.has_length for play in plays)
        }

    def of(self, url):
        named = unquote(plain(url))
        return next(
            feed for feed, urls in self.urls.items() if named in (unquote(plain(u)) for u in urls)
        )

    def is_decoded(self, url):
        return plain(url) not in map(plain, self.urls[self.of(url)])

    def moves(self, url, new_url):
        self.urls[self.of(url)].append(new_url)


HABITS = {
    "reply": apps.GPODDER,
    "plus one": with_other(apps.KASTS, sends_all_first=False),  # unless it shows the password
    "upload": apps.ANTENNAPOD,
    "clock": apps.PINEPODS,
}
"""Other habits of devices, by the kind of their next `since`."""


@dataclass
class Device(SimulatedApp):
    """A simulated app on a device, and its owner; it asks a service in the same process.

    Of a `kind`, it takes for its next `since` the "reply"'s timestamp, that "plus one", the
    "upload"'s if there was one, or its own "clock" after an upload.
    """

    habits: apps.Habits = field(init=False)
    calls: apps.AppCalls = field(init=False)
    prefix: str = field(init=False, default="")
    clock: Any = field(init=False)
    kind: str
    name: str
    service: Service
    log_in: Any
    world: Feeds
    chance: random.Random
    session: str = ""
    spelling: str = "https://{}"  # of its owner
    ahead_seconds: int = 0
    sends_totals: bool = True  # how long episodes are, and how their feeds call them
    account: str = ""  # whose password it sends with each request, without a session, as Kasts does
    others: Sequence[str] = ()  # it syncs for these devices, too: Kasts' "sync all devices"
    has_double: bool = False  # one of the same product syncs for it, with the same password
    server_clock: Any = None
    pause: Any = lambda: None
    asked_since: list[int] = field(default_factory=list)

    def __post_init__(self):
        self.habits = HABITS[self.kind]
        self.calls = ServiceCalls(self, "" if self.kind == "clock" else self.name)
        self.clock = self._own_clock

    def _own_clock(self):
        if self.server_clock is not None and self.chance.random() < 0.7:
            return self.server_clock()
        return self.chance.randrange(1, 2_000_000_000)

    def use(self, number):
        """Use a feed as its owner, at a second that no other device has."""
        feed = self.chance.choice(sorted(self.world.urls))
        mine = sorted(url for url in self.feeds if self.world.of(url) == feed)
        if self.chance.random() < 0.3:
            self._play(mine[0] if mine else self.world.urls[feed][-1], feed, number)
        elif not mine:
            self._take(self.spelling.format(plain(self.world.urls[feed][-1])))
        elif len(mine) > 1:
            # Once the server knows of both, one goes: else it would be the only one.
            if sent := [url for url in mine if url not in self.queued]:
                self.remove(self.chance.choice(sent))
                # The double may have told the server that one of the URLs is all there is; and apps
                # that decode URLs remove both, if they are one then.
                if self.has_double or len(set(map(unquote, map(plain, mine)))) < len(mine):
                    self.world.left.add(feed)
        elif self.chance.random() < 0.5:
            self.remove(mine[0])
            self.world.left.add(feed)
        else:  # the owner finds the feed once more, under the URL that it has now
            self._take(self.spelling.format(plain(self.world.urls[feed][-1])))

    def _play(self, url, feed, number):
        episode = f"https://cdn.example/{feed}/{self.chance.randrange(EPISODES)}"
        # A length is not known from what was played under another URL of the feed.
        is_moved = plain(url) != plain(self.world.urls[feed][0])
        done, total = self.ahead_seconds + number, TOTAL if self.sends_totals or is_moved else None
        self.positions[episode] = Position(done, number)
        play = Play(self.name, self.ahead_seconds > 0, number, total is not None)
        self.world.plays.setdefault(episode, []).append(play)
        guid = episode if self.sends_totals else None
        began = SentAction(url, episode, self.name, "play", done, episode_guid=guid)
        # gPodder says so whenever playback begins, and AntennaPod sometimes.
        if self.chance.random() < 0.3:
            self.queued_actions.append(began)
        self.queued_actions.append(replace(began, started=0, position=number, total=total))
        if self.chance.random() < 0.3:
            self.queued_actions.append(replace(began, done=done + 1, started=-1, position=-1))

    def _take(self, typed):
        if self.add(typed):
            feed = self.world.of(typed)
            self.world.taken.add(feed)
            if plain(typed) != plain(self.world.urls[feed][0]):
                self.world.doubled.add(feed)
            self._note_decoded([self.habits.decode(typed)])

    async def sync(self, losses):
        """Sync twice, like apps: poll for changes, apply them, send the queue."""
        is_in = bool(self.session or self.account)
        if self.kind == "upload" or not is_in:  # AntennaPod logs in anew each time
            self.session = await self.log_in()
        dialogue, answer = self.dialogue(), None
        while True:
            try:
                ask = dialogue.send(answer)
            except StopIteration:
                return
            self.pause()
            try:
                answer = await ask()
            except ReplyLost:
                return
            if self.chance.random() < losses:
                return  # the reply is lost, and it gives up until its next sync

    def dialogue(self):
        """Sync the others first, if it does; with a password, send all it has the first time."""
        if self.account:
            self.habits = with_other(self.habits, sends_all_first=True)
        if self.since == 0 and self.habits.sends_all_first:
            self._note_decoded(self.feeds)
        if self.others:
            yield from self._sync_all_devices()
        yield from super().dialogue()

    def _sync_all_devices(self):
        """Give each device what all of them have: ask for each since 0, and upload for each."""
        devices = [ServiceCalls(self, name) for name in (*self.others, self.name)]
        union = set()
        for device in devices:
            told = yield device.changes(0)
            union |= set(map(self.habits.decode, told.add))
        for url in sorted(union):
            self._take(url)
        for device in devices:
            yield device.upload(sorted(union), [])

    def _note_decoded(self, urls):
        """Record the feeds that are added without their escapes: no device may have them yet."""
        self.world.doubled |= {self.world.of(url) for url in urls if self.world.is_decoded(url)}

    def lose(self, url):
        super().lose(url)
        feed = self.world.of(url)
        if any(self.world.of(other) == feed and not to for other, to in self.queued.items()):
            self.world.left.add(feed)  # the owner has just removed the URL that was to stay
        if not any(self.world.of(other) == feed for other in self.feeds):
            self.positions = {e: at for e, at in self.positions.items() if f"/{feed}/" not in e}

    def read_play(self, action):
        if not action.position or action.position < 0:
            assert isinstance(action, SentAction), "AntennaPod would go back to the start"
            return None
        if isinstance(action, EpisodeAction):
            assert action.total, "AntennaPod would go back to the start"
            assert action.done < LAST_SECOND, "it was received before"
        return action.episode, Position(action.done, action.position)

    async def enter(self):
        """Show the session or token, or the password, as each request does."""
        if self.account:
            account = await self.service.accounts.named(self.account)
            return Admitted(account, CredentialKind.PASSWORD, user_agent=self.habits.name)
        credential = read_session(self.session) or read_token(self.session)
        return await self.service.authentication.admit(credential, "127.0.0.1")


def later(call):
    """Make a coroutine function return a call that is awaited later."""
    return lambda *given: partial(call, *given)


@dataclass(frozen=True)
class ServiceCalls:
    """Calls of the service by a device."""

    app: Device
    device: str

    @later
    async def changes(self, since):
        lists = self.app.service.url_lists
        told = await lists.changes(await self.app.enter(), since, self.device)
        return Changes(told.changes.add, told.changes.removed_texts, told.timestamp)

    @later
    async def upload(self, add, remove):
        author, lists = replace(TESTER, device=self.device), self.app.service.url_lists
        done = await lists.upload(await self.app.enter(), add, remove, author)
        return Uploaded(done.timestamp, done.update_urls)

    @later
    async def actions(self, since):
        self.app.asked_since.append(since)
        told = await self.app.service.episode_actions.since(await self.app.enter(), since)
        found = [action async for page in told.pages for action in page]
        return Actions(found, told.timestamp)

    @later
    async def upload_actions(self, actions):
        kept = self.app.service.episode_actions
        done = await kept.record(await self.app.enter(), actions)
        return Uploaded(done.timestamp, done.update_urls)


@dataclass
class AppOfToday(Device):
    """A device that logs in anew where its session is not known any more, or at each sync."""

    logs_in_each_time: bool = False

    async def sync(self, losses):
        if self.logs_in_each_time:
            self.session = await self.log_in()
        await super().sync(losses)

    async def start_over(self):
        """Send all that is here, as apps do after a new login."""
        self.session = await self.log_in()
        self.since = self.actions_since = 0
        self.queued = dict.fromkeys(self.feeds, True)
        await self.sync(losses=0)

    async def enter(self):
        try:
            return await super().enter()
        except NotAuthorized:
            self.session = await self.log_in()
            return await super().enter()

    def lose(self, url):
        """Remove a feed as told, and keep what was played of it, to compare that, too."""
        SimulatedApp.lose(self, url)
