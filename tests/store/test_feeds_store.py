"""Feeds in every store: processes share the fetches, and none is done twice."""

import asyncio
import time
from contextlib import AsyncExitStack, asynccontextmanager, closing, nullcontext

import asyncpg
import pytest
from library import library
from list_values import account
from msgspec.structs import fields
from postgres_server import with_connection
from whole_store import all_accounts

from feedkeep import model
from feedkeep.model import replace
from feedkeep.model.errors import StoreUnavailable
from feedkeep.rules.subscriptions import subscribed
from feedkeep.store.feed_rows import AFTER_LEASE_US, episodes_of
from feedkeep.store.portable import feeds as feeds_module
from feedkeep.store.sql import sql, sqlite_form
from feedkeep.store.sqlite.connection import connect

MINUTE = 60 * 1_000_000
DAY = 24 * 60 * MINUTE
NOW = 10**15
UNTIL, TOMORROW = NOW + 10 * MINUTE, NOW + DAY
PICTURE = model.Picture("image/webp", b"\0\xff picture", digest="1f")

EPISODES = (
    model.Episode('"Folge" \N{GRINNING FACE}', 19, 3_600, "https://site.example/1", "g", "f"),
    model.Episode("Trailer"),
)


def guid_of(number):
    return f"00000000-0000-5000-8000-{number:012x}"


def url_of(number):
    return f"https://{number}.example/feed"


def urls(*numbers):
    return {guid_of(number): url_of(number) for number in numbers}


G1, G2, G3 = (guid_of(number) for number in (1, 2, 3))

ALL_OF_IT = model.Feed(
    G1,
    url_of(1),
    wanted=NOW,
    next_fetch=TOMORROW,
    content=model.FeedContent(
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
        newest=19,
        newest_title="Folge 1",
    ),
    is_own=True,
    looked=NOW - 1,
    answered=NOW - 2,
    changed=NOW - 3,
    failing=NOW - 4,
    failure=model.Failure.GONE,
    reason="It is gone.",
    failures=7,
    dead=NOW - 5,
    etag='"e"',
    last_modified="Sun, 22 Nov 2026 00:00:00 GMT",
    sighting=model.Sighting("https://elsewhere.example", 1, 2, 3),
    picture="1f",
    picture_url="https://picture.example",
    picture_looked=NOW - 6,
    episodes="10 abc",
    page_feeds=("https://named.example", "https://also.example"),
    is_permitted=True,
    is_slow=True,
)


async def looked_at(store, *feeds, picture=None, episodes=None):
    """Store feeds as they are after a fetch."""
    for feed in feeds:
        await store.feeds.want({feed.guid: feed.url}, feed.wanted)
        [leased] = await store.feeds.lease(NOW, UNTIL, 1)
        assert leased.guid == feed.guid
        assert await store.feeds.save(feed, UNTIL, picture, None, episodes)


def waiting(number, next_fetch):
    """Return a feed that is to be looked at from a stamp on."""
    return model.Feed(guid_of(number), url_of(number), NOW, next_fetch, looked=1)


async def only(store, guid=G1):
    return (await store.feeds.known([guid]))[guid]


async def known_guids(store, *numbers):
    return set(await store.feeds.known([guid_of(number) for number in numbers]))


def numbers(feeds):
    return [int(feed.guid[-12:], 16) for feed in feeds]


@pytest.fixture
def hold_everything(request):
    """Lets another process hold all that it can hold of the feeds."""
    is_sqlite = request.node.callspec.params["open_store"] == "sqlite"
    place = request.getfixturevalue("path" if is_sqlite else "emptied_database")

    @asynccontextmanager
    async def held():
        if is_sqlite:
            with closing(connect(place, 1)) as connection:
                connection.execute("BEGIN IMMEDIATE")
                yield
            return
        connection = await asyncpg.connect(place)
        async with connection.transaction():
            await connection.execute("SELECT 1 FROM feedkeep.feed FOR UPDATE")
            yield
        await connection.close()

    return held


