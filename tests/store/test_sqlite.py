"""Specifics of SQLite: durable connections, its file, its locks, and damage."""

import asyncio
import dataclasses
import errno
import os
import resource
import shutil
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from unittest import mock

import apsw
import pytest
from further_steps import with_further
from library import library
from list_values import ALICE, BOB, G1, account, guid_of
from recorded import COMMITS, recorded
from small_lists import answers, look, opened, subscribe

from feedkeep import model
from feedkeep.model import errors, replace
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
from feedkeep.store.sqlite import SqliteStore, accounts, connection, entries, entry_writes, runner
from feedkeep.store.sqlite.accounts import SqliteAccounts
from feedkeep.store.sqlite.connection import APPLICATION_ID, connect, prepare, verifying_vfs
from feedkeep.store.sqlite.driver import SqliteDriver
from feedkeep.store.sqlite.rows import to_bytes
from feedkeep.store.tables import TABLES


@pytest.fixture
async def store(path):
    async with opened(path) as store:
        yield store


async def fill(path):
    """Make a database with one subscription, and close it."""
    async with opened(path) as store:
        await store.entries.change(ALICE, [G1], subscribe)


# C8.1
def test_every_connection_is_durable_and_keeps_references_whole(path, monkeypatch):
    prepare(path)
    settings = {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "fullfsync": 1}
    with connect(path, 1) as opened:
        assert {name: opened.pragma(name) for name in settings} == settings
    monkeypatch.setitem(connection._SETTINGS, "synchronous", 99)
    with pytest.raises(errors.StoreUnusable, match="does not accept synchronous=99"):
        connect(path, 1)


async def test_files_are_the_owners_alone_and_closing_folds_the_log_into_one(tmp_path):
    path = tmp_path / "new" / "feedkeep.db"
    async with opened(path) as store:
        await store.entries.change(ALICE, [G1], subscribe)
        modes = [stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()]
        assert modes == [0o600] * 6  # with its locks, which stay
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [file.name for file in path.parent.glob(f"{path.name}*")] == [path.name]


def test_new_file_is_marked_as_ours_and_prepared_once_by_ten_at_once(path):
    newest = newest_version("sqlite")
    for number in range(10):
        file = path.with_name(f"{number}.db")
        with ThreadPoolExecutor(10) as threads:
            list(threads.map(prepare, [file] * 10))
        assert prepare(file) == newest
    with connect(file, 1) as opened:
        assert opened.pragma("application_id") == APPLICATION_ID
        assert opened.pragma("user_version") == newest


def test_migration_that_fails_leaves_nothing_of_itself(path, monkeypatch):
    step, *_ = migrate.migrations("sqlite")
    broken = dataclasses.replace(step, sql=f"{step.sql}CREATE TABLE account (id);")
    monkeypatch.setattr(migrate, "migrations", lambda _: [broken])
    with pytest.raises(apsw.SQLError):
        prepare(path)
    monkeypatch.undo()
    with connect(path, 1) as opened:
        assert opened.execute("SELECT count(*) FROM sqlite_schema").get == 0
    assert prepare(path) == 0


async def filled(file, accounts, entries):
    """Make a database with a library."""
    store = await SqliteStore.open(file, wall_clock.now)
    await store.fill(library(accounts, entries))
    await store.close()
    return file


def steps_in(file, work):
    """Return the number of steps that SQLite takes for `work`."""
    steps = 0

    def count():
        nonlocal steps
        steps += 10
        return False

    with closing(connect(file, 1)) as opened:
        opened.set_progress_handler(count, 10)
        work(opened)
    return steps


def insert_feeds(opened, guids):
    with opened:
        opened.executemany(
            "INSERT INTO entry (account_id, guid, feed_url, is_subscribed, subscription_changed,"
            " revision, status_changed, first_had, began)"
            " VALUES (?1, ?2, 'a', 1, ?3, ?3, ?3, 0, ?3)",
            [(ALICE, to_bytes(guid), n) for n, guid in enumerate(guids, 1)],
        )


