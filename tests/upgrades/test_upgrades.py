"""A newer program migrates what this one wrote, and nothing in it is lost.

No version is released yet: the newer program is this one with made-up migrations
(`proofs/further_steps.py`).
"""

import asyncio
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
ENTRIES = 20_000

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
    for url in made:
        if kind == "postgres":
            drop_database(request.getfixturevalue("postgres"), url)


@pytest.fixture
def database(new):
    return new()


@pytest.fixture
def older(database, tmp_path):
    """This program's commands, on a database with a list."""
    process = FeedkeepProcess(tmp_path, database)
    process.must("account", "create", NAME, stdin="")
    process.must("import", NAME, "-", stdin=FEED)
    return process


@pytest.fixture
def newer(older, tmp_path):
    """A newer program's commands, on the same database."""
    (tmp_path / "newer").mkdir()
    process = FeedkeepProcess(tmp_path / "newer", older.database)
    process.run_first("a_version_with_no_way_on")
    return process


def path_of(database):
    return Path(database.removeprefix("sqlite:///"))


def fill(database, entries):
    async def go():
        store = await open_store(Settings(database=database))
        await store.fill(library(1, entries))
        await store.close()

    asyncio.run(go())


def opened(database):
    """Open a database, which migrates it; return all that it holds."""

    async def go():
        store = await open_store(Settings(database=database))
        async with store.archive() as archive:
            found = [record async for some in archive.records() for record in some]
        await store.close()
        return found

    return asyncio.run(go())


def version_of(database):
    if is_postgres(database):
        return execute(database, "SELECT version FROM feedkeep.schema_version")
    with closing(connection.open_file(path_of(database))) as file:
        return file.pragma("user_version")


def is_subscribed_to(process, *feeds):
    assert "is intact" in process.must("check")
    return process.must("export", NAME, "--format", "urls").split() == list(feeds)


@pytest.mark.parametrize("steps", [*((name,) for name in EACH), EACH], ids="-".join)
def test_a_migration_keeps_all_that_a_database_holds(kind, database, steps, monkeypatch):
    fill(database, 20)
    before = opened(database)
    monkeypatch.setattr(migrate, "migrations", with_further(*steps))
    assert opened(database) == before
    assert version_of(database) == newest_version(kind)


@pytest.mark.parametrize("name", EACH)
def test_a_migration_takes_work_in_proportion_to_a_list_with_moves(kind, new, name, monkeypatch):
    """A rebuild without an index of the feeds that moved once took a minute for such a list."""

    def work(entries):
        database = new()
        fill(database, entries)
        with monkeypatch.context() as newer:
            newer.setattr(migrate, "migrations", with_further(name))
            if kind == "postgres":
                return rows_read_by_migrating(database)
            return steps_of_migrating(path_of(database), newer)

    assert work(ENTRIES) < 15 * work(ENTRIES // 10)


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


def rows_read_by_migrating(database):
    """Migrate a database; return how many rows PostgreSQL reads, and 1,000 more."""

    async def go():
        await (await open_store(Settings(database=database))).close()

    execute(database, "SELECT pg_stat_reset()")
    asyncio.run(go())
    read = execute(
        database,
        "SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::bigint FROM pg_stat_user_tables",
    )
    return read + 1_000


def test_a_newer_program_goes_on_with_an_older_list(older, newer):
    newer.must("migrate")
    assert is_subscribed_to(newer, FEED)
    newer.must("import", NAME, "-", stdin=f"{FEED}/more")
    assert is_subscribed_to(newer, FEED, f"{FEED}/more")


def test_a_dry_run_says_what_will_change_and_changes_nothing(older, newer):
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
    assert is_subscribed_to(older, FEED)
    newer.must("migrate")
    shown = newer.must("migrate", "--dry-run")
    assert shown.endswith(" is up to date; there is nothing to change.\n")


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
    older = FeedkeepProcess(tmp_path)
    older.must("account", "create", NAME, stdin="")
    older.must("import", NAME, "-", stdin=FEED)
    backup = str(tmp_path / "backup.db")
    older.must("backup", backup)
    (tmp_path / "newer").mkdir()
    newer = FeedkeepProcess(tmp_path / "newer")
    newer.run_first("a_version_with_no_way_on")
    newer.must("restore", backup)
    assert is_subscribed_to(newer, FEED)
    newer.must("account", "delete", NAME, "--yes")
    newer.must("account", "create", NAME, stdin="")
    newer.must("restore-list", NAME, "--from", backup, "--yes")
    assert is_subscribed_to(newer, FEED)


# What builds before 1.0 wrote


def test_a_database_of_each_former_build_is_refused_and_left_alone(kind, database):
    fill(database, 5)
    for number in FORMER_BUILDS[kind]:
        set_version(database, number)
        with pytest.raises(StoreUnusable, match=rf"before 1\.0 \(schema version {number}\)"):
            opened(database)
        assert version_of(database) == number


def test_each_command_says_what_can_be_taken_along_from_a_former_build(kind, database, tmp_path):
    fill(database, 5)
    set_version(database, 9)
    process = FeedkeepProcess(tmp_path, database)
    commands = [["serve", "--port", "0"], ["migrate"], ["migrate", "--dry-run"], ["list", NAME]]
    if kind == "sqlite":
        commands.append(["backup", str(tmp_path / "backup.db")])
    for command in commands:
        done = process.run(*command)
        assert done.returncode == 1, command
        assert_says_what_to_do(done.stderr)
    assert_says_what_to_do(process.run("doctor").stdout)


def test_a_backup_of_a_former_build_is_not_restored(tmp_path):
    former = tmp_path / "former.db"
    fill(f"sqlite:///{former}", 5)
    set_version(f"sqlite:///{former}", 16)
    process = FeedkeepProcess(tmp_path)
    done = process.run("restore", str(former))
    assert done.returncode == 1
    assert_says_what_to_do(done.stderr)
    assert not (tmp_path / "feedkeep.db").exists()
    process.must("account", "create", NAME, stdin="")
    done = process.run("restore-list", NAME, "--from", str(former), "--yes")
    assert done.returncode == 1
    assert_says_what_to_do(done.stderr)


def assert_says_what_to_do(printed):
    assert "made by a build before 1.0" in printed
    assert " export NAME --output NAME.opml`" in printed
    assert "Positions, tokens, passwords and history cannot be taken along." in printed
    assert "Traceback" not in printed


def set_version(database, number):
    """Mark a database as a former build did; on PostgreSQL, the first ones lacked a column."""
    if is_postgres(database):
        for statement in (
            f"UPDATE feedkeep.schema_version SET version = {number}",
            "ALTER TABLE feedkeep.schema_version DROP COLUMN IF EXISTS compatible_from",
        ):
            execute(database, statement)
        return
    with closing(connection.open_file(path_of(database))) as file:
        file.pragma("user_version", number)
