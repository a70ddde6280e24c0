"""The queue of passwords: addresses take turns, and none can take all places."""

import asyncio

from feedkeep.model.errors import TooManyAttempts
from feedkeep.security import address_queue
from feedkeep.security.address_queue import AddressQueue


class Served:
    """Asks for turns, and notes who had one, in order."""

    def __init__(self, at_once=1):
        self.queue = AddressQueue(at_once)
        self.order: list[str] = []
        self.most = self._now = 0

    async def take(self, address, *, is_login=True):
        async with self.queue.turn(address, is_login=is_login):
            self._now += 1
            self.most = max(self.most, self._now)
            self.order.append(address)
            await asyncio.sleep(0)
            self._now -= 1

    def tasks(self, addresses):
        return [asyncio.ensure_future(self.take(address)) for address in addresses]


# C2.21
async def test_addresses_take_turns_a_number_at_a_time():
    served = Served()
    await asyncio.gather(*served.tasks("aaaabbc"))
    assert "".join(served.order) == "aabcaba"
    assert served.most == 1
    assert served.queue._free == 1
    served = Served(3)
    await asyncio.gather(*served.tasks("abcdefgh"))
    assert served.most == 3
    assert served.queue._free == 3
    served = Served()  # what is no login has its turn when no login waits
    first, *logins = served.tasks("abc")
    await asyncio.sleep(0)
    other = asyncio.ensure_future(served.take("later", is_login=False))
    await asyncio.sleep(0)
    late = served.tasks("d")
    await asyncio.gather(first, other, *logins, *late)
    assert served.order == ["a", "b", "c", "d", "later"]


# C2.23, C7.11
async def test_where_too_many_wait_the_address_with_the_most_loses_its_last(monkeypatch):
    monkeypatch.setattr(address_queue, "MAX_WAITING", 4)
    served = Served()
    tasks = served.tasks("aaaaa" + "a" + "bc" + "d")
    found = await asyncio.gather(*tasks, return_exceptions=True)
    refused = [isinstance(one, TooManyAttempts) for one in found]
    # Its own sixth; then the last of those that wait, for each new address.
    assert refused == [False, False, True, True, True, True, False, False, False]
    assert served.order == ["a", "a", "b", "c", "d"]
    # If every address has one waiting, a further one is rejected.
    monkeypatch.setattr(address_queue, "MAX_WAITING", 2)
    found = await asyncio.gather(*Served().tasks("abcd"), return_exceptions=True)
    assert [isinstance(one, TooManyAttempts) for one in found] == [False, False, False, True]
    assert found[3].retry_after_seconds == 5


async def test_a_cancelled_task_passes_on_its_turn_or_its_place(monkeypatch):
    served = Served()
    async with served.queue.turn("a"):
        waits, has_its_turn, last = served.tasks("bcd")
        await asyncio.sleep(0)
        waits.cancel()
        await asyncio.sleep(0)
    has_its_turn.cancel()  # before it notices
    await last
    assert served.order == ["d"]
    assert served.queue._free == 1
    monkeypatch.setattr(address_queue, "MAX_WAITING", 2)
    served = Served()
    first, second, third = served.tasks("aaa")
    await asyncio.sleep(0)
    third.cancel()
    (other,) = served.tasks("b")
    await asyncio.gather(first, second, other)
    assert served.order == ["a", "a", "b"]
