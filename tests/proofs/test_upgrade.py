"""A newer version changes the schema while processes of the older one go on serving.

The newer one is this program with one more step of its schema (`broken/a_newer_version.py`).
"""

import asyncio
import os
import signal
from functools import partial

import pytest
from feedkeep_process import DidNotStart, FeedkeepProcess
from forms import in_the_long_form
from postgres_server import drop_database, execute, new_database, with_connection
from test_fuzz import PASSWORD, is_whole, requests, requests_of_pages

from feedkeep.store.migrate import newest_version
from feedkeep.store.postgres.connections import LOCK_SECONDS

CLIENTS = 4
ROUNDS = 3
PATIENCE_SECONDS = 20
REFUSED = b"HTTP/1.1 5"


@pytest.fixture
def database(postgres):
    url = new_database(postgres)
    yield url
    drop_database(postgres, url)


@pytest.fixture
def older(tmp_path, database):
    with FeedkeepProcess(in_a_folder(tmp_path, "older"), database, workers="2") as process:
        process.wait_for_workers(2)
        yield process


@pytest.fixture
def newer(tmp_path, database):
    process = FeedkeepProcess(in_a_folder(tmp_path, "newer"), database, workers="2")
    process.run_first("a_newer_version")
    return process


def in_a_folder(folder, name):
    (folder / name).mkdir()
    return folder / name


class Everything:
    """Clients that ask for everything that there is, again and again, each with an account.

    Attributes:
        rounds: How often each of them has asked for all of it.
        wrong: The server errors that they got.
    """

    def __init__(self, process):
        host, port = process.base_url.removeprefix("http://").split(":")
        self._address = host, int(port)
        self._asked = []
        self.rounds = [0] * CLIENTS
        self.wrong = []
        for _ in range(CLIENTS):
            name = process.new_account(PASSWORD)
            token = process.new_token(name)
            session = process.use(
                lambda service, name=name: service.page_sessions.sign_in(name, PASSWORD, "", "")
            ).text
            self._asked.append([*requests(token, name), *requests_of_pages(session)])

    async def ask(self, number, is_over):
        while not is_over.is_set():
            for request in self._asked[number]:
                if b"/account/delete" in request or b"logout" in request:
                    continue
                reply = await answer(self._address, request)
                if reply.startswith(REFUSED) or not reply:
                    self.wrong.append(request + b"\n" + reply)
            self.rounds[number] += 1

    async def until_more(self):
        """Wait until each client has asked for everything some more times."""
        enough = [count + ROUNDS for count in self.rounds]
        async with asyncio.timeout(120):
            while any(  # noqa: ASYNC110 - all of them tell
                have < want for have, want in zip(self.rounds, enough, strict=True)
            ):
                await asyncio.sleep(0.02)


async def answer(address, request):
    """Return what a request gets: nothing if there is no whole reply in `PATIENCE_SECONDS`."""
    reader, writer = await asyncio.open_connection(*address)
    got = b""
    try:
        writer.write(request)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not is_whole(got) and (piece := await reader.read(65_536)):
                got += piece
    except TimeoutError:
        return b""
    finally:
        writer.transport.abort()
    return got


def during(asked, upgrade):
    """Ask for everything before, during and after an upgrade; return what was wrong."""

    async def go():
        is_over = asyncio.Event()
        asking = [
            asyncio.create_task(one.ask(number, is_over))
            for one in asked
            for number in range(CLIENTS)
        ]
        for one in asked:
            await one.until_more()
        await asyncio.to_thread(upgrade)
        for one in asked:
            await one.until_more()
        is_over.set()
        await asyncio.gather(*asking)

    asyncio.run(go())
    return [wrong for one in asked for wrong in one.wrong]


def version(database):
    return execute(database, "SELECT version FROM feedkeep.schema_version")


@in_the_long_form
def test_an_older_process_answers_everything_while_a_newer_one_changes_the_schema_beneath_it(
    older, newer, database
):
    def upgrade():
        newer.start()
        newer.wait_for_workers(2)

    assert during([Everything(older)], upgrade) == []
    assert version(database) == newest_version("postgres") + 1
    both = [Everything(older), Everything(newer)]
    assert during(both, lambda: None) == []
    newer.stop()
    assert newer.run("check").returncode == 0
    assert older.run("check").returncode == 0
    assert "Traceback" not in older.log.read_text() + newer.log.read_text()


def migrate_while_a_client_reads(newer, database, seconds=LOCK_SECONDS + 1):
    """Bring the database up to date while a table is read, as an export or pg_dump does it.

    That goes on for so many seconds once the step waits: longer than a request does.
    """
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
def test_a_change_of_the_schema_waits_between_requests_and_they_do_not_wait_for_it(
    older, newer, database
):
    upgrade = partial(migrate_while_a_client_reads, newer, database)
    assert during([Everything(older)], upgrade) == []
    assert "cannot lock tables for migration; will retry" in newer.log.read_text()
    assert version(database) == newest_version("postgres") + 1


@in_the_long_form
def test_the_proof_notices_a_change_of_the_schema_that_waits_as_long_as_it_takes(
    older, newer, database
):
    newer.run_first("a_newer_version", "steps_wait_for_their_tables")
    # All clients may wait for a read then, which is tried twice: no client waits for so long.
    upgrade = partial(migrate_while_a_client_reads, newer, database, PATIENCE_SECONDS + 6)
    assert during([Everything(older)], upgrade) != []


@in_the_long_form
def test_an_older_process_also_starts_and_replaces_its_workers_beside_a_compatible_newer_one(
    older, newer, database
):
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
def test_beside_one_that_is_not_compatible_an_older_process_goes_on_and_none_starts(
    older, newer, database, tmp_path
):
    everything = Everything(older)
    newer.must("migrate")
    execute(database, "UPDATE feedkeep.schema_version SET compatible_from = version")
    assert during([everything], lambda: None) == []
    another = FeedkeepProcess(in_a_folder(tmp_path, "another"), database)
    with pytest.raises(DidNotStart, match="Install the newer feedkeep"):
        another.start()
    another.wait()
