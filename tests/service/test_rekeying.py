"""Episode actions that a version before stored get the keys that they have now."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable

import pytest
from running import PASSWORD, Clock, run

from feedkeep.model import ActionDecision, ActionPlace, Admitted, EpisodeAction, Second, replace
from feedkeep.model.errors import NotAuthorized, StoreUnavailable
from feedkeep.rules import episode_actions
from feedkeep.rules.episode_actions import SentAction
from feedkeep.service import Service, rekeying
from feedkeep.store.base import Store

A = "https://a.example"


def former(number: int, **changed: object) -> EpisodeAction:
    """Return an action as the version before stored it: each episode had three URLs."""
    episode = f"{A}/{number // 3}.mp3?{number}"
    sent = SentAction(
        A, episode, "phone", "play", 100 + number, 0, 1 + number, 99, f"{number // 3}"
    )
    action = episode_actions.judge(sent)
    assert isinstance(action, EpisodeAction)
    named = (action.podcast_guid, action.episode, action.device, action.kind)
    key = hashlib.sha256("\0".join(named).encode()).digest()[:16]
    return replace(action, key=key, **changed)


async def put_former(service: Service, store: Store, name: str, count: int) -> Admitted:
    account = await service.accounts.create(name, PASSWORD)
    actions = [former(number, revision=10**9 + number) for number in range(count)]
    await store.episode_actions.record(
        account.id, actions, lambda _, some: ActionDecision(some, some[-1].revision), max
    )
    return Admitted(await service.accounts.named(name), "test")


async def told(service: Service, who: Admitted) -> list[tuple[str, int | None]]:
    listed = await service.episode_actions.since(who, Second(0))
    return [(one.episode, one.position) for page in [p async for p in listed.pages] for one in page]


def test_each_episode_is_one_after_steps_of_which_any_can_be_the_last(
    open_store: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rekeying, "ACTIONS_IN_A_STEP", 4)

    async def work(service: Service, store: Store, clock: Clock) -> None:
        people = [await put_former(service, store, name, 9) for name in ("Bob", "Carol")]
        right = [(f"{A}/{n}.mp3?{3 * n + 2}", 3 * n + 3) for n in range(3)]
        for who in people:
            listed = await service.episode_actions.since(who, Second(0), only_last=True)
            assert [one.position async for page in listed.pages for one in page] == [3, 6, 9]
        place: ActionPlace | None = None
        for _ in range(2):
            place = await service.rekeying.step(place)
        steps, place = 0, None  # as the next process does
        while (place := await service.rekeying.step(place)) is not None:
            steps += 1
            assert steps < 20
        for who in people:
            assert await told(service, who) == right
            assert await store.episode_actions.count(who.account.id, 9) == 3

    run(open_store, work)


def test_it_goes_through_once_whatever_happens_meanwhile(
    open_store: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rekeying, "ACTIONS_IN_A_STEP", 2)
    monkeypatch.setattr(rekeying, "_SECONDS_BETWEEN_STEPS", 0.0)
    monkeypatch.setattr(rekeying, "_SECONDS_AFTER_A_FAILURE", 0.0)

    async def work(service: Service, store: Store, clock: Clock) -> None:
        await service.rekeying.close()  # it was not started
        who = await put_former(service, store, "Bob", 5)
        record, failures = store.episode_actions.record, [StoreUnavailable(), NotAuthorized()]

        async def fail_first(*arguments: object, **named: object) -> object:
            if failures:
                raise failures.pop(0)
            return await record(*arguments, **named)  # type: ignore[arg-type]

        monkeypatch.setattr(store.episode_actions, "record", fail_first)
        service.rekeying.start()
        assert service.rekeying._task is not None
        await asyncio.wait_for(service.rekeying._task, 60)
        await service.rekeying.close()
        assert failures == []
        keys = [one.received is None for _, one in await store.episode_actions.from_place(None, 9)]
        assert keys.count(True) == 2, "those of the step at which the account seemed to be gone"
        assert keys.count(False) > 0
        assert len(await told(service, who)) == len(keys)

    run(open_store, work)
