"""Of each host one connection at a time, also where strangers' feeds lead to it."""

import asyncio
import threading
from collections.abc import Coroutine
from contextlib import nullcontext, suppress
from typing import Any

import pytest
from web_of_hosts import Request, Victim, WebOfHosts, redirect, reply

from feedkeep.feeds.fetcher import Fetcher
from feedkeep.model import Failure, Feed, FetchResult, Stamp
from feedkeep.outbound.client import Answer, GuardedClient
from feedkeep.outbound.failures import RequestError
from feedkeep.outbound.host_locks import HostLocks
from feedkeep.rules.feed_urls import parse_feed_url

NOW = Stamp(1_795_370_000_000_000)
STRANGERS = 8
PATIENCE_SECONDS = 0.1
ITUNES = 'xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd"'
WAYS = ("redirect", "picture", "new address", "itself")


def rss(more: str = "") -> bytes:
    item = "<item><guid>1</guid></item>"
    return f"<rss {ITUNES}><channel><title>A Show</title>{more}{item}</channel></rss>".encode()


def lead_there(web: WebOfHosts, way: str) -> tuple[Victim, list[Feed]]:
    """Return a host, and feeds of as many others that lead there."""
    victim = Victim(web.host("victim.example"), reply(rss()), PATIENCE_SECONDS)
    feeds = []
    for number in range(STRANGERS):
        there = victim.host.url(f"/{number}")
        victim.host.answers[f"/{number}"] = victim.answer
        stranger = web.host(f"{number}.example")
        stranger.answers["/"] = {
            "redirect": redirect(there),
            "picture": reply(rss(f"<image><url>{there}</url></image>")),
            "new address": reply(rss(f"<itunes:new-feed-url>{there}</itunes:new-feed-url>")),
            "itself": reply(rss()),
        }[way]
        url = there if way == "itself" else stranger.url("/")
        feeds.append(Feed(parse_feed_url(url).guid, url, NOW, NOW))
    return victim, feeds


def look_at_all(web: WebOfHosts, feeds: list[Feed]) -> list[FetchResult]:
    async def go() -> list[FetchResult]:
        async with GuardedClient(web.policy(), web.look_up) as client:
            looking = Fetcher(client)
            return await asyncio.gather(*(looking.look(feed, NOW) for feed in feeds))

    return asyncio.run(go())


@pytest.mark.parametrize("way", WAYS)
def test_feeds_of_many_hosts_that_lead_to_one_connect_to_it_one_at_a_time(web, way):
    victim, feeds = lead_there(web, way)
    looked = look_at_all(web, feeds)
    assert victim.host.connections == STRANGERS
    assert victim.most_at_once == 1
    assert [one.failure for one in looked] == [None] * STRANGERS


@pytest.mark.parametrize("way", WAYS)
def test_the_victim_notices_where_no_caller_waits_for_the_others(web, way, monkeypatch):
    monkeypatch.setattr(HostLocks, "at", lambda *_: nullcontext())
    victim, feeds = lead_there(web, way)
    look_at_all(web, feeds)
    assert victim.most_at_once > 1


class Together:
    """Answers once so many are asked at the same time; a web that waits in vain ends by itself."""

    def __init__(self, count: int) -> None:
        self._barrier = asyncio.Barrier(count)

    def then(self, answer: bytes) -> Any:
        async def answering(_: Request, writer: asyncio.StreamWriter) -> None:
            await self._barrier.wait()
            writer.write(answer)

        return answering


def get_all(web: WebOfHosts, *urls: str, **policy: Any) -> list[Answer | BaseException]:
    async def go() -> list[Answer | BaseException]:
        async with GuardedClient(web.policy(**policy), web.look_up) as client:
            gets: list[Coroutine[Any, Any, Answer]] = [client.get(url) for url in urls]
            return await asyncio.gather(*gets, return_exceptions=True)

    return asyncio.run(go())


def statuses(answers: list[Answer | BaseException]) -> list[object]:
    return [one.status if isinstance(one, Answer) else one for one in answers]


def test_different_hosts_are_asked_at_the_same_time(web):
    together, hosts = Together(3), [web.host(f"{number}.example") for number in range(3)]
    for host in hosts:
        host.answers["/"] = together.then(reply(b"here"))
    assert statuses(get_all(web, *(host.url() for host in hosts))) == [200, 200, 200]


def test_two_that_lead_to_each_others_hosts_at_the_same_time_both_get_there(web):
    together, a, b = Together(2), web.host("a.example"), web.host("b.example")
    a.answers = {"/1": together.then(redirect(b.url("/2"))), "/2": reply(b"a")}
    b.answers = {"/1": together.then(redirect(a.url("/2"))), "/2": reply(b"b")}
    assert statuses(get_all(web, a.url("/1"), b.url("/1"))) == [200, 200]


def test_a_host_that_leads_to_itself_does_not_wait_for_itself(web):
    a = web.host("a.example")
    a.answers = {"/1": redirect(a.url("/2")), "/2": reply(b"a")}
    assert statuses(get_all(web, a.url("/1"))) == [200]


def test_waiting_for_others_counts_as_time_of_a_look_and_asks_no_host(web):
    a, b = web.host("a.example"), web.host("b.example")
    b_is_asked, a_is_asked, is_over = (threading.Event() for _ in range(3))

    async def mute(_, __):
        a_is_asked.set()
        await asyncio.to_thread(is_over.wait)

    async def then_to_a(_, writer):
        b_is_asked.set()
        await asyncio.to_thread(a_is_asked.wait)
        writer.write(redirect(a.url()))

    a.answers, b.answers = {"/mute": mute, "/": reply(b"a")}, {"/": then_to_a}

    async def go():
        async with GuardedClient(web.policy(whole_seconds=0.5), web.look_up) as client:
            waits = asyncio.create_task(client.get(b.url()))
            await asyncio.to_thread(b_is_asked.wait)
            holds = asyncio.create_task(client.get(a.url("/mute")))
            with pytest.raises(RequestError) as raised:
                await waits
            with suppress(RequestError):
                await holds
            return raised.value

    try:
        assert asyncio.run(go()).kind is Failure.TOO_SLOW
    finally:
        is_over.set()
    assert (a.connections, len(b.requests)) == (1, 1)


def test_who_fails_or_gives_up_makes_room_for_the_next(web):
    a = web.host("a.example")
    a.answers = {"/": reply(b"a"), "/nonsense": b"nonsense\r\n\r\n"}

    async def go():
        async with GuardedClient(web.policy(), web.look_up) as client:
            with suppress(RequestError):
                await client.get(a.url("/nonsense"))
            gives_up = asyncio.create_task(client.get(a.url()))
            await asyncio.sleep(0)
            gives_up.cancel()
            return [(await client.get(a.url())).status for _ in range(2)]

    assert asyncio.run(go()) == [200, 200]
