"""What is SQLite's own: durable connections, its file, its locks, and what damage looks like."""

import asyncio
import dataclasses
import errno
import os
import resource
import shutil
import stat
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from unittest import mock

import apsw
import pytest
from forms import first_of
from further_steps import with_further
from library import library
from recorded import COMMITS, recorded

from feedkeep.model import (
    Account,
    AccountId,
    Clock,
    Decision,
    DocumentKind,
    DocumentName,
    Guid,
    PageRequest,
    Pointer,
    Snapshot,
    Stamp,
    Subscription,
    Token,
    replace,
)
from feedkeep.model.errors import (
    AccountBusy,
    NotAuthorized,
    StoreDamaged,
    StoreReadOnly,
    StoreUnavailable,
    StoreUnusable,
)
from feedkeep.rules.list_limits import count
from feedkeep.runtime import wall_clock
from feedkeep.runtime.cooperative import at_once
from feedkeep.runtime.recorder import Recorder
from feedkeep.service.forgetting import Forgetting
from feedkeep.store import migrate
from feedkeep.store.migrate import newest_version
from feedkeep.store.portable import history
from feedkeep.store.portable.episode_actions import NEWEST_PLAYS
from feedkeep.store.sql import sql, sqlite_form
from feedkeep.store.sqlite import (
    SqliteStore,
    accounts,
    connection,
    entries,
    entry_writes,
    reading,
    runner,
)
from feedkeep.store.sqlite import connection as sqlite_connection
from feedkeep.store.sqlite.accounts import SqliteAccounts
from feedkeep.store.sqlite.connection import (
    APPLICATION_ID,
    connect,
    prepare,
    verifying_vfs,
)
from feedkeep.store.sqlite.driver import SqliteDriver
from feedkeep.store.sqlite.rows import to_bytes
from feedkeep.store.tables import TABLES

ALICE = AccountId(7)
GUID = Guid("00000000-0000-4000-8000-000000000001")


@pytest.fixture
async def store(path):
    """A store with one account."""
    store = await SqliteStore.open(path, wall_clock.now)
    try:
        if not await store.accounts.are_there():
            await store.accounts.create(Account(ALICE, "alice", None, False, 0), "alice")
        yield store
    finally:
        await store.close()


def run(path: Path, work: Callable[[SqliteStore], Awaitable[None]]) -> None:
    """Run `work` on a store with one account."""

    async def go() -> None:
        store = await SqliteStore.open(path, wall_clock.now)
        try:
            if not await store.accounts.are_there():
                await store.accounts.create(Account(ALICE, "alice", None, False, 0), "alice")
            await work(store)
        finally:
            await store.close()

    asyncio.run(go())


def subscribe(snapshot: Snapshot) -> Decision[None]:
    stamp = snapshot.last_stamp + 1
    entry = Subscription(GUID, "https://a.example", True, stamp)
    return Decision(None, [entry], [], stamp, count([entry]))


def keep(snapshot: Snapshot) -> Decision[None]:
    return Decision(None, [], [], snapshot.last_stamp, snapshot.counts)


# C8.1
def test_every_connection_is_durable_and_keeps_references_whole(path):
    prepare(path)
    with connect(path, 1) as opened:
        assert opened.pragma("journal_mode") == "wal"
        assert opened.pragma("synchronous") == 2
        assert opened.pragma("foreign_keys") == 1
        assert opened.pragma("fullfsync") == 1


def test_a_connection_that_is_not_durable_is_refused(path, monkeypatch):
    prepare(path)
    monkeypatch.setitem(connection._SETTINGS, "synchronous", 99)
    with pytest.raises(StoreUnusable, match="does not accept synchronous=99"):
        connect(path, 1)


def test_the_file_is_the_owners_alone(tmp_path):
    path = tmp_path / "new" / "feedkeep.db"

    async def work(_):
        for file in path.parent.iterdir():
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert len(list(path.parent.iterdir())) == 6  # with its locks, which stay

    run(path, work)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_closing_folds_the_write_ahead_log_into_the_file(path):
    async def work(store):
        await store.entries.change(ALICE, [GUID], subscribe)

    run(path, work)
    assert [file.name for file in path.parent.glob(f"{path.name}*")] == [path.name]


def test_a_new_file_is_marked_as_ours_with_the_newest_version(path):
    assert prepare(path) == 0
    assert prepare(path) == newest_version("sqlite")
    with connect(path, 1) as opened:
        assert opened.pragma("application_id") == APPLICATION_ID
        assert opened.pragma("user_version") == newest_version("sqlite")


def test_ten_that_start_at_once_bring_the_file_up_to_date_once(path):
    for number in range(20):
        file = path.with_name(f"{number}.db")
        with ThreadPoolExecutor(10) as threads:
            list(threads.map(prepare, [file] * 10))
        assert prepare(file) == newest_version("sqlite")


