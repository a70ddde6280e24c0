"""Sending again is safe: whatever became of a request, its repetition doubles nothing.

Clients send requests on connections that are cut at any moment, then send them again until they are
answered. At the end the lists are as if every request had come once.
"""

import asyncio
import random
from itertools import chain

from account import Account, sent
from forms import in_the_long_form
from raw_client import RawClient
from whole_store import damages_of

from feedkeep.model import Pointer, Subscription
from feedkeep.rules.feed_urls import parse_feed_url

CLIENTS = 8
TIMES = 3  # how often a request is sent; the last time until it is answered


def random_request(chance, number):
    """Return the initial requests, and a request to interrupt."""
    first, second = (f"https://{number}.example/{letter}" for letter in "ab")
    there = [("add", (first, None)), ("add", (second, None))]
    guid = parse_feed_url(first).guid
    request = chance.choice(
        [
            ("add", (first, chance.choice([None, _guid(chance)]))),
            ("update", (guid, {"new_guid": _guid(chance)})),
            ("update", (guid, {"new_guid": parse_feed_url(second).guid})),
            ("update", (guid, {"new_feed_url": f"{first}/moved"})),
            ("update", (guid, {"is_subscribed": False})),
            ("delete", guid),
        ]
    )
    return [] if request[0] == "add" else there, request


def _guid(chance):
    return f"{chance.getrandbits(32):08x}-0000-4000-8000-000000000001"


async def differences(process, token, requests, seed):
    """Send requests of one account, cut and repeated; return how its list differs at the end."""
    chance, right = random.Random(seed), Account()
    async with RawClient(process.base_url, token) as client:

        async def answered(request):
            answer = await client.ask(*sent(request))
            assert answer.status in {200, 202, 404}, answer
            return answer.status

        for number in range(requests):
            there, request = random_request(chance, number)
            for before in there:
                right.answer(before)
                await answered(before)
            message = client.message(*sent(request))
            for _ in range(TIMES - 1):
                is_whole = chance.random() < 0.6
                part = message if is_whole else message[: chance.randrange(len(message))]
                await client.cut(part, chance.choice([0, 0.003, None] if is_whole else [0, 0.003]))
            right.answer(request)
            assert await answered(request) != 404 or request[0] == "delete"
        listed = {}
        async for entry in client.entries("/subscriptions?per_page=1000"):
            own = entry["feed_url"], entry["is_subscribed"], "deleted" in entry
            listed[entry["guid"]] = entry.get("new_guid", own)
    wanted = {
        entry.guid: (entry.feed_url, entry.is_subscribed, entry.deleted is not None)
        if isinstance(entry, Subscription)
        else entry.new_guid
        for entry in right.entries.values()
        if not isinstance(entry, Pointer) or entry.guid_changed is not None
    }
    return [
        f"{guid} is {listed.get(guid)} and not {wanted.get(guid)}"
        for guid in wanted.keys() | listed.keys()
        if wanted.get(guid) != listed.get(guid)
    ]


async def prove(process, requests):
    tokens = [process.new_token(process.new_account()) for _ in range(CLIENTS)]
    part = requests // CLIENTS
    asked = (differences(process, token, part, seed) for seed, token in enumerate(tokens))
    return list(chain.from_iterable(await asyncio.gather(*asked)))


# C8.4
async def test_requests_that_are_repeated_after_a_cut_double_nothing(start, each_kind, amount):
    process = start(each_kind)
    assert await prove(process, amount(128, 10_000)) == []
    assert process.use(damages_of) == []


@in_the_long_form
async def test_the_proof_notices_a_request_that_does_more_when_it_is_repeated(start):
    assert await prove(start("sqlite", "a_status_is_toggled"), 160) != []
