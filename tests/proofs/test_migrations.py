"""A migration may be killed at any statement; the next start finishes it."""

import shutil
import signal
from contextlib import closing
from itertools import count

import pytest
from feedkeep_process import FeedkeepProcess
from forms import first_of
from postgres_server import PostgresServer, execute, new_database, of_database

from feedkeep.store.sqlite.connection import open_file

NEWER = "a_version_with_no_way_on"
NAME, FEED = "alice", "https://feed.example/1"
FEEDS, STATISTICS = "SELECT feed_url FROM entry", "SELECT * FROM sqlite_stat1"
_numbers = count()


class OnSqlite:
    """Databases of the version before, with a list if they are filled: one after the other."""

    def __init__(self, folder, older):
        self._folder, self._older = folder, older

    def new(self):
        for file in self._folder.glob("*feedkeep.db*"):  # also its lock, which says if it was made
            file.unlink()
        for file in self._older.folder.glob("feedkeep.db"):
            shutil.copy(file, self._folder)
        return FeedkeepProcess(self._folder)

    def content(self, process):
        """Return the schema, and the feeds."""
        with closing(open_file(process.folder / "feedkeep.db")) as opened:
            names = ("user_version", "application_id", "journal_mode", "checksum_verification")
            tables = opened.execute("SELECT type, name, sql FROM sqlite_schema").fetchall()
            rows = [opened.execute(query).fetchall() for query in (FEEDS, STATISTICS)]
            return [opened.pragma(name) for name in names], tables, rows


class OnPostgres(OnSqlite):
    def __init__(self, folder, older, server):
        super().__init__(folder, older)
        self._server = server

    def new(self):
        name, older = f"copy{next(_numbers)}", self._older.database.rpartition("/")[2]
        execute(self._server.url, f"CREATE DATABASE {name} TEMPLATE {older}")
        return FeedkeepProcess(self._folder, of_database(self._server.url, name))

    def content(self, process):
        feeds = execute(process.database, FEEDS.replace("entry", "feedkeep.entry"))
        return self._server.schema(process.database), feeds


def wrong_ends(databases, step, *programs):
    """Kill at every `step`-th statement; say when the next start does not end as a fresh one."""

    def new():
        process = databases.new()
        process.run_first(NEWER, *programs)
        return process

    fresh = new()
    fresh.must("migrate")
    right = databases.content(fresh)
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
        if again.returncode or databases.content(process) != right:
            return [f"killed at statement {at}: {again.stderr}"]
    raise AssertionError("it never ended")


@pytest.fixture(scope="module")
def server():
    with PostgresServer() as server:
        yield server


@pytest.mark.parametrize("is_filled", [False, True], ids=["nothing", "an older list"])
@pytest.mark.parametrize("is_broken", first_of(False, True))
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_database_is_migrated_after_a_kill(tmp_path, request, amount, kind, is_broken, is_filled):
    (tmp_path / "older").mkdir()
    server = request.getfixturevalue("server") if kind == "postgres" else None
    older = FeedkeepProcess(tmp_path / "older", server and new_database(server.url))
    if is_filled:
        older.must("account", "create", NAME, stdin="")
        older.must("import", NAME, "-", stdin=FEED)
    databases = OnPostgres(tmp_path, older, server) if server else OnSqlite(tmp_path, older)
    broken = [f"steps_of_{kind}_are_not_whole"] if is_broken else []
    wrong = wrong_ends(databases, amount(40, 1, 14), f"killed_at_a_statement_of_{kind}", *broken)
    assert (wrong != []) is is_broken
