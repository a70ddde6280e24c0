"""Feeds that accounts have just subscribed to: handed over a few at a time, and none is lost."""

import asyncio

from feedkeep.model import AccountId, Stamp, Subscription, replace
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.service import known_feeds
from feedkeep.service.known_feeds import New, NewFeeds

ALICE, BEN = AccountId(1), AccountId(2)
URLS = [f"https://show.example/{number}" for number in range(250)]


def subscriptions(urls: list[str]) -> list[Subscription]:
    at = Stamp(1)
    return [Subscription(parse_feed_url(url).guid, url, at, at, at, at, True) for url in urls]


def of_alice(urls: list[str]) -> list[New]:
    return [(ALICE, url, 0) for url in urls]


async def waiting(new: NewFeeds, at_most: int) -> asyncio.Task[object]:
    """Return a task that takes, once it waits for something to take."""
    task = asyncio.create_task(new.take(at_most))
    await asyncio.sleep(0)
    return task


async def test_take_waits_for_new_feeds_and_returns_a_few_in_their_order():
    new = NewFeeds()
    taking = await waiting(new, 100)
    new.note(ALICE, subscriptions(URLS))
    assert await taking == of_alice(URLS[:100])
    new.note(ALICE, subscriptions([URLS[7], URLS[240]]))  # the second one waits already
    assert await new.take(100) == of_alice(URLS[100:200])
    assert await new.take(100) == of_alice([*URLS[200:], URLS[7]])
    taking = await waiting(new, 100)
    assert not taking.done()
    new.note(ALICE, subscriptions(URLS[:1]))
    assert await taking == of_alice(URLS[:1])
    (feed,) = subscriptions(URLS[:1])
    for account_id, first_had in ((ALICE, Stamp(5)), (BEN, Stamp(9))):
        new.note(account_id, [replace(feed, first_had=first_had)])
    assert await new.take(100) == [(ALICE, URLS[0], 5), (BEN, URLS[0], 9)]


async def test_accounts_with_many_new_feeds_take_turns_and_leave_room(monkeypatch):
    monkeypatch.setattr(known_feeds, "MAX_NEW", 20)
    new = NewFeeds()
    taking = await waiting(new, 1)
    new.note(ALICE, subscriptions(URLS[:1]))
    await taking
    new.note(ALICE, subscriptions(URLS[:50]))
    new.note(ALICE, subscriptions(URLS[:50]))
    new.note(BEN, subscriptions(URLS[100:]))
    taken = await new.take(100)
    in_turn = [(ALICE, URLS[0]), (BEN, URLS[100]), (ALICE, URLS[1]), (BEN, URLS[101])]
    assert [(who, url) for who, url, _ in taken[:4]] == in_turn
    for account_id, urls in ((ALICE, URLS[:10]), (BEN, URLS[100:105])):
        assert [url for who, url, _ in taken if who == account_id] == urls


def test_take_now_does_not_wait():
    new = NewFeeds()
    new.note(ALICE, subscriptions(URLS[:1]))
    assert new.take_now(100) == [], "nobody had said that any would be taken"
    new.keep()
    new.note(ALICE, subscriptions(URLS[:3]))
    assert new.take_now(2) == of_alice(URLS[:2])
    assert new.take_now(2) == of_alice(URLS[2:3])
    assert new.take_now(2) == []
