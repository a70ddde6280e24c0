"""Whole seconds lose nothing: devices of every kind end with the account's list and actions.

Devices sync at the same time as one another, in random interleavings of what each request asks of
the store. Replies are lost, feeds move, and the server's clock jumps, also back.
"""

import asyncio
import contextlib
import random
from collections import Counter
from functools import partial

import pytest
from app_devices import Device, Feeds
from authors import TESTER
from forms import IS_FULL, IS_LONG, in_the_long_form
from stores import service_on

from feedkeep.model import Admitted, CredentialKind, EpisodeAction, Subscription, replace
from feedkeep.model.errors import InvalidInput
from feedkeep.rules import app_identity, episode_actions, seconds, url_changes, url_lists
from feedkeep.rules.app_identity import App
from feedkeep.rules.clock import shift
from feedkeep.rules.list_changes import is_back, is_gone
from feedkeep.rules.undo import ConflictPolicy, Undo
from feedkeep.service.logins import login_of
from feedkeep.service.url_lists import UrlLists
from feedkeep.store.postgres import PostgresStore
from feedkeep.store.sqlite import SqliteStore

RUNS = 10_000 if IS_FULL else 60 if IS_LONG else 15
RUNS_ON_POSTGRES = 500 if IS_FULL else 10
CONTROL_RUNS = 1_500
TURNS = 6
FEEDS = "abc"
PATHS = {"c": "/user%3A1/feed"}
KINDS = ["reply", "plus one", "upload", "clock"]
SPELLINGS = ["https://{}", "https://{}", "http://{}", "https://{}/", "http://{}/"]


class Interleaving:
    """Lets one request at a time ask the store, at random: so a run depends on its seed alone."""

    def __init__(self, chance):
        self._chance = chance
        self._waiting = []
        self._is_taken = False

    async def take(self):
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        self._call_next()
        await turn

    def release(self):
        self._is_taken = False
        self._call_next()

    def _call_next(self):
        # Not at once: a device that can go on without the store gets to its next request first.
        asyncio.get_running_loop().call_soon(self._next)

    def _next(self):
        if self._waiting and not self._is_taken:
            self._is_taken = True
            self._waiting.pop(self._chance.randrange(len(self._waiting))).set_result(None)


class Interleaved:
    """A store whose every part lets others go first, before it is asked and before it answers."""

    def __init__(self, asked, turns, is_part=False):
        self._asked, self._turns, self._is_part = asked, turns, is_part

    def __getattr__(self, name):
        ask = getattr(self._asked, name)
        if not self._is_part:
            return Interleaved(ask, self._turns, is_part=True)

        async def asked(*arguments, **named):
            await self._turns.take()
            try:
                answer = await ask(*arguments, **named)
            finally:
                self._turns.release()
            await self._turns.take()
            self._turns.release()
            return answer

        return asked


class ServerClock:
    """The server's clock: it goes on by less than a second, or jumps, also back."""

    def begin(self, chance):
        self._chance = chance
        self._us = 1_700_000_000_000_000

    def pause(self):
        self._us += self._chance.randrange(900_000)

    @property
    def seconds(self):
        return self._us / 1_000_000

    def __call__(self):
        jump = self._chance.random()
        if jump < 0.03:
            self._us += self._chance.randrange(-3_600_000_000, 3_600_000_000)
        else:
            self._us += self._chance.choice([1, 1_000, 300_000, 1_000_000])
        return self._us


def new_devices(service, account, world, clock, seed, chance):
    pause = clock.pause if chance.random() < 0.5 else lambda: None
    devices = []
    for kind in KINDS:
        logs_in, own = partial(log_in, service, account, kind), random.Random(f"{seed} {kind}")
        device = Device(kind, kind.replace(" ", "-"), service, logs_in, world, own)
        device.spelling = chance.choice(SPELLINGS)
        device.server_clock, device.pause = lambda: clock.seconds, pause
        devices.append(device)
    gpodder, kasts, _, other = devices
    gpodder.sends_totals = chance.random() < 0.5
    chance.choice(devices).ahead_seconds = 1_900_000_000
    if chance.random() < 0.7:
        kasts.account = account.name
        if chance.random() < 0.5:
            kasts.others = [device.name for device in devices if device is not kasts]
        if chance.random() < 0.3:  # another device with the same app and the same password
            gpodder.account, gpodder.habits = account.name, kasts.habits
            gpodder.has_double = bool(kasts.others)
    if chance.random() < 0.5:
        other.account = account.name
    return devices


