"""Going through all lists: lists follow feeds that moved, and apps give up what is dead."""

import asyncio
import itertools

import pytest
from authors import TESTER
from msgspec.structs import replace
from scripted_looks import guid

from feedkeep.feeds import sweep as sweeping
from feedkeep.model import Admitted, CredentialKind, Failure, FeedContent, FetchResult, Sighting
from feedkeep.model.errors import AccountBusy, StoreUnavailable
from feedkeep.rules.clock import DAY_US, SECOND_US, shift
from feedkeep.rules.episode_actions import SentAction
from feedkeep.rules.feed_schedule import LEASE_US, MINUTE_US, after_fetch
from feedkeep.rules.fetch_order import PAYERS
from feedkeep.rules.undo import Undo

OLD, NEW, OTHER = (f"https://{name}.example/feed" for name in ("old", "new", "other"))
TOKEN = CredentialKind.TOKEN


async def go_round(world):
    after = 0
    while after is not None:
        after = await world.sweep.step(after)


async def learn(world, url, **known):
    """Store a feed with the fields that a fetch would have set."""
    now = world.clock()
    await world.store.feeds.want({guid(url): url}, now)
    for feed in await world.store.feeds.lease(now + 400 * DAY_US, now + DAY_US, 99):
        learned = replace(feed, **known) if feed.guid == guid(url) else feed
        assert await world.store.feeds.save(learned, now + DAY_US)


async def seen_to_move(world, old, new):
    """Store a feed that was seen to have moved, on days on which all accounts had it already."""
    world.clock.go_on(5 * DAY_US)
    now = world.clock()
    sighting = Sighting(new, now - 4 * DAY_US, now, 3)
    content = FeedContent(title="A Show")
    await learn(world, old, content=content, looked=now, answered=now, sighting=sighting)


async def listed(world, account_id):
    return sorted(f.feed_url for f in await world.service.subscriptions.subscribed(account_id))


async def known(world, url):
    (feed,) = await world.stored(url)
    return feed


@pytest.mark.parametrize("first", [1, 2**62, 2**63 - 1])
async def test_round_visits_each_account_once_wherever_it_begins_and_if_the_store_fails(
    monkeypatch, first, world
):
    for name in ("BETWEEN_ROUNDS", "AFTER_A_FAILURE"):
        monkeypatch.setattr(sweeping, f"_SECONDS_{name}", 0.0)
    monkeypatch.setattr(sweeping, "_SUBSCRIPTIONS_IN_A_STEP", 1)
    monkeypatch.setattr(sweeping.secrets, "randbits", lambda _: first)
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
    await world.sweep.go_round()
    assert sorted(set(seen)) == sorted(accounts)
    assert len(seen) <= len(accounts) + 1  # the step that begins before the end goes past it


