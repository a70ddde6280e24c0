"""What is known of feeds is read for all of a list, and again only after the next look."""

import asyncio
from functools import partial
from itertools import count

from authors import TESTER
from running import DAY, MINUTE, Clock

from feedkeep.model import AccountId, FeedContent, Guid, Picture, Stamp, Subscription, replace
from feedkeep.rules.feed_names import title_of
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.subscriptions import want
from feedkeep.service import known_feeds
from feedkeep.store.base import Store

URLS = [f"https://{number}.example/feed" for number in range(7)]
LONG = "https://long.example/" + "x" * 400
PICTURE = Picture("image/webp", b"picture", digest="0123")


def guid(url: str) -> Guid:
    return parse_feed_url(url).guid


def feeds(*urls: str) -> list[Subscription]:
    """Return feeds of a list that has had them always."""
    return [Subscription(guid(url), url, True, Stamp(1)) for url in urls]


async def look(store: Store, clock: Clock, title: str, *urls: str, days: int = 1) -> None:
    """Find feeds of a title, to be looked at again some days later."""
    now = clock()
    await store.feeds.want({guid(url): url for url in urls}, now)
    until = Stamp(now + 1)
    for feed in await store.feeds.lease(now, until, 100):
        content = FeedContent(title, description="About it")
        found = replace(
            feed,
            content=content,
            looked=now,
            answered=now,
            next_fetch=Stamp(now + days * DAY),
            picture="0123",
        )
        assert await store.feeds.save(found, until, PICTURE)


async def test_titles_are_remembered_until_the_next_look_and_for_ten_minutes_at_most(
    service, store, clock
):
    known = service.known_feeds

    async def titles():
        found = await known.headlines(feeds(*URLS, LONG))
        return {url: one.title for url, one in found.items()}

    assert await titles() == {}
    await look(store, clock, "First", URLS[0], LONG)
    assert await titles() == {URLS[0]: "First", LONG: "First"}
    asked = []
    stored = store.feeds.known

    async def note(guids):
        asked.append(set(guids))
        return await stored(guids)

    store.feeds.known = note
    assert await titles() == {URLS[0]: "First", LONG: "First"}
    # Nothing is remembered of unknown feeds, nor of addresses that fill the memory.
    assert asked == [{guid(url) for url in [*URLS[1:], LONG]}]
    known.forget()
    assert await titles() == {URLS[0]: "First", LONG: "First"}
    assert guid(URLS[0]) in asked[-1]
    for minutes in (9, 1):  # others who come to have a feed have it looked at earlier
        clock.go_on(minutes * MINUTE)
        assert await titles() == {URLS[0]: "First", LONG: "First"}
        assert (guid(URLS[0]) in asked[-1]) is (minutes == 1)
    clock.go_on(DAY)
    await look(store, clock, "Second", URLS[0])
    assert (await titles())[URLS[0]] == "Second"


async def test_people_wait_for_a_look_one_feed_at_a_time_and_only_so_many(
    monkeypatch, service, store, clock
):
    monkeypatch.setattr(known_feeds, "MAX_WAITING", 2)
    known, (first, second) = service.known_feeds, feeds(*URLS[:2])
    waits = partial(known.wait_for_first_fetch, seconds=60.0)
    stored, reads, answered = store.feeds.known, count(1), asyncio.Event()

    async def slow_at_first(guids):
        if next(reads) <= 2:
            await answered.wait()
        return await stored(guids)

    store.feeds.known = slow_at_first
    waiting = [asyncio.create_task(waits(AccountId(number), first)) for number in (1, 2)]
    await asyncio.sleep(0)
    async with asyncio.timeout(30):  # those two have their places, answered or not
        assert await waits(AccountId(1), second) is None
        assert await waits(AccountId(3), second) is None
    answered.set()
    await look(store, clock, "Found", URLS[0])
    assert [title_of(await task) for task in waiting] == ["Found", "Found"]
    assert await known.wait_for_first_fetch(AccountId(1), second, 0.0) is None


async def test_only_so_many_are_remembered_and_a_long_list_is_read_in_parts(
    monkeypatch, service, store, clock
):
    monkeypatch.setattr(known_feeds, "MAX_REMEMBERED", 3)
    monkeypatch.setattr(known_feeds, "_AT_ONCE", 2)
    monkeypatch.setattr(known_feeds, "LONG_LIST", 1)
    await look(store, clock, "Radio", *URLS)
    for _ in range(2):
        found = await service.known_feeds.headlines(feeds(*URLS))
        assert {url: one.guid for url, one in found.items()} == {
            url: guid(url) for url in URLS
        }  # fmt: skip
        assert len(service.known_feeds._headlines) == 3
    cards = await service.known_feeds.cards(feeds(*URLS, *URLS, "https://x.example"))
    assert list(cards) == URLS
    assert {card.description for card in cards.values()} == {"About it"}


async def test_a_feed_that_was_never_read_has_a_headline_and_no_card(service, store, clock):
    await store.feeds.want({guid(URLS[0]): URLS[0]}, clock())
    assert (await service.known_feeds.headlines(feeds(*URLS)))[URLS[0]].title == ""
    assert await service.known_feeds.cards(feeds(*URLS)) == {}


async def test_a_picture_is_found_by_the_guid_of_its_feed(service, store, clock):
    await look(store, clock, "Radio", URLS[0])
    assert [await service.known_feeds.picture(feed) for feed in feeds(*URLS[:2])] == [
        PICTURE, None,
    ]  # fmt: skip


async def test_an_account_is_shown_nothing_that_was_found_before_it_had_a_feed(
    service, store, clock
):
    url = URLS[0]
    known = service.known_feeds

    async def subscribe(name):
        account = await service.accounts.create(name, None)
        await service.subscriptions.add(account.id, [want(url, None)], TESTER)
        view = await service.subscriptions.view(account.id, guid(url))
        assert view is not None
        ids[name] = account.id
        return view.subscription

    async def told(feed, name):
        """Return the title of a feed from everything that an account is shown."""
        of = await known.of(feed)
        headline = (await known.headlines([feed])).get(url)
        there = (await known.headlines_at(ids[name], [url])).get(url)
        card = (await known.cards([feed])).get(url)
        card_there = (await known.cards_at(ids[name], [url])).get(url)
        shown = [headline, there, card, card_there]
        picture = await known.picture(feed)
        return {
            of and of.content and of.content.title,
            *(one and one.title for one in shown),
            picture and "Radio",
        }

    ids: dict[str, AccountId] = {}
    first = await subscribe("alice")
    clock.go_on(1)
    await look(store, clock, "Radio", url)
    clock.go_on(1)
    new_subscriber = await subscribe("mallory")
    for _ in range(2):  # the second time, what alice is shown is remembered
        assert await told(first, "alice") == {"Radio"}
        assert await told(new_subscriber, "mallory") == {None}
    clock.go_on(DAY)
    await look(store, clock, "Radio", url)
    assert await told(new_subscriber, "mallory") == {"Radio"}
    nowhere = await known.headlines_at(ids["mallory"], [URLS[1], "no address"])
    assert nowhere == {}
