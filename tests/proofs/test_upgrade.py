"""A newer version changes the schema while processes of the older one go on serving.

The newer one is this program with one more step of its schema (`broken/a_newer_version.py`).
"""

import asyncio
import os
import signal
from functools import partial

import pytest
from feedkeep_process import DidNotStart
from forms import in_the_long_form
from postgres_server import execute, with_connection
from test_fuzz import PASSWORD, answers, is_whole, requests, requests_of_pages, session_of
from waiting import until_so

from feedkeep.store.migrate import newest_version
from feedkeep.store.postgres.connections import LOCK_SECONDS

CLIENTS = 4
ROUNDS = 3
PATIENCE_SECONDS = 20
REFUSED = b"HTTP/1.1 5"
TWO = {"workers": "2", "log_level": "debug"}


@pytest.fixture
def older(database, start):
    return start("postgres", database=database, **TWO)


@pytest.fixture
def newer(database, prepare):
    return prepare("postgres", "a_newer_version", database=database, **TWO)


class Everything:
    """Clients that request every resource, again and again, each with an account."""

    def __init__(self, process):
        host, port = process.base_url.removeprefix("http://").split(":")
        self._address = host, int(port)
        self._asked = []
        self.rounds = [0] * CLIENTS  # how often each of them has asked for all of it
        self.wrong = []  # the server errors that they got
        for _ in range(CLIENTS):
            name = process.new_account(PASSWORD)
            of_pages = requests_of_pages(session_of(process, name))
            asked = [*requests(process.new_token(name), name), *of_pages]
            ends = (b"/account/delete", b"logout")
            self._asked.append([one for one in asked if not any(end in one for end in ends)])

    async def ask(self, number, is_over):
        while not is_over.is_set():
            for request in self._asked[number]:
                reply = await answers(self._address, request, PATIENCE_SECONDS)
                if reply.startswith(REFUSED) or not is_whole(reply):
                    self.wrong.append(request + b"\n" + reply)
            self.rounds[number] += 1

    async def until_more(self):
        for number, count in enumerate(list(self.rounds)):
            enough = count + ROUNDS
            await until_so(lambda n=number, enough=enough: self.rounds[n] >= enough, seconds=120)


def during(upgrade, *asked):
    """Ask for everything before, during and after an upgrade; return what was wrong."""

    async def go():
        is_over = asyncio.Event()
        clients = [one.ask(number, is_over) for one in asked for number in range(CLIENTS)]
        asking = asyncio.gather(*clients)
        for one in asked:
            await one.until_more()
        await asyncio.to_thread(upgrade)
        for one in asked:
            await one.until_more()
        is_over.set()
        await asking

    asyncio.run(go())
    return [wrong for one in asked for wrong in one.wrong]


def version(database):
    return execute(database, "SELECT version FROM feedkeep.schema_version")


@in_the_long_form
def test_an_older_process_answers_everything_during_a_migration(older, newer, database):
    def upgrade():
        newer.start()
        newer.wait_for_workers(2)

    assert during(upgrade, Everything(older)) == []
    assert version(database) == newest_version("postgres") + 1
    assert during(lambda: None, Everything(older), Everything(newer)) == []
    newer.stop()
    assert newer.run("check").returncode == 0
    assert older.run("check").returncode == 0
    assert "Traceback" not in older.log.read_text() + newer.log.read_text()


def migrate_while_a_client_reads(newer, database, seconds=LOCK_SECONDS + 1):
    """Migrate while a table is read for so long once the step waits, as by an export or pg_dump."""
    is_waiting = """
        SELECT count(*) FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock'
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    """

    async def read(connection):
        await connection.execute("BEGIN")
        await connection.fetch("SELECT count(*) FROM feedkeep.entry")
        newer.process = newer._launched("migrate")
        async with asyncio.timeout(60):
            while not await connection.fetchval(is_waiting):  # noqa: ASYNC110 - it has no event
                await asyncio.sleep(0.01)
        await asyncio.sleep(seconds)
        await connection.execute("COMMIT")

    with_connection(database, read)
    assert newer.wait() == 0


@in_the_long_form
def test_a_migration_waits_for_requests_which_do_not_wait_for_it(older, newer, database):
    upgrade = partial(migrate_while_a_client_reads, newer, database)
    assert during(upgrade, Everything(older)) == []
    assert "cannot lock tables for migration; will retry" in newer.log.read_text()
    assert version(database) == newest_version("postgres") + 1


@in_the_long_form
def test_the_proof_notices_a_migration_that_waits_for_long(older, newer, database):
    newer.run_first("a_newer_version", "steps_wait_for_their_tables")
    # All clients may wait for a read then, which is tried twice: no client waits for so long.
    upgrade = partial(migrate_while_a_client_reads, newer, database, PATIENCE_SECONDS + 6)
    assert during(upgrade, Everything(older)) != []


@in_the_long_form
def test_an_older_process_starts_again_beside_a_compatible_one(older, newer, database):
    newer.must("migrate")
    first, _ = older.workers()
    os.kill(first, signal.SIGKILL)
    older.wait_for_line("worker died")
    older.wait_for_workers(2)
    assert first not in older.workers()
    older.stop()
    older.start()
    older.wait_until_ready()
    assert version(database) == newest_version("postgres") + 1


@in_the_long_form
def test_an_older_process_only_goes_on_beside_an_incompatible_one(older, newer, database, prepare):
    everything = Everything(older)
    newer.must("migrate")
    execute(database, "UPDATE feedkeep.schema_version SET compatible_from = version")
    assert during(lambda: None, everything) == []
    another = prepare("postgres", database=database)
    with pytest.raises(DidNotStart, match="Install the newer feedkeep"):
        another.start()
    another.wait()