async def test_known_feeds_are_fetched_in_the_turns_of_their_new_subscribers(world):
    await world.subscribe(OLD, OTHER)
    await go_round(world)
    for url in (OLD, OTHER):
        now = world.clock()
        await learn(world, url, looked=now, answered=now, next_fetch=now + DAY_US)
    world.clock.go_on(DAY_US // 2)
    await world.subscribe(OLD, OTHER, name="ben")
    await world.subscribe(OTHER, name="carol")
    await go_round(world)
    assert (await known(world, OLD)).next_fetch // PAYERS in {1, 2}
    assert (await known(world, OTHER)).next_fetch // PAYERS == 1


# C10.11
async def test_every_list_follows_a_feed_that_moved_by_a_change_that_can_be_undone(world):
    alice, ben = await world.subscribe(OLD, OTHER), await world.subscribe(OLD, name="ben")
    await seen_to_move(world, OLD, NEW)
    taken = asyncio.create_task(world.sweep.note_new())
    await asyncio.sleep(0)
    await go_round(world)
    await taken
    assert (await known(world, NEW)).next_fetch <= world.clock.at  # it is fetched at once
    assert world.sweep.is_news.is_set()
    assert await listed(world, alice) == sorted([NEW, OTHER])
    assert await listed(world, ben) == [NEW]
    page = await world.service.history.page(alice)
    author = page.author_of(page.changes[0])
    assert (author.kind, author.name) == (CredentialKind.FEEDKEEP, "moved")
    await world.service.history.undo(alice, Undo([page.changes[0].stamp]), TESTER)
    mallory = await world.subscribe(OLD, name="mallory")
    await go_round(world)
    assert await listed(world, alice) == sorted([OLD, OTHER])  # its owner has taken it back
    assert await listed(world, ben) == [NEW]
    assert await listed(world, mallory) == [OLD]  # the move was not seen while she had the feed
    await seen_to_move(world, OLD, NEW)
    await go_round(world)
    assert await listed(world, mallory) == [NEW]


async def test_apps_are_told_of_a_move_only_once_the_old_url_was_dead_for_two_weeks(world):
    service = world.service

    async def admitted():
        return Admitted(await service.accounts.named("alice"), TOKEN)

    async def told(since):
        found = await service.url_lists.changes(await admitted(), since, "phone")
        return found.timestamp, list(found.changes.add), list(found.changes.remove)

    alice = await world.subscribe(OLD)
    played = SentAction(OLD, "https://cdn.example/1", "phone", "play", 1, 0, 7, 9)
    await service.episode_actions.record(await admitted(), [played])
    since, *changes = await told(0)
    assert changes == [[OLD], []]
    await seen_to_move(world, OLD, NEW)
    await go_round(world)
    world.clock.go_on(15 * DAY_US)  # no death counts from before this list had its new address
    await go_round(world)
    for url in (OLD, NEW):  # as long as apps have the old one, it is fetched
        assert (await known(world, url)).wanted > world.clock.at - DAY_US
    now = world.clock()
    await learn(world, OLD, dead=now - 13 * DAY_US, looked=now, failure=Failure.GONE)
    await go_round(world)
    assert (await told(since))[1:] == ([], [])
    await learn(world, OLD, dead=now - 14 * DAY_US, looked=now)
    await go_round(world)
    assert (await told(since))[1:] == ([NEW], [OLD])
    anew = await service.episode_actions.since(await admitted(), since)
    assert [action.position async for page in anew.pages for action in page] == [7]
    stamp = (await service.history.page(alice)).changes[0].stamp
    await go_round(world)
    assert (await service.history.page(alice)).changes[0].stamp == stamp


async def test_feed_is_fetched_once_a_minute_for_many_new_subscribers(world):
    """However many come, and all are shown what was found a minute after the last one came."""
    accounts, looks = [await world.subscribe(OLD)], 0

    async def look_at_what_is_due():
        await go_round(world)
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
    assert {await world.title(account_id, OLD) for account_id in accounts} == {"Radio"}


@pytest.mark.parametrize("already", [NEW, OTHER])
async def test_sweep_merges_nothing(already, world):
    alice = await world.subscribe(OLD, already)
    await seen_to_move(world, OLD, already)
    await go_round(world)
    assert await listed(world, alice) == sorted([OLD, already])


async def test_busy_or_deleted_account_does_not_stop_the_sweep(monkeypatch, world):
    first, second, last = sorted(
        [await world.subscribe(OLD, name=name) for name in ("alice", "ben", "carol")]
    )
    await seen_to_move(world, OLD, NEW)
    store = world.store
    change, known_feeds = store.entries.change, store.feeds.known

    async def busy(account_id, *more, **named):
        if account_id == first:
            raise AccountBusy("It is.")
        return await change(account_id, *more, **named)

    async def then_deleted(guids):
        found = await known_feeds(guids)
        await store.accounts.delete(second)
        return found

    with monkeypatch.context() as patched:
        patched.setattr(store.entries, "change", busy)
        patched.setattr(store.feeds, "known", then_deleted)
        await go_round(world)
    assert (await listed(world, first), await listed(world, last)) == ([OLD], [NEW])
    await go_round(world)
    assert await listed(world, first) == [NEW]


async def test_new_feeds_are_fetched_by_https_despite_a_url_that_python_cannot_split(world):
    by_https = [f"https://{number}.example/feed" for number in range(20)]
    by_http = [url.replace("https", "http") for url in by_https]
    await world.subscribe("https://\u2100.example/feed", *by_https[::2], *by_http[1::2])
    await world.subscribe(*by_http[::2], *by_https[1::2], name="ben")
    await go_round(world)
    assert [feed.url for feed in await world.stored(*by_https)] == by_https
