"""How many episode actions an account may have, whichever apps upload them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from running import PASSWORD, Clock, run

from feedkeep.model import Admitted, Second
from feedkeep.model.errors import InvalidInput
from feedkeep.rules.episode_actions import SentAction
from feedkeep.service import Service, action_room
from feedkeep.store.base import Store


def played(*numbers: int, position: int = 1) -> list[SentAction]:
    return [
        SentAction(
            "https://a.example", f"https://a.example/{n}", "phone", "play", n, 0, position, 9
        )
        for n in numbers
    ]


def test_an_account_has_room_for_so_many_actions_and_no_more(
    open_store: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(action_room, "MAX_STORED", 50)

    async def work(service: Service, store: Store, clock: Clock) -> None:
        bob = Admitted(await service.accounts.create("Bob", PASSWORD), "test")
        carol = Admitted(await service.accounts.create("Carol", PASSWORD), "test")

        async def record(*numbers: int, position: int = 1) -> None:
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

    run(open_store, work)


def test_what_is_counted_is_remembered_of_few_accounts(
    open_store: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(action_room, "_MAX_REMEMBERED", 2)

    async def work(service: Service, store: Store, _: Clock) -> None:
        counted = []
        count = store.episode_actions.count

        async def counting(account_id: int, at_most: int) -> int:
            counted.append(account_id)
            return await count(account_id, at_most)

        monkeypatch.setattr(store.episode_actions, "count", counting)
        accounts = [await service.accounts.create(name, PASSWORD) for name in ("a1", "b1", "c1")]
        first, second, third = (Admitted(account, "test") for account in accounts)
        for number, who in enumerate((first, first, second, first, third, first, second)):
            await service.episode_actions.record(who, played(number))
        names = {account.id: account.name for account in accounts}
        assert [names[one] for one in counted] == ["a1", "b1", "c1", "b1"]

    run(open_store, work)