def insert_pointers(opened, pointers):
    """Insert pointers, by the guids that they lead to."""
    with opened:
        opened.executemany(
            "INSERT INTO entry (account_id, guid, new_guid) VALUES (?, ?, ?)",
            [(ALICE, to_bytes(guid), to_bytes(new_guid)) for guid, new_guid in pointers],
        )


async def test_named_guids_are_loaded_with_the_pointers_to_them_few_in_one_turn(path, store):
    many = 2 * entry_writes._NAMED_AT_ONCE + 1
    guids = [guid_of(n) for n in range(2 * many)]
    feeds, pointers = guids[:many], guids[many:]
    await store.entries.change(BOB, [G1], subscribe)
    with closing(connect(path, 1)) as opened:
        insert_feeds(opened, feeds)
        insert_pointers(opened, zip(pointers, feeds, strict=True))
        for named in (feeds, pointers):
            found = at_once(entry_writes.load(opened, ALICE, named))
            assert found.keys() == set(guids)
        opened.execute("DELETE FROM entry WHERE new_guid IS NOT NULL")
        insert_pointers(opened, [(guid_of(10**6 + n), G1) for n in range(1_000)])
        parts = list(entry_writes.load(opened, ALICE, [G1]))
    assert len(parts) == 1_000 // entry_writes._AT_ONCE


async def test_small_write_waits_for_one_heavy_change_and_not_for_later_ones(path, monkeypatch):
    monkeypatch.setattr(runner, "MAX_PARTS_IN_A_BATCH", 4)
    recorder = Recorder()
    async with opened(path, recorder=recorder) as store:
        light, heavy = [G1], [guid_of(n) for n in range(100)]
        with closing(connect(path, 1)) as connection:
            insert_feeds(connection, heavy)
        before = recorded(recorder, COMMITS)
        named = (light, light, heavy, light, heavy, light)
        await asyncio.gather(*(store.entries.change(ALICE, guids, look) for guids in named))
    # A batch ends with the third, one with the fifth, and one with the last.
    assert recorded(recorder, COMMITS) - before == 3


async def test_job_that_fails_after_it_wrote_leaves_nothing_and_others_are_stored(store):
    rename = "UPDATE account SET name = ? WHERE account_id = ?"

    def refuse(connection):
        connection.execute(rename, ("refused", ALICE))
        raise errors.NotAuthorized

    write = store._runner.write
    renaming = write(lambda connection: connection.execute(rename, ("Ben", BOB)))
    assert (await answers(renaming, write(refuse)))[1] is errors.NotAuthorized
    assert [account.name for account in await store.accounts.by_id(0, 9)] == ["Ben", "Alice"]

    async def wait(statements):
        await statements.execute(sql("UPDATE feedkeep.account AS a SET name = $1"), "other")
        await asyncio.sleep(0)

    with pytest.raises(RuntimeError, match="waits"):  # for something else than the database
        await SqliteDriver(store._runner).write(wait)
    assert (await store.accounts.find("alice")).name == "Alice"


async def test_others_write_while_a_change_of_a_large_account_is_decided(monkeypatch, store):
    monkeypatch.setattr(entries, "MAX_ROWS_IN_A_BATCH", 0)
    await store.entries.change(ALICE, [G1], subscribe)
    loop, begun, have_written = asyncio.get_running_loop(), asyncio.Event(), threading.Event()

    def leave(snapshot):
        loop.call_soon_threadsafe(begun.set)
        left = subscribe(snapshot, is_subscribed=False)
        return replace(left, outcome=have_written.wait(60))

    leaving = asyncio.create_task(store.entries.change(ALICE, None, leave))
    await begun.wait()
    await store.entries.change(BOB, [G1], subscribe)
    have_written.set()
    assert await leaving
    assert not (await store.entries.view(ALICE, G1)).subscription.is_subscribed