def test_a_step_that_fails_leaves_nothing_of_itself(path, monkeypatch):
    step, *_ = migrate.migrations("sqlite")
    broken = dataclasses.replace(step, sql=f"{step.sql}CREATE TABLE account (id);")
    monkeypatch.setattr(migrate, "migrations", lambda _: [broken])
    with pytest.raises(apsw.SQLError):
        prepare(path)
    monkeypatch.undo()
    with connect(path, 1) as opened:
        assert opened.execute("SELECT count(*) FROM sqlite_schema").get == 0
    assert prepare(path) == 0


def steps_of(work: Callable[[apsw.Connection], object], entries: int, path: Path) -> int:
    """Return how many steps SQLite takes for `work` in an account with so many entries."""
    file = path.with_name(f"{entries}.db")

    async def fill() -> None:
        store = await SqliteStore.open(file, wall_clock.now)
        await store.fill(library(1, entries))
        await store.close()

    asyncio.run(fill())
    return steps_in(file, work)


def steps_in(file: Path, work: Callable[[apsw.Connection], object]) -> int:
    """Return how many steps SQLite takes for `work`."""
    steps = 0

    def count() -> bool:
        nonlocal steps
        steps += 10
        return False

    with closing(connect(file, 1)) as opened:
        opened.set_progress_handler(count, 10)
        work(opened)
    return steps


async def test_however_many_pointers_one_guid_leads_to_few_are_loaded_in_one_turn(path, store):
    await store.entries.change(ALICE, [GUID], subscribe)
    with closing(connect(path, 1)) as opened:
        pointers = [(ALICE, n.to_bytes(16, "big"), to_bytes(GUID)) for n in range(1_000)]
        opened.executemany(
            "INSERT INTO entry (account_id, guid, new_guid) VALUES (?, ?, ?)", pointers
        )
        parts = list(entry_writes.load(opened, ALICE, [GUID]))
    assert len(parts) == 1_000 // entry_writes._AT_ONCE


async def test_each_guid_of_many_is_loaded_with_what_leads_there(path):
    many = 2 * entry_writes._NAMED_AT_ONCE + 1
    guids = [Guid(f"00000000-0000-4000-8000-{n:012}") for n in range(2 * many)]
    feeds, pointers = guids[:many], guids[many:]
    with closing(connect(path, 1)) as opened:
        opened.executemany(
            "INSERT INTO entry (account_id, guid, feed_url, is_subscribed,"
            " subscription_changed, revision, status_changed, first_had)"
            " VALUES (?1, ?2, 'a', 1, ?3, ?3, ?3, 0)",
            [(ALICE, to_bytes(guid), n) for n, guid in enumerate(feeds, 1)],
        )
        opened.executemany(
            "INSERT INTO entry (account_id, guid, new_guid) VALUES (?, ?, ?)",
            [
                (ALICE, to_bytes(pointer), to_bytes(feed))
                for pointer, feed in zip(pointers, feeds, strict=True)
            ],
        )
        for named in (feeds, pointers):
            found = at_once(entry_writes.load(opened, ALICE, named))
            assert found.keys() == set(guids)


async def test_who_writes_little_waits_for_one_heavy_change_and_not_for_those_behind_it(
    path, monkeypatch
):
    monkeypatch.setattr(runner, "MAX_PARTS_IN_A_BATCH", 4)
    recorder = Recorder()
    store = await SqliteStore.open(path, wall_clock.now, recorder=recorder)
    await store.accounts.create(Account(ALICE, "alice", None, False, 0), "alice")
    many = [Guid(f"00000000-0000-4000-8000-{n:012}") for n in range(100)]
    with closing(connect(path, 1)) as opened:
        feeds = [(ALICE, to_bytes(guid), n) for n, guid in enumerate(many, 1)]
        opened.executemany(
            "INSERT INTO entry (account_id, guid, feed_url, is_subscribed,"
            " subscription_changed, revision, status_changed, first_had)"
            " VALUES (?1, ?2, 'a', 1, ?3, ?3, ?3, 0)",
            feeds,
        )
    before = recorded(recorder, COMMITS)
    light, heavy = [GUID], many
    named = (light, light, heavy, light, heavy, light)
    await asyncio.gather(*(store.entries.change(ALICE, guids, keep) for guids in named))
    await store.close()
    # A batch ends with the third, one with the fifth, and one with the last.
    assert recorded(recorder, COMMITS) - before == 3


