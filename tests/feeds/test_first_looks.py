"""Looks at addresses before they are added: what is found in time, and how much is looked at."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable

import pytest
from web_of_hosts import reply

from feedkeep.assembly import fetching, open_service
from feedkeep.config.settings import Settings
from feedkeep.feeds import first_looks
from feedkeep.feeds.first_looks import AT_ONCE, OF_AN_ACCOUNT, FirstLooks, Found
from feedkeep.model import AccountId, Failure, Feed, FeedContent, Fetch, FetchResult, Stamp
from feedkeep.outbound.failures import MachineFailed
from feedkeep.rules.clock import DAY_US
from feedkeep.rules.feed_urls import guid_of
from feedkeep.rules.fetch_order import DAILY_BYTES, FairTurns, FetchLimits
from feedkeep.rules.first_looks import FoundFeed, FoundFeeds

PATIENCE_SECONDS = 30.0
"""Far more than any test here takes; what never comes to pass ends it with an error."""

NOW = Stamp(20_000 * DAY_US)
ALICE, BEN = AccountId(1), AccountId(2)
PAGE, ONE, TWO = (f"https://{name}.example/" for name in ("page", "one", "two"))


def page(*urls: str) -> FetchResult:
    return FetchResult(failure=Failure.NOT_A_FEED, page_feeds=urls)


class Web:
    """Finds what a test says, but at a silent address only once the test lets it.

    Attributes:
        looked: URLs that were looked at.
        most_at_once: Maximum number of concurrent looks.
    """

    def __init__(self) -> None:
        self.found: dict[str, FetchResult | Exception] = {}
        self.silent: set[str] = set()
        self.looked: list[str] = []
        self.payers: list[int] = []
        self.speaks = asyncio.Event()
        self.most_at_once = 0
        self._under_way = 0
        self._begun: dict[str, asyncio.Event] = {}

    async def look_briefly(self, feed: Feed, _: Stamp) -> FetchResult:
        self.looked.append(feed.url)
        self.payers.append(feed.next_fetch % 10**6)
        self._under_way += 1
        self.most_at_once = max(self.most_at_once, self._under_way)
        self._begun.setdefault(feed.url, asyncio.Event()).set()
        try:
            if feed.url in self.silent:
                await self.speaks.wait()
        finally:
            self._under_way -= 1
        found = self.found.get(feed.url, FetchResult(FeedContent(title="A show")))
        if isinstance(found, Exception):
            raise found
        return found

    async def until_begun(self, url: str) -> None:
        await self._begun.setdefault(url, asyncio.Event()).wait()


async def until(is_so: Callable[[], bool]) -> None:
    while True:
        if is_so():
            return
        await asyncio.sleep(0)


@pytest.fixture(autouse=True)
def fast(monkeypatch):
    monkeypatch.setattr(first_looks, "A_SECOND", 10_000.0)


def run(
    work: Callable[[FirstLooks, Web], Awaitable[None]],
    limits: FetchLimits | None = None,
    fetch: Fetch = Fetch.PUBLIC,
) -> None:
    async def go() -> None:
        web = Web()
        looks = FirstLooks(web, limits or FetchLimits(), lambda: NOW, fetch)
        async with asyncio.timeout(PATIENCE_SECONDS), looks:
            await work(looks, web)

    asyncio.run(go())


async def test_look_at_a_page_returns_the_feeds_that_it_names(looks, web):
    web.found |= {PAGE: page(ONE, TWO), TWO: FetchResult(failure=Failure.GONE)}
    found = await looks.look(ALICE, [PAGE, "https://feed.example"], PATIENCE_SECONDS)
    assert found["https://feed.example"] is None
    behind = found[PAGE]
    assert behind is not None
    assert [(feed.url, feed.title) for feed in behind.feeds] == [(ONE, "A show")]


async def test_look_at_silent_addresses_returns_what_was_found_in_time(looks, web):
    web.found[PAGE] = page(ONE, TWO)
    web.silent = {ONE, "https://silent.example"}
    found: Found = {}
    seconds, number = 0.05, 0
    while PAGE not in found:  # on a busy machine, that takes longer
        seconds, number = 2 * seconds, number + 1
        urls = [PAGE, "https://silent.example"]
        found = await looks.look(AccountId(number), urls, seconds)
    assert found.keys() == {PAGE}
    behind = found[PAGE]
    assert behind is not None
    assert [feed.url for feed in behind.feeds] == [ONE, TWO]
    # The looks go on, so that no other one begins in their place.
    assert await looks.look(AccountId(number), [TWO], PATIENCE_SECONDS) == {}
    assert await looks.look(AccountId(99), [TWO], PATIENCE_SECONDS) == {TWO: None}
    web.speaks.set()
    await until(lambda: not looks.is_looking(AccountId(number)))
    assert await looks.look(AccountId(number), [TWO], PATIENCE_SECONDS) == {TWO: None}


async def test_feeds_of_a_page_that_answers_too_late_are_not_looked_at(looks, web):
    web.found[PAGE] = page(ONE)
    web.silent = {PAGE}
    number = 0
    while not web.looked:
        number += 1
        assert await looks.look(AccountId(number), [PAGE], 0.05) == {}
    web.speaks.set()
    await until(lambda: not looks.is_looking(AccountId(number)))
    assert web.looked == [PAGE]


async def test_looks_of_an_account_leave_slots_to_others(looks, web):
    tasks = []
    for number in range(1, AT_ONCE):
        urls = [f"https://{number}-{other}.example" for other in range(20)]
        web.silent |= set(urls)
        tasks.append(asyncio.create_task(looks.look(AccountId(number), urls, 60.0)))
        count = min(number * OF_AN_ACCOUNT, AT_ONCE - 1)
        await until(lambda count=count: len(web.looked) >= count)
        await asyncio.sleep(0.01)  # in which more would begin
        assert max(Counter(web.payers).values()) == OF_AN_ACCOUNT
    assert len(web.looked) == web.most_at_once == AT_ONCE - 1
    for task in tasks:
        task.cancel()


async def test_looks_begin_for_a_limited_number_of_accounts(monkeypatch, looks, web):
    monkeypatch.setattr(first_looks, "MAX_ACCOUNTS", 1)
    web.silent = {ONE}
    looking = asyncio.create_task(looks.look(ALICE, [ONE], PATIENCE_SECONDS))
    await web.until_begun(ONE)
    assert await looks.look(BEN, [TWO], PATIENCE_SECONDS) == {}
    web.speaks.set()
    assert await looking == {ONE: None}
    assert web.looked == [ONE]


def test_looks_that_nobody_waits_for_any_more_go_on_and_are_charged():
    limits = FetchLimits()

    async def work(looks, web):
        web.silent = {ONE}
        web.found[ONE] = FetchResult(received_bytes=DAILY_BYTES)
        looking = asyncio.create_task(looks.look(ALICE, [ONE], PATIENCE_SECONDS))
        await web.until_begun(ONE)
        looking.cancel()
        web.speaks.set()
        await until(lambda: not looks.is_looking(ALICE))
        assert await looks.look(ALICE, [TWO], PATIENCE_SECONDS) == {}
        assert web.looked == [ONE]
        assert await looks.look(BEN, [TWO], PATIENCE_SECONDS) == {TWO: None}
        added = Feed("00000000-0000-0000-0000-000000000000", ONE, NOW, FairTurns().next_of(ALICE))
        assert limits.rest_us(added, NOW) == DAY_US

    run(work, limits)


async def test_hosts_that_ask_for_a_pause_are_not_looked_at(looks, web):
    web.found[ONE] = FetchResult(failure=Failure.ERROR_STATUS, retry_after_seconds=60)
    for expected in ({ONE: None}, {}):
        assert await looks.look(ALICE, [ONE], PATIENCE_SECONDS) == expected
    assert web.looked == [ONE]


@pytest.mark.parametrize(
    ("url", "fetch", "count"),
    [
        ("https://members.example/rss?token=abc", Fetch.PUBLIC, 0),
        ("https://members.example/rss?token=abc", Fetch.ALL, 1),
        (ONE, Fetch.OFF, 0),
    ],
)
def test_addresses_that_may_not_be_fetched_are_not_looked_at(url, fetch, count):
    async def work(looks, web):
        await looks.look(ALICE, [url], PATIENCE_SECONDS)
        assert len(web.looked) == count

    run(work, fetch=fetch)


async def test_addresses_of_which_the_machine_finds_nothing_are_omitted(looks, web):
    web.found[ONE] = MachineFailed("There is not enough memory.")
    web.silent = {TWO}
    looking = asyncio.create_task(looks.look(ALICE, [ONE, TWO], PATIENCE_SECONDS))
    await web.until_begun(TWO)
    web.speaks.set()
    assert await looking == {TWO: None}


async def test_one_host_is_looked_at_once_at_a_time(looks, web):
    await looks.look(ALICE, [f"{ONE}{number}" for number in range(9)], PATIENCE_SECONDS)
    assert len(web.looked) == 9
    assert web.most_at_once == 1


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