@pytest.mark.parametrize("what", ["the list", "a document", "the history"])
async def test_large_account_that_changes_meanwhile_is_decided_anew(path, monkeypatch, what, store):
    monkeypatch.setattr(entries, "MAX_ROWS_IN_A_BATCH", 0)
    name = model.DocumentName(model.DocumentKind.DEVICE, "phone")
    seen = []

    async def change_it():
        if what == "the list":
            await store.entries.change(ALICE, [G1], subscribe)
        elif what == "a document":
            more = store.documents.change(ALICE, name.kind, name.name, lambda old, _: f"{old}1")
            await more
        else:
            with closing(connect(path, 1)) as opened:
                opened.execute("UPDATE account SET known_from = known_from + 1")

    loop = asyncio.get_running_loop()

    def change(times):
        def decide(snapshot):
            seen.append(store._runner._writer.in_transaction)
            if len(seen) <= times:
                asyncio.run_coroutine_threadsafe(change_it(), loop).result(60)
            return replace(look(snapshot), outcome=len(seen))

        seen.clear()
        return store.entries.change(ALICE, None, decide, [name.kind])

    await store.entries.change(ALICE, [G1], subscribe)
    assert await change(0) == 1
    assert await change(1) == 2
    assert await change(entries._TRIES) == entries._TRIES + 1
    assert seen == [False] * entries._TRIES + [True]
    monkeypatch.setattr(entries, "_MOST_ROWS_HELD", 0)
    with pytest.raises(errors.AccountBusy, match="again and again"):
        await change(1_000)
    assert len(seen) == entries._TRIES


TOKENS_OF_AN_ACCOUNT = 10
"""No account of a library has more."""

GONE, OTHER = 2**62, 2**62 + 1_000_003
"""The two accounts of a library."""


def rows_of(path, account_id):
    """Return the number of an account's rows besides its own; all references must be valid."""
    with closing(connect(path, 1)) as opened:
        assert opened.execute("PRAGMA foreign_key_check").fetchall() == []
        count = "SELECT count(*) FROM {} WHERE account_id = ?"
        counts = [opened.execute(count.format(table.name), (account_id,)) for table in TABLES[1:]]
        return sum(found.get for found in counts)


async def shown(store):
    """Return the accounts that are copied, counted and listed."""
    async with store.archive() as archive:
        records = [account_id async for some in archive.records() for account_id, _ in some]
        assert await archive.count() == len(records)
    totals = await store.totals.of_accounts(0, 10, 0)
    listed = [account.id for account in await store.accounts.by_id(0, 10)]
    assert len(listed) == await store.accounts.count(0)
    people = [person.account.id for person in await store.accounts.people("", 10)]
    _, subscribed = await store.feeds.subscribed(0, 1_000)
    assert {account_id for account_id, _ in subscribed} == set(listed)
    return set(records), listed, people, totals and totals.accounts


async def test_deleted_account_is_gone_at_once_and_its_rows_in_small_steps(path, monkeypatch):
    monkeypatch.setattr(accounts, "_ROWS_IN_A_STEP", 240)
    monkeypatch.setattr(accounts, "_STEPS_AT_ONCE", 1)
    store = await SqliteStore.open(await filled(path, 2, 400), wall_clock.now)
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
        store.entries.change(GONE, [G1], subscribe),
        store.entries.change(GONE, None, look),
        store.accounts.advance(GONE, model.Clock.ACTIONS, lambda clock: clock),
    ):
        with pytest.raises(errors.NotAuthorized):
            await work
    await store.accounts.set_disabled(GONE, False)
    await store.accounts.set_password(GONE, "a hash")
    await store.accounts.create(account(ALICE, "Zoë0"), "zoë0")
    await store.accounts.delete(ALICE)
    step = partial(accounts._delete_step, account_id=GONE)
    while not await store._runner.write_in_turns(step):
        before, left = left, rows_of(path, GONE)
        assert 0 < before - left <= 240
    assert left <= 240
    assert (rows_of(path, GONE), rows_of(path, OTHER)) == (0, rows)
    assert await shown(store) == ({OTHER}, [OTHER], [OTHER], 1)
    await store.close()


async def test_rows_that_a_stop_leaves_of_a_deleted_account_go_after_a_start(path, monkeypatch):
    finish = SqliteAccounts.finish_deleting
    is_finished = asyncio.Event()

    async def finish_and_tell(table):
        await finish(table)
        is_finished.set()

    def stop(_, account_id):
        raise errors.StoreUnavailable(f"the machine stops before the rows of {account_id} are gone")

    monkeypatch.setattr(SqliteAccounts, "finish_deleting", finish_and_tell)
    store = await SqliteStore.open(await filled(path, 1, 400), wall_clock.now)
    with monkeypatch.context() as stopping:
        stopping.setattr(accounts, "_delete_step", stop)
        await store.accounts.delete(GONE)
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


