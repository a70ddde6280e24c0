"""What every store promises about feeds: processes share the looking, and none looks twice."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing, nullcontext
from pathlib import Path

import asyncpg
import pytest
from library import library
from msgspec.structs import fields
from postgres_server import with_connection
from whole_store import all_accounts

from feedkeep.model import (
    Account,
    AccountId,
    Episode,
    Failure,
    Feed,
    FeedContent,
    Guid,
    NewestEpisodes,
    NewSubscriber,
    Picture,
    Sighting,
    Stamp,
    Subscription,
    replace,
)
from feedkeep.model.errors import StoreUnavailable
from feedkeep.rules.subscriptions import subscribed
from feedkeep.store.base import Store
from feedkeep.store.feed_rows import AFTER_LEASE_US, episodes_of
from feedkeep.store.portable import feeds as feeds_module
from feedkeep.store.sql import sqlite_form
from feedkeep.store.sqlite.connection import connect

DAY = 24 * 60 * 60 * 1_000_000
MINUTE = 60 * 1_000_000
NOW = Stamp(10**15)
UNTIL = Stamp(NOW + 10 * MINUTE)
PICTURE = Picture("image/webp", b"\0\xff picture", digest="1f")


EPISODES = (
    Episode('"Folge" \N{GRINNING FACE}', Stamp(19), 3_600, "https://site.example/1", "g", "f"),
    Episode("Trailer"),
)


def guid_of(number: int) -> Guid:
    return Guid(f"00000000-0000-5000-8000-{number:012x}")


def url_of(number: int) -> str:
    return f"https://{number}.example/feed"


def urls(*numbers: int) -> dict[Guid, str]:
    return {guid_of(number): url_of(number) for number in numbers}


G1, G2, G3 = (guid_of(number) for number in (1, 2, 3))

ALL_OF_IT = Feed(
    G1,
    url_of(1),
    wanted=NOW,
    next_fetch=Stamp(NOW + DAY),
    content=FeedContent(
        title='Ein "Titel" \N{GRINNING FACE}\n',
        description="d",
        site_url="https://site.example",
        picture_url="https://picture.example",
        language="de-AT",
        author="a",
        podcast_guid=G2,
        is_locked=True,
        new_feed_url="https://new.example",
        items=("1", "2"),
        newest=Stamp(19),
        newest_title="Folge 1",
    ),
    is_own=True,
    looked=Stamp(NOW - 1),
    answered=Stamp(NOW - 2),
    changed=Stamp(NOW - 3),
    failing=Stamp(NOW - 4),
    failure=Failure.GONE,
    reason="It is gone.",
    failures=7,
    dead=Stamp(NOW - 5),
    etag='"e"',
    last_modified="Sun, 22 Nov 2026 00:00:00 GMT",
    sighting=Sighting("https://elsewhere.example", Stamp(1), Stamp(2), 3),
    picture="1f",
    picture_url="https://picture.example",
    picture_looked=Stamp(NOW - 6),
    episodes="10 abc",
    page_feeds=("https://named.example", "https://also.example"),
    is_permitted=True,
    is_slow=True,
)


async def looked_at(
    store: Store,
    *feeds: Feed,
    picture: Picture | None = None,
    episodes: NewestEpisodes | None = None,
) -> None:
    """Have feeds in a store as they are after a look."""
    for feed in feeds:
        await store.feeds.want({feed.guid: feed.url}, feed.wanted)
        [leased] = await store.feeds.lease(NOW, UNTIL, 1)
        assert leased.guid == feed.guid
        assert await store.feeds.save(feed, UNTIL, picture, None, episodes)


def waiting(number: int, next_fetch: int) -> Feed:
    """Return a feed that is to be looked at from a stamp on."""
    return Feed(guid_of(number), url_of(number), NOW, Stamp(next_fetch), looked=Stamp(1))


async def only(store: Store, guid: Guid = G1) -> Feed:
    return (await store.feeds.known([guid]))[guid]


def numbers(feeds: Sequence[Feed]) -> list[int]:
    return [int(feed.guid[-12:], 16) for feed in feeds]


@pytest.fixture
def tamper(request):
    """Changes the database behind the store's back."""
    if request.node.callspec.params["open_store"] == "sqlite":
        path: Path = request.getfixturevalue("path")

        def change(statement):
            with closing(connect(path, 1)) as connection:
                connection.execute(statement)

        return change
    url: str = request.getfixturevalue("emptied_database")
    return lambda statement: with_connection(
        url, lambda connection: connection.execute(f"SET search_path = feedkeep; {statement}")
    )


