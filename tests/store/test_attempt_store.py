"""What every store promises about wrong passwords that processes have counted."""

import asyncio
from array import array

from library import library
from recorded import COMMITS, recorded
from small_lists import opened

from feedkeep.model import CountedAttempts
from feedkeep.runtime import wall_clock
from feedkeep.runtime.recorder import Recorder
from feedkeep.store.copying import copy
from feedkeep.store.sqlite import SqliteStore

HERE, THERE = 1, 2**63 - 1
HOUR = 3_600
MANY = 10_000


def counted(number, process=HERE, *seconds):
    return CountedAttempts(number.to_bytes(16), process, array("I", seconds or [1_800_000_000]))


def some(first, last, process=HERE):
    return [counted(number, process) for number in range(first, last + 1)]


async def stored(store):
    found = (await store.attempts.saved_since(0, MANY))[1]
    return sorted(found, key=lambda one: (one.key, one.process))


async def next_moment(store):
    """Wait until the store's clock has gone on; return what it shows."""
    begun, _ = await store.attempts.saved_since(0, 1)
    while (now := (await store.attempts.saved_since(0, 1))[0]) == begun:
        pass
    return now


async def save_one_by_one(store, rows):
    for row in rows:
        await store.attempts.save([row])
        await next_moment(store)


async def test_attempts_are_found_as_they_were_stored_also_after_a_restart(open_store):
    rows = [counted(1), counted(1, THERE, 1, 2, 2, 2**32 - 1), counted(2**128 - 1, THERE)]
    async with open_store() as store:
        assert await stored(store) == []
        await store.attempts.save(rows)
        assert await stored(store) == rows
    async with open_store() as store:
        assert await stored(store) == rows
        await store.attempts.save([counted(1, HERE, 5, 8)])  # replaces no row of others
        assert await stored(store) == [counted(1, HERE, 5, 8), *rows[1:]]


async def test_later_look_finds_the_attempts_that_came_or_changed_since(store):
    await store.attempts.save(some(1, 3))
    moment = await next_moment(store)
    assert (await store.attempts.saved_since(moment, MANY))[1] == []
    await store.attempts.save([counted(2, HERE, 9)])
    now, found = await store.attempts.saved_since(moment, MANY)
    assert found == [counted(2, HERE, 9)]
    assert moment <= now
    assert abs(now - wall_clock.now()) < 60_000_000


async def test_last_attempts_are_found_in_their_order_if_there_are_too_many(store):
    await save_one_by_one(store, [counted(5), counted(1), counted(4), counted(2)])
    _, found = await store.attempts.saved_since(0, 3)
    assert found == [counted(1), counted(4), counted(2)]


async def test_oldest_attempts_are_forgotten_first_if_they_are_over_or_too_many(store):
    await save_one_by_one(store, some(1, 5))
    for age, kept, most, forgotten, left in (
        (HOUR, 4, 9, 1, some(2, 5)),
        (HOUR, 4, 9, 0, some(2, 5)),
        (HOUR, 2, 1, 1, some(3, 5)),
        (0, MANY, 2, 2, some(5, 5)),
        (0, MANY, 5, 1, []),
        (0, MANY, 5, 0, []),
    ):
        assert await store.attempts.forget(age, kept, most) == forgotten
        assert await stored(store) == left


async def test_processes_that_write_and_forget_at_once_do_not_hinder_each_other(open_store):
    async with open_store() as one, open_store() as other:
        await one.attempts.save([*some(1, 300), *some(1, 300, THERE)])
        work = []
        for _ in range(5):
            work += [one.attempts.save(some(1, 300)), one.attempts.forget(0, MANY, 100)]
            work += [other.attempts.save(some(1, 300, THERE)[::-1])]
            work += [other.attempts.forget(0, MANY, 100)]
        await asyncio.gather(*work)
        await one.attempts.save(some(1, 300))
        found = [one for one in await stored(other) if one.process == HERE]
        assert found == some(1, 300)


async def test_attempts_are_not_copied_to_another_store(tmp_path, store):
    await store.fill(library(1, 1))
    await store.attempts.save(some(1, 3))
    target = await SqliteStore.open(tmp_path / "target.db", wall_clock.now)
    async with store.archive() as archive:
        await copy(archive, target, lambda _: None)
    assert await stored(target) == []
    await target.close()


async def test_nothing_is_written_to_look_or_to_forget_nothing(path):
    recorder = Recorder()
    async with opened(path, recorder=recorder) as store:
        await store.attempts.save(some(1, 3))
        before = recorded(recorder, COMMITS)
        await store.attempts.saved_since(0, MANY)
        assert await store.attempts.forget(HOUR, MANY, 100) == 0
        assert recorded(recorder, COMMITS) == before > 0
