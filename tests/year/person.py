"""One person with an account, devices and habits; what they do follows from a seed alone."""

from __future__ import annotations

import contextlib
import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

from app_devices import Feeds, ReplyLost
from devices_of_a_year import KINDS, AccountClient, ListClient, Phone
from ledger import Kept, Known, Ledger, known
from reference import Feed
from service_process import ServiceProcess

DAY_US = 86_400_000_000
FIRST_FEEDS = 12
HOUSEHOLDS = (1, 1, 1, 2, 2, 3)
"""Numbers of devices per person."""

DAYS_BETWEEN_SYNCS = (0.7, 1.0, 1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 30.0)
"""Average intervals between syncs of devices, in days; a few times a day to once a month."""

DAYS_BETWEEN = {
    "add": 7,
    "remove": 10,
    "play": 4,
    "feed moves": 45,
    "tell move": 150,
    "rename": 120,
    "merge": 150,
    "delete": 150,
    "switch off": 90,
    "restore": 365,
    "wipe": 400,
    "lose": 400,
}
"""Average interval between actions of a person, in days, by action."""

MAX_BEGUN = 12
"""Maximum number of begun episodes that a person may continue, also on another device."""

VANISHES_EACH_DAYS = 500
"""Average interval, in days, after which a device lies in a drawer for one to seven months."""

Appointment = tuple[float, str]
"""Days until an event, and the event: a habit, or the name of a device that syncs."""