async def test_new_feeds_are_looked_at_first_and_in_their_turns(store):
    await looked_at(store, waiting(4, NOW - 30 * DAY))
    await store.feeds.want(urls(1, 2, 3), NOW, {G1: 9, G2: 5})
    await store.feeds.want(urls(1), NOW, {G1: 1})  # it has its turn already
    leased = await store.feeds.lease(NOW, UNTIL, 3)
    expected = {3: 0, 2: 5, 1: 9}
    assert leased == [model.Feed(guid_of(n), url_of(n), NOW, turn) for n, turn in expected.items()]


async def test_known_feed_is_only_marked_as_wanted_and_once_a_day(store):
    await looked_at(store, ALL_OF_IT, picture=PICTURE)
    other_spelling = {G1: "http://1.example/feed"}
    for now, wanted in ((TOMORROW - 1, NOW), (TOMORROW, TOMORROW), (NOW, TOMORROW)):
        await store.feeds.want(other_spelling, now)
        assert await only(store) == replace(ALL_OF_IT, wanted=wanted)
    assert await store.feeds.picture(G1) == PICTURE


async def test_to_want_what_was_wanted_today_writes_nothing(hold_everything, store):
    await store.feeds.want(urls(*range(300)), NOW)
    async with hold_everything():
        begun = time.monotonic()
        await store.feeds.want(urls(*range(300)), TOMORROW - 1)
        assert time.monotonic() - begun < 1


async def test_hundreds_are_wanted_at_once_also_by_processes_that_want_the_same(open_store):
    async with open_store() as one, open_store() as other:
        await one.feeds.want({}, NOW)
        await one.feeds.want(urls(*range(0, 300, 2)), NOW)
        up, down = urls(*range(300)), urls(*reversed(range(300)))
        for now in (NOW, TOMORROW):
            both = zip((one, other) * 3, (up, down) * 3, strict=True)
            await asyncio.gather(*(store.feeds.want(some, now) for store, some in both))
        expected = {guid: model.Feed(guid, url, TOMORROW, 0) for guid, url in up.items()}
        assert await one.feeds.known(list(up)) == expected


async def test_what_was_saved_is_known_to_the_last_field(store):
    for kind, value in ((model.Feed, ALL_OF_IT), (model.FeedContent, ALL_OF_IT.content)):
        told = {field.name for field in fields(kind) if getattr(value, field.name) != field.default}
        assert told == set(kind.__struct_fields__)
    await looked_at(store, ALL_OF_IT)
    assert await store.feeds.known([G1, G2]) == {G1: ALL_OF_IT}
    assert await store.feeds.known([]) == {}
    # A look that finds less leaves nothing behind of what was known before.
    [_] = await store.feeds.lease(TOMORROW, UNTIL + DAY, 1)
    bare = model.Feed(G1, "http://1.example", NOW, NOW + 2 * DAY)
    assert await store.feeds.save(bare, UNTIL + DAY)
    assert await only(store) == bare


async def test_feed_of_another_version_is_read_and_an_unreadable_one_is_new(store):
    await store.feeds.want(urls(1), NOW)
    new = model.Feed(G1, url_of(1), NOW, 0)
    for stored, known in (
        ('{"etag": "e", "invented_later": {"a": [1]}}', replace(new, etag="e", failing=5)),
        ('{"content": {"title": "t"}}', replace(new, content=model.FeedContent("t"), failing=5)),
        ('{"etag": "e", "failure": "invented later"}', new),
        ('{"etag": "e", "sighting": {}}', new),
        ('{"etag": "e"', new),
        ("[]", new),
        ("", new),
    ):

        async def tamper(statements, stored=stored):
            change = sql("UPDATE feedkeep.feed AS f SET known = $1, failing = 5")
            await statements.execute(change, stored)

        await store.feeds._driver.write(tamper)
        assert await only(store) == known
        assert await store.feeds.lease(NOW, UNTIL, 9) == [known]
        await store.feeds.release([G1], UNTIL)


