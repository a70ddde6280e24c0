"""Walks through all accounts read a page at a time, on every store."""

import tracemalloc
from itertools import chain

from feedkeep.model import Account, AccountId
from feedkeep.rules.clock import after_restore
from feedkeep.service.accounts import PAGE

LONG = "x" * 10_000
"""Makes an account so large that a thousand of them are seen in the memory of the process."""

MAX_PAGES_IN_MEMORY = 4


async def create(store, number, password_hash=None):
    """Create accounts with the ids 1, 2, 3... and names whose order is another one."""
    for start in range(1, number + 1, 100):
        ids = range(start, min(start + 100, number + 1))
        names = [f"person{(number - one):05d}" for one in ids]
        await store.accounts.create_many(
            [
                (Account(AccountId(one), name, password_hash, False, 0), name)
                for one, name in zip(ids, names, strict=True)
            ]
        )


async def test_all_accounts_are_read_page_by_page(monkeypatch, service, store, clock):
    last = 2 * PAGE + 1
    await create(store, last)
    accounts = service.accounts
    by_id = [[account.id for account in page] async for page in accounts.by_id()]
    assert [len(page) for page in by_id] == [PAGE, PAGE, 1]
    assert [*chain.from_iterable(by_id)] == [*range(1, last + 1)]
    by_name = [[account.id for account in page] async for page in accounts.by_name()]
    assert [*chain.from_iterable(by_name)] == [*range(last, 0, -1)]
    some = [page async for page in accounts.by_name("PERSON00010", "Person0001")]
    assert [[one.name for one in page] for page in some] == [
        [f"person{number:05d}" for number in range(11, 20)]
    ]
    assert [len(page) async for page in accounts.by_id(AccountId(PAGE + 1))] == [PAGE]
    assert await accounts.count(AccountId(PAGE)) == PAGE + 1
    # A check reports its progress after each page, and can continue from there.
    told = [(one.last, one.accounts, one.faults) async for one in service.check()]
    assert told == [(0, 0, []), (PAGE, PAGE, []), (2 * PAGE, PAGE, []), (last, 1, [])]
    told = [(one.last, one.accounts, one.faults) async for one in service.check(AccountId(PAGE))]
    assert told == [(PAGE, 0, []), (2 * PAGE, PAGE, []), (last, 1, [])]
    await accounts.note_restored()
    moved = after_restore(clock.at, clock.at)
    async for page in accounts.by_id():
        assert {(one.last_stamp, one.last_action_stamp) for one in page} == {(moved, moved)}
        assert {(one.lost_after, one.lost_until) for one in page} == {(0, moved)}
        assert 0 not in {one.epoch for one in page}
    # An account that is deleted during a check is no fault.
    read = accounts.by_id

    async def deleting(after):
        async for page in read(after):
            await accounts.delete(page[0].name)
            yield page

    monkeypatch.setattr(accounts, "by_id", deleting)
    assert [one.faults async for one in service.check()] == [[], [], [], []]


async def test_a_walk_through_all_accounts_has_a_few_pages_in_memory(service, store):
    await create(store, 2 * MAX_PAGES_IN_MEMORY * PAGE, LONG)
    accounts = service.accounts
    for walk in (accounts.by_id, accounts.by_name, service.check):
        tracemalloc.start()
        async for _ in walk():
            pass
        _, peak_bytes = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert PAGE * len(LONG) < peak_bytes < MAX_PAGES_IN_MEMORY * PAGE * len(LONG)