class Person:
    """A person with an account.

    Attributes:
        name: The account's name.
        ledger: Expected state of the account.
        wrong: Differences of the service from it.
    """

    def __init__(self, number: int, seed: int, process: ServiceProcess) -> None:
        self.name = f"person{number}"
        self.chance = random.Random(f"{seed} {number}")
        # Of its own, so that looking changes nothing of what is done.
        self._looks = random.Random(f"{seed} {number} looks")
        self.ledger = Ledger()
        self.client = AccountClient(process, self.name, self.ledger)
        self.wrong = self.client.wrong
        self.syncs = 0
        self._world = Feeds({})
        self._devices: dict[str, Phone | ListClient] = {}
        self._page = ListClient("page", self.client)
        self._days_between_syncs: dict[str, float] = {}
        self._episodes = self._named = self._plays = self._last_play = 0
        self._begun: list[tuple[str, str]] = []  # episodes, each with a URL of its feed
        self._wiped: set[Known] = set()
        self._last_wipe_us = 0

    async def begin(self) -> list[Appointment]:
        """Create the account; return what happens first."""
        await self.client.ask("create_account", self.name)
        count = self.chance.choice(HOUSEHOLDS)
        for _ in range(count):
            self._new_device(self.chance.choice([*KINDS, *KINDS, "upload", "interface"]))
        first = next(iter(self._devices.values()))
        for _ in range(self.chance.randrange(3, FIRST_FEEDS)):
            first.subscribe(self._new_url())
        syncs = [(self.chance.random(), name) for name in self._devices]
        return [*syncs, *((self._soon(days), what) for what, days in DAYS_BETWEEN.items())]

    async def do(self, what: str, now_us: int) -> list[Appointment]:
        """Carry out a due event; return the events that follow."""
        if what in self._devices:
            await self._devices[what].meet()
            self.syncs += 1
            return [(self._until_next_sync(what), what)]
        follows: list[Appointment] = []
        if what in DAYS_BETWEEN:
            follows.append((self._soon(DAYS_BETWEEN[what]), what))
        act = getattr(self, f"_{what.replace(' ', '_')}", None)
        if act is not None:
            with contextlib.suppress(ReplyLost):  # they see that it failed, and leave it
                follows += await act(now_us) or []
        return follows

    def keep(self) -> Kept:
        """Return a backup's copy of this account."""
        return self.ledger.keep()

    def go_back(self, kept: Kept) -> None:
        """Go back to a restored backup, and make all devices start from nothing."""
        self.ledger.go_back(kept)
        self._wiped = set()
        for device in self._devices.values():
            device.has_to_start_over = True

    async def compare(self, now_us: int, moments: int) -> None:
        """Compare the account with the ledger, as it is and as it was at some moments."""
        oldest_us = now_us - 89 * DAY_US
        stamps = [stamp for stamp in self.ledger.lists if oldest_us < stamp <= now_us]
        chosen = self._looks.sample(stamps, min(moments, len(stamps)))
        entries, then = await self.client.ask("look", self.name, chosen)
        self.wrong += self.ledger.differences(entries)
        for stamp, was in zip(chosen, then, strict=True):
            if was is None:
                self.wrong.append(f"the list at {stamp} is not known")
            elif known(was) != set(self.ledger.list_at(stamp)):
                self.wrong.append(
                    f"the list at {stamp}: {known(was) ^ set(self.ledger.list_at(stamp))}"
                )

    async def end(self, now_us: int) -> None:
        """Sync every device, and compare its whole state with the account."""
        for device in [*self._devices.values()] * 3:  # what one sends, the others have to be told
            await device.meet(losses=0)
        await self.compare(now_us, moments=5)
        for device in self._devices.values():
            self.wrong += device.shown(self.ledger)
        plays = await self.client.ask("all_actions", self.name)
        actions = self.ledger.positions_of(plays)
        if actions != self.ledger.positions:
            differing = actions.items() ^ self.ledger.positions.items()
            self.wrong.append(f"played: {sorted(differing)[:6]}")
        # Two feeds that were one for a while can both have an episode, each with a newest play.
        sent = [play for play in plays if not play.is_superseded]
        feeds = Counter(play.episode for play in sent)
        newest = [play for play in sent if feeds[play.episode] == 1]
        self.wrong += not_the_newest(plays)
        for device in self._devices.values():
            if isinstance(device, Phone):
                self.wrong += device.wrong_positions(newest)

    # Habits

    async def _add(self, _now_us: int) -> None:
        device = self._any_device()
        gone = sorted(feed.url for feed in self.ledger.feeds if not feed.on)
        if gone and self.chance.random() < 0.2:
            device.subscribe(self.chance.choice(gone))
        else:
            device.subscribe(self._new_url())

    async def _remove(self, _now_us: int) -> None:
        device = self._any_device()
        if len(device.feeds) > 4:
            device.unsubscribe(self.chance.choice(sorted(device.feeds)))

    async def _play(self, now_us: int) -> None:
        device = self._any_device()
        if isinstance(device, Phone) and device.feeds:
            url = self.chance.choice(sorted(device.feeds))
            feed = self._world.of(url)
            begun = [one for one in self._begun if self._world.of(one[0]) == feed]
            if begun and self.chance.random() < 0.5:
                _, episode = self.chance.choice(begun)
            else:
                self._episodes += 1
                episode = f"https://cdn.example/{feed}/{self._episodes}.mp3"
                self._begun = [*self._begun, (url, episode)][-MAX_BEGUN:]
            # Of no two plays is known which was the last one if both were done in one second.
            self._last_play = max(self._last_play + 1, now_us // 1_000_000)
            self._plays += 1
            device.listen(url, episode, self._last_play, self._plays)

    async def _feed_moves(self, _now_us: int) -> None:
        """A publisher moves a feed, and the service follows it by itself."""
        feed = self._any_feed()
        if feed is not None:
            old, new = feed.url, self._moved(feed.url)
            stamp = await self.client.ask("follow", self.name, old, new)
            self._moved_if(stamp, feed, new)

    async def _tell_move(self, _now_us: int) -> None:
        """The owner has all apps told that a feed moved."""
        feed = self._any_feed()
        if feed is not None:
            old, new = feed.url, self._moved(feed.url)
            stamp = await self.client.ask("move", self.name, old, new)
            self._moved_if(stamp, feed, new)

    async def _rename(self, _now_us: int) -> None:
        """A client learns the guid that a feed tells of itself."""
        feed = self._any_feed()
        if feed is not None:
            guid = f"00000000-0000-4000-8000-{self.chance.randrange(16**12):012x}"
            await self._page.update(feed.guid, new_guid=guid)

    async def _merge(self, _now_us: int) -> None:
        """The owner has one feed by two URLs, and makes one of both."""
        feed, other = self._any_feed(), self._any_feed()
        if feed is not None and other is not None and feed is not other:
            one, two = self._world.of(feed.url), self._world.of(other.url)
            if one != two:
                self._world.urls[one] += self._world.urls.pop(two)
            await self._page.update(feed.guid, new_guid=other.guid)

    async def _delete(self, _now_us: int) -> None:
        feed = self._any_feed()
        if feed is not None:
            await self._page.delete(feed.guid)

    async def _switch_off(self, _now_us: int) -> None:
        feed = self._any_feed()
        if feed is not None:
            await self._page.update(feed.guid, on=False)

    async def _wipe(self, now_us: int) -> list[Appointment]:
        """A phone is reset, and uploads the removal of all that it had."""
        phones = [one for one in self._devices.values() if isinstance(one, Phone)]
        if not phones:
            return []
        phone = self.chance.choice(phones)
        before = {(f.guid, f.url, f.on, f.deleted) for f in self.ledger.feeds if f.on}
        for url in sorted(phone.feeds):
            phone.unsubscribe(url)
        await phone.meet(losses=0)
        gone = {one for one in before if one[0] not in self.ledger.subscribed()}
        # Of two wipes, one click brings back one, and leaves what the other has removed.
        is_another = now_us - self._last_wipe_us < 30 * DAY_US
        self._wiped, self._last_wipe_us = set() if is_another else gone, now_us
        return [(self.chance.uniform(0.1, 5), "undo")] if self.chance.random() < 0.75 else []

    async def _undo(self, _now_us: int) -> None:
        """The owner brings back with one click what was wiped, if the page offers that."""
        off = {(f.guid, f.url) for f in self.ledger.feeds if not f.on and not f.deleted}
        # Feeds subscribed again since, and not now, were removed by another person.
        since = [stamp for stamp in self.ledger.lists if stamp > self._last_wipe_us]
        again = {feed[0] for stamp in since for feed in self.ledger.list_at(stamp) if feed[2]}
        wiped = {feed[0] for feed in self._wiped if feed[:2] in off} - again
        self._wiped = set()
        had = self.ledger.subscribed()
        found = await self.client.ask("undo_wipe", self.name)
        if found is None:
            return
        stamp, entries, named = found
        has = {feed[0] for feed in known(entries) if feed[2]}
        # An app that was away for months can have removed a third of a list by one upload since.
        wanted = had | set(named) | (wiped if not wiped.isdisjoint(named) else set())
        if missing := wanted - has:
            self.wrong.append(f"undoing a wipe did not bring back {sorted(missing)}")
        self.ledger.become(entries)
        self.ledger.remember(stamp)

    async def _restore(self, now_us: int) -> None:
        """The owner brings the list back to what it was some weeks ago."""
        oldest_us = now_us - 60 * DAY_US
        stamps = [stamp for stamp in self.ledger.lists if oldest_us < stamp <= now_us]
        if not stamps:
            return
        moment, keep_added = self.chance.choice(stamps), self.chance.random() < 0.7
        stamp, entries = await self.client.ask("restore_list", self.name, moment, keep_added)
        wanted = {feed[:2] for feed in self.ledger.list_at(moment) if feed[2]}
        has = {feed[:2] for feed in known(entries) if feed[2]}
        if not wanted <= has or (not keep_added and wanted != has):
            self.wrong.append(f"restored to {moment}: {sorted(wanted ^ has)}")
        self.ledger.become(entries)
        self.ledger.remember(stamp)
        # Feeds that are back, and are unsubscribed again, are no longer part of the wipe.
        self._wiped = {feed for feed in self._wiped if feed[:2] not in has}

    async def _lose(self, _now_us: int) -> list[Appointment]:
        """A phone is lost, and another one takes its place."""
        lost = self._any_device()
        del self._devices[lost.name]
        new = self._new_device(lost.kind if isinstance(lost, Phone) else "interface")
        if self.chance.random() < 0.5:
            await self.client.ask("disconnect", self.name, lost.name)
        return [(self.chance.uniform(0, 3), new)]

    # Devices

    def _new_device(self, kind: str) -> str:
        self._named += 1
        name = f"{kind.replace(' ', '-')}-{self._named}"
        if kind == "interface":
            self._devices[name] = ListClient(name, self.client)
        else:
            chance = random.Random(self.chance.random())
            self._devices[name] = Phone.new(kind, name, self.client, self._world, chance)
        self._days_between_syncs[name] = self.chance.choice(DAYS_BETWEEN_SYNCS)
        return name

    def _any_device(self) -> Phone | ListClient:
        return self._devices[self.chance.choice(sorted(self._devices))]

    def _any_feed(self) -> Feed | None:
        subscribed = [feed for feed in self.ledger.feeds if feed.on]
        return self.chance.choice(subscribed) if subscribed else None

    def _new_url(self) -> str:
        self._named += 1
        feed = f"{self.name}-{self._named}"
        self._world.urls[feed] = [f"https://feeds.example/{feed}/rss.xml"]
        return self._world.urls[feed][0]

    def _moved(self, url: str) -> str:
        self._named += 1
        new = f"https://moved.example/{self.name}-{self._named}/rss.xml"
        self._world.moves(url, new)
        return new

    def _moved_if(self, stamp: int | None, feed: Feed, new: str) -> None:
        should_be = self.ledger.update(feed.guid, new, None, None)
        self.client.agree(stamp is not None, should_be, ("move", feed.guid, new))
        if stamp is not None:
            self.ledger.remember(stamp)

    def _soon(self, days: float) -> float:
        return self.chance.expovariate(1 / days)

    def _until_next_sync(self, name: str) -> float:
        days = self._days_between_syncs[name]
        if self.chance.random() < days / VANISHES_EACH_DAYS:
            return self.chance.uniform(30, 210)
        return self._soon(days)


def not_the_newest(plays: Sequence[Any]) -> list[str]:
    """Return of which episodes apps are not sent the newest play alone, by effective time.

    An episode is one of a feed: two feeds that were one for a while can both have it.
    """
    episodes: dict[tuple[str, str], list[Any]] = {}
    for play in plays:
        episodes.setdefault((play.podcast, play.episode), []).append(play)
    wrong = []
    for (_, episode), stored in episodes.items():
        newest = max(min(play.done, play.received // 1_000_000) for play in stored)
        sent = [play for play in stored if not play.is_superseded]
        times = [min(play.done, play.received // 1_000_000) for play in sent]
        if times != [newest]:
            wrong.append(f"of {episode}, plays of {times} are sent, and the newest is of {newest}")
    return wrong
