"""An older backup loses what came after it, and nothing else: no device misses what comes later.

Devices of every kind sync, a backup is made, they sync on, and it is restored: by a machine whose
clock may be behind. What is changed from then on, all of them get, and once each of them starts
anew, nothing is lost that is on any of them. Each sync is with one of two services on one file.

Two clients of the interface follow the list. One knows stamps alone, and has to end with each entry
as it is. The other one adds and deletes feeds, and looks at the list's epoch: it has to end with
exactly the list, and nothing that was on it may be lost.
"""

import asyncio
import random
import sys
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pytest
from app_devices import AppOfToday, Feeds
from authors import TESTER
from forms import IS_FULL, IS_LONG, in_the_long_form

from feedkeep.assembly import back_up, open_service, restore
from feedkeep.config.settings import Settings
from feedkeep.model import Admitted, PageRequest, Subscription, View
from feedkeep.model.errors import UnknownSubscription
from feedkeep.rules import database_restores
from feedkeep.rules.seconds import first_stamp
from feedkeep.rules.subscriptions import want

RUNS = 3_000 if IS_FULL else 25 if IS_LONG else 10
CONTROL_RUNS = 300
TURNS = 4
FEEDS = "abcd"
KINDS = ["reply", "plus one", "upload", "clock"]
NAME = "alice"


class WallClock:
    """The clock of a machine, which may be set back."""

    def __init__(self, chance):
        self._chance = chance
        self.us = 1_700_000_000_000_000

    def __call__(self):
        self.us += self._chance.choice([1, 1_000, 300_000, 1_000_000])
        return self.us


@dataclass
class ListClient:
    """A client of the interface: it follows the list by stamps."""

    since: int = -1
    entries: dict[str, View] = field(default_factory=dict)

    async def sync(self, service):
        account = await service.accounts.named(NAME)
        page = await service.subscriptions.page(account, PageRequest(self.since, None, 1, 1_000))
        for view in page.views:
            self.entries[view.entry.guid] = view
            self.since = max(self.since, view.entry.revision)


@dataclass
class Follower(ListClient):
    """A client that does what docs/apps.md says, also when the epoch of the list changes."""

    queue: list[tuple[str, str]] = field(default_factory=list)  # to be sent: URLs, and guids
    epoch: str = ""
    had: set[str] = field(default_factory=set)  # the URLs of its feeds at the last change of that

    def use(self, chance):
        mine = {feed.feed_url: feed.guid for feed in self._feeds()}
        url = f"https://{chance.choice(FEEDS)}.example"
        self.queue.append(("delete", mine[url]) if url in mine else ("add", url))

    async def sync(self, service):
        account = await service.accounts.named(NAME)
        for do, what in self.queue:
            if do == "add":
                await service.subscriptions.add(account.id, [want(what, None)], TESTER)
            else:
                with suppress(UnknownSubscription):
                    await service.subscriptions.delete(account.id, what, TESTER)
                self.entries.pop(what, None)
        self.queue = []
        account = await service.accounts.named(NAME)
        if self.epoch not in {"", database_restores.epoch_of(account)}:
            await self._start_over(service, account)
        self.epoch = database_restores.epoch_of(account)
        await super().sync(service)

    async def _start_over(self, service, account):
        mine = self._feeds()
        self.had, self.entries, self.since = {feed.feed_url for feed in mine}, {}, -1
        await super().sync(service)
        there = {}  # until when each guid and URL was deleted, or that it is not
        for guid, view in self.entries.items():
            for name in (guid, view.subscription.feed_url):
                deleted = view.subscription.deleted
                there[name] = max(there.get(name, -1), sys.maxsize if deleted is None else deleted)
        lost = [
            want(feed.feed_url, feed.guid)
            for feed in mine
            if max(there.get(name, -1) for name in (feed.guid, feed.feed_url))
            < feed.subscription_changed
        ]
        await service.subscriptions.add(account.id, lost, TESTER)

    def _feeds(self):
        feeds = [v.entry for v in self.entries.values() if isinstance(v.entry, Subscription)]
        return [feed for feed in feeds if feed.is_subscribed]