async def test_reads_and_writes_cost_no_more_in_a_larger_account(path):
    totals = []

    def read_page(opened):
        page = entries.read_page(opened, GONE, model.PageRequest(-1, None, 1, 50))
        assert len(page.views) == 50
        totals.append(page.total)

    def find_pointers(opened):
        named = apsw.carray((to_bytes(G1),))
        found = opened.execute(entry_writes._POINTERS, (named, GONE)).fetchall()
        assert len(found) == 2

    sizes = (500, 2_000, 4_000)
    files = [await filled(path.with_name(f"{size}.db"), 1, size) for size in sizes]
    small, *_, large = (steps_in(file, read_page) for file in files)
    assert totals == [400, 1_600, 3_200]
    assert large <= small + 20
    assert steps_in(files[-1], find_pointers) < 1_000
    small, large = (
        steps_in(file, lambda opened: opened.execute("DELETE FROM account")) for file in files[:2]
    )
    assert large < 6 * small  # of four times as much


def test_history_costs_no_more_with_more_states_stored(path):
    def statement(text, bindings, rows):
        def work(opened):
            assert len(opened.execute(sqlite_form(text), bindings).fetchall()) == rows

        return work

    def drop(opened):
        assert len(entry_writes.drop_states(opened, ALICE, 10**9, 5)) == 5

    wanted = (ALICE, 10**9, 5)
    works = (
        statement(history._LAST_OF_SOME, (0, 500), 1),
        statement(history._NEXT, (0, ALICE, 1), 0),
        statement(history.LIST_CHANGES, wanted, 6),
        statement(history.LIST_CHANGES_OF_FEED, (*wanted, to_bytes(G1)), 6),
        drop,
    )

    def steps(states):
        file = path.with_name(f"{states}.db")
        prepare(file)
        with closing(connect(file, 1)) as opened, opened:
            columns = "account_id, name, name_key, created, known_from, former_count"
            values = f"{ALICE}, 'alice', 'alice', 0, 2, 1"
            opened.execute(f"INSERT INTO account ({columns}) VALUES ({values})")
            insert_feeds(opened, [G1])
            opened.execute("UPDATE entry SET began = ?", (10 * states,))
            opened.executemany(
                "INSERT INTO former_entry (account_id, guid, ended, began, feed_url)"
                " VALUES (?, ?, ?, ?, 'a')",
                [(ALICE, to_bytes(G1), 10 * n, 10 * n - 10) for n in range(1, states + 1)],
            )
        return [steps_in(file, work) for work in works]

    for few, many in zip(steps(100), steps(5_000), strict=True):
        assert many <= few + 20


async def test_quick_reads_do_not_wait_for_long_lists(store):
    await store.entries.change(ALICE, [G1], subscribe)
    is_over = threading.Event()
    store._runner._scanning.submit(is_over.wait)
    try:
        async with asyncio.timeout(30):
            assert await store.documents.body(ALICE, "device", "phone") is None
            assert await store.entries.deletion(ALICE, 1) is None
            assert len(await store.entries.changed(ALICE, 0)) == 1
            assert (await store.entries.page(ALICE, model.PageRequest(-1, None, 1, 50))).total == 1
    finally:
        is_over.set()


def of_a_newer_program(path):
    prepare(path)
    with closing(connect(path, 1)) as opened:
        opened.pragma("user_version", newest_version("sqlite") + 1)


def of_another_program(path):
    apsw.Connection(str(path)).execute("CREATE TABLE theirs (id)")


def of_no_database(path):
    path.write_bytes(b"a letter to my aunt" * 100)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (of_a_newer_program, "Install the newer feedkeep"),
        (of_another_program, "another program"),
        (of_no_database, r"Cannot use .* as the database"),
    ],
)
def test_file_that_is_not_ours_is_refused_and_left_alone(path, make, told):
    make(path)
    before = path.read_bytes()
    with pytest.raises(errors.StoreUnusable, match=told):
        prepare(path)
    assert path.read_bytes() == before


