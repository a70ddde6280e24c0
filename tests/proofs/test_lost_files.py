"""A database file that is deleted, renamed or replaced under the service: nothing is acknowledged.

Clients write, a file is taken away at a random moment, and from then on no request that is sent is
answered as if it had been done. Put back, the file holds all that ever was acknowledged.
"""

import asyncio
import random
import shutil
from itertools import count, product
from pathlib import Path

import httpx
import pytest
from forms import IS_LONG, in_the_long_form
from raw_client import RawClient
from waiting import until, until_so
from whole_store import damages_of
from writers import WRITERS, going_on, kept_of

IN_TURN = 12  # so many requests reach both processes, each on a connection of its own


def deleted(file):
    file.with_name("elsewhere").hardlink_to(file)
    file.unlink()


def renamed(file):
    file.rename(file.with_name("elsewhere"))


def replaced(file):
    copy = file.with_name("copy")
    shutil.copyfile(file, copy)
    file.with_name("elsewhere").hardlink_to(file)
    copy.rename(file)


class Clients:
    """Clients that write without a pause, and the times of their requests."""

    def __init__(self, process):
        self.process = process
        self.name = process.new_account()
        self.token = process.new_token(self.name)
        self.acknowledged, self.acknowledged_too_late = set(), set()
        self.refused = 0
        self.is_lost = False

    async def write_while(self, lose, file, after):
        async with going_on(self._write):
            await until_so(lambda: len(self.acknowledged) >= after)
            lose(file)
            self.is_lost = True
            late = self.acknowledged_too_late
            await until_so(lambda: self.refused + len(late) >= 10 * WRITERS)

    async def _write(self, writer, is_over):
        async with RawClient(self.process.base_url, self.token) as client:
            for number in count():
                if is_over.is_set():
                    return
                was_lost, url = self.is_lost, f"https://{writer}.example/{number}"
                answer = await client.add(url)
                assert answer.status in {200, 503}, answer
                if answer.status == 503:
                    self.refused += 1
                else:
                    (self.acknowledged_too_late if was_lost else self.acknowledged).add(url)

    def lost(self):
        async def look(service):
            assert await damages_of(service) == []
            return self.acknowledged - await kept_of(service, self.name)

        return self.process.use(look)


def status_of(process, path):
    return httpx.get(process.base_url + path).status_code


def until_each_process_says(process, status):
    """Wait until each one has looked whether its files are there, once a second for reads."""
    all_say = {status}
    until(lambda: {status_of(process, "/readyz") for _ in range(IN_TURN)} == all_say, seconds=5)


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
