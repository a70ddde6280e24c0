"""Feeds that somebody has just subscribed to: handed over a few at a time, and none is lost."""

from __future__ import annotations

import asyncio

import pytest

from feedkeep.model import Stamp, Subscription, replace
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.service import known_feeds
from feedkeep.service.known_feeds import Had, NewFeeds

URLS = [f"https://show.example/{number}" for number in range(250)]


def subscriptions(urls: list[str]) -> list[Subscription]:
    at = Stamp(1)
    return [Subscription(parse_feed_url(url).guid, url, at, at, at, at, True) for url in urls]


async def waiting(new: NewFeeds, at_most: int) -> asyncio.Task[Had]:
    """Return a task that takes, once it waits for something to take."""
    task = asyncio.create_task(new.take(at_most))
    await asyncio.sleep(0)
    return task


def test_one_that_is_new_is_handed_over_at_once() -> None:
    async def go() -> None:
        new = NewFeeds()
        taking = await waiting(new, 100)
        new.note(subscriptions(URLS[:1]))
        assert list(await taking) == URLS[:1]

    asyncio.run(go())


def test_of_many_a_few_are_handed_over_and_the_rest_waits_in_its_order() -> None:
    async def go() -> None:
        new = NewFeeds()
        taking = await waiting(new, 100)
        new.note(subscriptions(URLS))
        assert list(await taking) == URLS[:100]
        new.note(subscriptions([URLS[7], URLS[240]]))  # the second one waits already
        assert list(await new.take(100)) == URLS[100:200]
        assert list(await new.take(100)) == [*URLS[200:], URLS[7]]
        taking = await waiting(new, 100)
        assert not taking.done()
        new.note(subscriptions(URLS[:1]))
        assert list(await taking) == URLS[:1]

    asyncio.run(go())


def test_no_more_wait_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_feeds, "MAX_NEW", 20)

    async def go() -> None:
        new = NewFeeds()
        taking = await waiting(new, 5)
        new.note(subscriptions(URLS))
        assert list(await taking) == URLS[:5]
        assert list(await new.take(100)) == URLS[5:20]

    asyncio.run(go())


def test_of_accounts_that_come_together_the_last_newcomer_counts() -> None:
    async def go() -> None:
        new = NewFeeds()
        taking = await waiting(new, 100)
        new.note(subscriptions(URLS[:1]))
        await taking
        (feed,) = subscriptions(URLS[:1])
        for first_had in (None, Stamp(5), Stamp(9), Stamp(7), None):
            new.note([replace(feed, first_had=first_had)])
        assert await new.take(100) == {URLS[0]: Stamp(9)}

    asyncio.run(go())
