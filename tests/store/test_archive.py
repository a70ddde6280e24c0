"""Everything that a store keeps can be read at one moment, and put into an empty store at once."""

from collections.abc import AsyncIterator

import pytest
from library import library
from whole_store import all_accounts

from feedkeep.model import AccountId, Found, PageRequest, Record, Records
from feedkeep.model.errors import FeedkeepError, StoreUnusable
from feedkeep.rules.invariants import violations
from feedkeep.store.base import RECORDS_AT_ONCE


async def flat(records: AsyncIterator[Records]) -> list[tuple[AccountId, Record]]:
    return [item async for some in records for item in some]


async def test_what_is_put_in_comes_out_to_the_last_field_and_in_order(open_store):
    wanted = await flat(library(30, 50))
    async with open_store() as store:
        await store.fill(library(30, 50))
        async with store.archive() as archive:
            assert await flat(archive.records()) == wanted
            assert await flat(archive.records()) == wanted
            assert await archive.count() == len(wanted)
        accounts = await all_accounts(store)
        assert len(accounts) == 30
        for account in accounts:
            whole = await store.entries.whole(account.id)
            assert list(violations(whole)) == []
            assert await store.accounts.find(account.name.casefold()) == account
        tokens = await store.tokens.of(accounts[0].id)
        assert await store.tokens.find(accounts[0].id, tokens[1].hash) == Found(
            accounts[0], tokens[1]
        )
        assert await store.faults() == []


async def test_an_archive_comes_in_pieces(open_store):
    async with open_store() as store:
        await store.fill(library(3, 1_500))
        async with store.archive() as archive:
            sizes = [len(some) async for some in archive.records()]
    assert max(sizes) == RECORDS_AT_ONCE
    assert sum(sizes) > 4_500


async def test_an_archive_is_of_one_moment(open_store):
    async with open_store() as store:
        await store.fill(library(2, 10))
        async with store.archive() as archive:
            before = await archive.count()
            first, second = await all_accounts(store)
            await store.accounts.delete(first.id)
            await store.accounts.set_password(second.id, "new")
            assert await archive.count() == before
            assert await flat(archive.records()) == await flat(library(2, 10))
        async with store.archive() as archive:
            assert await archive.count() < before


async def test_a_store_that_has_accounts_is_not_filled(open_store):
    async with open_store() as store:
        await store.fill(library(1, 5))
        with pytest.raises(StoreUnusable, match="has accounts already"):
            await store.fill(library(2, 5))
        assert len(await all_accounts(store)) == 1


async def test_a_store_that_cannot_be_filled_wholly_stays_empty(open_store):
    async def broken():
        async for some in library(3, 20):
            yield some
        raise FeedkeepError("the source went away")

    async with open_store() as store:
        with pytest.raises(FeedkeepError, match="went away"):
            await store.fill(broken())
        assert not await store.accounts.are_there()
        async with store.archive() as archive:
            assert await archive.count() == 0
        await store.fill(library(1, 5))
        page = await store.entries.page(
            (await all_accounts(store))[0].id, PageRequest(-1, None, 1, 50)
        )
        assert page.total == 4