class Household:
    """An account's devices, and the service that they use."""

    def __init__(self, seed, folder):
        self.chance = random.Random(seed)
        self.settings = Settings(database=f"sqlite:///{folder / f'{seed}.db'}")
        self.backup = folder / f"{seed}.backup"
        self.wall = WallClock(self.chance)
        self.world = Feeds({feed: [f"https://{feed}.example"] for feed in FEEDS})
        self.services = ()
        self.devices = []
        self.client = ListClient()
        self.follower = Follower()
        self.seconds = count(1)  # of the devices' own clocks, which only go on
        self.had = []  # where each device was before the restore

    async def live(self):
        """Return the difference of a device from its expected state at the end; "" if none."""
        async with self._two_services() as service:
            account = await service.accounts.create(NAME, None)
            self.devices = [self._new_device(kind, service) for kind in KINDS]
            for device in self.devices:
                await device.sync(losses=0)  # or its next one may be a start from nothing, too
            await self._turns()
            back_up(self.settings, self.backup)
            await self._turns()
        self._lose_all_but_the_backup()
        async with self._two_services() as service:
            restored = await service.accounts.named(NAME)
            await self._turns()
            for device in self.devices * 3:  # what one has still to send, the others must be told
                await self._sync(device)
            await self._sync_clients(self.follower, self.follower)  # what it has sent, it is told
            for device in self.devices:
                await self._sync(device)
            await self._sync_clients(self.client, self.follower)
            return await self._missed(service, restored) or await self._lost(service, account)

    @asynccontextmanager
    async def _two_services(self):
        async with (
            open_service(self.settings, now=self.wall) as one,
            open_service(self.settings, now=self.wall) as other,
        ):
            self.services = [one, other]
            yield one

    def _any_service(self):
        return self.chance.choice(self.services)

    async def _sync_clients(self, *clients):
        for client in clients:
            await client.sync(self._any_service())

    async def _sync(self, device, losses=0.0):
        device.service = self._any_service()
        await device.sync(losses=losses)

    def _new_device(self, kind, service):
        name, chance = kind.replace(" ", "-"), random.Random(self.chance.random())
        is_new_each_time = kind != "clock" and chance.random() < 0.5  # as with AntennaPod's login

        async def log_in():
            account = await device.service.accounts.named(NAME)
            return (await device.service.logins.begin_session(Admitted(account, ""), kind)).text

        device = AppOfToday(kind, name, service, log_in, self.world, chance)
        device.logs_in_each_time = is_new_each_time
        device.clock = lambda: self.wall.us / 1_000_000
        return device

    def _lose_all_but_the_backup(self):
        Path(self.settings.database.removeprefix("sqlite:///")).unlink()
        if self.chance.random() < 0.5:  # by the clock of another machine
            self.wall.us -= self.chance.randrange(12 * 3_600_000_000)
        for device in self.devices:
            device.asked_since.clear()
        self.had = [dict(device.positions) for device in self.devices]
        restore(self.settings, self.backup, self.wall)

    async def _turns(self):
        for _ in range(self.chance.randrange(TURNS)):
            for device in self.devices:
                for _ in range(self.chance.randrange(3)):
                    device.use(next(self.seconds))
            busy = self.chance.sample(self.devices, self.chance.randrange(1, len(KINDS) + 1))
            await asyncio.gather(*(self._sync(device, losses=0.1) for device in busy))
            if self.chance.random() < 0.5:
                await self._sync_clients(self.client)
            if self.chance.random() < 0.5:
                self.follower.use(self.chance)
            if self.chance.random() < 0.5:
                await self._sync_clients(self.follower)

    async def _missed(self, service, restored):
        """Return a change since the restore that a device lacks; "" if there is none."""
        account = await service.accounts.named(NAME)
        whole = await service.subscriptions.page(account, PageRequest(-1, None, 1, 1_000))
        for view in whole.views:
            if self.client.entries.get(view.entry.guid) != view:
                return f"the list: {self.client.entries.get(view.entry.guid)} instead of {view}"
        if self.follower.entries != {view.entry.guid: view for view in whole.views}:
            return f"the follower: {self.follower.entries} instead of {whole.views}"
        if lost := self.follower.had - {view.subscription.feed_url for view in whole.views}:
            return f"the follower had {lost}"
        since = restored.last_stamp
        feeds = [view.entry for view in whole.views if isinstance(view.entry, Subscription)]
        # Apps are not told of subscribing once more to what is subscribed to.
        changed = {one.feed_url: one.is_subscribed for one in feeds if one.status_changed > since}
        played = await _newest_plays(service, account, restored.last_action_stamp)
        for device, had in zip(self.devices, self.had, strict=True):
            has = {url: url in device.feeds for url in changed}
            if has != changed:
                return f"{device.kind}: {has} instead of {changed}"
            shown = {episode: at.seconds for episode, at in device.positions.items()}
            # Positions rise with the time at which they are played. Of what is lost, a device may
            # have a later one, and stay there: if it compares, or is not sent its own play.
            keeps_later = device.habits.takes_plays == "later"
            wrong = {}
            for episode, play in played.items():
                may_stay = keeps_later or play.device == device.name
                at = shown.get(episode)
                if at != play.position and not (may_stay and (at or 0) > play.position):
                    wrong[episode] = play.position, at
            if wrong:
                return f"{device.kind}: wrong positions (right, shown): {wrong}"
            # A device that asks since before the backup gets the backup's positions.
            is_lost = first_stamp(min(device.asked_since)) > restored.actions_lost_after
            back = [e for e, at in had.items() if e not in played and shown[e] < at.seconds]
            if back and is_lost:
                return f"{device.kind}: {back} went back, from {had} to {shown}"
        return ""

    async def _lost(self, service, account):
        """Restart the sync of all devices; return the feeds lost or wrong after it."""
        everything = set().union(*(device.feeds for device in self.devices))
        for device in self.devices * 2:
            await device.start_over()
        right = {item.feed_url for item in await service.subscriptions.subscribed(account.id)}
        if not everything <= right:
            return f"{sorted(everything - right)} are lost"
        wrong = [device.kind for device in self.devices if device.feeds != right]
        return f"{wrong} have not {sorted(right)}" if wrong else ""