async def test_feeds_that_wait_longest_are_leased_first_and_none_before_its_time(store):
    due = {1: NOW, 2: NOW - 5, 3: NOW - 9, 4: NOW + 1, 5: NOW - 7}
    await looked_at(store, *(waiting(number, at) for number, at in due.items()))
    leased = await store.feeds.lease(NOW, UNTIL, 9, (NOW - 7, NOW - 5))
    assert leased == [waiting(number, due[number]) for number in (5, 2)]
    for found in ([3], [1], []):
        assert numbers(await store.feeds.lease(NOW, UNTIL, 1)) == found
    # A clock that was never set shows less than the turns of feeds that were just added.
    await store.feeds.want(urls(6, 7), NOW, {guid_of(6): 7, guid_of(7): 9})
    async with asyncio.timeout(10):
        leased = await store.feeds.lease(8, UNTIL, 9, (0, NOW))
    assert numbers(leased) == [6]


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


async def test_lease_that_ended_is_given_to_another_and_the_first_saves_nothing(open_store):
    async with open_store() as first, open_store() as second:
        await first.feeds.want(urls(1), NOW)
        assert numbers(await first.feeds.lease(NOW, UNTIL, 1)) == [1]
        assert await second.feeds.lease(UNTIL - 1, UNTIL + 9, 1) == []
        assert numbers(await second.feeds.lease(UNTIL, UNTIL + 9, 1)) == [1]
        late = replace(ALL_OF_IT, etag="late")
        assert not await first.feeds.save(late, UNTIL, PICTURE)
        await first.feeds.release([G1], UNTIL)
        assert await second.feeds.picture(G1) is None
        assert await second.feeds.lease(UNTIL + 8, UNTIL + 99, 1) == []
        assert await second.feeds.save(ALL_OF_IT, UNTIL + 9)
        assert not await first.feeds.save(late, UNTIL, PICTURE)
        assert await only(second) == ALL_OF_IT
        assert await second.feeds.picture(G1) is None


async def test_save_ends_the_lease_and_keeps_a_later_wish(store):
    await store.feeds.want(urls(1), NOW)
    [feed] = await store.feeds.lease(NOW, UNTIL, 1)
    await store.feeds.want(urls(1), TOMORROW)
    assert await store.feeds.save(replace(feed, next_fetch=NOW + 1), UNTIL)
    assert await only(store) == replace(feed, next_fetch=NOW + 1, wanted=TOMORROW)
    assert await store.feeds.lease(NOW, UNTIL, 1) == []
    assert numbers(await store.feeds.lease(NOW + 1, UNTIL, 1)) == [1]
    # A lease that ended, and was not taken again, still saves.
    assert await store.feeds.save(replace(ALL_OF_IT, looked=UNTIL + DAY), UNTIL)
    assert (await only(store)).looked == UNTIL + DAY


async def test_forgotten_feed_is_not_saved_and_a_wanted_one_not_forgotten(monkeypatch, store):
    await store.feeds.want(urls(1), NOW)
    [feed] = await store.feeds.lease(NOW, UNTIL, 1)
    assert await store.feeds.forget(UNTIL, 9) == 1
    assert not await store.feeds.save(feed, UNTIL, PICTURE)
    await store.feeds.release([G1], UNTIL)
    assert await store.feeds.known([G1]) == {}
    assert await store.feeds.picture(G1) is None
    await store.feeds.want(urls(1, 2), NOW)
    driver = store.feeds._driver
    read = driver.read

    async def read_before_it_is_wanted(*statement):
        found = await read(*statement)
        monkeypatch.undo()
        await store.feeds.want(urls(1), TOMORROW)
        return found

    monkeypatch.setattr(driver, "read", read_before_it_is_wanted)
    assert await store.feeds.forget(TOMORROW, 9) == 1
    assert await known_guids(store, 1, 2) == {G1}


async def test_released_feed_waits_as_before_and_no_lease_of_another_ends(store):
    await looked_at(store, *(waiting(number, NOW - 9 + number) for number in (1, 2, 3)))
    await store.feeds.release([], UNTIL)
    before = await store.feeds.lease(NOW, UNTIL, 2)
    assert numbers(before) == [1, 2]
    assert numbers(await store.feeds.lease(NOW, UNTIL + 1, 2)) == [3]
    await store.feeds.release([G2, G1, G3, guid_of(99)], UNTIL)
    assert await store.feeds.lease(NOW, UNTIL, 9) == before