async def test_a_job_that_is_refused_after_it_wrote_leaves_nothing_and_the_others_are_committed(
    store,
):
    rename = "UPDATE account SET name = ? WHERE account_id = ?"

    def refuse(connection):
        connection.execute(rename, ("refused", ALICE))
        raise NotAuthorized

    bob = AccountId(8)
    await store.accounts.create(Account(bob, "bob", None, False, 0), "bob")
    outcomes = await asyncio.gather(
        store._runner.write(lambda connection: connection.execute(rename, ("Bob", bob))),
        store._runner.write(refuse),
        return_exceptions=True,
    )
    assert isinstance(outcomes[1], NotAuthorized)
    names = [account.name for account in await store.accounts.by_id(AccountId(0), 9)]
    assert names == ["alice", "Bob"]


async def test_a_job_of_both_stores_that_waits_for_something_else_is_a_defect(store):
    async def wait(statements):
        await statements.execute(sql("UPDATE feedkeep.account AS a SET name = $1"), "other")
        await asyncio.sleep(0)

    with pytest.raises(RuntimeError, match="waits"):
        await SqliteDriver(store._runner).write(wait)
    assert (await store.accounts.find("alice")).name == "alice"


async def test_other_accounts_write_while_a_change_of_a_large_account_is_decided(
    monkeypatch, store
):
    monkeypatch.setattr(entries, "MAX_ROWS_IN_A_BATCH", 0)
    bob = AccountId(8)
    await store.accounts.create(Account(bob, "bob", None, False, 0), "bob")
    await store.entries.change(ALICE, [GUID], subscribe)
    loop, begun, have_written = asyncio.get_running_loop(), asyncio.Event(), threading.Event()

    def leave(snapshot):
        loop.call_soon_threadsafe(begun.set)
        stamp = snapshot.last_stamp + 1
        left = Subscription(GUID, "https://a.example", False, stamp)
        return Decision(have_written.wait(60), [left], [], stamp, count([left]))

    leaving = asyncio.create_task(store.entries.change(ALICE, None, leave))
    await begun.wait()
    await store.entries.change(bob, [GUID], subscribe)
    have_written.set()
    assert await leaving
    left = await store.entries.view(ALICE, GUID)
    assert left is not None
    assert not left.subscription.is_subscribed


@pytest.mark.parametrize("what", ["the list", "a document", "the history"])
async def test_a_large_account_that_changes_meanwhile_is_decided_anew_and_in_the_end_in_its_turn(
    path, monkeypatch, what, store
):
    monkeypatch.setattr(entries, "MAX_ROWS_IN_A_BATCH", 0)
    name = DocumentName(DocumentKind.DEVICE, "phone")
    seen: list[bool] = []

    async def change_it(store):
        if what == "the list":
            await store.entries.change(ALICE, [GUID], subscribe)
        elif what == "a document":
            await store.documents.change(
                ALICE, name.kind, name.name, lambda body, _: f"{body or ''}1"
            )
        else:
            with closing(connect(path, 1)) as opened:
                opened.execute("UPDATE account SET known_from = known_from + 1")

    loop = asyncio.get_running_loop()

    def decide(snapshot, times):
        seen.append(store._runner._writer.in_transaction)
        if len(seen) <= times:
            asyncio.run_coroutine_threadsafe(change_it(store), loop).result(60)
        return Decision(len(seen), [], [], snapshot.last_stamp, snapshot.counts)

    def change(times):
        seen.clear()
        return store.entries.change(
            ALICE, None, lambda snapshot: decide(snapshot, times), [name.kind]
        )

    await store.entries.change(ALICE, [GUID], subscribe)
    assert await change(0) == 1
    assert await change(1) == 2
    assert await change(entries._TRIES) == entries._TRIES + 1
    assert seen == [False] * entries._TRIES + [True]
    monkeypatch.setattr(entries, "_MOST_ROWS_HELD", 0)
    with pytest.raises(AccountBusy, match="again and again"):
        await change(1_000)
    assert len(seen) == entries._TRIES


TOKENS_OF_AN_ACCOUNT = 10
"""No account of a library has more."""

GONE, OTHER = AccountId(2**62), AccountId(2**62 + 1_000_003)
"""The two accounts of a library."""


def rows_of(path: Path, account_id: AccountId) -> int:
    """Return how many rows an account has besides its own; all references have to be whole."""
    with closing(connect(path, 1)) as opened:
        assert opened.execute("PRAGMA foreign_key_check").fetchall() == []
        return sum(
            opened.execute(
                f"SELECT count(*) FROM {table.name} WHERE account_id = ?", (account_id,)
            ).get
            for table in TABLES[1:]
        )


