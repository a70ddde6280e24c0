"""Going through all lists: lists follow feeds that moved, and apps give up what is dead."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable

import pytest
from authors import TESTER
from scripted_looks import Clock
from stores import service_on

from feedkeep.feeds import sweep as rounds
from feedkeep.feeds.sweep import SubscriptionSweep
from feedkeep.model import (
    AccountId,
    Admitted,
    CredentialKind,
    Failure,
    Feed,
    FeedContent,
    Fetch,
    FetchResult,
    Second,
    Sighting,
    Stamp,
    replace,
)
from feedkeep.model.errors import AccountBusy, StoreUnavailable
from feedkeep.rules.clock import DAY_US, SECOND_US, shift
from feedkeep.rules.episode_actions import SentAction
from feedkeep.rules.feed_schedule import LEASE_US, MINUTE_US, after_fetch
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.fetch_order import PAYERS
from feedkeep.rules.subscriptions import Wanted
from feedkeep.rules.undo import Undo
from feedkeep.store.base import Store

OLD, NEW, OTHER = (f"https://{name}.example/feed" for name in ("old", "new", "other"))
GUIDS = {url: parse_feed_url(url).guid for url in (OLD, NEW, OTHER)}
TOKEN = CredentialKind.TOKEN


@pytest.mark.parametrize("first", [1, 2**62, 2**63 - 1])
async def test_a_round_comes_to_each_account_once_wherever_it_begins_and_if_the_store_fails(
    monkeypatch, first, world
):
    for name in ("BETWEEN_STEPS", "BETWEEN_ROUNDS", "AFTER_A_FAILURE"):
        monkeypatch.setattr(rounds, f"_SECONDS_{name}", 0.0)
    monkeypatch.setattr(rounds, "_SUBSCRIPTIONS_IN_A_STEP", 1)
    monkeypatch.setattr(rounds.secrets, "randbits", lambda _: first)
    accounts = [await world.subscribe(OLD, name=f"user{number}") for number in range(5)]
    feeds, seen, asked = world.store.feeds, [], itertools.count()
    ask = feeds.subscribed

    async def subscribed(after, count):
        if next(asked) in {1, 3}:
            raise StoreUnavailable("It is away.")
        last, listed = await ask(after, count)
        seen.extend(account_id for account_id, _ in listed)
        return last, listed

    monkeypatch.setattr(feeds, "subscribed", subscribed)
    await world.rounds.go_round()
    assert sorted(set(seen)) == sorted(accounts)
    assert len(seen) <= len(accounts) + 1  # the step that begins before the end goes past it


class World:
    def __init__(self, store: Store, clock: Clock) -> None:
        self.store, self.clock = store, clock
        self.service = service = service_on(store, clock)
        moves = service.followed_moves
        self.rounds = SubscriptionSweep(store, service.new_feeds, moves, clock, Fetch.PUBLIC)

    async def subscribe(self, *urls: str, name: str = "alice") -> AccountId:
        account = await self.service.accounts.create(name, None)
        items = [Wanted(url, parse_feed_url(url), None) for url in urls]  # also stored ones
        await self.service.subscriptions.add(account.id, items, TESTER)
        return account.id

    async def go_round(self) -> None:
        after: AccountId | None = AccountId(0)
        while after is not None:
            after = await self.rounds.step(after)

    async def learn(self, url: str, **known: object) -> None:
        """Let it be known of a feed what a look would have found."""
        now = self.clock()
        await self.store.feeds.want({GUIDS[url]: url}, now)
        far = Stamp(now + 400 * DAY_US)
        until = Stamp(now + DAY_US)
        for feed in await self.store.feeds.lease(far, until, 99):
            learned = replace(feed, **known) if feed.guid == GUIDS[url] else feed
            assert await self.store.feeds.save(learned, until)

    async def seen_to_move(self, old: str, new: str) -> None:
        """Let a feed be seen to have moved, on days on which all accounts had it already."""
        self.clock.go_on(5 * DAY_US)
        now = self.clock()
        sighting = Sighting(new, Stamp(now - 4 * DAY_US), now, 3)
        content = FeedContent(title="A Show")
        await self.learn(old, content=content, looked=now, answered=now, sighting=sighting)

    async def urls(self, account_id: AccountId) -> list[str]:
        return sorted(f.feed_url for f in await self.service.subscriptions.subscribed(account_id))

    async def known(self, url: str) -> Feed:
        return (await self.store.feeds.known([GUIDS[url]]))[GUIDS[url]]


@pytest.fixture
async def world(open_store):
    clock = Clock()
    async with open_store(clock) as store:
        world = World(store, clock)
        yield world
        world.service._passwords.close()


def run(open_store: Callable, work: Callable[[World], Awaitable[None]]) -> None:
    async def go() -> None:
        clock = Clock()
        async with open_store(clock) as store:
            world = World(store, clock)
            await work(world)
            world.service._passwords.close()

    asyncio.run(go())


async def test_known_feeds_are_looked_at_in_the_turns_of_accounts_that_come_to_have_them(world):
    await world.subscribe(OLD, OTHER)
    await world.go_round()
    for url in (OLD, OTHER):
        now = world.clock()
        await world.learn(url, looked=now, answered=now, next_fetch=Stamp(now + DAY_US))
    world.clock.go_on(DAY_US // 2)
    await world.subscribe(OLD, OTHER, name="ben")
    await world.subscribe(OTHER, name="carol")
    await world.go_round()
    assert (await world.known(OLD)).next_fetch // PAYERS in {1, 2}
    assert (await world.known(OTHER)).next_fetch // PAYERS == 1


# C10.11
async def test_every_list_follows_a_feed_that_moved_and_it_is_an_undoable_change(world):
    alice, ben = await world.subscribe(OLD, OTHER), await world.subscribe(OLD, name="ben")
    await world.seen_to_move(OLD, NEW)
    await world.go_round()
    assert await world.urls(alice) == sorted([NEW, OTHER])
    assert await world.urls(ben) == [NEW]
    listed = await world.service.history.page(alice)
    change = listed.changes[0]
    author = listed.author_of(change)
    assert author is not None
    assert (author.kind, author.name) == (CredentialKind.FEEDKEEP, "moved")
    await world.service.history.undo(alice, Undo([change.stamp]), TESTER)
    await world.go_round()
    assert await world.urls(alice) == sorted([OLD, OTHER])  # its owner has taken it back
    assert await world.urls(ben) == [NEW]


async def test_apps_are_told_of_a_move_only_once_the_old_address_was_dead_for_two_weeks(world):

    async def changes(world, since):
        account = await world.service.accounts.named("alice")
        return await world.service.url_lists.changes(Admitted(account, TOKEN), since, "phone")

    service = world.service
    alice = await world.subscribe(OLD)
    played = SentAction(OLD, "https://cdn.example/1", "phone", "play", 1, 0, 7, 9)
    account = await service.accounts.named("alice")
    await service.episode_actions.record(Admitted(account, TOKEN), [played])
    told = await changes(world, Second(0))
    assert (told.changes.add, told.changes.remove) == ([OLD], [])
    since = told.timestamp
    await world.seen_to_move(OLD, NEW)
    await world.go_round()
    world.clock.go_on(15 * DAY_US)  # no death counts from before this list had its new address
    now = world.clock()
    await world.learn(OLD, dead=Stamp(now - 13 * DAY_US), looked=now, failure=Failure.GONE)
    await world.go_round()
    told = await changes(world, since)
    assert (list(told.changes.add), list(told.changes.remove)) == ([], [])
    await world.learn(OLD, dead=Stamp(now - 14 * DAY_US), looked=now)
    await world.go_round()
    told = await changes(world, since)
    assert (list(told.changes.add), list(told.changes.remove)) == ([NEW], [OLD])
    account = await service.accounts.named("alice")
    anew = await service.episode_actions.since(Admitted(account, TOKEN), since)
    assert [action.position async for page in anew.pages for action in page] == [7]
    stamp = (await service.history.page(alice)).changes[0].stamp
    await world.go_round()
    assert (await service.history.page(alice)).changes[0].stamp == stamp


async def test_an_old_address_is_looked_at_for_as_long_as_apps_know_it(world):
    await world.subscribe(OLD)
    await world.seen_to_move(OLD, NEW)
    await world.go_round()
    world.clock.go_on(20 * DAY_US)
    await world.go_round()
    fresh = world.clock.at - DAY_US
    assert (await world.known(OLD)).wanted > fresh
    assert (await world.known(NEW)).wanted > fresh


async def test_a_list_follows_a_move_only_if_it_was_seen_while_the_list_had_the_feed(world):
    await world.subscribe(OLD)
    await world.seen_to_move(OLD, NEW)
    mallory = await world.subscribe(OLD, name="mallory")
    await world.go_round()
    assert await world.urls(mallory) == [OLD]
    await world.seen_to_move(OLD, NEW)
    await world.go_round()
    assert await world.urls(mallory) == [NEW]


async def test_for_many_accounts_that_come_to_a_feed_it_is_looked_at_once_a_minute(world):
    """However many come, and all are shown what was found a minute after the last one came."""
    accounts, looks = [await world.subscribe(OLD)], 0

    async def look_at_what_is_due():
        await world.go_round()
        now = world.clock()
        until = shift(now, LEASE_US)
        leased = await world.store.feeds.lease(now, until, 9)
        for feed in leased:
            found = FetchResult(None if feed.etag else FeedContent(title="Radio"), etag="1")
            after = after_fetch(feed, found, now, 0.5)
            assert await world.store.feeds.save(after, until, None, feed.next_fetch)
        return len(leased)

    assert await look_at_what_is_due() == 1
    for number in range(37):
        world.clock.go_on(5 * SECOND_US)
        accounts.append(await world.subscribe(OLD, name=f"user{number}"))
        looks += await look_at_what_is_due()
    world.clock.go_on(MINUTE_US)
    assert looks + await look_at_what_is_due() == 4
    for account_id in accounts:
        known = await world.service.known_feeds.headlines_at(account_id, [OLD])
        assert known[OLD].title == "Radio"


@pytest.mark.parametrize("already", [NEW, OTHER])
async def test_nothing_is_merged_by_itself(already, world):
    alice = await world.subscribe(OLD, already)
    await world.seen_to_move(OLD, already)
    await world.go_round()
    assert await world.urls(alice) == sorted([OLD, already])


async def test_an_account_that_has_too_much_under_way_stops_no_sweep(monkeypatch, world):
    lists = [await world.subscribe(OLD, name=name) for name in ("alice", "ben")]
    busy, other = sorted(lists)
    await world.seen_to_move(OLD, NEW)
    change = world.store.entries.change

    async def changed(account_id, *more, **named):
        if account_id == busy:
            raise AccountBusy("It is.")
        return await change(account_id, *more, **named)

    with monkeypatch.context() as patched:
        patched.setattr(world.store.entries, "change", changed)
        await world.go_round()
    assert (await world.urls(busy), await world.urls(other)) == ([OLD], [NEW])
    await world.go_round()
    assert await world.urls(busy) == [NEW]


async def test_a_list_that_is_deleted_meanwhile_stops_no_sweep(monkeypatch, world):
    lists = {await world.subscribe(OLD, name=name): name for name in ("alice", "ben")}
    first, second = sorted(lists)
    await world.seen_to_move(OLD, NEW)
    known = world.store.feeds.known

    async def then_deleted(guids):
        found = await known(guids)
        await world.store.accounts.delete(first)
        return found

    monkeypatch.setattr(world.store.feeds, "known", then_deleted)
    await world.go_round()
    assert await world.urls(second) == [NEW]


async def test_a_url_that_python_cannot_split_stops_no_round(world):
    await world.subscribe("https://\u2100.example/feed", OLD)
    await world.go_round()
    assert (await world.known(OLD)).url == OLD


async def test_of_two_spellings_of_a_new_feed_that_by_https_is_asked(world):
    by_https = [f"https://{number}.example/feed" for number in range(20)]
    by_http = [url.replace("https", "http") for url in by_https]
    await world.subscribe(*by_https[::2], *by_http[1::2])
    await world.subscribe(*by_http[::2], *by_https[1::2], name="ben")
    await world.go_round()
    known = await world.store.feeds.known([parse_feed_url(url).guid for url in by_https])
    assert sorted(feed.url for feed in known.values()) == sorted(by_https)


async def test_what_a_list_follows_to_is_looked_at_at_once(world):
    await world.subscribe(OLD)
    await world.seen_to_move(OLD, NEW)
    taken = asyncio.create_task(world.rounds.note_new())
    await asyncio.sleep(0)
    await world.go_round()
    await taken
    assert (await world.known(NEW)).next_fetch <= world.clock.at
    assert world.rounds.is_news.is_set()