async def _newest_plays(service, account, after):
    """Return the newest play of each episode that a device has uploaded since a stamp."""
    pages = await service.episode_actions.all(account.id)
    plays = [action async for page in pages for action in page]
    uploaded = {play.episode for play in plays if play.revision > after}
    newest = [play for play in plays if play.episode in uploaded and not play.is_superseded]
    return {play.episode: play for play in newest if play.position}


async def differences(folder, runs):
    for seed in range(runs):
        if found := await Household(seed, folder).live():
            return [f"{seed}: {found}"]
        for file in folder.iterdir():
            file.unlink()
    return []


# C6.6, C6.7
async def test_after_a_restore_no_device_misses_a_change_and_a_new_start_brings_all_back(tmp_path):
    assert await differences(tmp_path, RUNS) == []


@in_the_long_form
@pytest.mark.parametrize(
    ("what", "broken"),
    [
        ("after_restore", lambda last, _now: last),  # as in the backup
        ("after_restore", max),  # at the wall clock
        ("page_to_read", lambda _account, asked: asked),  # every since is trusted
        ("first_action", lambda _account, _since, first: first),  # positions of the backup are sent
        ("epoch_of", lambda _account: "the only one"),
    ],
)
async def test_the_proof_catches(what, broken, tmp_path, monkeypatch):
    monkeypatch.setattr(database_restores, what, broken)
    assert await differences(tmp_path, CONTROL_RUNS) != []