async def shown(store: SqliteStore) -> tuple[object, ...]:
    """Return which accounts are copied, counted and listed."""
    async with store.archive() as archive:
        records = [account_id async for some in archive.records() for account_id, _ in some]
        assert await archive.count() == len(records)
    totals = await store.totals.of_accounts(AccountId(0), 10, Stamp(0))
    listed = [account.id for account in await store.accounts.by_id(AccountId(0), 10)]
    assert len(listed) == await store.accounts.count(AccountId(0))
    people = [person.account.id for person in await store.accounts.people("", 10)]
    _, subscribed = await store.feeds.subscribed(AccountId(0), 1_000)
    assert {account_id for account_id, _ in subscribed} == set(listed)
    return set(records), listed, people, totals and totals.accounts


async def delete_and_stop(store: SqliteStore, account_id: AccountId) -> None:
    """Delete an account on a machine that stops when it is marked."""

    def stop(_: apsw.Connection, account_id: AccountId) -> Iterator[None]:
        raise StoreUnavailable(f"the machine stops before the rows of {account_id} are gone")

    with pytest.MonkeyPatch.context() as stopping:
        stopping.setattr(accounts, "_delete_step", stop)
        await store.accounts.delete(account_id)


async def test_a_deleted_account_is_gone_at_once_and_its_rows_in_small_steps(tmp_path, monkeypatch):
    path = tmp_path / "library.db"
    monkeypatch.setattr(accounts, "_ROWS_IN_A_STEP", 240)
    monkeypatch.setattr(accounts, "_STEPS_AT_ONCE", 1)
    store = await SqliteStore.open(path, wall_clock.now)
    await store.fill(library(2, 400))
    rows = rows_of(path, OTHER)
    left = rows_of(path, GONE)
    await store.accounts.delete(GONE)
    before, left = left, rows_of(path, GONE)
    assert 0 < before - left <= 240 + TOKENS_OF_AN_ACCOUNT
    assert left > 240
    assert await shown(store) == ({OTHER}, [OTHER], [OTHER], 1)
    assert await store.accounts.find("zoë0") is None
    assert await store.accounts.find(f":{GONE}") is None
    for work in (
        store.entries.change(GONE, [GUID], subscribe),
        store.entries.change(GONE, None, keep),
        store.accounts.advance(GONE, Clock.ACTIONS, lambda clock: clock),
    ):
        with pytest.raises(NotAuthorized):
            await work
    await store.accounts.set_disabled(GONE, False)
    await store.accounts.set_password(GONE, "a hash")
    await store.accounts.create(Account(ALICE, "Zoë0", None, False, 0), "zoë0")
    await store.accounts.delete(ALICE)
    step = partial(accounts._delete_step, account_id=GONE)
    while not await store._runner.write_in_turns(step):
        before, left = left, rows_of(path, GONE)
        assert 0 < before - left <= 240
    assert left <= 240
    assert (rows_of(path, GONE), rows_of(path, OTHER)) == (0, rows)
    assert await shown(store) == ({OTHER}, [OTHER], [OTHER], 1)
    await store.close()


async def test_what_a_stop_leaves_of_a_deleted_account_goes_after_the_next_start(
    tmp_path, monkeypatch
):
    path = tmp_path / "library.db"
    finish = SqliteAccounts.finish_deleting
    is_finished = asyncio.Event()

    async def finish_and_tell(table):
        await finish(table)
        is_finished.set()

    monkeypatch.setattr(SqliteAccounts, "finish_deleting", finish_and_tell)
    store = await SqliteStore.open(path, wall_clock.now)
    await store.fill(library(1, 400))
    await delete_and_stop(store, GONE)
    assert not await store.accounts.are_there()
    await store.close()
    store = await SqliteStore.open(path, wall_clock.now)
    assert rows_of(path, GONE) > 0
    forgetting = Forgetting(store, wall_clock.now, 0)
    forgetting.start()
    await is_finished.wait()
    await forgetting.close()
    assert rows_of(path, GONE) == 0
    await store.close()


def test_what_a_write_costs_does_not_grow_with_the_account(path):
    def find_pointers(opened):
        named = apsw.carray((to_bytes(GUID),))
        found = opened.execute(entry_writes._POINTERS, (named, 2**62)).fetchall()
        assert len(found) == 2

    def delete_account(opened):
        opened.execute("DELETE FROM account")

    assert steps_of(find_pointers, 4_000, path) < 1_000
    small, large = (steps_of(delete_account, count, path) for count in (500, 2_000))
    assert large < 6 * small


