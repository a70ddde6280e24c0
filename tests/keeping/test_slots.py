"""Slots: as many as there are, by their lanes, and none is lost."""

from __future__ import annotations

import asyncio

from feedkeep.feeds.slots import Slots
from feedkeep.model import Stamp
from feedkeep.rules.lanes import Lane

PATIENCE_SECONDS = 10.0
"""Far more than a test here takes; a slot that is lost ends it with an error."""


def test_in_a_lane_the_one_that_is_due_first_gets_the_next_slot() -> None:
    async def go() -> None:
        slots, order = Slots(1), []

        async def hold(due: int) -> None:
            async with slots.of(Lane.NEW, Stamp(due)):
                order.append(due)
                await asyncio.sleep(0)

        await asyncio.gather(*(hold(due) for due in (5, 9, 3, 7)))
        assert order == [5, 3, 7, 9]

    asyncio.run(asyncio.wait_for(go(), PATIENCE_SECONDS))


def test_who_gives_up_waiting_or_is_ended_just_then_holds_no_slot() -> None:
    async def go() -> None:
        slots, is_over = Slots(1), asyncio.Event()

        async def hold() -> None:
            async with slots.of(Lane.QUICK, Stamp(0)):
                await is_over.wait()

        tasks = [asyncio.create_task(hold()) for _ in range(4)]
        await asyncio.sleep(0)
        tasks[1].cancel()  # while it waits
        await asyncio.wait([tasks[1]])
        tasks[0].cancel()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        tasks[2].cancel()  # it was just given the slot
        is_over.set()
        await asyncio.wait(tasks)
        assert not tasks[3].cancelled()

    asyncio.run(asyncio.wait_for(go(), PATIENCE_SECONDS))
