"""Copying from store to store: everything arrives as it was, and what does not is noticed."""

import asyncio
import subprocess
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from feedkeep_process import FeedkeepProcess
from forms import IS_FULL, IS_LONG, in_the_long_form
from library import library
from postgres_server import drop_database, execute, new_database
from whole_store import all_accounts

from feedkeep.assembly import open_store
from feedkeep.config.settings import Settings
from feedkeep.formats.feed_list import Format, write_feed_list
from feedkeep.model import AccountRecord, Record, replace
from feedkeep.rules.subscriptions import subscribed
from feedkeep.store import copying
from feedkeep.store.copying import checksums

ACCOUNTS, ENTRIES = 2_000 if IS_FULL else 200 if IS_LONG else 30, 100
MIB = 1024 * 1024


@pytest.fixture
def database(postgres):
    url = new_database(postgres)
    yield url
    drop_database(postgres, url)


def fill(url: str, accounts: int, entries: int) -> None:
    async def go() -> None:
        store = await open_store(Settings(database=url))
        await store.fill(library(accounts, entries))
        await store.close()

    asyncio.run(go())


def exports(url: str) -> Iterator[bytes]:
    """Return what `feedkeep export` writes, for every account, as JSON with all its guids."""

    async def go() -> list[bytes]:
        store = await open_store(Settings(database=url))
        found = [
            write_feed_list(subscribed(await store.entries.whole(account.id)), Format.JSON, {})
            for account in await all_accounts(store)
        ]
        await store.close()
        return found

    return iter(asyncio.run(go()))


def everything(url: str) -> list[object]:
    async def go() -> list[object]:
        store = await open_store(Settings(database=url))
        async with store.archive() as archive:
            found: list[object] = [checksum async for checksum in checksums(archive.records())]
        await store.close()
        return found

    return asyncio.run(go())


def copy(source: str, target: str) -> subprocess.CompletedProcess[str]:
    return FeedkeepProcess(Path(), target).run("copy", source, target)


def test_all_that_is_kept_goes_there_and_back_and_the_exports_are_the_same(tmp_path, database):
    first, last = (f"sqlite:///{tmp_path / name}.db" for name in ("first", "last"))
    fill(first, ACCOUNTS, ENTRIES)
    for source, target in ((first, database), (database, last)):
        done = copy(source, target)
        assert done.returncode == 0, done.stderr
        assert done.stdout == (
            f"Copied and compared: {ACCOUNTS:,} accounts, {7 * ACCOUNTS:,} tokens,"
            f" {20 * ACCOUNTS:,} deletions, {60 * ACCOUNTS:,} subscriptions,"
            f" {40 * ACCOUNTS:,} pointers, {60 * ACCOUNTS:,} former states,"
            f" {100 * ACCOUNTS:,} labels of feeds, {20 * ACCOUNTS:,} episode actions,"
            f" {6 * ACCOUNTS:,} devices and settings.\n"
        )
    assert list(exports(first)) == list(exports(last))
    assert everything(first) == everything(last)


@in_the_long_form
def test_a_copy_holds_only_a_part_in_memory(tmp_path):
    async def most_memory_bytes(source, accounts):
        origin = await open_store(Settings(database=source))
        target = await open_store(Settings(database=f"sqlite:///{tmp_path / str(accounts)}.db"))
        tracemalloc.start()
        async with origin.archive() as archive:
            counts = await copying.copy(archive, target, lambda _: None)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert counts["accounts"] == accounts
        await target.close()
        await origin.close()
        return most

    sizes = []
    for accounts in (30, 120):
        source = f"sqlite:///{tmp_path / f'source-of-{accounts}.db'}"
        fill(source, accounts, ENTRIES)
        sizes.append(asyncio.run(most_memory_bytes(source, accounts)))
    assert sizes[1] < 2 * sizes[0]  # of four times as much
    assert sizes[1] < 8 * MIB


def test_only_an_empty_database_is_copied_to(tmp_path, database):
    source = f"sqlite:///{tmp_path / 'source.db'}"
    fill(source, 2, 5)
    fill(database, 1, 5)
    for target in (database, source):
        before = everything(target)
        done = copy(source, target)
        assert done.returncode == 1
        assert "has accounts already" in done.stderr
        assert everything(target) == before


def test_a_source_that_is_not_there_is_told_and_not_created(tmp_path, database):
    done = copy(f"sqlite:///{tmp_path / 'nothing.db'}", database)
    assert done.returncode == 1
    assert "There is no database sqlite:///" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_empty_database_is_copied(tmp_path, database):
    fill(database, 0, 0)
    done = copy(database, f"sqlite:///{tmp_path / 'target.db'}")
    assert (done.returncode, done.stdout) == (0, "Copied nothing: there is no account.\n")


@pytest.mark.parametrize(
    ("table", "which", "becomes"),
    [
        ("entry", "NEW.alias_url IS NOT NULL", "NEW.alias_moved_away := true; RETURN NEW"),
        ("document", "true", "RETURN NULL"),  # these are copied last
    ],
)
def test_a_copy_that_differs_is_noticed_and_told(tmp_path, database, table, which, becomes):
    source = f"sqlite:///{tmp_path / 'source.db'}"
    fill(source, 3, 20)
    fill(database, 0, 0)
    execute(
        database,
        f"CREATE FUNCTION meddle() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN {becomes}; END'",
    )
    execute(
        database,
        f"CREATE TRIGGER meddle BEFORE INSERT ON feedkeep.{table} FOR EACH ROW"
        f" WHEN ({which}) EXECUTE FUNCTION meddle()",
    )
    done = copy(source, database)
    assert done.returncode == 1
    assert "The copy differs from its source" in done.stderr
    assert done.stderr.count("\n") == 1


def with_other(record: Record, number: int) -> list[Record]:
    """Return a record as often as it has fields, each time with another value in one of them."""
    if isinstance(record, AccountRecord):
        kept = record.account
        accounts = [replace(kept, **{name: number}) for name in kept.__struct_fields__]
        others = [replace(record, account=account) for account in accounts]
        names = [name for name in record.__struct_fields__ if name != "account"]
        return [*others, *(replace(record, **{name: number}) for name in names)]
    return [replace(record, **{name: number}) for name in record.__struct_fields__]


async def test_a_checksum_sees_every_field_of_every_record():
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
