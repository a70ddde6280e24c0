"""Episode actions: how many an account may have, their URLs on each page, and merges."""

import asyncio
from contextlib import suppress

import pytest
from authors import TESTER
from running import assert_refused
from structlog.testing import capture_logs
from whole_store import damages_of

from feedkeep.model import Admitted, Second, replace
from feedkeep.model.errors import InvalidInput, StoreUnavailable
from feedkeep.rules import episode_actions
from feedkeep.rules.credentials import read_session
from feedkeep.rules.episode_actions import SentAction
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.subscriptions import Update, want
from feedkeep.rules.undo import Undo
from feedkeep.service import episode_actions as service_actions

OLD, NEW = (f"https://{name}.example/feed" for name in ("old", "new"))
UNAVAILABLE, CANCELLED = StoreUnavailable("The database is locked."), asyncio.CancelledError()


def played(url, *numbers, at=None, position=1):
    return [
        SentAction(url, f"https://cdn.example/{n}", "phone", "play", at or n, 0, position, 10)
        for n in numbers
    ]


@pytest.fixture
def app(bob):
    return Admitted(bob, "test")


async def since(service, app, second=0):
    told = await service.episode_actions.since(app, Second(second))
    return [action async for page in told.pages for action in page]


async def test_an_account_has_room_for_a_number_of_actions(monkeypatch, service, clock, app):
    monkeypatch.setattr(episode_actions, "MAX_STORED", 50)
    eve = Admitted(await service.accounts.create("Eve", None), "test")

    async def record(*numbers, position=1):
        clock.go_on(1_000_000)
        await service.episode_actions.record(app, played(OLD, *numbers, position=position))

    await record()
    await record(*range(30))
    await record(*range(20, 48))
    for refused in (range(40, 51), (48, 49, 50)):  # nothing of the first try is there
        await assert_refused(record(*refused), InvalidInput, "no room")
    await record(48, 49)
    await record(*range(50), position=2)
    await assert_refused(record(50), InvalidInput, "no room")
    await service.episode_actions.record(eve, played(OLD, *range(50)))
    assert [one.position for one in await since(service, app)] == [2] * 50


async def test_actions_count_once_for_each_kib(monkeypatch, service, store, bob, app):
    monkeypatch.setattr(episode_actions, "MAX_STORED", 50)
    long = f"https://b.example/{'x' * 2_600}"
    await service.subscriptions.add(bob.id, [want(OLD, None), want(long, None)], TESTER)
    await service.episode_actions.record(app, played(OLD, *range(10)))
    assert await store.episode_actions.weights(bob.id) == (10, 10)
    of_long = played(long, *range(10, 21))
    await assert_refused(service.episode_actions.record(app, of_long), InvalidInput, "no room")
    await service.episode_actions.record(app, of_long[:5])
    assert await store.episode_actions.weights(bob.id) == (30, 30)
    # Merged, the actions of the first podcast would get the long URL.
    change, old = Update(new_guid=parse_feed_url(long).guid), parse_feed_url(OLD).guid
    with capture_logs() as logs:
        await service.subscriptions.update(bob.id, old, change, TESTER)
    assert [line["log_level"] for line in logs] == ["warning"]
    assert await store.episode_actions.weights(bob.id) == (30, 30)
    assert await damages_of(service) == []

    def miscount(snapshot, sent):
        return replace(episode_actions.record(snapshot, sent), added=7)

    judged = [episode_actions.judge(one) for one in played(OLD, 31, 32)]
    await store.episode_actions.record(bob.id, judged, miscount, max)
    assert await damages_of(service) == [
        "account Bob: the stored count of episode actions is 37, but it should be 32"
    ]


@pytest.mark.parametrize("characters", [0, 100, 100_000])
async def test_each_page_has_the_listed_urls(
    monkeypatch, characters, service, store, clock, bob, app
):
    monkeypatch.setattr(service_actions, "MAX_REMEMBERED_CHARACTERS", characters)
    monkeypatch.setattr(service_actions, "LISTED_AT_ONCE", 4)
    feeds = [f"https://{number}.example/feed" for number in range(10)]
    listed = [f"https://www.{number}.example/feed" for number in range(10)]
    asked: list[object] = []
    await service.url_lists.upload(app, feeds, [], TESTER)
    clock.go_on(1_000_000)
    actions = [one for n in range(40) for one in played(feeds[n % 10], n)]
    await service.episode_actions.record(app, actions)
    for feed, moved_to in zip(feeds, listed, strict=True):
        moved = Update(parse_feed_url(moved_to))
        await service.subscriptions.update(bob.id, parse_feed_url(feed).guid, moved, TESTER)
    clock.go_on(1_000_000)
    view = store.entries.view

    async def seen(*arguments):
        asked.append(arguments)
        return await view(*arguments)

    monkeypatch.setattr(store.entries, "view", seen)
    assert [action.podcast for action in await since(service, app)] == listed * 4
    assert (len(asked) == len(feeds)) is (characters > 1_000)