async def one_run(store, seed, clock):
    """Return the differences of a device from the account at the end; "" if there are none."""
    chance = random.Random(seed)
    clock.begin(chance)
    interleaved = Interleaved(store, Interleaving(random.Random(f"{seed} turns")))
    service = service_on(interleaved, clock)
    account = await service.accounts.create(f"run{seed}", None)
    world = Feeds({feed: [f"https://{feed}.example{PATHS.get(feed, '')}"] for feed in FEEDS})
    devices = new_devices(service, account, world, clock, seed, chance)
    for turn in range(TURNS):
        for which, device in enumerate(devices):
            for number in range(1, 1 + chance.randrange(3)):
                device.use(1_000 * turn + 10 * number + which)
        busy = chance.sample(devices, chance.randrange(1, len(devices) + 1))
        jobs = [device.sync(losses=0.15) for device in busy]
        if chance.random() < 0.3:
            jobs.append(move_a_feed(service, account.id, world, f"{seed}-{turn}", chance))
        if chance.random() < 0.2:
            jobs.append(bring_back(service, account.id, world, chance))
        if chance.random() < 0.3:
            jobs.append(ask_for_all(service, account.name, devices))
        await asyncio.gather(*jobs)
        if chance.random() < 0.2:
            back = await bring_back(service, account.id, world, chance)
            # No device has left them any longer, except those that have not told the server yet.
            # And what a device has not told yet of what was played, the server cannot tell it
            # again.
            queued = {world.of(url) for d in devices for url, to in d.queued.items() if not to}
            queued |= {world.of(sent.podcast) for d in devices for sent in d.queued_actions}
            world.left -= back - queued
    for device in devices * 3:  # what one still has to send, the others have to be told
        await device.sync(losses=0)
    return await difference(service, account.name, world, devices)


async def ask_for_all(service, name, devices):
    """Ask since 0 for each device, as cliamp does with the account's password."""
    for device in devices:
        account = await service.accounts.named(name)
        cliamp = Admitted(account, CredentialKind.PASSWORD, user_agent="cliamp")
        await service.url_lists.changes(cliamp, seconds.FROM_NOTHING, device.name)


async def log_in(service, account, kind):
    """Return a session, or for the login of Nextcloud the token that this app alone has."""
    if kind != "clock":
        return (await service.logins.begin_session(Admitted(account, ""), kind)).text
    fetched = None
    while fetched is None:  # a clock that jumps can have let the login end
        secret = service.logins.begin_login()
        await service.logins.grant_login(account, login_of(secret), kind)
        fetched = await service.logins.fetch_login(secret)
    return fetched.text


async def bring_back(service, account_id, world, chance):
    """Undo a change, or restore the list; return the feeds that are subscribed to again."""
    listed = await service.history.page(account_id, per_page=20)
    if not listed.changes:
        return set()
    stamp = chance.choice(listed.changes).stamp
    if chance.random() < 0.7:
        when_changed = chance.choice([ConflictPolicy.LEAVE, ConflictPolicy.OVERWRITE])
        undo = Undo([stamp], None, when_changed)
        done = await service.history.undo(account_id, undo, TESTER)
    else:
        keeps, then = chance.random() < 0.5, shift(stamp, -1)
        done = await service.history.restore(account_id, then, keep_added=keeps, author=TESTER)
    if done.stamp is None:
        return set()
    made = (await service.history.page(account_id, shift(done.stamp, 1), per_page=1)).changes[0]
    world.left |= {world.of(change.feed_url) for change in made.feeds if is_gone(change)}
    back = {world.of(change.feed_url) for change in made.feeds if is_back(change)}
    return back & await subscribed(service, account_id, world)


async def listed_feeds(service, account_id, world):
    listed = await service.subscriptions.subscribed(account_id)
    return [world.of(feed.feed_url) for feed in listed]


async def subscribed(service, account_id, world):
    return set(await listed_feeds(service, account_id, world))


async def move_a_feed(service, account_id, world, name, chance):
    """Give a feed a new URL, as its publisher does; sometimes the owner has apps told of it."""
    if listed := await service.subscriptions.subscribed(account_id):
        url, new_url = listed[0].feed_url, f"https://moved.example/{name}"
        if chance.random() < 0.3:
            new_url += "%3A1"
        world.moves(url, new_url)
        is_told = chance.random() < 0.3
        with contextlib.suppress(InvalidInput):  # it was taken out of the list meanwhile
            await service.url_lists.move(account_id, url, new_url, TESTER, notify_apps=is_told)


