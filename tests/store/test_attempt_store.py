"""What every store promises about wrong passwords that processes have counted."""

import asyncio
from array import array
from collections.abc import Sequence

from library import library
from recorded import COMMITS, recorded

from feedkeep.model import CountedAttempts, Stamp
from feedkeep.runtime import wall_clock
from feedkeep.runtime.recorder import Recorder
from feedkeep.store.base import Store
from feedkeep.store.copying import copy
from feedkeep.store.sqlite import SqliteStore

HERE, THERE = 1, 2**63 - 1
HOUR = 3_600
MANY = 10_000


def counted(number: int, process: int = HERE, *seconds: int) -> CountedAttempts:
    return CountedAttempts(number.to_bytes(16), process, array("I", seconds or [1_800_000_000]))


def some(first: int, last: int, process: int = HERE) -> list[CountedAttempts]:
    return [counted(number, process) for number in range(first, last + 1)]


async def stored(store: Store) -> list[CountedAttempts]:
    found = (await store.attempts.saved_since(Stamp(0), MANY))[1]
    return sorted(found, key=lambda one: (one.key, one.process))


async def next_moment(store: Store) -> Stamp:
    """Wait until the store's clock has gone on; return what it shows."""
    begun, _ = await store.attempts.saved_since(Stamp(0), 1)
    while (now := (await store.attempts.saved_since(Stamp(0), 1))[0]) == begun:
        pass
    return now


async def save_one_by_one(store: Store, rows: Sequence[CountedAttempts]) -> None:
    for row in rows:
        await store.attempts.save([row])
        await next_moment(store)


async def test_what_a_process_counted_is_found_as_it_was_stored(store):
    assert await stored(store) == []
    rows = [counted(1), counted(1, THERE, 1, 2, 2, 2**32 - 1), counted(2**128 - 1, THERE)]
    await store.attempts.save(rows)
    assert await stored(store) == rows


async def test_it_is_there_after_a_restart(open_store):
    async with open_store() as store:
        await store.attempts.save(some(1, 3))
    async with open_store() as store:
        assert await stored(store) == some(1, 3)


async def test_a_process_replaces_what_it_counted_and_nothing_of_others(store):
    await store.attempts.save([counted(1, HERE, 5), counted(1, THERE, 6), counted(2, HERE, 7)])
    await store.attempts.save([counted(1, HERE, 5, 8)])
    expected = [counted(1, HERE, 5, 8), counted(1, THERE, 6), counted(2, HERE, 7)]
    assert await stored(store) == expected


async def test_who_looks_again_finds_what_came_or_changed_since(store):
    await store.attempts.save(some(1, 3))
    moment = await next_moment(store)
    assert (await store.attempts.saved_since(moment, MANY))[1] == []
    await store.attempts.save([counted(2, HERE, 9)])
    now, found = await store.attempts.saved_since(moment, MANY)
    assert found == [counted(2, HERE, 9)]
    assert moment <= now
    assert abs(now - wall_clock.now()) < 60_000_000


async def test_of_more_than_are_wanted_the_last_ones_are_found_in_their_order(store):
    await save_one_by_one(store, [counted(5), counted(1), counted(4), counted(2)])
    _, found = await store.attempts.saved_since(Stamp(0), 3)
    assert found == [counted(1), counted(4), counted(2)]


async def test_what_is_over_is_forgotten_in_steps_and_the_oldest_first(store):
    await save_one_by_one(store, some(1, 5))
    assert await store.attempts.forget(0, MANY, 2) == 2
    assert await stored(store) == some(3, 5)
    assert await store.attempts.forget(0, MANY, 5) == 3
    assert await store.attempts.forget(0, MANY, 5) == 0
    assert await stored(store) == []


async def test_what_is_more_than_may_be_kept_is_forgotten_and_the_oldest_first(store):
    await save_one_by_one(store, some(1, 5))
    assert await store.attempts.forget(HOUR, 3, 1) == 1
    assert await store.attempts.forget(HOUR, 3, 9) == 1
    assert await store.attempts.forget(HOUR, 3, 9) == 0
    assert await stored(store) == some(3, 5)


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


async def test_it_is_not_copied_to_another_store(tmp_path, store):
    await store.fill(library(1, 1))
    await store.attempts.save(some(1, 3))
    target = await SqliteStore.open(tmp_path / "target.db", wall_clock.now)
    async with store.archive() as archive:
        await copy(archive, target, lambda _: None)
    assert await stored(target) == []
    await target.close()


async def test_nothing_is_written_to_look_or_to_forget_nothing(path):
    recorder = Recorder()
    store = await SqliteStore.open(path, wall_clock.now, recorder=recorder)
    await store.attempts.save(some(1, 3))
    before = recorded(recorder, COMMITS)
    await store.attempts.saved_since(Stamp(0), MANY)
    assert await store.attempts.forget(HOUR, MANY, 100) == 0
    assert recorded(recorder, COMMITS) == before > 0
    await store.close()
