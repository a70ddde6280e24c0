"""A stop cuts no response: every request is answered in full, or refused and not carried out."""

import asyncio
import random
import signal
import time
from collections import defaultdict

from forms import in_the_long_form
from raw_client import RawClient
from waiting import until_so
from writers import going_on, kept_of

CLIENTS = 16
LONGEST_SECONDS = 10


async def stop_under_load(process, token, seconds, seen):
    """Write until the service has stopped; note what was `seen`, and return how long that took."""

    async def write(client_number, _):
        for number in range(100_000):
            try:
                async with RawClient(process.base_url, token) as client:
                    for again in range(10):  # some connections are kept, others are new
                        url = f"https://{client_number}.example/{number}/{again}"
                        if not await add(client, url):
                            return
            except OSError:  # no process listens any more
                return

    async def add(client, url):
        try:
            answer = await client.add(url)
        except (OSError, EOFError):
            seen["cut" if client.has_begun else "refused"].add(url)
            return False
        assert answer.status in {200, 503}, answer
        seen["answered" if answer.status == 200 else "refused"].add(url)
        return answer.status == 200

    async with going_on(write, CLIENTS):
        await until_so(lambda: seen["answered"])
        await asyncio.sleep(seconds)
        process.process.send_signal(signal.SIGTERM)
        stopped = time.monotonic()
        await asyncio.to_thread(process.process.wait, LONGEST_SECONDS + 5)
        return time.monotonic() - stopped


def prove(process, stops):
    chance = random.Random(4)
    for _ in range(stops):
        name = process.new_account()
        token, seen = process.new_token(name), defaultdict(set)
        seconds = chance.uniform(0.01, 0.4)
        took_seconds = asyncio.run(stop_under_load(process, token, seconds, seen))
        status = process.wait()
        kept = process.use(lambda service, name=name: kept_of(service, name))
        wrong = [f"the answer for {url} was cut" for url in seen["cut"]]
        wrong += [f"{url} is kept, and its client was not told" for url in seen["refused"] & kept]
        wrong += [f"{url} was lost" for url in seen["answered"] - kept]
        if took_seconds > LONGEST_SECONDS or status != 0:
            wrong.append(f"it stopped after {took_seconds:.1f} s with {status}")
        if wrong:
            return wrong
        process.start()
    return []


def test_a_stop_under_load_cuts_no_response(start, each_kind, amount):
    assert prove(start(each_kind), amount(2, 100, 3)) == []


@in_the_long_form
def test_the_proof_notices_a_stop_that_does_not_wait(start):
    assert prove(start("sqlite", "a_stop_waits_for_no_request"), 10) != []
