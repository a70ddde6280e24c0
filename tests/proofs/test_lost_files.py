"""A database file that is deleted, renamed or replaced under the service: nothing is acknowledged.

Clients write, a file is taken away at a random moment, and from then on no request that is sent is
answered as if it had been done. Put back, the file holds all that ever was acknowledged.
"""

import asyncio
import random
import shutil
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path

import httpx
import pytest
from feedkeep_process import FeedkeepProcess
from forms import IS_LONG, in_the_long_form
from raw_client import RawClient
from whole_store import damages_of

from feedkeep.service import Service

WRITERS = 8
IN_TURN = 12
"""So many requests reach both processes, each on a connection of its own."""


def deleted(file: Path) -> None:
    file.with_name("elsewhere").hardlink_to(file)
    file.unlink()


def renamed(file: Path) -> None:
    file.rename(file.with_name("elsewhere"))


def replaced(file: Path) -> None:
    copy = file.with_name("copy")
    shutil.copyfile(file, copy)
    file.with_name("elsewhere").hardlink_to(file)
    copy.rename(file)


class Clients:
    """Clients that write without a pause, and which of their requests came when."""

    def __init__(self, process: FeedkeepProcess) -> None:
        self.process = process
        self.name = process.new_account()
        self.token = process.new_token(self.name)
        self.acknowledged: set[str] = set()
        self.acknowledged_too_late: set[str] = set()
        self.refused = 0
        self.is_lost = False
        self.is_over = asyncio.Event()
        self.many, self.enough = asyncio.Event(), asyncio.Event()

    async def write_while(self, lose: Callable[[Path], None], file: Path, after: int) -> None:
        writing = [asyncio.create_task(self._write(number, after)) for number in range(WRITERS)]
        await asyncio.wait_for(self.many.wait(), 20)
        lose(file)
        self.is_lost = True
        await asyncio.wait_for(self.enough.wait(), 20)
        self.is_over.set()
        await asyncio.gather(*writing)

    async def _write(self, writer: int, after: int) -> None:
        number = 0
        async with RawClient(self.process.base_url, self.token) as client:
            while not self.is_over.is_set():
                number += 1
                was_lost, url = self.is_lost, f"https://{writer}.example/{number}"
                items = {"subscriptions": [{"feed_url": url}]}
                answer = await client.ask("POST", "/subscriptions", items)
                assert answer.status in {200, 503}, answer
                if answer.status == 503:
                    self.refused += 1
                elif was_lost:
                    self.acknowledged_too_late.add(url)
                else:
                    self.acknowledged.add(url)
                if len(self.acknowledged) >= after:
                    self.many.set()
                if self.refused + len(self.acknowledged_too_late) >= 10 * WRITERS:
                    self.enough.set()

    def lost(self) -> set[str]:
        async def look(service: Service) -> set[str]:
            assert await damages_of(service) == []
            account = await service.accounts.named(self.name)
            return {s.feed_url for s in await service.subscriptions.subscribed(account.id)}

        return self.acknowledged - self.process.use(look)


def status_of(process: FeedkeepProcess, path: str) -> int:
    return httpx.get(process.base_url + path).status_code


def until_each_process_says(process: FeedkeepProcess, status: int) -> None:
    """Wait until each one has looked whether its files are there, once a second for reads."""
    said_in_turn, deadline = 0, time.monotonic() + 5
    while said_in_turn < IN_TURN:
        said_in_turn = said_in_turn + 1 if status_of(process, "/readyz") == status else 0
        assert time.monotonic() < deadline


ENDINGS = ["", "-wal", "-shm"]
WAYS = [deleted, renamed, replaced]
LOST = list(product(WAYS, ENDINGS)) if IS_LONG else [(deleted, ""), (replaced, "-wal")]


@pytest.mark.parametrize(("lose", "ending"), LOST)
def test_nothing_is_acknowledged_into_a_file_that_lost_its_name(start, amount, lose, ending):
    chance = random.Random(f"{lose.__name__}{ending}")
    process = start("sqlite, 2 workers")
    for _ in range(amount(1, 30)):
        file = Path(f"{process.folder / 'feedkeep.db'}{ending}")
        clients = Clients(process)
        asyncio.run(clients.write_while(lose, file, chance.randrange(1, 300)))
        assert clients.acknowledged_too_late == set()
        until_each_process_says(process, 503)
        assert {status_of(process, "/livez") for _ in range(IN_TURN)} == {200}
        assert "was deleted, renamed or replaced" in process.log.read_text()
        file.with_name("elsewhere").replace(file)
        until_each_process_says(process, 200)
        assert clients.lost() == set()


@in_the_long_form
def test_the_proof_notices_a_service_that_does_not_look(start):
    process = start("sqlite", "lost_files_are_not_noticed")
    clients = Clients(process)
    asyncio.run(clients.write_while(renamed, process.folder / "feedkeep.db", 10))
    assert clients.acknowledged_too_late != set()


def test_a_restore_beside_a_service_whose_files_were_moved_is_refused(start):
    process = start("sqlite")
    process.new_account()
    backup = process.folder / "backup"
    process.must("backup", str(backup))
    for file in process.folder.glob("feedkeep.db*"):
        file.rename(process.folder / f"moved-{file.name}")
    refused = process.run("restore", str(backup))
    assert refused.returncode == 1
    assert "is in use: stop the service" in refused.stderr
    assert not (process.folder / "feedkeep.db").exists()
    assert process.stop() == 0
    process.must("restore", str(backup))
    process.must("check")