@pytest.mark.parametrize("what", first_of("look", "page", "page of a guid", "drop"))
def test_what_history_costs_does_not_grow_with_the_states_that_are_stored(path, what):
    def work(opened):
        if what == "drop":
            assert len(entry_writes.drop_states(opened, ALICE, Stamp(10**9), 5)) == 5
        elif what == "look":
            last = opened.execute(sqlite_form(history._LAST_OF_SOME), (0, 500)).get
            assert last == ALICE
            found = opened.execute(sqlite_form(history._NEXT), (0, last, 1)).fetchall()
            assert found == []
        else:
            of_all, of_feed = history.LIST_CHANGES, history.LIST_CHANGES_OF_FEED
            wanted = (ALICE, 10**9, 5, to_bytes(GUID))
            found = (
                opened.execute(sqlite_form(of_all), wanted[:3])
                if what == "page"
                else opened.execute(sqlite_form(of_feed), wanted)
            )
            assert len(found.fetchall()) == 6

    def steps(states):
        file = path.with_name(f"{states}.db")
        prepare(file)
        with closing(connect(file, 1)) as opened:
            opened.execute(
                "INSERT INTO account"
                " (account_id, name, name_key, created, known_from, former_count)"
                " VALUES (?, 'alice', 'alice', 0, 2, 1)",
                (ALICE,),
            )
            opened.execute(
                "INSERT INTO entry (account_id, guid, feed_url, is_subscribed,"
                " subscription_changed, revision, status_changed, first_had, began)"
                " VALUES (?1, ?2, 'a', 1, ?3, ?3, ?3, 0, ?3)",
                (ALICE, to_bytes(GUID), 10 * states),
            )
            opened.executemany(
                "INSERT INTO former_entry (account_id, guid, ended, began, feed_url)"
                " VALUES (?, ?, ?, ?, 'a')",
                [(ALICE, to_bytes(GUID), 10 * n, 10 * n - 10) for n in range(1, states + 1)],
            )
        return steps_in(file, work)

    few, many = steps(100), steps(5_000)
    assert many <= few + 20


def test_what_a_page_from_the_start_costs_does_not_grow_with_the_account(path):
    def read_page(opened):
        page = entries.read_page(opened, AccountId(2**62), PageRequest(-1, None, 1, 50))
        assert len(page.views) == 50
        totals.append(page.total)

    totals: list[int] = []
    small, large = (steps_of(read_page, size, path) for size in (500, 4_000))
    assert totals == [400, 3_200]
    assert large <= small + 20


async def test_what_is_found_quickly_does_not_wait_for_long_lists(store):
    await store.entries.change(ALICE, [GUID], subscribe)
    is_over = threading.Event()
    store._runner._scanning.submit(is_over.wait)
    try:
        async with asyncio.timeout(30):
            assert await store.documents.body(ALICE, "device", "phone") is None
            assert await store.entries.deletion(ALICE, 1) is None
            assert len(await store.entries.changed(ALICE, 0)) == 1
            assert (await store.entries.page(ALICE, PageRequest(-1, None, 1, 50))).total == 1
    finally:
        is_over.set()


def test_a_database_of_a_newer_program_is_refused_and_left_alone(path):
    prepare(path)
    with connect(path, 1) as opened:
        opened.pragma("user_version", newest_version("sqlite") + 1)
    with pytest.raises(StoreUnusable, match="Install the newer feedkeep"):
        prepare(path)


def test_a_database_of_another_program_is_refused_and_left_alone(path):
    apsw.Connection(str(path)).execute("CREATE TABLE theirs (id)")
    before = path.read_bytes()
    with pytest.raises(StoreUnusable, match="another program"):
        prepare(path)
    assert path.read_bytes() == before


def test_a_file_that_is_no_database_is_refused_and_left_alone(path):
    path.write_bytes(b"a letter to my aunt" * 100)
    with pytest.raises(StoreUnusable, match=r"Cannot use .* as the database"):
        prepare(path)
    assert path.read_bytes() == b"a letter to my aunt" * 100


def test_a_place_that_is_no_file_is_refused(tmp_path):
    with pytest.raises(StoreUnusable, match="Is a directory"):
        prepare(tmp_path)


def test_a_locked_database_cannot_be_brought_up_to_date_now(path, monkeypatch):
    monkeypatch.setattr(connection, "WRITER_PATIENCE_SECONDS", 0.05)
    other = connect(path, 1)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreUnavailable, match="locked"):
        prepare(path)


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr("feedkeep.store.sqlite.runner.WRITER_PATIENCE_SECONDS", 0.05)


@pytest.mark.usefixtures("impatient")
async def test_while_another_process_writes_readers_go_on_and_writers_are_refused(path, store):
    await store.entries.change(ALICE, [GUID], subscribe)
    other = connect(path, 1)
    other.execute("BEGIN IMMEDIATE")
    other.execute("UPDATE account SET last_stamp = 99")
    results = await asyncio.gather(
        *(store.entries.change(ALICE, [GUID], subscribe) for _ in range(5)),
        return_exceptions=True,
    )
    assert [type(result) for result in results] == [StoreUnavailable] * 5
    with pytest.raises(StoreUnavailable, match="locked"):
        await store.assert_ready()
    assert await store.entries.view(ALICE, GUID) is not None
    page = await store.entries.page(ALICE, PageRequest(-1, None, 1, 50))
    assert page.total == 1
    assert (await store.entries.whole(ALICE)).last_stamp == 1
    other.execute("ROLLBACK")
    await store.entries.change(ALICE, [GUID], subscribe)
    await store.assert_ready()


