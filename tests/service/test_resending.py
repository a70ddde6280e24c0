"""Episode actions that are sent to every app once more."""

import asyncio
from contextlib import suppress

import pytest
from authors import TESTER
from running import PASSWORD
from structlog.testing import capture_logs

from feedkeep.model import Admitted, Second, replace
from feedkeep.model.errors import StoreUnavailable
from feedkeep.rules.credentials import read_session
from feedkeep.rules.episode_actions import SentAction
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.subscriptions import Update, want
from feedkeep.rules.undo import Undo
from feedkeep.service import episode_actions as service_actions

OLD, NEW = (f"https://{name}.example/feed" for name in ("old", "new"))


@pytest.mark.parametrize("is_first_alone", [True, False])
async def test_an_app_that_says_how_long_an_episode_is_is_told_what_waited_for_that(
    is_first_alone, service, store, clock
):
    """It has uploaded nothing of it itself, and goes on from the timestamp of its upload."""
    account = await service.accounts.create("Bob", PASSWORD)

    async def admitted(secret):
        credential = read_session(secret)
        assert credential is not None
        return await service.authentication.admit(credential, "127.0.0.1")

    async def told(secret, since):
        listed = await service.episode_actions.since(await admitted(secret), Second(since))
        pages = [page async for page in listed.pages]
        return [(one.device, one.position) for page in pages for one in page], listed.timestamp

    phone, desk = [
        (await service.logins.begin_session(Admitted(account, ""), name)).text
        for name in ("phone", "desk")
    ]
    without = SentAction(OLD, "https://cdn.example/1", "desk", "play", 1, 0, 7, None)
    await service.episode_actions.record(await admitted(desk), [without])
    listed, since = await told(phone, 0)
    assert listed == []
    clock.go_on(5_000_000)
    if not is_first_alone:
        other = replace(without, episode="https://cdn.example/2", total=9)
        await service.episode_actions.record(await admitted(desk), [other])
    sent = replace(without, device="phone", done=0, position=8, total=9)
    uploaded = await service.episode_actions.record(await admitted(phone), [sent])
    listed, _ = await told(phone, uploaded.timestamp)
    assert listed == [*([] if is_first_alone else [("desk", 7)]), ("desk", 7)]
    listed, _ = await told(desk, since)
    assert ("phone", 8) not in listed, "it was played before"


@pytest.mark.parametrize("urls", [[OLD, NEW], [NEW, OLD]])
@pytest.mark.parametrize("others", [0, 20])
async def test_what_was_played_last_is_last_whichever_url_of_the_feed_it_was_played_under(
    urls, others, service, store, clock
):
    bob = Admitted(await service.accounts.create("Bob", PASSWORD), "test")
    for position, url in enumerate(urls, 1):
        played = SentAction(url, "https://cdn.example/1", "phone", "play", 1, 0, position, 9)
        await service.episode_actions.record(bob, [played])
    more = [f"https://{number}.example" for number in range(others)]
    podcasts = {parse_feed_url(url).guid for url in (OLD, NEW, *more)}
    told = await service.episode_actions.since(bob, Second(1))
    await service.episode_actions.resend(bob.account.id, podcasts)
    anew = await service.episode_actions.since(bob, told.timestamp)
    assert [a.position async for page in anew.pages for a in page] == [1, 2]


UNAVAILABLE, CANCELLED = StoreUnavailable("The database is locked."), asyncio.CancelledError()


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
async def test_plays_of_a_merge_that_cannot_be_joined_are_joined_with_the_next_sync(
    monkeypatch, failure, then, max_unjoined, expected, service, store, clock
):
    monkeypatch.setattr(service_actions, "_MAX_UNJOINED", max_unjoined)
    account = await service.accounts.create("Bob", PASSWORD)
    bob = Admitted(account, "test")
    await service.subscriptions.add(account.id, [want(OLD, None), want(NEW, None)], TESTER)
    episode = "https://cdn.example/1"
    for url, position in ((OLD, 3), (NEW, 9)):
        played = SentAction(url, episode, "phone", "play", position, 0, position, 10)
        await service.episode_actions.record(bob, [played])
    old, new = (parse_feed_url(url).guid for url in (OLD, NEW))

    async def fail(*_):
        raise failure

    with monkeypatch.context() as outage, capture_logs() as logs:
        outage.setattr(store.episode_actions, "page", fail)
        with suppress(asyncio.CancelledError):
            await service.subscriptions.update(account.id, old, Update(new_guid=new), TESTER)
    assert len(await service.subscriptions.subscribed(account.id)) == 1
    assert [line["log_level"] for line in logs] == ["warning"] * (failure is UNAVAILABLE)
    if then == "upload":
        later = SentAction(NEW, episode, "phone", "play", 11, 0, 1, 10)
        await service.episode_actions.record(bob, [later])
    elif then == "undo":
        merge = (await service.history.page(account.id)).changes[0]
        await service.history.undo(account.id, Undo([merge.stamp]), TESTER)
    told = await service.episode_actions.since(bob, Second(0))
    assert [a.position async for page in told.pages for a in page] == expected


@pytest.mark.parametrize("has_many", [False, True])
async def test_all_that_was_played_of_a_feed_goes_with_it_into_another(
    monkeypatch, has_many, service, store, clock
):
    """Some pages at a time."""
    if has_many:
        monkeypatch.setattr(service_actions, "_STAMPED_AT_ONCE", 2)
    account = await service.accounts.create("Bob", PASSWORD)
    bob = Admitted(account, "test")
    await service.subscriptions.add(account.id, [want(OLD, None), want(NEW, None)], TESTER)
    for url, position in ((OLD, 3), (NEW, 9)):
        played = [
            SentAction(url, f"https://cdn.example/{number}", "phone", "play", position, 0,
                       position, 10)
            for number in range(5)
        ]  # fmt: skip
        await service.episode_actions.record(bob, played)
    old, new = (parse_feed_url(url).guid for url in (OLD, NEW))
    await service.subscriptions.update(account.id, old, Update(new_guid=new), TESTER)
    told = [one async for page in await service.episode_actions.all(account.id) for one in page]
    assert [one.position for one in told] == [9] * 5
    assert await store.episode_actions.weights(account.id) == (5, 5)
