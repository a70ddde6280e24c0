"""Long work yields to other tasks, and concurrent callers share an answer."""

import asyncio
from threading import Event

import pytest
from authors import TESTER
from stores import service_on

from feedkeep.model import Admitted
from feedkeep.rules.episode_actions import SentAction
from feedkeep.rules.subscriptions import want
from feedkeep.runtime import cooperative as turns
from feedkeep.runtime import wall_clock
from feedkeep.runtime.cooperative import TimeSlice
from feedkeep.runtime.shared import Shared
from feedkeep.store.sqlite import SqliteStore


async def turns_of_others(work):
    """Return the number of turns of another task during some work."""
    count, is_done = 0, False

    async def others():
        nonlocal count
        while not is_done:
            count += 1
            await asyncio.sleep(0)

    task = asyncio.ensure_future(others())
    await work
    is_done = True
    await task
    return count


def three():
    for _ in range(3):
        yield
    return "done"


@pytest.mark.parametrize(("longest", "expected"), [(-1, True), (3_600, False)])
async def test_others_have_their_turn_between_parts_that_take_long(monkeypatch, longest, expected):
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


async def test_a_long_list_or_upload_lets_others_have_their_turn(monkeypatch, tmp_path):
    monkeypatch.setattr(turns, "LONGEST_SECONDS", -1)
    store = await SqliteStore.open(tmp_path / "feedkeep.db", wall_clock.now)
    service = service_on(store, wall_clock.now)
    account = await service.accounts.create("alice", None)
    app, count = Admitted(account, "password"), 1_000
    items = [want(f"https://a.example/{number}", None) for number in range(count)]
    looked_up_and_saved = count // 100 + count // 20
    adding = service.subscriptions.add(account.id, items, TESTER)
    assert await turns_of_others(adding) >= looked_up_and_saved
    assert await turns_of_others(service.url_lists.replace(app, [], TESTER)) >= looked_up_and_saved
    feed, judged = "https://a.example/feed", count
    sent = [SentAction(feed, f"https://a.example/{n}", "phone", "new", 5) for n in range(count)]
    recording = service.episode_actions.record(app, sent)
    assert await turns_of_others(recording) >= judged + 2 * count // 20
    await service.close()


class Counter:
    def __init__(self, kept_seconds):
        self.asked = 0
        self.may_answer = asyncio.Event()
        self.shared = Shared(self._ask, kept_seconds)

    async def _ask(self):
        self.asked += 1
        await self.may_answer.wait()
        if self.asked == 2:
            raise ValueError("the second one fails")
        return self.asked


async def test_all_that_ask_meanwhile_share_an_answer_even_if_the_first_gives_up():
    counter = Counter(kept_seconds=0.0)
    first, second = (asyncio.create_task(counter.shared.get()) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.wait([first])
    counter.may_answer.set()
    assert await second == 1
    with pytest.raises(ValueError, match="the second"):
        await counter.shared.get()
    assert await counter.shared.get() == 3
    counter = Counter(kept_seconds=3_600.0)
    counter.may_answer.set()
    assert [await counter.shared.get() for _ in range(3)] == [1, 1, 1]
