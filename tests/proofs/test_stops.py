"""A stop cuts no response: every request is answered in full, or refused and not carried out."""

import asyncio
import random
import signal
import time
from dataclasses import dataclass, field

from feedkeep_process import FeedkeepProcess
from forms import in_the_long_form
from raw_client import RawClient

from feedkeep.model import AccountId
from feedkeep.service import Service

CLIENTS = 16
LONGEST_SECONDS = 10


@dataclass
class Seen:
    """What became of requests, by the feed that each of them adds."""

    answered: set[str] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)
    cut: set[str] = field(default_factory=set)
    first: asyncio.Event = field(default_factory=asyncio.Event)


async def write(process: FeedkeepProcess, token: str, seconds: float, seen: Seen) -> float:
    """Write until the service has stopped; return how long it took to stop."""

    async def one(client_number: int) -> None:
        for number in range(100_000):
            url = f"https://{client_number}.example/{number}"
            try:
                async with RawClient(process.base_url, token) as client:
                    if not await add(client, url):
                        return
                    for again in range(1, 10):  # some connections are kept, others are new
                        if not await add(client, f"{url}/{again}"):
                            return
            except OSError:  # no process listens any more
                return

    async def add(client: RawClient, url: str) -> bool:
        items = {"subscriptions": [{"feed_url": url}]}
        try:
            answer = await client.ask("POST", "/subscriptions", items)
        except (OSError, EOFError):
            (seen.cut if client.has_begun else seen.refused).add(url)
            return False
        assert answer.status in {200, 503}, answer
        (seen.answered if answer.status == 200 else seen.refused).add(url)
        seen.first.set()
        return answer.status == 200

    writing = [asyncio.create_task(one(number)) for number in range(CLIENTS)]
    await seen.first.wait()
    await asyncio.sleep(seconds)
    process.process.send_signal(signal.SIGTERM)
    stopped = time.monotonic()
    await asyncio.to_thread(process.process.wait, LONGEST_SECONDS + 5)
    took_seconds = time.monotonic() - stopped
    await asyncio.gather(*writing)
    return took_seconds


def prove(process: FeedkeepProcess, stops: int) -> list[str]:
    """Return what is wrong after some stop, if anything is."""
    chance = random.Random(4)
    for _ in range(stops):
        name = process.new_account()
        token, seen = process.new_token(name), Seen()
        took_seconds = asyncio.run(write(process, token, chance.uniform(0.01, 0.4), seen))
        status = process.wait()
        kept = process.use(lambda service, name=name: _kept(service, name))
        wrong = [f"the answer for {url} was cut" for url in seen.cut]
        wrong += [f"{url} is kept, and its client was not told" for url in seen.refused & kept]
        wrong += [f"{url} was lost" for url in seen.answered - kept]
        if took_seconds > LONGEST_SECONDS or status != 0:
            wrong.append(f"it stopped after {took_seconds:.1f} s with {status}")
        if wrong:
            return wrong
        process.start()
    return []


async def _kept(service: Service, name: str) -> set[str]:
    account = await service.accounts.named(name)
    return {s.feed_url for s in await service.subscriptions.subscribed(AccountId(account.id))}


def test_a_stop_under_load_cuts_no_response(start, each_kind, amount):
    assert prove(start(each_kind), amount(2, 100, 3)) == []


@in_the_long_form
def test_the_proof_notices_a_stop_that_does_not_wait(start):
    assert prove(start("sqlite", "a_stop_waits_for_no_request"), 10) != []