@pytest.fixture
def hold_everything(request):
    """Lets another process hold all that it can hold of the feeds."""
    if request.node.callspec.params["open_store"] == "sqlite":
        path: Path = request.getfixturevalue("path")

        @asynccontextmanager
        async def held():
            with closing(connect(path, 1)) as connection:
                connection.execute("BEGIN IMMEDIATE")
                yield

        return held
    url: str = request.getfixturevalue("emptied_database")

    @asynccontextmanager
    async def locked():
        connection = await asyncpg.connect(url)
        async with connection.transaction():
            await connection.execute("SELECT 1 FROM feedkeep.feed FOR UPDATE")
            yield
        await connection.close()

    return locked


# Wanting feeds


async def test_a_new_feed_is_looked_at_before_all_that_wait_already(store):
    await looked_at(store, waiting(1, NOW - 30 * DAY))
    await store.feeds.want(urls(2), NOW)
    assert await store.feeds.lease(NOW, UNTIL, 1) == [Feed(G2, url_of(2), NOW, Stamp(0))]


async def test_new_feeds_are_looked_at_in_their_turns(store):
    turns = {G1: Stamp(9), G2: Stamp(5)}
    await store.feeds.want(urls(1, 2, 3), NOW, turns)
    await store.feeds.want(urls(1), NOW, {G1: Stamp(1)})  # it has its turn already
    leased = await store.feeds.lease(NOW, UNTIL, 9)
    assert [(feed.guid, feed.next_fetch) for feed in leased] == [(G3, 0), (G2, 5), (G1, 9)]


async def test_of_a_known_feed_only_is_it_wanted_written_and_once_a_day(store):
    await looked_at(store, ALL_OF_IT, picture=PICTURE)
    other_spelling = {G1: "http://1.example/feed"}
    await store.feeds.want(other_spelling, Stamp(NOW + DAY - 1))
    assert await only(store) == ALL_OF_IT
    await store.feeds.want(other_spelling, Stamp(NOW + DAY))
    assert await only(store) == replace(ALL_OF_IT, wanted=NOW + DAY)
    await store.feeds.want(other_spelling, NOW)
    assert await only(store) == replace(ALL_OF_IT, wanted=NOW + DAY)
    assert await store.feeds.picture(G1) == PICTURE


async def test_to_want_what_was_wanted_today_writes_nothing(hold_everything, store):
    await store.feeds.want(urls(*range(300)), NOW)
    async with hold_everything():
        begun = time.monotonic()
        await store.feeds.want(urls(*range(300)), Stamp(NOW + DAY - 1))
        assert time.monotonic() - begun < 1


async def test_hundreds_are_wanted_at_once_whether_new_or_known(store):
    await store.feeds.want({}, NOW)
    await store.feeds.want(urls(*range(0, 500, 2)), NOW)
    tomorrow = Stamp(NOW + DAY)
    await store.feeds.want(urls(*range(500)), tomorrow)
    known = await store.feeds.known(list(urls(*range(500))))
    assert known == {
        guid: Feed(guid, url, tomorrow, Stamp(0)) for guid, url in urls(*range(500)).items()
    }


async def test_processes_that_want_the_same_feeds_at_once_do_not_wait_in_a_circle(open_store):
    async with AsyncExitStack() as opened:
        stores = [await opened.enter_async_context(open_store()) for _ in range(2)]
        for now in (NOW, Stamp(NOW + DAY)):
            up, down = urls(*range(150)), urls(*reversed(range(150)))
            both = zip(stores * 3, (up, down) * 3, strict=True)
            await asyncio.gather(*(store.feeds.want(some, now) for store, some in both))
        known = await stores[0].feeds.known(list(urls(*range(150))))
        assert {feed.wanted for feed in known.values()} == {NOW + DAY}
        assert len(known) == 150


