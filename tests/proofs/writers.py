"""Clients that write without a pause, and know what was acknowledged to them."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from itertools import count
from pathlib import Path

from feedkeep_process import FeedkeepProcess
from raw_client import RawClient
from whole_store import damages_of

from feedkeep.model import AccountId
from feedkeep.service import Service

WRITERS = 8
KILLS_OF_AN_ACCOUNT = 20
"""How many kills an account sees before the next one: its whole list is read after each."""
TOGETHER = "abc"
_numbers = count(1)


class Writers:
    """Clients of one account, and what was acknowledged to them."""

    def __init__(self, process: FeedkeepProcess) -> None:
        self.process = process
        self.name = ""
        self.number = 0
        self.take_a_new_account()

    def take_a_new_account(self) -> None:
        # By commands, which run first what the service does: so a file may differ from the disk.
        if self.name:
            self.process.must("account", "delete", self.name, "--yes")
        self.name = f"Writer{next(_numbers)}"
        self.process.must("account", "create", self.name)
        self.token = self.process.must("token", "create", self.name).strip()
        self.process.tokens.append(self.token)
        self.acknowledged: set[str] = set()

    async def write_for(self, seconds: float) -> None:
        """Write until the service is killed, `seconds` after its first answer."""
        is_over, answered = asyncio.Event(), asyncio.Event()
        writing = [asyncio.create_task(self._write(is_over, answered)) for _ in range(WRITERS)]
        await asyncio.wait_for(answered.wait(), 120)
        await asyncio.sleep(seconds)
        self.process.kill()
        is_over.set()
        await asyncio.gather(*writing)

    async def _write(self, is_over: asyncio.Event, answered: asyncio.Event) -> None:
        try:
            async with RawClient(self.process.base_url, self.token) as client:
                while not is_over.is_set():
                    await self.add(client)
                    answered.set()
        except (OSError, EOFError):
            pass  # killed

    async def add(self, client: RawClient) -> int:
        self.number += 1
        urls = [f"https://{self.number}.example/{one}" for one in TOGETHER]
        items = {"subscriptions": [{"feed_url": url} for url in urls]}
        answer = await client.ask("POST", "/subscriptions", items)
        if answer.status == 200:
            self.acknowledged.update(urls)
        return answer.status

    def what_is_wrong(self) -> list[str]:
        """Return a sentence for everything that was lost, is half there or damaged."""

        async def look(service: Service) -> tuple[set[str], list[str]]:
            account = await service.accounts.named(self.name)
            kept = {
                s.feed_url for s in await service.subscriptions.subscribed(AccountId(account.id))
            }
            return kept, await damages_of(service)

        kept, wrong = self.process.use(look)
        wrong += [f"{url} was lost" for url in sorted(self.acknowledged - kept)]
        families = Counter(url[:-1] for url in kept)
        return wrong + [f"half of {f} is there" for f, n in families.items() if n != len(TOGETHER)]


def wrong_after_kills(
    process: FeedkeepProcess,
    kills: int,
    after_a_kill: Callable[[Path, random.Random], None] = lambda _folder, _chance: None,
) -> list[str]:
    """Kill the service again and again while clients write; return what is wrong after one kill.

    `after_a_kill` is given the service's folder, before anything looks at it.
    """
    chance = random.Random(1)
    writers = Writers(process)
    for number in range(kills):
        if number % KILLS_OF_AN_ACCOUNT == 0:
            writers.take_a_new_account()
        asyncio.run(writers.write_for(chance.uniform(0.01, 0.2)))
        after_a_kill(process.folder, chance)
        if wrong := writers.what_is_wrong():
            return wrong
        process.start()
    assert writers.number > kills
    return []
