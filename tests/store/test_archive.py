"""Everything that a store keeps can be read at one moment, and put into an empty store at once."""

import pytest
from library import library
from whole_store import all_accounts

from feedkeep.model import Found, PageRequest
from feedkeep.model.errors import FeedkeepError, StoreUnusable
from feedkeep.rules.invariants import violations
from feedkeep.store.base import RECORDS_AT_ONCE


async def flat(records):
    return [item async for some in records for item in some]


async def test_archive_has_what_a_store_was_filled_with_to_the_last_field_in_order(store):
    wanted = await flat(library(30, 50))
    await store.fill(library(30, 50))
    async with store.archive() as archive:
        assert await flat(archive.records()) == wanted
        assert await flat(archive.records()) == wanted
        assert await archive.count() == len(wanted)
    accounts = await all_accounts(store)
    assert len(accounts) == 30
    for account in accounts:
        assert list(violations(await store.entries.whole(account.id))) == []
        assert await store.accounts.find(account.name.casefold()) == account
    [first, *_] = accounts
    token = (await store.tokens.of(first.id))[1]
    assert await store.tokens.find(first.id, token.hash) == Found(first, token)
    assert await store.faults() == []


async def test_archive_comes_in_pieces(store):
    await store.fill(library(3, 1_500))
    async with store.archive() as archive:
        sizes = [len(some) async for some in archive.records()]
    assert max(sizes) == RECORDS_AT_ONCE
    assert sum(sizes) > 4_500


async def test_archive_is_of_one_moment(store):
    await store.fill(library(2, 10))
    with pytest.raises(StoreUnusable, match="has accounts already"):
        await store.fill(library(3, 5))
    async with store.archive() as archive:
        before = await archive.count()
        first, second = await all_accounts(store)
        await store.accounts.delete(first.id)
        await store.accounts.set_password(second.id, "new")
        assert await archive.count() == before
        assert await flat(archive.records()) == await flat(library(2, 10))
    async with store.archive() as archive:
        assert await archive.count() < before


async def test_store_that_cannot_be_filled_wholly_stays_empty(store):
    async def broken():
        async for some in library(3, 20):
            yield some
        raise FeedkeepError("the source went away")

    with pytest.raises(FeedkeepError, match="went away"):
        await store.fill(broken())
    assert not await store.accounts.are_there()
    async with store.archive() as archive:
        assert await archive.count() == 0
    await store.fill(library(1, 5))
    [account] = await all_accounts(store)
    assert (await store.entries.page(account.id, PageRequest(-1, None, 1, 50))).total == 4