# Knowing feeds


async def test_what_was_saved_is_known_to_the_last_field(store):
    for kind, value in ((Feed, ALL_OF_IT), (FeedContent, ALL_OF_IT.content)):
        told = {field.name for field in fields(kind) if getattr(value, field.name) != field.default}
        assert told == set(kind.__struct_fields__)
    await looked_at(store, ALL_OF_IT)
    assert await store.feeds.known([G1, G2]) == {G1: ALL_OF_IT}
    assert await store.feeds.known([]) == {}
    # A look that finds less leaves nothing behind of what was known before.
    [_] = await store.feeds.lease(Stamp(NOW + DAY), Stamp(UNTIL + DAY), 1)
    bare = Feed(G1, "http://1.example", NOW, Stamp(NOW + 2 * DAY))
    assert await store.feeds.save(bare, Stamp(UNTIL + DAY))
    assert await only(store) == bare


@pytest.mark.parametrize(
    ("stored", "known"),
    [
        ('{"etag": "e", "invented_later": {"a": [1]}}', Feed(G1, url_of(1), NOW, 0, etag="e")),
        ('{"content": {"title": "t"}}', Feed(G1, url_of(1), NOW, 0, content=FeedContent("t"))),
        ('{"etag": "e", "failure": "invented later"}', Feed(G1, url_of(1), NOW, 0)),
        ('{"etag": "e", "sighting": {}}', Feed(G1, url_of(1), NOW, 0)),
        ('{"etag": "e"', Feed(G1, url_of(1), NOW, 0)),
        ("[]", Feed(G1, url_of(1), NOW, 0)),
        ("", Feed(G1, url_of(1), NOW, 0)),
    ],
)
async def test_what_another_version_wrote_is_read_and_what_cannot_be_was_never_looked_at(
    tamper, stored, known, store
):
    await store.feeds.want(urls(1), NOW)
    await asyncio.to_thread(tamper, f"UPDATE feed SET known = '{stored}', failing = 5")
    expected = known if known == Feed(G1, url_of(1), NOW, 0) else replace(known, failing=5)
    assert await only(store) == expected
    assert await store.feeds.lease(NOW, UNTIL, 9) == [expected]


async def test_that_a_feed_may_be_looked_at_is_known_before_the_first_look(store):
    await store.feeds.want(urls(1), NOW)
    permitted = replace(await only(store), is_permitted=True)
    await store.feeds.renew([permitted])
    assert await only(store) == permitted
    assert await store.feeds.lease(NOW, UNTIL, 9) == [permitted]


# Leasing


async def test_those_that_wait_longest_are_leased_first_and_none_before_its_time(store):
    due = {1: NOW, 2: NOW - 5, 3: NOW - 9, 4: NOW + 1, 5: NOW - 7}
    await looked_at(store, *(waiting(number, at) for number, at in due.items()))
    leased = await store.feeds.lease(NOW, UNTIL, 3)
    assert leased == [waiting(number, due[number]) for number in (3, 5, 2)]
    assert numbers(await store.feeds.lease(NOW, UNTIL, 3)) == [1]
    assert await store.feeds.lease(NOW, UNTIL, 3) == []


async def test_those_in_between_two_moments_are_leased_and_no_others(store):
    due = {1: NOW - 9, 2: NOW - 5, 3: NOW - 4, 4: NOW - 1}
    await looked_at(store, *(waiting(number, at) for number, at in due.items()))
    between = Stamp(NOW - 5), Stamp(NOW - 4)
    assert numbers(await store.feeds.lease(NOW, UNTIL, 9, between)) == [2, 3]
    assert numbers(await store.feeds.lease(NOW, UNTIL, 9)) == [1, 4]


async def test_none_is_leased_before_its_time_whatever_it_lies_between(store):
    """A clock that was never set shows less than the turns of feeds that were just added."""
    await store.feeds.want(urls(1, 2), NOW, {G1: Stamp(7), G2: Stamp(9)})
    async with asyncio.timeout(10):
        leased = await store.feeds.lease(Stamp(8), UNTIL, 9, (Stamp(0), NOW))
    assert numbers(leased) == [1]


