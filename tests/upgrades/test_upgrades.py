"""A newer program migrates what this one wrote, and nothing in it is lost.

No version is released yet: the newer program is this one with made-up migrations
(`proofs/further_steps.py`).
"""

from contextlib import closing
from pathlib import Path

import pytest
from feedkeep_process import FeedkeepProcess
from further_steps import EACH, with_further
from library import library
from postgres_server import drop_database, execute, new_database

from feedkeep.assembly import open_store
from feedkeep.config.settings import Settings, is_postgres
from feedkeep.model.errors import StoreUnusable
from feedkeep.store import migrate
from feedkeep.store.migrate import newest_version
from feedkeep.store.sqlite import connection

NAME = "Ünïcode"
FEED = "https://feed.example/1"
ENTRIES = 10_000

FORMER_BUILDS = {
    "sqlite": [*range(1, 17), *range(101, 105)],
    "postgres": [*range(1, 15), *range(101, 105)],
}
"""Versions of the schema that builds before 1.0 wrote, marked as feedkeep's in the same way."""


@pytest.fixture(params=["sqlite", "postgres"])
def kind(request):
    return request.param


@pytest.fixture
def new(kind, tmp_path, request):
    """Returns the URL of a new, empty database of a kind each time."""
    made = []

    def new():
        if kind == "sqlite":
            url = f"sqlite:///{tmp_path / f'{len(made)}.db'}"
        else:
            url = new_database(request.getfixturevalue("postgres"))
        made.append(url)
        return url

    yield new
    for url in filter(is_postgres, made):
        drop_database(request.getfixturevalue("postgres"), url)


@pytest.fixture
def database(new):
    return new()


def with_a_list(folder, database=""):
    process = FeedkeepProcess(folder, database)
    process.must("account", "create", NAME, stdin="")
    process.must("import", NAME, "-", stdin=FEED)
    return process


def newer_program(folder, database=""):
    (folder / "newer").mkdir()
    process = FeedkeepProcess(folder / "newer", database)
    process.run_first("a_version_with_no_way_on")
    return process


def path_of(database):
    return Path(database.removeprefix("sqlite:///"))


async def fill(database, entries):
    store = await open_store(Settings(database=database))
    await store.fill(library(1, entries))
    await store.close()


async def content_of(database):
    """Open a database, which migrates it; return all that it holds."""
    store = await open_store(Settings(database=database))
    async with store.archive() as archive:
        found = [record async for some in archive.records() for record in some]
    await store.close()
    return found


def version_of(database):
    if is_postgres(database):
        return execute(database, "SELECT version FROM feedkeep.schema_version")
    with closing(connection.open_file(path_of(database))) as file:
        return file.pragma("user_version")


def assert_is_subscribed_to(process, *feeds):
    assert "is intact" in process.must("check")
    assert process.must("export", NAME, "--format", "urls").split() == list(feeds)


async def test_each_migration_keeps_all_that_a_database_holds(kind, database, monkeypatch):
    await fill(database, 20)
    before = await content_of(database)
    for number, _ in enumerate(EACH, 1):
        monkeypatch.setattr(migrate, "migrations", with_further(*EACH[:number]))
        assert await content_of(database) == before
        assert version_of(database) == newest_version(kind)


