"""A migration may be killed at any statement; the next start finishes it."""

import shutil
import signal
from collections.abc import Callable
from contextlib import closing

import pytest
from feedkeep_process import FeedkeepProcess
from forms import in_the_long_form
from postgres_server import PostgresServer, new_database

from feedkeep.store.sqlite.connection import open_file

BROKEN_SQLITE, BROKEN_POSTGRES = (
    [([], True), pytest.param([broken], False, marks=in_the_long_form)]
    for broken in ("steps_of_sqlite_are_not_whole", "steps_of_postgres_are_not_whole")
)
NEWER = "a_version_with_no_way_on"
NAME, FEED = "alice", "https://feed.example/1"

NewDatabase = Callable[[], FeedkeepProcess]


def fill(process):
    """Make a database of the version before, with a list."""
    process.must("account", "create", NAME, stdin="")
    process.must("import", NAME, "-", stdin=FEED)


def schema_of_sqlite(process):
    with closing(open_file(process.folder / "feedkeep.db")) as opened:
        names = ("user_version", "application_id", "journal_mode", "checksum_verification")
        pragmas = [opened.pragma(name) for name in names]
        tables = opened.execute("SELECT type, name, sql FROM sqlite_schema").fetchall()
        return pragmas, tables, opened.execute("SELECT * FROM sqlite_stat1").fetchall()


def wrong_ends(new, schema_of, step):
    """Kill at every `step`-th statement; say when the next start does not end as a fresh one.

    With a database of the version before, that has its list, too.
    """
    fresh = new()
    fresh.must("migrate")
    right, feeds = schema_of(fresh), feeds_of(fresh)
    for at in range(1, 1_000, step):
        process = new()
        process.environment["KILL_AT"] = str(at)
        killed = process.run("migrate")
        process.environment["KILL_AT"] = "0"
        if killed.returncode == 0:
            assert at > 8
            return []
        assert killed.returncode == -signal.SIGKILL, killed
        again = process.run("migrate")
        if again.returncode or (schema_of(process), feeds_of(process)) != (right, feeds):
            return [f"killed at statement {at}: {again.stderr}"]
    raise AssertionError("it never ended")


def feeds_of(process):
    return process.run("export", NAME, "--format", "urls").stdout


@pytest.mark.parametrize("is_filled", [False, True], ids=["a new file", "an older list"])
@pytest.mark.parametrize(("broken", "is_right"), BROKEN_SQLITE)
def test_a_sqlite_file_is_migrated_after_a_kill(tmp_path, amount, broken, is_right, is_filled):
    process = FeedkeepProcess(tmp_path)
    if is_filled:
        (tmp_path / "older").mkdir()
        fill(FeedkeepProcess(tmp_path / "older"))
    process.run_first(NEWER, "killed_at_a_statement_of_sqlite", *broken)

    def new():
        for file in tmp_path.glob("*feedkeep.db*"):  # also its lock, which says if it was made
            file.unlink()
        if is_filled:
            shutil.copy(tmp_path / "older" / "feedkeep.db", tmp_path)
        return process

    assert (wrong_ends(new, schema_of_sqlite, amount(40, 1, 14)) == []) is is_right


@pytest.mark.parametrize("is_filled", [False, True], ids=["an empty database", "an older list"])
@pytest.mark.parametrize(("broken", "is_right"), BROKEN_POSTGRES)
def test_a_postgres_database_is_migrated_after_a_kill(amount, broken, is_right, is_filled):
    with PostgresServer() as server:

        def new():
            database = new_database(server.url)
            if is_filled:
                fill(FeedkeepProcess(server.folder, database))
            process = FeedkeepProcess(server.folder, database)
            process.run_first(NEWER, "killed_at_a_statement_of_postgres", *broken)
            return process

        def schema_of(process):
            return server.schema(process.database)

        assert (wrong_ends(new, schema_of, amount(40, 1, 14)) == []) is is_right