async def test_two_processes_that_lease_at_the_same_time_get_each_feed_once(open_store):
    async with AsyncExitStack() as opened:
        stores = [await opened.enter_async_context(open_store()) for _ in range(2)]
        await stores[0].feeds.want(urls(*range(100)), NOW)
        leases = [store.feeds.lease(NOW, UNTIL, 20) for store in stores * 4]
        found = [numbers(feeds) for feeds in await asyncio.gather(*leases)]
        while (more := numbers(await stores[0].feeds.lease(NOW, UNTIL, 20))) != []:
            found.append(more)
        assert sorted(number for some in found for number in some) == list(range(100))


@pytest.mark.parametrize("done", [0, 2])
async def test_lease_that_fails_after_others_returns_these(done, monkeypatch, store):
    await store.feeds.want(urls(1, 2, 3), NOW)
    driver, write, jobs = store.feeds._driver, store.feeds._driver.write, []

    async def write_some(job):
        jobs.append(job)
        if len(jobs) > done:
            raise StoreUnavailable
        return await write(job)

    leased = []
    with (
        monkeypatch.context() as failing,
        nullcontext() if done else pytest.raises(StoreUnavailable),
    ):
        failing.setattr(driver, "write", write_some)
        leased = await store.feeds.lease(NOW, UNTIL, 9)
    rest = await store.feeds.lease(NOW, UNTIL, 9)
    assert sorted(numbers(leased) + numbers(rest)) == [1, 2, 3]


async def test_a_lease_that_ended_is_given_to_another_and_the_first_can_save_nothing(open_store):
    async with open_store() as first, open_store() as second:
        await first.feeds.want(urls(1), NOW)
        assert numbers(await first.feeds.lease(NOW, UNTIL, 1)) == [1]
        assert await second.feeds.lease(Stamp(UNTIL - 1), Stamp(UNTIL + 9), 1) == []
        assert numbers(await second.feeds.lease(UNTIL, Stamp(UNTIL + 9), 1)) == [1]
        late = replace(ALL_OF_IT, etag="late")
        assert not await first.feeds.save(late, UNTIL, PICTURE)
        await first.feeds.release([G1], UNTIL)
        assert await second.feeds.picture(G1) is None
        assert await second.feeds.lease(Stamp(UNTIL + 8), Stamp(UNTIL + 99), 1) == []
        assert await second.feeds.save(ALL_OF_IT, Stamp(UNTIL + 9))
        assert not await first.feeds.save(late, UNTIL, PICTURE)
        assert await only(second) == ALL_OF_IT
        assert await second.feeds.picture(G1) is None


async def test_a_lease_that_ended_and_that_nobody_else_took_still_saves(store):
    await store.feeds.want(urls(1), NOW)
    [_] = await store.feeds.lease(NOW, UNTIL, 1)
    assert await store.feeds.save(replace(ALL_OF_IT, looked=UNTIL + DAY), UNTIL)
    assert (await only(store)).looked == UNTIL + DAY


async def test_to_save_ends_the_lease_so_that_it_can_be_looked_at_as_soon_as_it_is_due(store):
    await looked_at(store, waiting(1, NOW + 1))
    assert await store.feeds.lease(NOW, UNTIL, 1) == []
    assert numbers(await store.feeds.lease(Stamp(NOW + 1), UNTIL, 1)) == [1]


async def test_to_save_never_sets_back_when_a_feed_was_wanted(store):
    await store.feeds.want(urls(1), NOW)
    [feed] = await store.feeds.lease(NOW, UNTIL, 1)
    await store.feeds.want(urls(1), Stamp(NOW + DAY))
    assert await store.feeds.save(replace(feed, next_fetch=UNTIL), UNTIL)
    assert await only(store) == replace(feed, next_fetch=UNTIL, wanted=NOW + DAY)


async def test_a_feed_that_is_forgotten_meanwhile_is_not_saved(store):
    await store.feeds.want(urls(1), NOW)
    [feed] = await store.feeds.lease(NOW, UNTIL, 1)
    assert await store.feeds.forget(UNTIL, 9) == 1
    assert not await store.feeds.save(feed, UNTIL, PICTURE)
    await store.feeds.release([G1], UNTIL)
    assert await store.feeds.known([G1]) == {}
    assert await store.feeds.picture(G1) is None


