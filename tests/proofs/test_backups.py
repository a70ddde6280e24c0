"""A backup that is made while many write holds all that was acknowledged before it began."""

import asyncio
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from feedkeep_process import FeedkeepProcess
from forms import in_the_long_form
from postgres_server import PostgresServer, new_database
from raw_client import RawClient
from whole_store import damages_of

from feedkeep.model import AccountId
from feedkeep.model.errors import FeedkeepError
from feedkeep.service import Service

WRITERS = 16
PAUSE_SECONDS = 0.05

BackUp = Callable[[FeedkeepProcess, int], "FeedkeepProcess"]
"""Backs a service's database up, restores that, and returns what uses the restored one."""


async def run(process: FeedkeepProcess, *command: str | Path) -> None:
    done = await asyncio.create_subprocess_exec(
        *map(str, command), env=process.environment, stderr=asyncio.subprocess.PIPE
    )
    _, told = await done.communicate()
    assert done.returncode == 0, told.decode()


class Drill:
    """Writes to a service, and looks at one backup after the other."""

    def __init__(self, process: FeedkeepProcess) -> None:
        self._process = process
        self._name = process.new_account()
        self._token = process.new_token(self._name)
        self._acknowledged: set[str] = set()
        self._first = asyncio.Event()

    async def wrong_backups(self, times: int, back_up: Callable) -> list[str]:
        is_over = asyncio.Event()
        writing = [asyncio.create_task(self._write(number, is_over)) for number in range(WRITERS)]
        wrong: list[str] = []
        await self._first.wait()
        for number in range(times):
            await asyncio.sleep(0.1)
            before = self._acknowledged.copy()
            restored = await back_up(self._process, number)
            wrong += await asyncio.to_thread(self._missing, restored, before)
        is_over.set()
        await asyncio.gather(*writing)
        return wrong

    async def _write(self, writer: int, is_over: asyncio.Event) -> None:
        async with RawClient(self._process.base_url, self._token) as client:
            number = 0
            while not is_over.is_set():
                number += 1
                url = f"https://{writer}.example/{number}"
                items = {"subscriptions": [{"feed_url": url}]}
                answer = await client.ask("POST", "/subscriptions", items)
                assert answer.status == 200, answer
                self._acknowledged.add(url)
                self._first.set()
                await asyncio.sleep(PAUSE_SECONDS)

    def _missing(self, restored: FeedkeepProcess, before: set[str]) -> list[str]:
        async def look(service: Service) -> list[str]:
            account = await service.accounts.named(self._name)
            kept = {
                s.feed_url for s in await service.subscriptions.subscribed(AccountId(account.id))
            }
            faults = await damages_of(service)
            return faults + [f"{url} is missing" for url in before - kept]

        return restored.use(look)


async def with_backup(process: FeedkeepProcess, number: int) -> FeedkeepProcess:
    file = process.folder / f"{number}.backup"
    await asyncio.to_thread(process.must, "backup", str(file))
    database = f"sqlite:///{process.folder / 'restored.db'}"
    (process.folder / "restored.db").unlink(missing_ok=True)
    await asyncio.to_thread(process.must, "restore", str(file), "--database", database)
    file.unlink()
    return FeedkeepProcess(process.folder, database)


async def with_cp(process: FeedkeepProcess, _number: int) -> FeedkeepProcess:
    copied = process.folder / "copied.db"
    shutil.copyfile(process.folder / "feedkeep.db", copied)
    return FeedkeepProcess(process.folder, f"sqlite:///{copied}")


def test_backups_of_sqlite_hold_all_that_was_acknowledged(start, amount):
    drill = Drill(start("sqlite, 2 workers"))
    assert asyncio.run(drill.wrong_backups(amount(2, 100, 5), with_backup)) == []


@in_the_long_form
def test_the_proof_notices_a_copy_of_the_file_alone(start):
    drill = Drill(start("sqlite"))
    try:
        wrong = asyncio.run(drill.wrong_backups(5, with_cp))
    except FeedkeepError as error:  # not even an account, or a damaged file
        wrong = [str(error)]
    assert wrong != []


@contextmanager
def postgres_service() -> Iterator[tuple[PostgresServer, FeedkeepProcess]]:
    with PostgresServer() as server:
        database = new_database(server.url)
        with FeedkeepProcess(server.folder, database, workers="2") as process:
            yield server, process


def test_the_drill_with_pg_dump_holds_all_that_was_acknowledged(amount):
    with postgres_service() as (server, process):

        async def with_pg_dump(_process, number):
            file = process.folder / f"{number}.dump"
            restored = await asyncio.to_thread(new_database, server.url)
            programs = server.programs
            await run(process, programs / "pg_dump", "--format=custom", "--schema=feedkeep",
                      f"--file={file}", process.database)  # fmt: skip
            await run(process, programs / "pg_restore", f"--dbname={restored}", file)
            told = ("database", "restored", "--database", restored)
            await asyncio.to_thread(process.must, *told)
            return FeedkeepProcess(process.folder, restored)

        drill = Drill(process)
        assert asyncio.run(drill.wrong_backups(amount(1, 10, 2), with_pg_dump)) == []
