"""Episode actions that are sent to every app once more."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from running import PASSWORD, Clock, run

from feedkeep.model import Admitted, Second, replace
from feedkeep.rules.credentials import read_session
from feedkeep.rules.episode_actions import SentAction
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.service import Service
from feedkeep.store.base import Store

OLD, NEW = (f"https://{name}.example/feed" for name in ("old", "new"))


@pytest.mark.parametrize("is_first_alone", [True, False])
def test_an_app_that_says_how_long_an_episode_is_is_told_what_waited_for_that(
    open_store: Callable, is_first_alone: bool
) -> None:
    """It has uploaded nothing of it itself, and goes on from the timestamp of its upload."""

    async def work(service: Service, store: Store, clock: Clock) -> None:
        account = await service.accounts.create("Bob", PASSWORD)

        async def admitted(secret: str) -> Admitted:
            credential = read_session(secret)
            assert credential is not None
            return await service.authentication.admit(credential, "127.0.0.1")

        async def told(secret: str, since: int) -> tuple[list[tuple[str, int | None]], Second]:
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

    run(open_store, work)


@pytest.mark.parametrize("urls", [[OLD, NEW], [NEW, OLD]])
@pytest.mark.parametrize("others", [0, 20])
def test_what_was_played_last_is_last_whichever_url_of_the_feed_it_was_played_under(
    open_store: Callable, urls: list[str], others: int
) -> None:
    async def work(service: Service, store: Store, clock: Clock) -> None:
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

    run(open_store, work)
