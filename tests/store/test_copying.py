"""Archives, and copying from store to store: all arrives as it was, and what does not is told."""

import asyncio
import tracemalloc
from contextlib import asynccontextmanager
from pathlib import Path
from typing import get_args

import pytest
from feedkeep_process import FeedkeepProcess
from forms import IS_FULL, IS_LONG, in_the_long_form
from library import library
from postgres_server import with_connection
from whole_store import all_accounts

from feedkeep.assembly import open_store
from feedkeep.config.settings import Settings
from feedkeep.formats.feed_list import Format, write_feed_list
from feedkeep.model import AccountRecord, Found, PageRequest, Record, replace
from feedkeep.model.errors import FeedkeepError, StoreUnusable
from feedkeep.rules.invariants import violations
from feedkeep.rules.subscriptions import subscribed
from feedkeep.store.base import RECORDS_AT_ONCE
from feedkeep.store.copying import checksums, copy

OWNERS, ENTRIES = 2_000 if IS_FULL else 200 if IS_LONG else 30, 100
MIB = 1024 * 1024


@asynccontextmanager
async def opened(url):
    store = await open_store(Settings(database=url))
    try:
        yield store
    finally:
        await store.close()


async def fill(url, accounts, entries):
    async with opened(url) as store:
        await store.fill(library(accounts, entries))


async def everything(url):
    """Return a store's checksums, and each account as `feedkeep export` writes it as JSON."""
    async with opened(url) as store:
        async with store.archive() as archive:
            sums = [checksum async for checksum in checksums(archive.records())]
        return sums, [
            write_feed_list(subscribed(await store.entries.whole(account.id)), Format.JSON, {})
            for account in await all_accounts(store)
        ]


async def copied(source, target):
    async with opened(source) as origin, opened(target) as to, origin.archive() as archive:
        return await copy(archive, to, lambda _: None)


def command(source, target):
    return FeedkeepProcess(Path(), target).run("copy", source, target)


def test_everything_is_copied_there_and_back_and_the_exports_are_the_same(tmp_path, database):
    first, last = (f"sqlite:///{tmp_path / name}.db" for name in ("first", "last"))
    asyncio.run(fill(first, OWNERS, ENTRIES))
    for source, target in ((first, database), (database, last)):
        done = command(source, target)
        assert done.returncode == 0, done.stderr
        assert done.stdout == (
            f"Copied and compared: {OWNERS:,} accounts, {7 * OWNERS:,} tokens,"
            f" {20 * OWNERS:,} deletions, {60 * OWNERS:,} subscriptions,"
            f" {40 * OWNERS:,} pointers, {60 * OWNERS:,} former states,"
            f" {100 * OWNERS:,} labels of feeds, {20 * OWNERS:,} episode actions,"
            f" {6 * OWNERS:,} devices and settings.\n"
        )
    assert asyncio.run(everything(first)) == asyncio.run(everything(last))


@in_the_long_form
async def test_copy_holds_only_a_part_in_memory(tmp_path):
    async def most_memory_bytes(source, accounts):
        target = f"sqlite:///{tmp_path / str(accounts)}.db"
        async with opened(source) as origin, opened(target) as to:
            tracemalloc.start()
            async with origin.archive() as archive:
                counts = await copy(archive, to, lambda _: None)
            _, most = tracemalloc.get_traced_memory()
            tracemalloc.stop()
        assert counts["accounts"] == accounts
        return most

    sizes = []
    for accounts in (30, 120):
        source = f"sqlite:///{tmp_path / f'source-of-{accounts}.db'}"
        await fill(source, accounts, ENTRIES)
        sizes.append(await most_memory_bytes(source, accounts))
    assert sizes[1] < 2 * sizes[0]  # of four times as much
    assert sizes[1] < 8 * MIB


async def test_only_an_empty_database_is_copied_to(tmp_path, emptied_database):
    source = f"sqlite:///{tmp_path / 'source.db'}"
    await fill(source, 2, 5)
    await fill(emptied_database, 1, 5)
    for target in (emptied_database, source):
        before = await everything(target)
        with pytest.raises(StoreUnusable, match="has accounts already"):
            await copied(source, target)
        assert await everything(target) == before


def test_missing_source_is_told_and_not_created_and_an_empty_one_copied(tmp_path, database):
    done = command(f"sqlite:///{tmp_path / 'nothing.db'}", database)
    assert done.returncode == 1
    assert "There is no database sqlite:///" in done.stderr
    assert list(tmp_path.iterdir()) == []
    asyncio.run(fill(database, 0, 0))
    done = command(database, f"sqlite:///{tmp_path / 'target.db'}")
    assert (done.returncode, done.stdout) == (0, "Copied nothing: there is no account.\n")


@pytest.mark.parametrize(
    ("table", "which", "becomes"),
    [
        ("entry", "NEW.alias_url IS NOT NULL", "NEW.alias_moved_away := true; RETURN NEW"),
        ("document", "true", "RETURN NULL"),  # these are copied last
    ],
)
async def test_copy_that_differs_is_noticed(tmp_path, database, table, which, becomes):
    source = f"sqlite:///{tmp_path / 'source.db'}"
    await fill(source, 3, 20)
    await fill(database, 0, 0)
    meddle = f"""
        CREATE FUNCTION meddle() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN {becomes}; END';
        CREATE TRIGGER meddle BEFORE INSERT ON feedkeep.{table} FOR EACH ROW
            WHEN ({which}) EXECUTE FUNCTION meddle()
    """
    with_connection(database, lambda connection: connection.execute(meddle))
    with pytest.raises(StoreUnusable, match="The copy differs from its source"):
        await copied(source, database)


def with_other(record, number):
    """Return a record as often as it has fields, each time with another value in one of them."""
    others = [replace(record, **{name: number}) for name in record.__struct_fields__]
    if isinstance(record, AccountRecord):
        names = record.account.__struct_fields__
        accounts = [replace(record.account, **{name: number}) for name in names]
        others += [replace(record, account=account) for account in accounts]
    return others


async def test_checksum_sees_every_field_of_every_record():
    async def sums(records):
        async def given():
            yield records

        return [checksum async for checksum in checksums(given())]

    kinds = set()
    async for some in library(1, 10):
        account_id, record = some[0]
        kinds.add(type(record))
        before = await sums([(account_id, record)])
        for other in with_other(record, 12345):
            assert await sums([(account_id, other)]) != before
    assert kinds == set(get_args(Record))


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
