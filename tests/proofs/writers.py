"""Clients that write without a pause and record the acknowledged requests."""

import asyncio
import random
from collections import Counter
from contextlib import asynccontextmanager
from itertools import count

from raw_client import RawClient
from whole_store import damages_of

WRITERS = 8
FEEDS_OF_AN_ACCOUNT = 3_000  # before there is a new one: the list is read after each kill
TOGETHER = "abc"
_numbers = count(1)


@asynccontextmanager
async def going_on(write, count=WRITERS):
    """Run `count` writing clients concurrently; each receives its number and the stop event."""
    is_over = asyncio.Event()
    writing = [asyncio.create_task(write(number, is_over)) for number in range(count)]
    yield is_over
    is_over.set()
    await asyncio.gather(*writing)


async def kept_of(service, name):
    account = await service.accounts.named(name)
    return {feed.feed_url for feed in await service.subscriptions.subscribed(account.id)}


class Writers:
    """Clients of one account, and what was acknowledged to them."""

    def __init__(self, process):
        self.process = process
        self.name = ""
        self.number = 0
        self._take_a_new_account()

    def take_a_short_list(self):
        """Go on with another account before the list becomes long, or is full."""
        if len(self.acknowledged) > FEEDS_OF_AN_ACCOUNT:
            self._take_a_new_account()

    def _take_a_new_account(self):
        # By commands, which run first what the service does: so a file may differ from the disk.
        if self.name:
            self.process.must("account", "delete", self.name, "--yes")
        self.name = f"Writer{next(_numbers)}"
        self.process.must("account", "create", self.name)
        self.token = self.process.must("token", "create", self.name).strip()
        self.process.tokens.append(self.token)
        self.acknowledged = set()

    async def write_for(self, seconds):
        """Write until the service is killed, `seconds` after its first answer."""
        answered = asyncio.Event()

        async def write(_, is_over):
            try:
                async with RawClient(self.process.base_url, self.token) as client:
                    while not is_over.is_set():
                        await self.add(client)
                        answered.set()
            except (OSError, EOFError):
                pass  # killed

        async with going_on(write):
            await asyncio.wait_for(answered.wait(), 120)
            await asyncio.sleep(seconds)
            self.process.kill()

    async def add(self, client):
        self.number += 1
        urls = [f"https://{self.number}.example/{one}" for one in TOGETHER]
        answer = await client.add(*urls)
        if answer.status == 200:
            assert answer.body["failure"] == []
            self.acknowledged.update(urls)
        return answer.status

    def what_is_wrong(self):
        """Return a sentence for everything that was lost, is half there or damaged."""

        async def look(service):
            return await kept_of(service, self.name), await damages_of(service)

        kept, wrong = self.process.use(look)
        wrong += [f"{url} was lost" for url in sorted(self.acknowledged - kept)]
        families = Counter(url[:-1] for url in kept)
        return wrong + [f"half of {f} is there" for f, n in families.items() if n != len(TOGETHER)]


def wrong_after_kills(process, kills, after_a_kill=lambda _folder, _chance: None):
    """Kill the service again and again while clients write; return what is wrong after one kill."""
    chance = random.Random(1)
    writers = Writers(process)
    for _ in range(kills):
        writers.take_a_short_list()
        asyncio.run(writers.write_for(chance.uniform(0.01, 0.2)))
        after_a_kill(process.folder, chance)
        if wrong := writers.what_is_wrong():
            return wrong
        process.start()
    assert writers.number > kills
    return []