def test_locked_database_is_tried_for_a_while(path, monkeypatch):
    answers = [apsw.BusyError(), 1, apsw.BusyError()]
    work = mock.Mock(side_effect=answers)
    assert connection._patiently(work, path) == 1  # another process turns it to WAL
    monkeypatch.setattr(connection, "WRITER_PATIENCE_SECONDS", -1.0)
    with pytest.raises(apsw.BusyError):
        connection._patiently(work, path)
    monkeypatch.setattr(connection, "WRITER_PATIENCE_SECONDS", 0.05)
    other = connect(path, 1)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(errors.StoreUnavailable, match="locked"):
        prepare(path)


async def test_while_another_process_writes_reads_work_and_writes_fail(path, monkeypatch):
    monkeypatch.setattr(runner, "WRITER_PATIENCE_SECONDS", 0.05)
    async with opened(path) as store:
        await store.entries.change(ALICE, [G1], subscribe)
        other = connect(path, 1)
        other.execute("BEGIN IMMEDIATE")
        other.execute("UPDATE account SET last_stamp = 99")
        results = await answers(*(store.entries.change(ALICE, [G1], subscribe) for _ in range(5)))
        assert results == [errors.StoreUnavailable] * 5
        with pytest.raises(errors.StoreUnavailable, match="locked"):
            await store.assert_ready()
        assert await store.entries.view(ALICE, G1) is not None
        assert (await store.entries.page(ALICE, model.PageRequest(-1, None, 1, 50))).total == 1
        assert (await store.entries.whole(ALICE)).last_stamp == 1
        other.execute("ROLLBACK")
        await store.entries.change(ALICE, [G1], subscribe)
        await store.assert_ready()


@pytest.mark.parametrize("guids", [[G1], None], ids=["of one entry", "of the whole list"])
async def test_full_disk_refuses_whole_changes_until_there_is_room(guids, store):
    pages = store._runner._writer.pragma("page_count")
    store._runner._writer.pragma("max_page_count", pages)

    def big(snapshot):
        stamp = snapshot.last_stamp + 1
        url = f"https://a.example/{'x' * 8_000}"
        entries = [model.Subscription(guid_of(i), url, True, stamp + i) for i in range(100)]
        return model.Decision(None, entries, [], stamp + 100, count(entries))

    with pytest.raises(errors.StoreUnavailable, match="full"):
        await store.entries.change(ALICE, guids, big)
    assert (await store.entries.whole(ALICE)).entries == {}
    store._runner._writer.pragma("max_page_count", 1_000_000)
    await store.entries.change(ALICE, guids, big)
    assert len((await store.entries.whole(ALICE)).entries) == 100


async def test_commit_that_fails_is_unavailable_for_its_whole_batch_and_tried_once(store):
    refuse = mock.Mock(side_effect=apsw.IOError("the disk is gone"))
    store._runner._writer.set_commit_hook(refuse)
    results = await answers(*(store.entries.change(ALICE, [G1], subscribe) for _ in range(3)))
    assert results == [errors.StoreUnavailable] * 3
    assert refuse.call_count == 1
    store._runner._writer.set_commit_hook(None)
    assert (await store.entries.whole(ALICE)).entries == {}
    await store.entries.change(ALICE, [G1], subscribe)


async def damage(path, text):
    """Store a subscription, and flip a bit of a text that is in the file then."""
    await fill(path)
    content = bytearray(path.read_bytes())
    content[content.index(text)] ^= 1
    path.write_bytes(content)


async def test_damaged_file_is_noticed(path):
    await damage(path, b"https://a.example")  # which is well formed still, but for its checksum
    async with opened(path) as store:
        await store.assert_ready()
        assert await store.faults() != []
        with pytest.raises(errors.StoreDamaged, match=r"docs/backup\.md"):
            await store.entries.view(ALICE, G1)
        change = store.entries.change(ALICE, [G1], subscribe)
        assert await answers(change) == [errors.StoreDamaged]
        assert await answers(store.assert_ready()) == [errors.StoreDamaged]
        await store.tokens.add(ALICE, model.Token(0, b"x" * 32, "", 0))  # what is whole is served