@pytest.mark.parametrize("guids", [[GUID], None], ids=["of one entry", "of the whole list"])
async def test_a_full_disk_refuses_writes_whole_and_takes_them_again_when_there_is_room(
    guids, store
):
    pages = store._runner._writer.pragma("page_count")
    store._runner._writer.pragma("max_page_count", pages)

    def big(snapshot):
        stamp = snapshot.last_stamp + 1
        url = f"https://a.example/{'x' * 8_000}"
        entries = [
            Subscription(Guid(f"{i:08x}-0000-4000-8000-000000000001"), url, True, stamp + i)
            for i in range(100)
        ]
        return Decision(None, entries, [], stamp + 100, count(entries))

    with pytest.raises(StoreUnavailable, match="full"):
        await store.entries.change(ALICE, guids, big)
    assert (await store.entries.whole(ALICE)).entries == {}
    store._runner._writer.pragma("max_page_count", 1_000_000)
    await store.entries.change(ALICE, guids, big)
    assert len((await store.entries.whole(ALICE)).entries) == 100


async def test_a_commit_that_fails_is_unavailable_for_the_whole_batch_and_tried_once(store):
    commits = 0

    def refuse():
        nonlocal commits
        commits += 1
        raise apsw.IOError("the disk is gone")

    store._runner._writer.set_commit_hook(refuse)
    results = await asyncio.gather(
        *(store.entries.change(ALICE, [GUID], subscribe) for _ in range(3)),
        return_exceptions=True,
    )
    assert [type(result) for result in results] == [StoreUnavailable] * 3
    assert commits == 1
    store._runner._writer.set_commit_hook(None)
    assert (await store.entries.whole(ALICE)).entries == {}
    await store.entries.change(ALICE, [GUID], subscribe)


async def test_a_change_that_the_commit_refuses_fails_alone(store):
    def dangle(snapshot):
        nowhere = Guid("00000000-0000-4000-8000-000000000009")
        pointer = Pointer(nowhere, Guid(nowhere[:-1] + "8"))
        return Decision(None, [pointer], [], snapshot.last_stamp, snapshot.counts)

    results = await asyncio.gather(
        store.entries.change(ALICE, [GUID], dangle),
        store.entries.change(ALICE, [GUID], subscribe),
        return_exceptions=True,
    )
    assert [type(result) for result in results] == [apsw.ConstraintError, type(None)]
    assert set((await store.entries.whole(ALICE)).entries) == {GUID}


def damage(path: Path, text: bytes) -> None:
    """Store a subscription, and flip a bit of a text that is in the file then."""

    async def fill(store: SqliteStore) -> None:
        await store.entries.change(ALICE, [GUID], subscribe)

    run(path, fill)
    content = bytearray(path.read_bytes())
    content[content.index(text)] ^= 1
    path.write_bytes(content)


async def test_a_damaged_file_is_noticed(path, store):
    damage(path, b"https://a.example")  # which is well formed still, but for its checksum
    await store.assert_ready()
    assert await store.faults() != []
    with pytest.raises(StoreDamaged, match=r"docs/backup\.md"):
        await store.entries.view(ALICE, GUID)
    with pytest.raises(StoreDamaged):
        await store.entries.change(ALICE, [GUID], subscribe)
    with pytest.raises(StoreDamaged):
        await store.assert_ready()
    await store.tokens.add(ALICE, Token(0, b"x" * 32, "", 0))  # what is whole is served


async def test_damage_to_what_the_planner_reads_costs_no_list(path, store):
    damage(path, b"entry_by_revision1000000")
    assert set((await store.entries.whole(ALICE)).entries) == {GUID}
    assert await store.faults() != []


def test_a_file_that_lost_the_mark_of_its_checksums_is_refused(path):
    prepare(path)
    content = bytearray(path.read_bytes())
    content[20] ^= 8
    path.write_bytes(content)
    with pytest.raises((StoreUnusable, StoreDamaged)):
        prepare(path)


def test_an_apsw_without_the_checksum_extension_is_refused(path, monkeypatch):
    def missing(*_):
        raise apsw.sqlite_extra.NotAvailable

    verifying_vfs.cache_clear()
    monkeypatch.setattr(apsw.sqlite_extra, "load", missing)
    with pytest.raises(StoreUnusable, match="binary package"):
        prepare(path)


