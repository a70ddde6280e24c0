"""Sending again is safe: whatever became of a request, its repetition doubles nothing.

Clients send requests on connections that are cut at any moment, then send them again until they are
answered. At the end the lists are as if every request had come once.
"""

import asyncio
import random
from typing import Any

from account import Account
from feedkeep_process import FeedkeepProcess
from forms import in_the_long_form
from raw_client import Answer, RawClient
from whole_store import damages_of

from feedkeep.model import Pointer, Subscription
from feedkeep.rules.feed_urls import parse_feed_url

CLIENTS = 8
TIMES = 3
"""How often a request is sent; the last time until it is answered."""

Request = tuple[str, Any]


def random_request(chance: random.Random, number: int) -> tuple[list[Request], Request]:
    """Return what is to be there before, and a request that is to be cut."""
    first, second = (f"https://{number}.example/{letter}" for letter in "ab")
    there: list[Request] = [("add", (first, None)), ("add", (second, None))]
    guid = parse_feed_url(first).guid
    match chance.randrange(6):
        case 0:
            return [], ("add", (first, chance.choice([None, _guid(chance)])))
        case 1:
            return there, ("update", (guid, {"new_guid": _guid(chance)}))
        case 2:
            return there, ("update", (guid, {"new_guid": parse_feed_url(second).guid}))
        case 3:
            return there, ("update", (guid, {"new_feed_url": f"{first}/moved"}))
        case 4:
            return there, ("update", (guid, {"is_subscribed": False}))
        case _:
            return there, ("delete", guid)


def _guid(chance: random.Random) -> str:
    return f"{chance.getrandbits(32):08x}-0000-4000-8000-000000000001"


def parts(request: Request) -> tuple[str, str, object]:
    kind, what = request
    if kind == "add":
        item = {"feed_url": what[0]} | ({"guid": what[1]} if what[1] else {})
        return "POST", "/subscriptions", {"subscriptions": [item]}
    if kind == "update":
        return "PATCH", f"/subscriptions/{what[0]}", what[1]
    return "DELETE", f"/subscriptions/{what}", None


async def differences(process: FeedkeepProcess, token: str, requests: int, seed: int) -> list[str]:
    """Send requests of one account, cut and repeated; return how its list differs at the end."""
    chance, right = random.Random(seed), Account()
    async with RawClient(process.base_url, token) as client:

        async def answered(request: Request) -> Answer:
            answer = await client.ask(*parts(request))
            assert answer.status in {200, 202, 404}, answer
            return answer

        for number in range(requests):
            there, request = random_request(chance, number)
            for before in there:
                right.answer(before)
                await answered(before)
            message = client.message(*parts(request))
            for _ in range(TIMES - 1):
                is_whole = chance.random() < 0.6
                sent = message if is_whole else message[: chance.randrange(len(message))]
                await client.cut(sent, chance.choice([0, 0.003, None] if is_whole else [0, 0.003]))
            right.answer(request)
            status = (await answered(request)).status
            assert status != 404 or request[0] == "delete"
        listed = await everything(client)
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


async def everything(client: RawClient) -> dict[str, Any]:
    found: dict[str, Any] = {}
    path: str | None = "/subscriptions?per_page=1000"
    while path:
        body = (await client.ask("GET", path)).body
        for entry in body["subscriptions"]:
            own = entry["feed_url"], entry["is_subscribed"], "deleted" in entry
            found[entry["guid"]] = entry.get("new_guid", own)
        following = body.get("next")
        path = following and following[following.index("/subscriptions") :]
    return found


def prove(process: FeedkeepProcess, requests: int) -> list[str]:
    tokens = [process.new_token(process.new_account()) for _ in range(CLIENTS)]

    async def go() -> list[str]:
        found = await asyncio.gather(
            *(
                differences(process, token, requests // CLIENTS, seed)
                for seed, token in enumerate(tokens)
            )
        )
        return [difference for differences in found for difference in differences]

    return asyncio.run(go())


# C8.4
def test_requests_that_are_repeated_after_a_cut_double_nothing(start, each_kind, amount):
    process = start(each_kind)
    assert prove(process, amount(128, 10_000)) == []
    assert process.use(damages_of) == []


@in_the_long_form
def test_the_proof_notices_a_request_that_does_more_when_it_is_repeated(start):
    assert prove(start("sqlite", "a_status_is_toggled"), 160) != []