async def test_damage_to_statistics_of_the_planner_costs_no_list(path):
    await damage(path, b"entry_by_revision1000000")
    async with opened(path) as store:
        assert set((await store.entries.whole(ALICE)).entries) == {G1}
        assert await store.faults() != []


def test_file_whose_checksums_cannot_be_verified_is_refused(path, monkeypatch):
    def missing(*_):
        raise apsw.sqlite_extra.NotAvailable

    prepare(path)
    with monkeypatch.context() as patched:
        verifying_vfs.cache_clear()
        patched.setattr(apsw.sqlite_extra, "load", missing)
        with pytest.raises(errors.StoreUnusable, match="binary package"):
            prepare(path)
    content = bytearray(path.read_bytes())
    content[20] ^= 8  # the mark that it has any
    path.write_bytes(content)
    with pytest.raises((errors.StoreUnusable, errors.StoreDamaged)):
        prepare(path)


async def test_check_reports_rows_without_their_account_and_no_damage_if_it_cannot_run(path, store):
    store._runner._scanner.exec_trace = mock.Mock(side_effect=apsw.BusyError("another has it"))
    with pytest.raises(errors.StoreUnavailable) as told:
        await store.faults()
    assert not isinstance(told.value, errors.StoreDamaged)
    store._runner._scanner.exec_trace = None
    await store.entries.change(ALICE, [G1], subscribe)
    apsw.Connection(str(path)).execute("DELETE FROM account")
    missing = "a row of table entry refers to a row that is missing"
    assert await store.faults() == [missing]


