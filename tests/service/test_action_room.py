"""How many episode actions an account may have, whichever apps upload them."""

import pytest
from authors import TESTER
from running import PASSWORD
from structlog.testing import capture_logs

from feedkeep.model import (
    Admitted,
    EpisodeAction,
    Second,
    replace,
)
from feedkeep.model.errors import InvalidInput
from feedkeep.rules import episode_actions
from feedkeep.rules.episode_actions import SentAction
from feedkeep.rules.feed_urls import parse_feed_url
from feedkeep.rules.subscriptions import Update, want


def played(*numbers: int, position: int = 1) -> list[SentAction]:
    return [
        SentAction(
            "https://a.example", f"https://a.example/{n}", "phone", "play", n, 0, position, 9
        )
        for n in numbers
    ]


async def test_an_account_has_room_for_so_many_actions_and_no_more(
    monkeypatch, service, store, clock
):
    monkeypatch.setattr(episode_actions, "MAX_STORED", 50)
    bob = Admitted(await service.accounts.create("Bob", PASSWORD), "test")
    carol = Admitted(await service.accounts.create("Carol", PASSWORD), "test")

    async def record(*numbers, position=1):
        clock.go_on(1_000_000)
        await service.episode_actions.record(bob, played(*numbers, position=position))

    await record()
    await record(*range(30))
    await record(*range(20, 48))
    with pytest.raises(InvalidInput, match="no room"):
        await record(*range(40, 51))
    with pytest.raises(InvalidInput, match="no room"):  # nothing of the first try is there
        await record(48, 49, 50)
    await record(48, 49)
    await record(*range(50), position=2)
    with pytest.raises(InvalidInput, match="no room"):
        await record(50)
    await service.episode_actions.record(carol, played(*range(50)))
    there = await service.episode_actions.since(bob, Second(0))
    assert [a.position async for page in there.pages for a in page] == [2] * 50


async def test_actions_are_counted_once_for_each_kib_and_stay_apart_without_room(
    monkeypatch, service, store, clock
):
    monkeypatch.setattr(episode_actions, "MAX_STORED", 50)
    long = f"https://b.example/{'x' * 2_600}"
    account = await service.accounts.create("Bob", PASSWORD)
    bob, a, b = Admitted(account, "test"), "https://a.example", parse_feed_url(long)
    await service.subscriptions.add(account.id, [want(a, None), want(long, None)], TESTER)
    await service.episode_actions.record(bob, played(*range(10)))
    assert await store.episode_actions.weights(account.id) == (10, 10)
    of_b = [replace(one, podcast=long) for one in played(*range(10, 21))]
    with pytest.raises(InvalidInput, match="no room"):
        await service.episode_actions.record(bob, of_b)
    await service.episode_actions.record(bob, of_b[:5])
    assert await store.episode_actions.weights(account.id) == (30, 30)
    # Merged, the actions of the first podcast would get the long URL.
    change = Update(new_guid=b.guid)
    old = parse_feed_url(a).guid
    with capture_logs() as logs:
        await service.subscriptions.update(account.id, old, change, TESTER)
    assert [line["log_level"] for line in logs] == ["warning"]
    assert await store.episode_actions.weights(account.id) == (30, 30)
    assert [fault async for one in service.check() for fault in one.faults] == []


async def test_a_wrong_count_of_actions_is_found_by_a_check(service, store):
    account = await service.accounts.create("Bob", PASSWORD)

    def miscount(snapshot, sent):
        return replace(episode_actions.record(snapshot, sent), added=7)

    judged = [episode_actions.judge(one) for one in played(1, 2)]
    sent = [one for one in judged if isinstance(one, EpisodeAction)]
    await store.episode_actions.record(account.id, sent, miscount, max)
    assert [fault async for one in service.check() for fault in one.faults] == [
        "account Bob: the stored count of episode actions is 7, but it should be 2"
    ]
