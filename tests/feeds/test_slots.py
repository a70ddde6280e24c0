"""Slots: as many as there are, by their lanes, one for each host, and none is lost."""

import asyncio

from feedkeep.feeds.slots import Slots
from feedkeep.rules.fetch_order import Lane

A_SECOND = 10_000.0
PATIENCE_SECONDS = 10.0
"""Far more than a test here takes; a slot that is lost ends it with an error."""


async def in_time(*work):
    async with asyncio.timeout(PATIENCE_SECONDS):
        return await asyncio.gather(*work)


async def test_in_a_lane_the_lowest_rank_gets_the_next_slot():
    slots, order = Slots(1, A_SECOND), []

    async def hold(rank):
        async with slots.of(Lane.NEW, f"{rank}.example", rank):
            order.append(rank)
            await asyncio.sleep(0)

    await in_time(*(hold(rank) for rank in (5, 9, 3, 7)))
    assert order == [5, 3, 7, 9]


async def test_of_each_host_one_feed_has_a_slot_and_those_of_other_hosts_pass():
    slots, order, has_passed = Slots(8, A_SECOND), [], asyncio.Event()

    async def hold(rank, host):
        async with slots.of(Lane.NEW, host, rank):
            order.append(rank)
            if host == "other.example":
                has_passed.set()
            await has_passed.wait()

    hosts = ((1, "one.example"), (2, "one.example"), (3, "other.example"))
    await in_time(*(hold(rank, host) for rank, host in hosts))
    assert order == [1, 3, 2]


async def test_a_feed_that_waits_for_a_slot_of_its_lane_keeps_no_other_of_its_host_waiting():
    slots, is_over = Slots(2, A_SECOND), asyncio.Event()

    async def hold(lane, host, rank):
        async with slots.of(lane, host, rank):
            if host == "silent.example":
                await is_over.wait()
            return lane

    silent = asyncio.create_task(hold(Lane.SLOW, "silent.example", 1))
    failing = asyncio.create_task(hold(Lane.SLOW, "popular.example", 2))
    assert await in_time(hold(Lane.QUICK, "popular.example", 3)) == [Lane.QUICK]
    assert not failing.done()
    is_over.set()
    await in_time(silent, failing)


async def test_who_gives_up_waiting_or_is_ended_just_then_holds_no_slot():
    slots, is_over = Slots(1, A_SECOND), asyncio.Event()

    async def hold(host):
        async with slots.of(Lane.QUICK, host, 0):
            await is_over.wait()

    tasks = [asyncio.create_task(hold(f"{number}.example")) for number in range(4)]
    await asyncio.sleep(0)
    tasks[1].cancel()  # while it waits
    await asyncio.wait([tasks[1]])
    tasks[0].cancel()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    tasks[2].cancel()  # it was just given the slot
    is_over.set()
    await asyncio.wait(tasks, timeout=PATIENCE_SECONDS)
    assert tasks[3].done()
    assert not tasks[3].cancelled()
