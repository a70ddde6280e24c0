"""Of each host one connection at a time, also where strangers' feeds lead to it."""

import asyncio
import threading
from contextlib import nullcontext, suppress

import pytest
from web_of_hosts import Victim, redirect, reply

from feedkeep.feeds.fetcher import Fetcher
from feedkeep.model import Failure, Feed
from feedkeep.outbound.client import GuardedClient
from feedkeep.outbound.failures import RequestError
from feedkeep.outbound.host_locks import HostLocks
from feedkeep.rules.feed_urls import parse_feed_url

NOW = 1_795_370_000_000_000
STRANGERS = 5
PATIENCE_SECONDS = 0.1
ITUNES = 'xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd"'


def rss(more=""):
    item = "<item><guid>1</guid></item>"
    return f"<rss {ITUNES}><channel><title>A Show</title>{more}{item}</channel></rss>".encode()


@pytest.fixture
async def client(web, a, b):
    async with GuardedClient(web.policy(), web.look_up) as client:
        yield client


@pytest.mark.parametrize("way", ["redirect", "picture", "new address", "itself"])
async def test_feeds_of_many_hosts_that_lead_to_one_connect_to_it_one_at_a_time(
    web, way, monkeypatch
):
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

    async def look_at_all():
        async with GuardedClient(web.policy(), web.look_up) as client:
            looks = (Fetcher(client).look(feed, NOW) for feed in feeds)
            return await asyncio.gather(*looks)

    looked = await look_at_all()
    assert (victim.host.connections, victim.most_at_once) == (STRANGERS, 1)
    assert [one.failure for one in looked] == [None] * STRANGERS
    monkeypatch.setattr(HostLocks, "at", lambda *_: nullcontext())
    await look_at_all()
    assert victim.most_at_once > 1  # the victim notices where no caller waits for the others


def together(count):
    """Return an answer that waits for `count` concurrent requests."""
    barrier = asyncio.Barrier(count)

    def then(answer):
        async def answering(_, writer):
            await barrier.wait()  # a web that waits in vain ends by itself
            writer.write(answer)

        return answering

    return then


async def test_different_hosts_are_asked_at_the_same_time(a, b, client):
    then = together(2)
    a.answers["/"] = b.answers["/"] = then(reply(b"here"))
    answers = await asyncio.gather(client.get(a.url()), client.get(b.url()))
    assert [one.status for one in answers] == [200, 200]


async def test_two_that_lead_to_each_others_hosts_at_the_same_time_both_get_there(a, b, client):
    then = together(2)
    a.answers = {"/1": then(redirect(b.url("/2"))), "/2": reply(b"a")}
    b.answers = {"/1": then(redirect(a.url("/2"))), "/2": reply(b"b")}
    answers = await asyncio.gather(client.get(a.url("/1")), client.get(b.url("/1")))
    assert [one.body for one in answers] == [b"b", b"a"]
    a.answers["/1"] = redirect(a.url("/2"))  # a host does not wait for itself
    assert (await client.get(a.url("/1"))).body == b"a"


async def test_waiting_for_others_counts_as_time_of_a_look_and_asks_no_host(web, a, b):
    b_is_asked, a_is_asked, is_over = (threading.Event() for _ in range(3))

    async def mute(_, __):
        a_is_asked.set()
        await asyncio.to_thread(is_over.wait)

    async def then_to_a(_, writer):
        b_is_asked.set()
        await asyncio.to_thread(a_is_asked.wait)
        writer.write(redirect(a.url()))

    a.answers, b.answers = {"/mute": mute, "/": reply(b"a")}, {"/": then_to_a}
    try:
        async with GuardedClient(web.policy(whole_seconds=0.5), web.look_up) as client:
            waits = asyncio.create_task(client.get(b.url()))
            await asyncio.to_thread(b_is_asked.wait)
            holds = asyncio.create_task(client.get(a.url("/mute")))
            with pytest.raises(RequestError) as raised:
                await waits
            with suppress(RequestError):
                await holds
    finally:
        is_over.set()
    assert raised.value.kind is Failure.TOO_SLOW
    assert (a.connections, len(b.requests)) == (1, 1)


async def test_who_fails_or_gives_up_makes_room_for_the_next(a, client):
    a.answers = {"/": reply(b"a"), "/nonsense": b"nonsense\r\n\r\n"}
    with suppress(RequestError):
        await client.get(a.url("/nonsense"))
    gives_up = asyncio.create_task(client.get(a.url()))
    await asyncio.sleep(0)
    gives_up.cancel()
    assert [(await client.get(a.url())).status for _ in range(2)] == [200, 200]
