"""Answers that are shared by those who ask at about the same time."""

import asyncio

import pytest

from feedkeep.runtime.shared import Shared


class Counter:
    def __init__(self, kept_seconds: float) -> None:
        self.asked = 0
        self.may_answer = asyncio.Event()
        self.shared = Shared(self._ask, kept_seconds)

    async def _ask(self) -> int:
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


async def test_an_answer_is_kept_for_so_long():
    counter = Counter(kept_seconds=3_600.0)
    counter.may_answer.set()
    assert [await counter.shared.get() for _ in range(3)] == [1, 1, 1]