async def test_what_is_given_back_waits_as_before_and_of_others_nothing_ends(store):
    await looked_at(store, *(waiting(number, NOW - 9 + number) for number in (1, 2, 3)))
    await store.feeds.release([], UNTIL)
    before = await store.feeds.lease(NOW, UNTIL, 2)
    assert numbers(before) == [1, 2]
    assert numbers(await store.feeds.lease(NOW, Stamp(UNTIL + 1), 2)) == [3]
    await store.feeds.release([G2, G1, G3, guid_of(99)], UNTIL)
    assert await store.feeds.lease(NOW, UNTIL, 9) == before


async def test_what_is_renewed_is_stored_as_given_and_a_look_under_way_saves_nothing(store):
    by_another_url = Feed(G1, "https://other.example/feed", Stamp(NOW + 5), Stamp(0))
    await looked_at(store, replace(ALL_OF_IT, next_fetch=NOW), waiting(2, NOW - 1))
    leased = await store.feeds.lease(NOW, UNTIL, 9)
    await store.feeds.renew([])
    await store.feeds.renew([by_another_url, replace(by_another_url, guid=G3)])
    assert await store.feeds.lease(NOW, Stamp(UNTIL + 1), 9) == [by_another_url]
    saved = [await store.feeds.save(feed, UNTIL) for feed in leased if feed.guid == G1]
    assert saved == [False]
    assert await only(store) == by_another_url
    await store.feeds.renew([ALL_OF_IT])
    known = await store.feeds.known([G1, G2, G3])
    assert known == {G1: ALL_OF_IT, G2: waiting(2, NOW - 1)}  # and what is not known stays so


def new_subscriber(number: int, due: int, moment: int, began_before: int = 0) -> NewSubscriber:
    return NewSubscriber(guid_of(number), Stamp(due), Stamp(moment), Stamp(began_before))


async def test_what_is_hastened_is_looked_at_earlier_and_never_later(store):
    await looked_at(store, waiting(1, NOW + DAY), waiting(2, NOW + 5))
    dues = {1: NOW + DAY, 2: NOW + 5, 3: NOW + DAY}
    new_subscribers = [new_subscriber(number, due, NOW + 9) for number, due in dues.items()]
    for _ in range(2):  # the second time, the first one has another due
        await store.feeds.hasten(new_subscribers, NOW)
        known = await store.feeds.known([one.guid for one in new_subscribers])
        assert [known[guid_of(number)].next_fetch for number in (1, 2)] == [NOW + 9, NOW + 5]
        assert len(known) == 2
    await store.feeds.hasten([new_subscriber(1, NOW + DAY, 0)], NOW)  # it was looked at since
    assert await store.feeds.lease(NOW, UNTIL, 9) == []
    await store.feeds.hasten([new_subscriber(1, NOW + 9, 0)], NOW)
    assert numbers(await store.feeds.lease(NOW, UNTIL, 9)) == [1]


async def test_what_is_hastened_during_a_look_is_looked_at_once_more(store):
    soon = Stamp(NOW + AFTER_LEASE_US)
    for began_before, is_once_more in ((UNTIL, True), (UNTIL - 1, False)):
        await store.feeds.want(urls(1), NOW)
        [leased] = await store.feeds.lease(NOW, UNTIL, 1)
        due = leased.next_fetch
        await store.feeds.hasten([new_subscriber(1, due, 0, began_before)], NOW)
        assert await store.feeds.lease(NOW, UNTIL, 1) == []  # as long as it is leased
        after = replace(leased, looked=NOW, next_fetch=Stamp(NOW + DAY))
        assert await store.feeds.save(after, UNTIL, due=leased.next_fetch)
        assert (await only(store)).next_fetch == (soon if is_once_more else NOW + DAY)
        await store.feeds.renew([replace(after, next_fetch=Stamp(0))])
    [leased] = await store.feeds.lease(NOW, UNTIL, 1)
    await store.feeds.hasten([new_subscriber(1, leased.next_fetch, 0, UNTIL)], NOW)
    put_off = replace(leased, next_fetch=Stamp(soon - 1))
    assert await store.feeds.save(put_off, UNTIL, due=leased.next_fetch)
    assert (await only(store)).next_fetch == soon - 1