async def test_a_check_that_cannot_be_made_now_is_no_damage(store):
    def fail(*_):
        raise apsw.BusyError("another process has it")

    store._runner._scanner.exec_trace = fail
    with pytest.raises(StoreUnavailable) as told:
        await store.faults()
    assert not isinstance(told.value, StoreDamaged)
    store._runner._scanner.exec_trace = None


async def test_a_row_that_refers_to_nothing_is_noticed(path, store):
    await store.entries.change(ALICE, [GUID], subscribe)
    other = apsw.Connection(str(path))
    other.execute("DELETE FROM account")
    assert await store.faults() == [
        "a row of table entry refers to a row that is missing",
    ]


def test_the_database_itself_refuses_rows_that_no_rule_would_write(path):
    async def work(store):
        await store.entries.change(ALICE, [GUID], subscribe)

    run(path, work)
    opened = connect(path, 1)
    for change in (
        "UPDATE entry SET revision = 99",
        "UPDATE entry SET is_subscribed = 2",
        "UPDATE entry SET deleted = 1",
        "UPDATE entry SET new_guid = guid",
        "UPDATE entry SET new_guid = zeroblob(16), feed_url = NULL",
        "UPDATE entry SET alias_url = 'https://b.example'",
        "INSERT INTO entry (account_id, guid, new_guid) VALUES (7, zeroblob(16), randomblob(16))",
        "INSERT INTO entry (account_id, guid, new_guid) VALUES (8, zeroblob(16), zeroblob(16))",
        "INSERT INTO entry"
        " (account_id, guid, feed_url, is_subscribed, subscription_changed, status_changed,"
        " first_had, revision)"
        " SELECT account_id, zeroblob(16), feed_url, is_subscribed, subscription_changed,"
        " status_changed, first_had, revision FROM entry",
    ):
        with pytest.raises(apsw.ConstraintError):
            opened.execute(change)


@contextmanager
def no_room(beyond_bytes: int = 4_096) -> Iterator[None]:
    """Let no file of this process grow beyond a size, as on a full disk (setrlimit(2))."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (beyond_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextmanager
def read_only(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let no file be opened to write, as on a disk that is mounted read-only."""
    open_before = os.open

    def opened(path: str, flags: int, mode: int = 0o777) -> int:
        if flags & (os.O_RDWR | os.O_CREAT):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)
        return open_before(path, flags, mode)

    def cannot_open(*_: object) -> apsw.Connection:
        raise apsw.CantOpenError("unable to open database file")

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", opened)
        patched.setattr(reading, "connect", cannot_open)
        yield


@pytest.mark.parametrize("how", ["full", "read-only"])
def test_a_store_on_a_disk_that_takes_no_writes_is_read_until_the_disk_does(path, how, monkeypatch):
    async def fill(store):
        await store.entries.change(ALICE, [GUID], subscribe)

    async def read():
        with no_room() if how == "full" else read_only(monkeypatch):
            store = await SqliteStore.open(path, wall_clock.now)
            for _ in range(2):  # the second time it is not even tried
                with pytest.raises(StoreReadOnly):
                    await store.entries.change(ALICE, [GUID], subscribe)
            with pytest.raises(StoreReadOnly):
                await store.assert_ready()
            assert await store.entries.view(ALICE, GUID) is not None
            assert len((await store.entries.whole(ALICE)).entries) == 1
            async with store.archive() as archive:
                assert await archive.count() > 0
            monkeypatch.setattr(store._runner, "_next_try", 0.0)
            with pytest.raises(StoreReadOnly):
                await store.assert_ready()
            assert await store.entries.view(ALICE, GUID) is not None
        monkeypatch.setattr(store._runner, "_next_try", 0.0)
        await store.assert_ready()
        await store.entries.change(ALICE, [GUID], subscribe)
        assert (await store.entries.whole(ALICE)).last_stamp == 2
        await store.close()

    run(path, fill)
    asyncio.run(read())
    assert not list(path.parent.glob("*.db-*"))


def test_a_file_with_a_log_is_opened_read_and_closed_on_a_full_disk(path, tmp_path):
    """A process that was killed left the log, and what is in it has no room in the file."""

    def subscribe_to_more(snapshot):
        decision = subscribe(snapshot)
        long = [
            replace(entry, feed_url=f"https://a.example/{'x' * 20_000}") for entry in decision.saved
        ]
        return replace(decision, saved=long)

    async def fill(store):
        await store.entries.change(ALICE, [GUID], subscribe_to_more)
        for file in path.parent.glob(f"{path.name}*"):
            shutil.copy(file, tmp_path / "left" / file.name)

    async def use():
        with no_room(left.stat().st_size):
            store = await SqliteStore.open(left, wall_clock.now)
            await store.entries.change(ALICE, [GUID], subscribe)  # for which the log has room
            await store.close()
        store = await SqliteStore.open(left, wall_clock.now)
        assert (await store.entries.whole(ALICE)).last_stamp == 2
        await store.close()

    left = tmp_path / "left" / path.name
    left.parent.mkdir()
    run(path, fill)
    asyncio.run(use())
    assert not list(left.parent.glob("*.db-*"))


