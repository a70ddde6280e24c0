"""Work that takes long lets others have their turn."""

import asyncio
from collections.abc import Awaitable
from pathlib import Path
from threading import Event

import pytest
from authors import TESTER
from stores import service_on

from feedkeep.model import Admitted
from feedkeep.rules.episode_actions import SentAction
from feedkeep.rules.subscriptions import want
from feedkeep.runtime import cooperative as turns
from feedkeep.runtime import wall_clock
from feedkeep.runtime.cooperative import TimeSlice, Yielding
from feedkeep.service import Service
from feedkeep.store.sqlite import SqliteStore

A = "https://a.example/feed"


async def turns_of_others(work: Awaitable[object]) -> int:
    """Return how often another task had its turn while something was done."""
    count, is_done = 0, False

    async def others() -> None:
        nonlocal count
        while not is_done:
            count += 1
            await asyncio.sleep(0)

    task = asyncio.ensure_future(others())
    await work
    is_done = True
    await task
    return count


def three() -> Yielding[str]:
    for _ in range(3):
        yield
    return "done"


@pytest.mark.parametrize(("longest", "expected"), [(-1, True), (3_600, False)])
async def test_others_have_their_turn_between_the_parts_of_what_takes_long_and_only_then(
    monkeypatch, longest, expected
):
    monkeypatch.setattr(turns, "LONGEST_SECONDS", longest)
    assert await TimeSlice().through(three()) == "done"
    assert (await turns_of_others(TimeSlice().through(three())) >= 3) is expected


async def test_an_account_that_has_much_computed_keeps_another_one_waiting_for_one_of_it():
    may_end = Event()

    async def of(account, work):
        turns.owner.set(account)
        return await turns.in_thread_if(True, work)

    greedy = [asyncio.create_task(of("greedy", may_end.wait)) for _ in range(10)]
    try:
        other = asyncio.create_task(of("other", lambda: "computed"))
        assert await asyncio.wait_for(other, 20) == "computed"
        assert not any(task.done() for task in greedy)
    finally:
        may_end.set()
        await asyncio.gather(*greedy)


async def test_a_long_list_that_is_added_or_put_lets_others_have_their_turn(monkeypatch, tmp_path):
    monkeypatch.setattr(turns, "LONGEST_SECONDS", -1)
    urls = [f"https://a.example/{number}" for number in range(1_000)]
    service = await opened(tmp_path)
    account = await service.accounts.create("alice", None)
    items = [want(url, None) for url in urls]
    looked_up_and_saved = len(urls) // 100 + len(urls) // 20
    assert (
        await turns_of_others(service.subscriptions.add(account.id, items, TESTER))
        >= looked_up_and_saved
    )
    app = Admitted(account, "password")
    assert await turns_of_others(service.url_lists.replace(app, [], TESTER)) >= looked_up_and_saved
    await service.close()


async def opened(folder: Path) -> Service:
    store = await SqliteStore.open(folder / "feedkeep.db", wall_clock.now)
    return service_on(store, wall_clock.now)


async def test_an_upload_of_many_actions_lets_others_have_their_turn(monkeypatch, tmp_path):
    monkeypatch.setattr(turns, "LONGEST_SECONDS", -1)
    sent = [SentAction(A, f"https://cdn.example/{n}", "phone", "new", 5) for n in range(1_000)]
    service = await opened(tmp_path)
    app = Admitted(await service.accounts.create("alice", None), "password")
    judged = len(sent)
    looked_up_and_saved = 2 * len(sent) // 20
    least = judged + looked_up_and_saved
    assert await turns_of_others(service.episode_actions.record(app, sent)) >= least
    await service.close()