@contextmanager
def no_room(beyond_bytes=4_096):
    """Limit the size of the files of this process, as on a full disk (setrlimit(2))."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (beyond_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextmanager
def read_only(monkeypatch):
    """Make opening a file for writing fail, as on a disk that is mounted read-only."""
    open_before = os.open

    def opened(path, flags, mode=0o777):
        if flags & (os.O_RDWR | os.O_CREAT):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)
        return open_before(path, flags, mode)

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", opened)
        error = apsw.CantOpenError("unable to open database file")
        patched.setattr("feedkeep.store.sqlite.reading.connect", mock.Mock(side_effect=error))
        yield


@pytest.mark.parametrize("how", ["full", "read-only"])
async def test_store_on_a_disk_that_takes_no_writes_is_still_read(path, how, monkeypatch):
    await fill(path)
    with no_room() if how == "full" else read_only(monkeypatch):
        store = await SqliteStore.open(path, wall_clock.now)
        for _ in range(2):  # the second time it is not even tried
            with pytest.raises(errors.StoreReadOnly):
                await store.entries.change(ALICE, [G1], subscribe)
        with pytest.raises(errors.StoreReadOnly):
            await store.assert_ready()
        assert await store.entries.view(ALICE, G1) is not None
        assert len((await store.entries.whole(ALICE)).entries) == 1
        async with store.archive() as archive:
            assert await archive.count() > 0
        monkeypatch.setattr(store._runner, "_next_try", 0.0)
        with pytest.raises(errors.StoreReadOnly):
            await store.assert_ready()
        assert await store.entries.view(ALICE, G1) is not None
    monkeypatch.setattr(store._runner, "_next_try", 0.0)
    await store.assert_ready()
    await store.entries.change(ALICE, [G1], subscribe)
    assert (await store.entries.whole(ALICE)).last_stamp == 2
    await store.close()
    assert not list(path.parent.glob("*.db-*"))


async def test_file_with_a_log_is_opened_read_and_closed_on_a_full_disk(path, tmp_path):
    """A process that was killed left the log, and what is in it has no room in the file."""

    def subscribe_by_a_long_url(snapshot):
        decision = subscribe(snapshot)
        [entry] = decision.saved
        long = replace(entry, feed_url=f"https://a.example/{'x' * 20_000}")
        return replace(decision, saved=[long])

    left = tmp_path / "left" / path.name
    left.parent.mkdir()
    async with opened(path) as store:
        await store.entries.change(ALICE, [G1], subscribe_by_a_long_url)
        for file in path.parent.glob(f"{path.name}*"):
            shutil.copy(file, left.parent / file.name)
    with no_room(left.stat().st_size):
        async with opened(left) as store:
            await store.entries.change(ALICE, [G1], subscribe)  # for which the log has room
    async with opened(left) as store:
        assert (await store.entries.whole(ALICE)).last_stamp == 2
    assert not list(left.parent.glob("*.db-*"))


@pytest.mark.parametrize("name", ["rebuilt", "filled", "indexed"])
async def test_migration_on_a_full_disk_changes_nothing_and_is_done_later(path, name, monkeypatch):
    await filled(path, 1, 500)
    monkeypatch.setattr(migrate, "migrations", with_further(name))
    with no_room(40_000), pytest.raises(errors.StoreUnavailable):
        prepare(path)
    with closing(connect(path, 1)) as opened:
        assert opened.pragma("user_version") == newest_version("sqlite") - 1
        assert opened.execute("SELECT count(*) FROM entry").get == 500
    assert prepare(path) == newest_version("sqlite") - 1
    assert prepare(path) == newest_version("sqlite")


@pytest.mark.parametrize(
    "error", [OSError(errno.EMFILE, "Too many open files"), RuntimeError("can't start new thread")]
)
async def test_store_reads_on_if_the_system_lacks_what_it_writes_with(path, error, monkeypatch):
    await fill(path)
    with no_room():
        store = await SqliteStore.open(path, wall_clock.now)
    with monkeypatch.context() as patched:
        patched.setattr(runner, "Checkpoints", mock.Mock(side_effect=error))
        with pytest.raises(errors.StoreReadOnly):
            await store.entries.change(ALICE, [G1], subscribe)
        assert await store.entries.view(ALICE, G1) is not None
        assert len((await store.entries.whole(ALICE)).entries) == 1
    monkeypatch.setattr(store._runner, "_next_try", 0.0)
    await store.entries.change(ALICE, [G1], subscribe)
    await store.close()


async def test_file_that_cannot_be_read_whole_without_a_write_is_refused(path, monkeypatch):
    await fill(path)
    log = path.with_name(f"{path.name}-wal")
    log.write_bytes(b"commits that only a read-only disk has")
    with read_only(monkeypatch), pytest.raises(errors.StoreUnusable, match="Read-only file system"):
        await SqliteStore.open(path, wall_clock.now)
    log.unlink()
    with closing(connect(path, 1)) as opened:
        opened.pragma("user_version", newest_version("sqlite") - 1)
    with no_room(), pytest.raises(errors.StoreUnavailable):
        await SqliteStore.open(path, wall_clock.now)


async def test_place_that_is_no_file_or_not_permitted_is_refused(path, monkeypatch):
    with pytest.raises(errors.StoreUnusable, match="Is a directory"):
        prepare(path.parent)
    error = PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    monkeypatch.setattr(os, "open", mock.Mock(side_effect=error))
    with pytest.raises(errors.StoreUnusable, match="Permission denied"):
        await SqliteStore.open(path, wall_clock.now)


def test_page_of_plays_reads_no_more_than_it_lists():
    """Of both states there are thousands, all at one second."""
    steps = []
    with closing(apsw.Connection(":memory:")) as connection:
        for statement in migrate.migrations("sqlite")[0].statements:
            connection.execute(statement)
        connection.execute("""
            WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 9000)
            INSERT INTO episode_action SELECT 7, CAST(printf('%016d', n) AS BLOB), zeroblob(10),
                zeroblob(16), 'p', 'e', '', 'play', 7, 0, 30 + n % 2, 61, NULL, n, 8000000, '', 0
            FROM s
        """)
        connection.trace_v2(
            apsw.SQLITE_TRACE_PROFILE,
            lambda event: steps.append(event["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"]),
        )
        for state in ((True, True), (True, False), (False, True)):
            for start in ((2**63 - 1, 2**63 - 1), (7, 6_000)):
                wanted = (7, *start, *state, 10)
                found = connection.execute(sqlite_form(NEWEST_PLAYS), wanted).fetchall()
                assert len(found) == 10
    assert len(steps) == 6
    assert min(steps) > 0
    assert max(steps) < 3_000