@pytest.mark.parametrize("name", ["rebuilt", "filled", "indexed"])
def test_a_migration_on_a_full_disk_changes_nothing_and_is_done_once_there_is_room(
    path, name, monkeypatch
):
    async def fill():
        store = await SqliteStore.open(path, wall_clock.now)
        await store.fill(library(1, 500))
        await store.close()

    asyncio.run(fill())
    monkeypatch.setattr(migrate, "migrations", with_further(name))
    with no_room(40_000), pytest.raises(StoreUnavailable):
        prepare(path)
    with closing(connect(path, 1)) as opened:
        assert opened.pragma("user_version") == newest_version("sqlite") - 1
        assert opened.execute("SELECT count(*) FROM entry").get == 500
    assert prepare(path) == newest_version("sqlite") - 1
    assert prepare(path) == newest_version("sqlite")


@pytest.mark.parametrize(
    "error", [OSError(errno.EMFILE, "Too many open files"), RuntimeError("can't start new thread")]
)
def test_a_store_goes_on_reading_if_the_system_has_nothing_left_to_write_with(
    path, error, monkeypatch
):
    async def fill(store):
        await store.entries.change(ALICE, [GUID], subscribe)

    async def read():
        with no_room():
            store = await SqliteStore.open(path, wall_clock.now)
        with monkeypatch.context() as patched:
            patched.setattr(runner, "Checkpoints", mock.Mock(side_effect=error))
            with pytest.raises(StoreReadOnly):
                await store.entries.change(ALICE, [GUID], subscribe)
            assert await store.entries.view(ALICE, GUID) is not None
            assert len((await store.entries.whole(ALICE)).entries) == 1
        monkeypatch.setattr(store._runner, "_next_try", 0.0)
        await store.entries.change(ALICE, [GUID], subscribe)
        await store.close()

    run(path, fill)
    asyncio.run(read())


def test_what_cannot_be_read_whole_without_a_write_is_refused(path, monkeypatch):
    async def nothing(_):
        pass

    run(path, nothing)
    log = path.with_name(f"{path.name}-wal")
    log.write_bytes(b"commits that only a read-only disk has")
    with read_only(monkeypatch), pytest.raises(StoreUnusable, match="Read-only file system"):
        asyncio.run(SqliteStore.open(path, wall_clock.now))
    log.unlink()
    with closing(connect(path, 1)) as opened:
        opened.pragma("user_version", newest_version("sqlite") - 1)
    with no_room(), pytest.raises(StoreUnavailable):
        asyncio.run(SqliteStore.open(path, wall_clock.now))


def test_a_lock_that_cannot_be_made_for_another_reason_is_told(path, monkeypatch):
    def opened(*_):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(os, "open", opened)
    with pytest.raises(StoreUnusable, match="Permission denied"):
        asyncio.run(SqliteStore.open(path, wall_clock.now))


def test_a_file_that_another_process_turns_to_wal_is_tried_again_for_a_while(path, monkeypatch):
    answers: list[int | apsw.BusyError] = [apsw.BusyError(), 1, apsw.BusyError()]

    def work(_):
        answer = answers.pop(0)
        if isinstance(answer, apsw.BusyError):
            raise answer
        return answer

    assert sqlite_connection._patiently(work, path) == 1
    monkeypatch.setattr(sqlite_connection, "WRITER_PATIENCE_SECONDS", -1.0)
    with pytest.raises(apsw.BusyError):
        sqlite_connection._patiently(work, path)


@pytest.mark.parametrize("state", [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize("start", [(2**63 - 1, 2**63 - 1), (7, 6_000)])
def test_a_page_of_plays_reads_no_more_than_it_lists(start, state):
    """Of both states there are thousands, all at one second."""
    steps = 0

    def count_steps(event):
        nonlocal steps
        steps += event["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"]

    with closing(apsw.Connection(":memory:")) as connection:
        for statement in migrate.migrations("sqlite")[0].statements:
            connection.execute(statement)
        connection.execute("""
            WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 9000)
            INSERT INTO episode_action SELECT 7, CAST(printf('%016d', n) AS BLOB), zeroblob(10),
                zeroblob(16), 'p', 'e', '', 'play', 7, 0, 30 + n % 2, 61, NULL, n, 8000000, '', 0
            FROM s
        """)
        connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, count_steps)
        found = connection.execute(sqlite_form(NEWEST_PLAYS), (7, *start, *state, 10)).fetchall()
    assert len(found) == 10
    assert 0 < steps < 3_000
