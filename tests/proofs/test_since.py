"""A client that follows `since` and `next` misses nothing, however many write meanwhile.

A device polls the list while many clients write to its account. At the end its copy, with
`new_guid` followed, is exactly the account's list.
"""

import asyncio
import random

import pytest
from forms import in_the_long_form
from raw_client import RawClient

WRITERS = 16
CHANGES_OF_A_FEED = 50  # a guid that is renamed too often has pointers without end


class Device:
    """A copy of an account's list that is brought up to date by what changed."""

    def __init__(self, per_page):
        self.per_page = per_page
        self.entries = {}
        self.since = "1970-01-01T00:00:00Z"

    async def poll(self, client):
        path = f"/subscriptions?since={self.since}&per_page={self.per_page}"
        async for entry in client.entries(path):
            self.entries[entry["guid"]] = entry
            stamps = ("subscription_changed", "guid_changed", "deleted")
            own = stamps[1:2] if "new_guid" in entry else stamps
            self.since = max(self.since, *(entry[name] for name in own if name in entry))

    def target(self, guid):
        entry = self.entries[guid]
        return self.target(entry["new_guid"]) if "new_guid" in entry else guid


async def change_something(client, chance, guids, feeds):
    kind = chance.random()
    if kind < 0.5 or not guids:
        answer = await client.add(f"https://{chance.randrange(feeds)}.example")
        assert answer.status == 200, answer
        guids.append(answer.body["success"][0]["guid"])
        return
    guid = chance.choice(guids[-50:])
    if kind < 0.85:
        change = {"is_subscribed": chance.random() < 0.5}
        answer = await client.ask("PATCH", f"/subscriptions/{guid}", change)
    elif kind < 0.97:
        new = f"{chance.getrandbits(32):08x}-0000-4000-8000-000000000001"
        answer = await client.ask("PATCH", f"/subscriptions/{guid}", {"new_guid": new})
    else:
        answer = await client.ask("DELETE", f"/subscriptions/{guid}")
    assert answer.status in {200, 202, 404, 405}, answer


async def prove(process, changes):
    """Run many writers and one follower; return the differences of the copy from the list."""
    token = process.new_token(process.new_account())
    device, everything = Device(per_page=7), Device(per_page=1_000)
    feeds = max(400, changes // CHANGES_OF_A_FEED)

    async def write(number):
        chance, guids = random.Random(number), []
        async with RawClient(process.base_url, token) as client:
            for _ in range(changes // WRITERS):
                await change_something(client, chance, guids, feeds)

    async with RawClient(process.base_url, token) as client:
        writing = asyncio.gather(*(write(number) for number in range(WRITERS)))
        while not writing.done():
            await device.poll(client)
        await writing
        await device.poll(client)
        await everything.poll(client)
    wrong = [
        f"{guid} is {device.entries.get(guid)} and not {entry}"
        for guid, entry in everything.entries.items()
        if "new_guid" not in entry and device.entries.get(guid) != entry
    ]
    return wrong + [
        f"{guid} leads to {device.target(guid)}"
        for guid in device.entries
        if device.target(guid) != everything.target(guid)
    ]


# C6.8, C6.10, C8.5
@pytest.mark.parametrize("broken", [[], ["the_clock_goes_back"]])
async def test_a_device_that_follows_the_list_misses_nothing(start, each_kind, amount, broken):
    process = start(each_kind, *broken)
    assert await prove(process, amount(300, 1_000_000, 1_000)) == []


@in_the_long_form
def test_the_proof_notices_stamps_that_are_drawn_without_a_lock(start):
    """Without a lock, PostgreSQL shows commits in another order than their stamps were drawn."""
    broken = ("no_upload_locks_the_account", "stamps_are_drawn_early")
    process = start("postgres, 2 workers", *broken)
    assert any(is_noticed(process) for _ in range(20))


def is_noticed(process):
    try:
        return asyncio.run(prove(process, 400)) != []
    except AssertionError:  # a 500, where two stamps met after all
        return True