async def test_migrations_take_work_in_proportion_to_a_list_with_moves(kind, new, monkeypatch):
    """A rebuild without an index of the feeds that moved once took a minute for such a list."""
    work = []
    for entries in (ENTRIES, ENTRIES // 10):
        database = new()
        await fill(database, entries)
        with monkeypatch.context() as newer:
            newer.setattr(migrate, "migrations", with_further(*EACH))
            if kind == "postgres":
                work.append(await rows_read_by_migrating(database))
            else:
                work.append(steps_of_migrating(path_of(database), newer))
    assert work[0] < 15 * work[1]


def steps_of_migrating(path, patched):
    """Migrate a file; return how many steps SQLite takes, and 100,000 more."""
    steps, open_file = 100_000, connection.open_file

    def count():
        nonlocal steps
        steps += 1_000
        return False

    def open_counting(*arguments, **more):
        file = open_file(*arguments, **more)
        file.set_progress_handler(count, 1_000)
        return file

    patched.setattr(connection, "open_file", open_counting)
    connection.prepare(path)
    return steps


async def rows_read_by_migrating(database):
    """Migrate a database; return how many rows PostgreSQL reads, and 1,000 more."""
    execute(database, "SELECT pg_stat_reset()")
    await (await open_store(Settings(database=database))).close()
    read = "sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::bigint"
    return execute(database, f"SELECT {read} FROM pg_stat_user_tables") + 1_000


def test_a_newer_program_says_what_will_change_and_goes_on_with_an_older_list(database, tmp_path):
    older, newer = with_a_list(tmp_path, database), newer_program(tmp_path, database)
    first, *steps, _, last = newer.must("migrate", "--dry-run").splitlines()
    assert " has schema version " in first
    assert steps == [
        "rebuilt.sql: A rebuild of the table of entries.",
        "added.sql: Columns with defaults, and a table.",
        "filled.sql: A column that is filled in each entry and account.",
        "indexed.sql: An index of entries by URL.",
    ]
    assert last == "Stop all older processes first: they cannot use the new schema."
    newer.environment["FEEDKEEP_PORT"] = "0"
    assert "note  database: " in newer.must("doctor")
    assert_is_subscribed_to(older, FEED)  # nothing has changed
    newer.must("migrate")
    shown = newer.must("migrate", "--dry-run")
    assert shown.endswith(" is up to date; there is nothing to change.\n")
    assert_is_subscribed_to(newer, FEED)
    newer.must("import", NAME, "-", stdin=f"{FEED}/more")
    assert_is_subscribed_to(newer, FEED, f"{FEED}/more")


def test_a_dry_run_makes_no_database(kind, database, tmp_path):
    process = FeedkeepProcess(tmp_path, database)
    for _ in range(2):
        done = process.run("migrate", "--dry-run")
        if kind == "postgres":
            assert (done.returncode, "has no tables yet" in done.stdout) == (0, True)
        else:
            assert (done.returncode, database in done.stderr) == (1, True)
    assert list(tmp_path.glob("*.db*")) == []


def test_an_older_backup_is_restored_whole_or_in_part(tmp_path):
    backup = str(tmp_path / "backup.db")
    with_a_list(tmp_path).must("backup", backup)
    newer = newer_program(tmp_path)
    newer.must("restore", backup)
    assert_is_subscribed_to(newer, FEED)
    newer.must("account", "delete", NAME, "--yes")
    newer.must("account", "create", NAME, stdin="")
    newer.must("restore-list", NAME, "--from", backup, "--yes")
    assert_is_subscribed_to(newer, FEED)


async def test_a_database_of_each_former_build_is_refused_and_left_alone(kind, database):
    await fill(database, 5)
    for number in FORMER_BUILDS[kind]:
        set_version(database, number)
        with pytest.raises(StoreUnusable, match=rf"before 1\.0 \(schema version {number}\)"):
            await content_of(database)
        assert version_of(database) == number


async def test_each_command_says_what_to_take_along_of_a_former_build(kind, database, tmp_path):
    await fill(database, 5)
    set_version(database, 9)
    process = FeedkeepProcess(tmp_path, database)
    commands = [["serve", "--port", "0"], ["migrate"], ["migrate", "--dry-run"], ["list", NAME]]
    if kind == "sqlite":
        commands.append(["backup", str(tmp_path / "backup.db")])
    for command in commands:
        assert_refused(process, *command)
    assert_says_what_to_do(process.run("doctor").stdout)


async def test_a_backup_of_a_former_build_is_not_restored(tmp_path):
    former = tmp_path / "former.db"
    await fill(f"sqlite:///{former}", 5)
    set_version(f"sqlite:///{former}", 16)
    process = FeedkeepProcess(tmp_path)
    assert_refused(process, "restore", str(former))
    assert not (tmp_path / "feedkeep.db").exists()
    process.must("account", "create", NAME, stdin="")
    assert_refused(process, "restore-list", NAME, "--from", str(former), "--yes")


def assert_refused(process, *command):
    done = process.run(*command)
    assert done.returncode == 1, command
    assert_says_what_to_do(done.stderr)


def assert_says_what_to_do(printed):
    assert "made by a build before 1.0" in printed
    assert " export NAME --output NAME.opml`" in printed
    assert "Positions, tokens, passwords and history cannot be taken along." in printed
    assert "Traceback" not in printed


def set_version(database, number):
    """Mark a database as a former build did; on PostgreSQL, the first ones lacked a column."""
    if is_postgres(database):
        table = "feedkeep.schema_version"
        execute(database, f"UPDATE {table} SET version = {number}")
        execute(database, f"ALTER TABLE {table} DROP COLUMN IF EXISTS compatible_from")
        return
    with closing(connection.open_file(path_of(database))) as file:
        file.pragma("user_version", number)