async def test_renewed_feed_is_stored_as_given_and_a_look_under_way_saves_nothing(store):
    by_another_url = model.Feed(G1, "https://other.example/feed", NOW + 5, 0)
    await store.feeds.want(urls(1), NOW)
    permitted = replace(await only(store), is_permitted=True)
    await store.feeds.renew([permitted])  # before the first look
    assert await only(store) == permitted
    [leased] = await store.feeds.lease(NOW, UNTIL, 9)
    assert leased == permitted
    assert await store.feeds.save(replace(ALL_OF_IT, next_fetch=NOW), UNTIL)
    await looked_at(store, waiting(2, NOW - 1))
    leased = await store.feeds.lease(NOW, UNTIL, 9)
    await store.feeds.renew([])
    await store.feeds.renew([by_another_url, replace(by_another_url, guid=G3)])
    assert await store.feeds.lease(NOW, UNTIL + 1, 9) == [by_another_url]
    saved = [await store.feeds.save(feed, UNTIL) for feed in leased if feed.guid == G1]
    assert saved == [False]
    assert await only(store) == by_another_url
    await store.feeds.renew([ALL_OF_IT])
    known = await store.feeds.known([G1, G2, G3])
    assert known == {G1: ALL_OF_IT, G2: waiting(2, NOW - 1)}  # and what is not known stays so


def new_subscriber(number, due, moment, began_before=0):
    return model.NewSubscriber(guid_of(number), due, moment, began_before)


async def test_hastened_feed_is_looked_at_earlier_and_never_later(store):
    await looked_at(store, waiting(1, TOMORROW), waiting(2, NOW + 5))
    dues = {1: TOMORROW, 2: NOW + 5, 3: TOMORROW}
    new_subscribers = [new_subscriber(number, due, NOW + 9) for number, due in dues.items()]
    for _ in range(2):  # the second time, the first one has another due
        await store.feeds.hasten(new_subscribers, NOW)
        known = await store.feeds.known([G1, G2, G3])
        assert {guid: feed.next_fetch for guid, feed in known.items()} == {
            G1: NOW + 9, G2: NOW + 5
        }  # fmt: skip
    await store.feeds.hasten([new_subscriber(1, TOMORROW, 0)], NOW)  # it was looked at since
    assert await store.feeds.lease(NOW, UNTIL, 9) == []
    await store.feeds.hasten([new_subscriber(1, NOW + 9, 0)], NOW)
    assert numbers(await store.feeds.lease(NOW, UNTIL, 9)) == [1]


async def test_feed_that_is_hastened_during_a_look_is_looked_at_once_more(store):
    soon = NOW + AFTER_LEASE_US
    for began_before, is_once_more in ((UNTIL, True), (UNTIL - 1, False)):
        await store.feeds.want(urls(1), NOW)
        [leased] = await store.feeds.lease(NOW, UNTIL, 1)
        due = leased.next_fetch
        await store.feeds.hasten([new_subscriber(1, due, 0, began_before)], NOW)
        assert await store.feeds.lease(NOW, UNTIL, 1) == []  # as long as it is leased
        after = replace(leased, looked=NOW, next_fetch=TOMORROW)
        assert await store.feeds.save(after, UNTIL, due=leased.next_fetch)
        assert (await only(store)).next_fetch == (soon if is_once_more else TOMORROW)
        await store.feeds.renew([replace(after, next_fetch=0)])
    [leased] = await store.feeds.lease(NOW, UNTIL, 1)
    await store.feeds.hasten([new_subscriber(1, leased.next_fetch, 0, UNTIL)], NOW)
    put_off = replace(leased, next_fetch=soon - 1)
    assert await store.feeds.save(put_off, UNTIL, due=leased.next_fetch)
    assert (await only(store)).next_fetch == soon - 1


async def test_next_look_is_when_a_feed_is_due_or_a_lease_ends(store):
    feeds = store.feeds
    assert await feeds.next_fetch() is None
    await looked_at(store, waiting(1, NOW - 9), waiting(2, UNTIL + 5))
    assert await feeds.next_fetch() == NOW - 9
    for now, until, leased, next_fetch in (
        (NOW, UNTIL, [1], UNTIL),
        (NOW, UNTIL + 9, [1], UNTIL + 5),
        (UNTIL + 5, UNTIL + 7, [2], UNTIL + 7),
    ):
        assert numbers(await feeds.lease(now, until, 9)) == leased
        assert await feeds.next_fetch() == next_fetch
        if until == UNTIL:
            await feeds.release([G1], UNTIL)
            assert await feeds.next_fetch() == NOW - 9
    await feeds.want(urls(3), NOW)
    assert await feeds.next_fetch() == 0


