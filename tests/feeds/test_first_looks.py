"""Looks at addresses before they are added: what is found in time, and how much is looked at."""

import asyncio
from collections import Counter
from contextlib import asynccontextmanager

import pytest
from scripted_looks import PATIENCE_SECONDS
from web_of_hosts import reply

from feedkeep.assembly import fetching, open_service
from feedkeep.config.settings import Settings
from feedkeep.feeds import first_looks
from feedkeep.feeds.first_looks import AT_ONCE, OF_AN_ACCOUNT, FirstLooks
from feedkeep.model import Failure, Feed, FeedContent, Fetch, FetchResult
from feedkeep.outbound.failures import MachineFailed
from feedkeep.rules.clock import DAY_US
from feedkeep.rules.feed_urls import guid_of
from feedkeep.rules.fetch_order import DAILY_BYTES, FairTurns, FetchLimits
from feedkeep.rules.first_looks import FoundFeed, FoundFeeds

NOW = 20_000 * DAY_US
ALICE, BEN = 1, 2
PAGE, ONE, TWO = (f"https://{name}.example/" for name in ("page", "one", "two"))


def page(*urls):
    return FetchResult(failure=Failure.NOT_A_FEED, page_feeds=urls)


class Web:
    """A fetcher with scripted results; fetches from silent addresses wait for the test.

    Attributes:
        looked: URLs that were looked at.
        most_at_once: Maximum number of concurrent looks.
    """

    def __init__(self):
        self.found, self.silent = {}, set()
        self.looked, self.payers = [], []
        self.speaks = asyncio.Event()
        self.most_at_once = self._under_way = 0

    async def look_briefly(self, feed, _now):
        self.looked.append(feed.url)
        self.payers.append(feed.next_fetch % 10**6)
        self._under_way += 1
        self.most_at_once = max(self.most_at_once, self._under_way)
        try:
            if feed.url in self.silent:
                await self.speaks.wait()
        finally:
            self._under_way -= 1
        found = self.found.get(feed.url, FetchResult(FeedContent(title="A show")))
        if isinstance(found, Exception):
            raise found
        return found


async def until(is_so):
    while not is_so():  # noqa: ASYNC110
        await asyncio.sleep(0)


@asynccontextmanager
async def looking(limits=None, fetch=Fetch.PUBLIC):
    web = Web()
    looks = FirstLooks(web, limits or FetchLimits(), lambda: NOW, fetch)
    async with asyncio.timeout(PATIENCE_SECONDS), looks:
        yield looks, web


@pytest.fixture(autouse=True)
def fast(monkeypatch):
    monkeypatch.setattr(first_looks, "A_SECOND", 10_000.0)


async def test_look_at_a_page_finds_its_feeds_and_omits_what_the_machine_cannot_fetch():
    feed, lacking = "https://feed.example", "https://lacking.example"
    async with looking() as (looks, web):
        web.found = {PAGE: page(ONE, TWO), TWO: FetchResult(failure=Failure.GONE)}
        web.found[lacking] = MachineFailed("There is not enough memory.")
        found = await looks.look(ALICE, [lacking, PAGE, feed], PATIENCE_SECONDS)
    assert found == {PAGE: FoundFeeds([FoundFeed(ONE, "A show")]), feed: None}


async def test_look_at_silent_addresses_returns_what_was_found_in_time():
    async with looking() as (looks, web):
        web.found[PAGE] = page(ONE, TWO)
        web.silent = {ONE, "https://silent.example"}
        found, seconds, number = {}, 0.05, 0
        while PAGE not in found:  # on a busy machine, that takes longer
            seconds, number = 2 * seconds, number + 1
            found = await looks.look(number, [PAGE, "https://silent.example"], seconds)
        assert found.keys() == {PAGE}
        assert [feed.url for feed in found[PAGE].feeds] == [ONE, TWO]
        # The looks go on, so that no other one begins in their place.
        assert await looks.look(number, [TWO], PATIENCE_SECONDS) == {}
        assert await looks.look(99, [TWO], PATIENCE_SECONDS) == {TWO: None}
        web.speaks.set()
        await until(lambda: not looks.is_looking(number))
        assert await looks.look(number, [TWO], PATIENCE_SECONDS) == {TWO: None}


async def test_feeds_of_a_page_that_answers_too_late_are_not_looked_at():
    async with looking() as (looks, web):
        web.found[PAGE] = page(ONE)
        web.silent = {PAGE}
        number = 0
        while not web.looked:
            number += 1
            assert await looks.look(number, [PAGE], 0.05) == {}
        web.speaks.set()
        await until(lambda: not looks.is_looking(number))
        assert web.looked == [PAGE]


