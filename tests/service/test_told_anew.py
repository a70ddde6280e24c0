"""Episode actions that are sent to every app once more."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from running import PASSWORD, Clock, run

from feedkeep.model import Admitted, Second
from feedkeep.rules.episode_actions import SentAction
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.service import Service
from feedkeep.store.base import Store

OLD, NEW = (f"https://{name}.example/feed" for name in ("old", "new"))


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
        await service.episode_actions.tell_anew(bob.account.id, podcasts)
        anew = await service.episode_actions.since(bob, told.timestamp)
        assert [a.position async for page in anew.pages for a in page] == [1, 2]

    run(open_store, work)