async def difference(service, name, world, devices):
    account = await service.accounts.named(name)
    # Whether who removes one of two URLs leaves the feed can be in doubt: then it stays.
    doubtful = world.left & world.doubled
    listed = Counter(await listed_feeds(service, account.id, world))
    right = sorted(listed.keys() - doubtful)
    twice = {feed for feed, count in listed.items() if count > 1}
    newest = world.newest()
    for device in devices:
        feeds = sorted({world.of(url) for url in device.feeds} - doubtful)
        if feeds != right:
            return f"{device.kind}: {feeds} instead of {right}"
        # Plays of a feed that a device left are gone with it, on the devices told so.
        # Plays of a feed that may be two are sent again for one of them.
        # Two feeds with the same episodes have a position each.
        gone = world.left | (world.doubled & PATHS.keys()) | twice
        wrong = {
            episode: (at, device.positions.get(episode))
            for episode, at in newest.items()
            if episode[20] not in gone and not is_there(device, episode, at)
        }
        if wrong:
            return f"{device.kind}: wrong positions (right, shown): {wrong}"
    lost = world.taken - world.left - set(right)
    return f"no device has left {sorted(lost)}" if lost else ""


def is_there(device, episode, right):
    """Whether a device is where the owner is, or has played since by a clock that is behind."""
    shown = device.positions.get(episode)
    plays = device.world.plays[episode]
    own = [play.position for play in plays if play.device == device.name and not play.is_ahead]
    is_behind = any(play.is_ahead for play in plays) and shown and shown.seconds == max([0, *own])
    return is_behind or (shown is not None and shown.seconds == right)


async def differences(open_store, runs):
    """Return the differences at the end of the first run that has any."""
    clock = ServerClock()
    clock.begin(random.Random(0))
    store = await open_store(now=clock)
    try:
        for seed in range(runs):
            if found := await one_run(store, seed, clock):
                return [f"run {seed}: {found}"]
    finally:
        await store.close()
    return []


@pytest.fixture
def opened(tmp_path):
    return partial(SqliteStore.open, tmp_path / "feedkeep.db")


async def test_devices_of_every_kind_end_with_the_same_list(opened):
    assert await differences(opened, RUNS) == []


@in_the_long_form
async def test_devices_of_every_kind_end_with_the_same_list_on_postgres(database):
    assert await differences(partial(PostgresStore.open, database, 4), RUNS_ON_POSTGRES) == []


upload = UrlLists.upload


async def told_anew(lists, admitted, *urls):
    """Answer an upload with the second after it, as a server that forgets what it told would."""
    done = await upload(lists, admitted, *urls)
    told = await lists.changes(replace(admitted, token=None), seconds.FROM_NOTHING)
    return replace(done, timestamp=told.timestamp)


changes_to_send = url_changes.changes_to_send


def with_moves(entries, first, *rest, **more):
    """Tell apps that a feed moved: to add its new URL, and to remove the old ones."""
    found = changes_to_send(entries, first, *rest, **more)
    feeds = [e for e in entries if isinstance(e, Subscription) and e.is_subscribed]
    moved = {e.guid: e for e in feeds if e.app_url and e.revision >= first}
    old = [e.app_url for e in moved.values()] if not more["is_from_nothing"] else []
    add = [*found.add, *(e.feed_url for e in moved.values())]
    return replace(found, add=add, remove=[*old], removed_texts=[*old])


judge = episode_actions.judge


def judged_without_position(sent, app):
    """Store and send only the beginning of playback, without the position."""
    has_position = sent.position is not None and sent.position > 0
    judged = judge(sent if has_position else replace(sent, position=1), app)
    if isinstance(judged, EpisodeAction) and not has_position:
        return replace(judged, position=None)
    return judged


after_upload = seconds.after_upload
EVERY_SINCE = (seconds, "first_second", lambda since, *_: since)

BROKEN = {
    "naive seconds": [(seconds, "is_settled", lambda _: True)],
    "the time of the upload": [(UrlLists, "upload", told_anew), EVERY_SINCE],
    "what apps ask for": [EVERY_SINCE],
    "moves": [(url_changes, "changes_to_send", with_moves)],
    "every removal": [(url_lists, "has_unsubscribed", lambda *_, **__: True)],
    "all is its own": [(url_changes, "is_own", lambda app, *_: bool(app.own_uploads))],
    "past its upload": [(seconds, "knows_all", lambda app, _: app.last_sent is not None)],
    "one spelling": [(url_changes, "usual_spellings", lambda url: [url])],
    "one app for each device": [(App, "key", property(lambda app: f"app {app.device}"))],
    "every password": [(app_identity, "after_naming", lambda app, _: replace(app, device="any"))],
    "no position": [(episode_actions, "judge", judged_without_position)],
    "own by the clock": [(seconds, "after_upload", lambda *given: after_upload(*given[:4]))],
}
"""Patches that make the service wrong, by the mistaken rule."""


@in_the_long_form
@pytest.mark.parametrize("broken", BROKEN)
async def test_the_proof_catches(opened, monkeypatch, broken):
    for patch in BROKEN[broken]:
        monkeypatch.setattr(*patch)
    assert await differences(opened, CONTROL_RUNS) != []