async def test_picture_and_episodes_are_replaced_by_the_next_ones_and_stay_without(store):
    await looked_at(store, waiting(2, NOW), waiting(1, NOW), picture=PICTURE)
    assert await store.feeds.episodes([G1, G2]) == {}
    assert await store.feeds.picture(G3) is None
    other = model.Picture("image/jpeg", b"other", digest="2e")
    later = UNTIL + DAY
    for picture, picture_kept, episodes, episodes_kept in (
        (None, PICTURE, EPISODES, EPISODES),
        (other, other, None, EPISODES),
        (None, other, EPISODES[1:], EPISODES[1:]),
        (PICTURE, PICTURE, (), ()),
    ):
        [feed, _] = await store.feeds.lease(NOW, later, 2)
        found = None if episodes is None else model.NewestEpisodes("", episodes)
        late = (PICTURE, None, model.NewestEpisodes(""))
        assert not await store.feeds.save(feed, UNTIL, *late)
        assert await store.feeds.save(feed, later, picture, None, found)
        await store.feeds.release([G1, G2], later)
        assert await store.feeds.picture(feed.guid) == picture_kept
        assert await store.feeds.episodes([G2, G1]) == {feed.guid: episodes_kept}


@pytest.mark.parametrize(
    ("stored", "known"),
    [
        ('[["t"]]', (model.Episode("t"),)),
        ('[["t",1,2,"l","g","f","invented later"]]', (model.Episode("t", 1, 2, "l", "g", "f"),)),
        ('[{"title":"t"}]', ()),
        ("[[1]]", ()),
        ("", ()),
    ],
)
def test_episodes_of_another_version_are_read_and_unreadable_ones_are_none(stored, known):
    assert episodes_of(stored) == known


async def test_save_that_fails_half_way_stores_nothing(store):
    await store.feeds.want(urls(1), NOW)
    [before] = await store.feeds.lease(NOW, UNTIL, 1)
    with pytest.raises(Exception, match=r"(?i)not.null"):
        await store.feeds.save(ALL_OF_IT, UNTIL, model.Picture(None, b"", digest=""))
    assert await only(store) == before
    assert await store.feeds.save(ALL_OF_IT, UNTIL)


async def test_unwanted_feeds_are_forgotten_a_few_at_a_time_with_pictures_and_episodes(store):
    for number in range(1, 6):
        feed = replace(waiting(number, NOW + 1), wanted=NOW - number)
        found = model.NewestEpisodes("", EPISODES)
        await looked_at(store, feed, picture=PICTURE, episodes=found)
    for count, left in ((2, {G1, G2, G3}), (1, {G1, G2}), (0, {G1, G2})):
        assert await store.feeds.forget(NOW - 2, 2) == count
        assert await known_guids(store, *range(1, 6)) == left
    assert await store.feeds.picture(G2) == PICTURE
    assert await store.feeds.picture(G3) is None
    everything = [guid_of(number) for number in range(1, 6)]
    assert await store.feeds.episodes(everything) == dict.fromkeys((G1, G2), EPISODES)
    # Not even if the feed is wanted again.
    await store.feeds.want(urls(3), NOW)
    assert await store.feeds.episodes([G3]) == {}


async def all_subscribed(store, limit):
    """Go round all accounts; return what each step found."""
    found, after = [], 0
    while True:
        after, some = await store.feeds.subscribed(after, limit)
        if after is None:
            assert some == []
            return found
        found.append(list(some))


async def test_round_finds_all_live_subscriptions_and_no_others_by_rising_account(store):
    await store.fill(library(7, 20))
    accounts = sorted(account.id for account in await all_accounts(store))
    expected = {
        (account_id, subscription)
        for account_id in accounts
        for subscription in subscribed(await store.entries.whole(account_id))
    }
    [each] = {len([1 for of, _ in expected if of == account_id]) for account_id in accounts}
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
    assert await store.feeds.subscribed(0, 10) == (None, [])
    for number in range(1, 7):
        await store.accounts.create(account(number, f"name{number}"), f"name{number}")
    for after, last in ((0, 4), (4, 6), (6, None)):
        assert await store.feeds.subscribed(after, 10) == (last, [])


