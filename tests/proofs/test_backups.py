"""A backup that is made while many write holds all that was acknowledged before it began."""

import asyncio
import shutil

from feedkeep_process import FeedkeepProcess
from forms import IS_FULL, in_the_long_form
from postgres_server import PostgresServer, new_database
from raw_client import RawClient
from waiting import until_so
from whole_store import damages_of
from writers import going_on, kept_of

from feedkeep.model.errors import FeedkeepError

WRITERS = 16
PAUSE_SECONDS = 0.5 if IS_FULL else 0.05  # a hundred backups later, the list is not full yet


async def wrong_backups(process, times, back_up):
    """Write to a service, and look at what `back_up` restored from one backup after the other."""
    name = process.new_account()
    token, acknowledged = process.new_token(name), set()

    async def write(writer, is_over):
        async with RawClient(process.base_url, token) as client:
            number = 0
            while not is_over.is_set():
                number += 1
                url = f"https://{writer}.example/{number}"
                answer = await client.add(url)
                assert (answer.status, answer.body["failure"]) == (200, []), answer
                acknowledged.add(url)
                await asyncio.sleep(PAUSE_SECONDS)

    async def look(service):
        faults = await damages_of(service)
        missing = before - await kept_of(service, name)
        return faults + [f"{url} is missing" for url in missing]

    wrong = []
    async with going_on(write, WRITERS):
        await until_so(lambda: acknowledged)
        for number in range(times):
            await asyncio.sleep(0.1)
            before = acknowledged.copy()
            restored = await back_up(process, number)
            wrong += await asyncio.to_thread(restored.use, look)
    return wrong


async def with_backup(process, number):
    file, restored = process.folder / f"{number}.backup", process.folder / "restored.db"
    database = f"sqlite:///{restored}"
    await asyncio.to_thread(process.must, "backup", str(file))
    restored.unlink(missing_ok=True)
    await asyncio.to_thread(process.must, "restore", str(file), "--database", database)
    file.unlink()
    return FeedkeepProcess(process.folder, database)


async def with_cp(process, _number):
    copied = process.folder / "copied.db"
    shutil.copyfile(process.folder / "feedkeep.db", copied)
    return FeedkeepProcess(process.folder, f"sqlite:///{copied}")


def test_backups_of_sqlite_hold_all_that_was_acknowledged(start, amount):
    process = start("sqlite, 2 workers")
    assert asyncio.run(wrong_backups(process, amount(2, 100, 5), with_backup)) == []


@in_the_long_form
def test_the_proof_notices_a_copy_of_the_file_alone(start):
    try:
        wrong = asyncio.run(wrong_backups(start(), 5, with_cp))
    except FeedkeepError as error:  # not even an account, or a damaged file
        wrong = [str(error)]
    assert wrong != []


def test_the_drill_with_pg_dump_holds_all_that_was_acknowledged(amount):
    with PostgresServer() as server:
        process = FeedkeepProcess(server.folder, new_database(server.url), workers="2")

        async def with_pg_dump(_process, number):
            file, restored = process.folder / f"{number}.dump", new_database(server.url)
            await run(server.programs / "pg_dump", "--format=custom", "--schema=feedkeep",
                      f"--file={file}", process.database)  # fmt: skip
            await run(server.programs / "pg_restore", f"--dbname={restored}", file)
            told = ("database", "restored", "--database", restored)
            await asyncio.to_thread(process.must, *told)
            return FeedkeepProcess(process.folder, restored)

        with process:
            assert asyncio.run(wrong_backups(process, amount(1, 10, 2), with_pg_dump)) == []


async def run(*command):
    done = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE)
    _, told = await done.communicate()
    assert done.returncode == 0, told.decode()