@pytest.mark.parametrize("is_first_alone", [True, False])
async def test_an_upload_with_a_total_sends_plays_that_waited(is_first_alone, service, clock, app):
    """Its app has uploaded nothing of it itself, and polls from the timestamp of its upload."""

    async def admitted(secret):
        return await service.authentication.admit(read_session(secret), "127.0.0.1")

    async def told(secret, second):
        listed = await since(service, await admitted(secret), second)
        return [(one.device, one.position) for one in listed]

    phone, desk = [
        (await service.logins.begin_session(app, name)).text for name in ("phone", "desk")
    ]
    without = SentAction(OLD, "https://cdn.example/1", "desk", "play", 1, 0, 7, None)
    await service.episode_actions.record(await admitted(desk), [without])
    polled = await service.episode_actions.since(await admitted(phone), Second(0))
    assert [page async for page in polled.pages if page] == []
    clock.go_on(5_000_000)
    if not is_first_alone:
        other = replace(without, episode="https://cdn.example/2", total=9)
        await service.episode_actions.record(await admitted(desk), [other])
    sent = replace(without, device="phone", done=0, position=8, total=9)
    uploaded = await service.episode_actions.record(await admitted(phone), [sent])
    expected = [("desk", 7)] if is_first_alone else [("desk", 7), ("desk", 7)]
    assert await told(phone, uploaded.timestamp) == expected
    assert ("phone", 8) not in await told(desk, polled.timestamp), "it was played before"


@pytest.mark.parametrize("urls", [[OLD, NEW], [NEW, OLD]])
@pytest.mark.parametrize("others", [0, 20])
async def test_resent_actions_keep_their_order_under_both_urls(urls, others, service, bob, app):
    for position, url in enumerate(urls, 1):
        await service.episode_actions.record(app, played(url, 1, position=position))
    more = [f"https://{number}.example" for number in range(others)]
    podcasts = {parse_feed_url(url).guid for url in (OLD, NEW, *more)}
    told = await service.episode_actions.since(app, Second(1))
    await service.episode_actions.resend(bob.id, podcasts)
    assert [one.position for one in await since(service, app, told.timestamp)] == [1, 2]


@pytest.mark.parametrize(
    ("failure", "then", "max_unjoined", "expected"),
    [
        (UNAVAILABLE, "poll", 1, [9]),
        (UNAVAILABLE, "upload", 1, [1]),
        (UNAVAILABLE, "undo", 1, [3, 9]),
        (UNAVAILABLE, "poll", 0, [3, 9]),  # of very many accounts, the last ones
        (CANCELLED, "poll", 1, [9]),
    ],
)
async def test_plays_of_a_merge_that_failed_are_joined_with_the_next_sync(
    monkeypatch, failure, then, max_unjoined, expected, service, store, bob, app
):
    monkeypatch.setattr(service_actions, "_MAX_UNJOINED", max_unjoined)
    await service.subscriptions.add(bob.id, [want(OLD, None), want(NEW, None)], TESTER)
    for url, position in ((OLD, 3), (NEW, 9)):
        await service.episode_actions.record(app, played(url, 1, at=position, position=position))
    old, new = (parse_feed_url(url).guid for url in (OLD, NEW))

    async def fail(*_):
        raise failure

    with monkeypatch.context() as outage, capture_logs() as logs:
        outage.setattr(store.episode_actions, "page", fail)
        with suppress(asyncio.CancelledError):
            await service.subscriptions.update(bob.id, old, Update(new_guid=new), TESTER)
    assert len(await service.subscriptions.subscribed(bob.id)) == 1
    assert [line["log_level"] for line in logs] == ["warning"] * (failure is UNAVAILABLE)
    if then == "upload":
        await service.episode_actions.record(app, played(NEW, 1, at=11))
    elif then == "undo":
        merge = (await service.history.page(bob.id)).changes[0]
        await service.history.undo(bob.id, Undo([merge.stamp]), TESTER)
    assert [one.position for one in await since(service, app)] == expected


@pytest.mark.parametrize("at_once", [1_000, 2])
async def test_a_merge_joins_all_plays(monkeypatch, at_once, service, store, bob, app):
    monkeypatch.setattr(service_actions, "_STAMPED_AT_ONCE", at_once)
    await service.subscriptions.add(bob.id, [want(OLD, None), want(NEW, None)], TESTER)
    for url, position in ((OLD, 3), (NEW, 9)):
        sent = played(url, *range(5), at=position, position=position)
        await service.episode_actions.record(app, sent)
    old, new = (parse_feed_url(url).guid for url in (OLD, NEW))
    await service.subscriptions.update(bob.id, old, Update(new_guid=new), TESTER)
    told = [one async for page in await service.episode_actions.all(bob.id) for one in page]
    assert [one.position for one in told] == [9] * 5
    assert await store.episode_actions.weights(bob.id) == (5, 5)