async def test_feeds_belong_to_no_account_and_are_not_copied(store):
    await looked_at(store, ALL_OF_IT, picture=PICTURE)
    await store.fill(library(2, 10))
    async with store.archive() as archive:
        count = await archive.count()
        assert count == sum([len(some) async for some in archive.records()])
    for one in await all_accounts(store):
        await store.accounts.delete(one.id)
    async with store.archive() as archive:
        assert await archive.count() == 0
    assert await only(store) == ALL_OF_IT
    assert await store.feeds.picture(G1) == PICTURE
    assert await store.faults() == []
    assert (await store.size()).size_bytes > 0


@pytest.mark.parametrize("open_store", ["postgres"], indirect=True)
async def test_feeds_that_another_transaction_holds_are_passed_over(emptied_database, store):
    await looked_at(store, *(waiting(number, NOW - number) for number in (1, 2)))
    holder = await asyncpg.connect(emptied_database)
    async with holder.transaction():
        await holder.execute("SELECT 1 FROM feedkeep.feed WHERE guid = $1 FOR UPDATE", G2)
        begun = time.monotonic()
        assert await store.feeds.lease(NOW, UNTIL, 1) == [waiting(1, NOW - 1)]
        await store.feeds.release([G1], UNTIL)
        await store.feeds.want(urls(1, 2, 3), TOMORROW)
        known = await store.feeds.known([G1, G2, G3])
        wanted = {guid: feed.wanted for guid, feed in known.items()}
        assert wanted == {G1: TOMORROW, G2: NOW, G3: TOMORROW}
        assert await store.feeds.forget(TOMORROW + 1, 9) == 2
        assert time.monotonic() - begun < 1
    await holder.close()
    assert await known_guids(store, 1, 2, 3) == {G2}


@pytest.mark.parametrize("open_store", ["postgres, as on a cluster"], indirect=True)
async def test_lease_looks_on_where_others_are_faster_without_common_locks(open_store, monkeypatch):
    async with open_store() as faster, open_store() as slower:
        await faster.feeds.want(urls(*range(5)), NOW)
        driver = slower.feeds._driver
        scan = driver.scan
        leased = []

        async def scan_and_wait(*statement):
            found = await scan(*statement)
            if len(leased) < 2:
                leased.append(numbers(await faster.feeds.lease(NOW, UNTIL, 2)))
            return found

        monkeypatch.setattr(driver, "scan", scan_and_wait)
        leased.append(numbers(await slower.feeds.lease(NOW, UNTIL, 2)))
        assert [len(some) for some in leased] == [2, 2, 1]
        assert sorted(number for some in leased for number in some) == list(range(5))


@pytest.mark.parametrize("open_store", ["sqlite"], indirect=True)
async def test_steps_cost_no_more_with_more_known_feeds(store, path):
    statements = (
        (feeds_module._LEASE_SOME, (NOW, 9, 0, NOW, 0)),
        (feeds_module._NEXT_FETCH, ()),
        (feeds_module._UNWANTED, (NOW, 9)),
        (feeds_module._WANTED, (b"\0" * 16,)),
    )

    def steps_with(feeds):
        """Return the steps of each statement when ten feeds are leased and ten wait."""
        steps = []

        def count():
            steps[-1] += 1
            return False

        with closing(connect(path, 1)) as connection:
            connection.execute("BEGIN")  # and never commit
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
            for statement, bindings in statements:
                steps.append(0)
                rows = connection.execute(sqlite_form(statement), bindings).fetchall()
                assert len(rows) in {0, 1, 9}
        return steps

    for few, many in zip(steps_with(100), steps_with(1_000), strict=True):
        assert many <= few + 20


@pytest.mark.parametrize("open_store", ["postgres"], indirect=True)
@pytest.mark.usefixtures("store")
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

    found = with_connection(database, plan)
    assert found.count("feed_by_next_fetch") == 2
    assert "Seq Scan" not in found