async def test_looks_of_an_account_leave_slots_to_others():
    async with looking() as (looks, web):
        tasks = []
        for number in range(1, AT_ONCE):
            urls = [f"https://{number}-{other}.example" for other in range(20)]
            web.silent |= set(urls)
            tasks.append(asyncio.create_task(looks.look(number, urls, 60.0)))
            count = min(number * OF_AN_ACCOUNT, AT_ONCE - 1)
            await until(lambda count=count: len(web.looked) >= count)
            await asyncio.sleep(0.01)  # in which more would begin
            assert max(Counter(web.payers).values()) == OF_AN_ACCOUNT
        assert len(web.looked) == web.most_at_once == AT_ONCE - 1
        for task in tasks:
            task.cancel()


async def test_looks_begin_for_a_limited_number_of_accounts(monkeypatch):
    monkeypatch.setattr(first_looks, "MAX_ACCOUNTS", 1)
    async with looking() as (looks, web):
        web.silent = {ONE}
        look = asyncio.create_task(looks.look(ALICE, [ONE], PATIENCE_SECONDS))
        await until(lambda: web.looked)
        assert await looks.look(BEN, [TWO], PATIENCE_SECONDS) == {}
        web.speaks.set()
        assert await look == {ONE: None}
        assert web.looked == [ONE]


async def test_looks_that_nobody_waits_for_any_more_go_on_and_are_charged():
    limits = FetchLimits()
    async with looking(limits) as (looks, web):
        web.silent = {ONE}
        web.found[ONE] = FetchResult(received_bytes=DAILY_BYTES)
        look = asyncio.create_task(looks.look(ALICE, [ONE], PATIENCE_SECONDS))
        await until(lambda: web.looked)
        look.cancel()
        web.speaks.set()
        await until(lambda: not looks.is_looking(ALICE))
        assert await looks.look(ALICE, [TWO], PATIENCE_SECONDS) == {}
        assert web.looked == [ONE]
        assert await looks.look(BEN, [TWO], PATIENCE_SECONDS) == {TWO: None}
        added = Feed("00000000-0000-0000-0000-000000000000", ONE, NOW, FairTurns().next_of(ALICE))
        assert limits.rest_us(added, NOW) == DAY_US


async def test_hosts_get_one_look_at_a_time_and_none_while_they_ask_for_a_pause():
    async with looking() as (looks, web):
        await looks.look(ALICE, [f"{ONE}{number}" for number in range(9)], PATIENCE_SECONDS)
        assert (len(web.looked), web.most_at_once) == (9, 1)
        web.found[TWO] = FetchResult(failure=Failure.ERROR_STATUS, retry_after_seconds=60)
        for expected in ({TWO: None}, {}):
            assert await looks.look(ALICE, [TWO], PATIENCE_SECONDS) == expected
        assert web.looked[9:] == [TWO]


@pytest.mark.parametrize(
    ("url", "fetch", "count"),
    [
        ("https://members.example/rss?token=abc", Fetch.PUBLIC, 0),
        ("https://members.example/rss?token=abc", Fetch.ALL, 1),
        (ONE, Fetch.OFF, 0),
    ],
)
async def test_addresses_that_may_not_be_fetched_are_not_looked_at(url, fetch, count):
    async with looking(fetch=fetch) as (looks, web):
        await looks.look(ALICE, [url], PATIENCE_SECONDS)
        assert len(web.looked) == count


@pytest.mark.parametrize("is_first", [True, False])
async def test_each_process_that_serves_a_file_looks_and_stores_nothing(tmp_path, web, is_first):
    host = web.host("show.example")
    link = b'<link rel="alternate" type="application/rss+xml" href="/feed">'
    host.answers["/"] = reply(b"<!doctype html><html><head>" + link + b"</head></html>")
    host.answers["/feed"] = reply(b"<rss><channel><title>A show</title></channel></rss>")
    url, feed = (f"http://{host.address}:{host.port}{path}" for path in ("/", "/feed"))
    settings = Settings(
        database=f"sqlite:///{tmp_path / 'feedkeep.db'}",
        workers=2,
        fetch_allowed=("127.0.0.0/8",),
        fetch_ports=(host.port,),
    )
    async with (
        open_service(settings) as service,
        fetching(service, settings, is_first=is_first) as looks,
    ):
        found = await looks.look(ALICE, [url], PATIENCE_SECONDS)
        assert found == {url: FoundFeeds([FoundFeed(feed, "A show")])}
        guids = [guid_of(url), guid_of(feed)]
        assert await service.store.feeds.known(guids) == {}