async def test_the_next_look_is_when_a_feed_is_due_or_a_lease_ends(store):
    feeds = store.feeds
    assert await feeds.next_fetch() is None
    await looked_at(store, waiting(1, NOW - 9), waiting(2, UNTIL + 5))
    assert await feeds.next_fetch() == NOW - 9
    assert numbers(await feeds.lease(NOW, UNTIL, 9)) == [1]
    assert await feeds.next_fetch() == UNTIL
    await feeds.release([G1], UNTIL)
    assert await feeds.next_fetch() == NOW - 9
    assert numbers(await feeds.lease(NOW, Stamp(UNTIL + 9), 9)) == [1]
    assert await feeds.next_fetch() == UNTIL + 5
    assert numbers(await feeds.lease(Stamp(UNTIL + 5), Stamp(UNTIL + 7), 9)) == [2]
    assert await feeds.next_fetch() == UNTIL + 7
    await feeds.want(urls(3), NOW)
    assert await feeds.next_fetch() == 0


# Pictures


async def test_a_picture_is_replaced_by_the_next_one_and_stays_without_one(store):
    assert await store.feeds.picture(G1) is None
    await looked_at(store, waiting(1, NOW), picture=PICTURE)
    assert await store.feeds.picture(G1) == PICTURE
    other = Picture("image/jpeg", b"other", digest="2e")
    for given, kept in ((None, PICTURE), (other, other)):
        [feed] = await store.feeds.lease(NOW, UNTIL, 1)
        assert await store.feeds.save(feed, UNTIL, given)
        assert await store.feeds.picture(G1) == kept
    assert await store.feeds.picture(G2) is None


# Episodes


async def test_episodes_are_replaced_by_the_next_ones_and_stay_without_any(store):
    await looked_at(store, waiting(1, NOW), waiting(2, NOW))
    assert await store.feeds.episodes([G1, G2]) == {}
    later = Stamp(UNTIL + DAY)
    for given, kept in ((EPISODES, EPISODES), (None, EPISODES), (EPISODES[1:],) * 2, ((),) * 2):
        [feed, _] = await store.feeds.lease(NOW, later, 2)
        found = None if given is None else NewestEpisodes("", given)
        assert not await store.feeds.save(feed, UNTIL, None, None, NewestEpisodes(""))
        assert await store.feeds.save(feed, later, None, None, found)
        await store.feeds.release([G2], later)
        assert await store.feeds.episodes([G2, G1]) == {G1: kept}


@pytest.mark.parametrize(
    ("stored", "known"),
    [
        ('[["t"]]', (Episode("t"),)),
        ('[["t",1,2,"l","g","f","invented later"]]', (Episode("t", Stamp(1), 2, "l", "g", "f"),)),
        ('[{"title":"t"}]', ()),
        ("[[1]]", ()),
        ("", ()),
    ],
)
def test_episodes_of_another_version_are_read_and_unreadable_ones_are_none(stored, known):
    assert episodes_of(stored) == known


async def test_a_save_that_fails_half_way_stores_nothing(store):
    await store.feeds.want(urls(1), NOW)
    [before] = await store.feeds.lease(NOW, UNTIL, 1)
    with pytest.raises(Exception, match=r"(?i)not.null"):
        await store.feeds.save(ALL_OF_IT, UNTIL, Picture(None, b"", digest=""))
    assert await only(store) == before
    assert await store.feeds.save(ALL_OF_IT, UNTIL)


# Forgetting


async def test_unwanted_feeds_are_forgotten_a_few_at_a_time_with_pictures_and_episodes(store):
    for number in range(1, 6):
        feed = replace(waiting(number, NOW + 1), wanted=Stamp(NOW - number))
        found = NewestEpisodes("", EPISODES)
        await looked_at(store, feed, picture=PICTURE, episodes=found)
    everything = [guid_of(number) for number in range(1, 6)]
    before = Stamp(NOW - 2)
    assert await store.feeds.forget(before, 2) == 2
    assert set(await store.feeds.known(everything)) == {G1, G2, G3}
    assert await store.feeds.forget(before, 2) == 1
    assert await store.feeds.forget(before, 2) == 0
    assert set(await store.feeds.known(everything)) == {G1, G2}
    assert await store.feeds.picture(G2) == PICTURE
    assert await store.feeds.picture(G3) is None
    assert await store.feeds.episodes(everything) == dict.fromkeys((G1, G2), EPISODES)
    # Not even if the feed is wanted again.
    await store.feeds.want(urls(3), NOW)
    assert await store.feeds.episodes([G3]) == {}


async def test_a_feed_that_is_wanted_again_meanwhile_is_not_forgotten(monkeypatch, store):
    await store.feeds.want(urls(1, 2), NOW)
    driver = store.feeds._driver
    read, tomorrow = driver.read, Stamp(NOW + DAY)

    async def read_before_it_is_wanted(*statement):
        found = await read(*statement)
        monkeypatch.undo()
        await store.feeds.want(urls(1), tomorrow)
        return found

    monkeypatch.setattr(driver, "read", read_before_it_is_wanted)
    assert await store.feeds.forget(tomorrow, 9) == 1
    assert set(await store.feeds.known([G1, G2])) == {G1}


# What is subscribed to


async def all_subscribed(store: Store, limit: int) -> list[list[tuple[AccountId, Subscription]]]:
    """Go round all accounts; return what each step found."""
    found: list[list[tuple[AccountId, Subscription]]] = []
    after: AccountId | None = AccountId(0)
    while True:
        after, some = await store.feeds.subscribed(after, limit)
        if after is None:
            assert some == []
            return found
        found.append(list(some))


async def test_a_round_finds_all_live_subscriptions_and_no_others_by_rising_account(store):
    await store.fill(library(7, 20))
    accounts = sorted(account.id for account in await all_accounts(store))
    expected = {
        (account_id, subscription)
        for account_id in accounts
        for subscription in subscribed(await store.entries.whole(account_id))
    }
    counts = [len([1 for of, _ in expected if of == account_id]) for account_id in accounts]
    assert len(set(counts)) == 1
    each = counts[0]
    assert each > 2
    for limit, in_a_step in ((1, 1), (each, 1), (3 * each - 1, 2), (3 * each, 3), (10**6, 7)):
        steps = await all_subscribed(store, limit)
        found = [one for step in steps for one in step]
        assert set(found) == expected
        assert len(found) == len(expected)
        assert [of for of, _ in found] == sorted(of for of, _ in found)
        assert {len(step) for step in steps[:-1]} <= {in_a_step * each}
        assert len(steps) == -(-7 // in_a_step)


async def test_accounts_without_subscriptions_are_passed_over(monkeypatch, store):
    monkeypatch.setattr(feeds_module, "MAX_ACCOUNTS", 4)
    assert await store.feeds.subscribed(AccountId(0), 10) == (None, [])
    for number in range(1, 7):
        name = f"name{number}"
        await store.accounts.create(Account(AccountId(number), name, None, False, 0), name)
    assert await store.feeds.subscribed(AccountId(0), 10) == (4, [])
    assert await store.feeds.subscribed(AccountId(4), 10) == (6, [])
    assert await store.feeds.subscribed(AccountId(6), 10) == (None, [])


# What is not touched


async def test_what_is_known_of_feeds_belongs_to_no_account_and_is_not_copied(store):
    await looked_at(store, ALL_OF_IT, picture=PICTURE)
    await store.fill(library(2, 10))
    async with store.archive() as archive:
        count = await archive.count()
        assert count == sum([len(some) async for some in archive.records()])
    for account in await all_accounts(store):
        await store.accounts.delete(account.id)
    async with store.archive() as archive:
        assert await archive.count() == 0
    assert await only(store) == ALL_OF_IT
    assert await store.feeds.picture(G1) == PICTURE
    assert await store.faults() == []
    assert (await store.size()).size_bytes > 0


# Others that hold things up


@pytest.mark.parametrize("open_store", ["postgres"], indirect=True)
async def test_feeds_that_another_transaction_holds_are_passed_over(database, store):
    await looked_at(store, *(waiting(number, NOW - number) for number in (1, 2)))
    holder = await asyncpg.connect(database)
    async with holder.transaction():
        await holder.execute("SELECT 1 FROM feedkeep.feed WHERE guid = $1 FOR UPDATE", G2)
        begun = time.monotonic()
        tomorrow = Stamp(NOW + DAY)
        assert await store.feeds.lease(NOW, UNTIL, 1) == [waiting(1, NOW - 1)]
        await store.feeds.release([G1], UNTIL)
        await store.feeds.want(urls(1, 2, 3), tomorrow)
        known = await store.feeds.known([G1, G2, G3])
        assert {guid: feed.wanted for guid, feed in known.items()} == {
            G1: tomorrow, G2: NOW, G3: tomorrow
        }  # fmt: skip
        assert await store.feeds.forget(Stamp(tomorrow + 1), 9) == 2
        assert time.monotonic() - begun < 1
    await holder.close()
    assert set(await store.feeds.known([G1, G2, G3])) == {G2}


@pytest.mark.parametrize("open_store", ["postgres, as on a cluster"], indirect=True)
async def test_where_no_lock_reaches_every_machine_others_may_be_faster_and_more_is_looked_for(
    open_store, monkeypatch
):
    async with open_store() as faster, open_store() as slower:
        await faster.feeds.want(urls(*range(5)), NOW)
        driver = slower.feeds._driver
        scan = driver.scan
        leased: list[list[int]] = []

        async def scan_and_wait(*statement):
            found = await scan(*statement)
            if len(leased) < 2:
                leased.append(numbers(await faster.feeds.lease(NOW, UNTIL, 2)))
            return found

        monkeypatch.setattr(driver, "scan", scan_and_wait)
        leased.append(numbers(await slower.feeds.lease(NOW, UNTIL, 2)))
        assert [len(some) for some in leased] == [2, 2, 1]
        assert sorted(number for some in leased for number in some) == list(range(5))


# What it costs


@pytest.mark.parametrize("what", ["lease", "next look", "unwanted", "want"])
@pytest.mark.parametrize("open_store", ["sqlite"], indirect=True)
async def test_what_a_step_costs_does_not_grow_with_the_feeds_that_are_known(store, path, what):
    statement, bindings = {
        "lease": (feeds_module._LEASE_SOME, (NOW, 9, 0, NOW, 0)),
        "next look": (feeds_module._NEXT_FETCH, ()),
        "unwanted": (feeds_module._UNWANTED, (NOW, 9)),
        "want": (feeds_module._WANTED, (b"\0" * 16,)),
    }[what]

    def steps_with(feeds):
        """Return how many steps a statement takes when ten feeds are leased and ten wait."""
        steps = 0

        def count():
            nonlocal steps
            steps += 1
            return False

        with closing(connect(path, 1)) as connection:
            connection.execute("DELETE FROM feed")
            connection.executemany(
                "INSERT INTO feed (guid, url, wanted, next_fetch, leased_until)"
                " VALUES (randomblob(16), 'u', ?, ?, ?)",
                [
                    (
                        NOW - 1 if number < 20 else NOW + number,
                        NOW - 9 if number < 20 else NOW + number,
                        UNTIL if number < 10 else 0,
                    )
                    for number in range(feeds)
                ],
            )
            connection.set_progress_handler(count, 1)
            assert len(connection.execute(sqlite_form(statement), bindings).fetchall()) in {0, 1, 9}
        return steps

    assert steps_with(1_000) <= steps_with(100) + 20


@pytest.mark.parametrize("open_store", ["postgres"], indirect=True)
async def test_postgresql_finds_the_next_fetch_without_reading_every_feed(database):
    async def plan(connection):
        await connection.execute(
            "INSERT INTO feedkeep.feed (guid, url, wanted, next_fetch)"
            " SELECT gen_random_uuid(), repeat('u', 1500), n, abs(hashint4(n)::bigint)"
            " FROM generate_series(1, 10000) n"
        )
        await connection.execute("ANALYZE feedkeep.feed")
        rows = await connection.fetch(f"EXPLAIN {feeds_module._NEXT_FETCH}")
        return "\n".join(row[0] for row in rows)

    found = await asyncio.to_thread(with_connection, database, plan)
    assert found.count("feed_by_next_fetch") == 2
    assert "Seq Scan" not in found
