"""Operations on one account happen one after the other, each between its request and its reply.

Many clients write to and read from one account at once. The stamps in the replies give the order of
the writes. It must agree with real time, and carrying the writes out again in that order, by the
rules alone, must give every reply; a reply without a stamp must be right at some moment between its
request and itself. Then the history is linearizable (Herlihy and Wing, 1990). A request that is
refused because its account is busy counts as one that was not made.
"""

import asyncio
import random
import time
from bisect import bisect_left, bisect_right
from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from heapq import heappop, heappush
from itertools import accumulate, chain
from typing import Any

import pytest
from account import (
    BEFOREHAND,
    KINDS,
    KINDS_OF_APPS,
    KINDS_OF_HISTORY,
    Account,
    random_request,
    sent,
    told,
)
from forms import in_the_long_form
from raw_client import Answer, RawClient

from feedkeep.model import Stamp
from feedkeep.model.stamps import write_stamp

CLIENTS = 16
BUSY = 503  # where other programs have the processors, a few requests wait too long for a lock
STAMPED = "uploads_tell_their_stamps"


@dataclass(frozen=True)
class Operation:
    """One request with its reply, and when they were sent and received."""

    request: tuple[str, Any]
    answer: Answer
    sent: float
    received: float
    stamp_told: int | None = None  # the stamp of what an app uploaded, which no reply says

    @property
    def told(self):
        return told(self.request, self.answer.status, self.answer.body)

    @property
    def stamp(self):
        """The stamp that the account's clock gave to this write."""
        kind, body = self.request[0], self.answer.body
        if self.answer.status not in {200, 202} or kind in {"read", "poll"}:
            return None
        if kind in {"put", "upload"}:
            return self.stamp_told
        if kind in KINDS_OF_HISTORY:
            return None if body["stamp"] is None else int(body["stamp"])
        if kind == "delete":
            return int(body["deletion_id"])
        told = body["success"][0] if kind == "add" else body
        texts = [told[name] for name in ("subscription_changed", "guid_changed") if name in told]
        return max(round(datetime.fromisoformat(text).timestamp() * 1e6) for text in texts)


async def perform(client, request, name, device, changes_made):
    """Send a request; `changes_made` are the stamps of the changes to begin with."""
    changes = f"/api/2/subscriptions/{name}/{device}.json"
    match request:
        case "undo", (number, when_changed):
            path = f"/history/{changes_made[number]}/undo"
            return await client.ask("POST", path, {"changed_since": when_changed})
        case "restore", keep_added:
            moment = {"at": write_stamp(Stamp(changes_made[-1])), "keep_added": keep_added}
            return await client.ask("POST", "/restore", moment)
        case "put", urls:
            return await client.ask("PUT", f"/subscriptions/{name}/{device}.json", urls)
        case "upload", (added, removed):
            return await client.ask("POST", changes, {"add": added, "remove": removed})
        case "poll", _:
            return await client.ask("GET", f"{changes}?since=1")
    return await client.ask(*sent(request))


def history(process, operations, seed):
    """Run the clients' operations concurrently, on a new account."""
    name = process.new_account()
    token = process.new_token(name)

    async def one(number, changes_made):
        chance, done = random.Random(seed * 1_000 + number), []
        async with RawClient(process.base_url, token) as client:
            for turn in range(operations):
                request = random_request(chance, KINDS + KINDS_OF_APPS + KINDS_OF_HISTORY)
                began, device = time.monotonic(), f"{name}-{number}-{turn}"
                answer = await perform(client, request, name, device, changes_made)
                done.append((device, request, answer, began, time.monotonic()))
        return done

    async def all_of_them():
        async with RawClient(process.base_url, token) as client:
            for request in BEFOREHAND:
                await perform(client, request, name, "", [])
            listed = (await client.ask("GET", "/history")).body["changes"]
        made = [change["stamp"] for change in reversed(listed)]
        return await asyncio.gather(*(one(number, made) for number in range(CLIENTS)))

    performed = chain.from_iterable(asyncio.run(all_of_them()))
    # The stamp of what each device has uploaded, if that changed anything.
    stamps = process.folder / "stamps"
    lines = [line.split() for line in stamps.read_text().splitlines()] if stamps.is_file() else []
    of_uploads = {device: int(ended) for device, began, ended in lines if began != ended}
    return [Operation(*done, of_uploads.get(device)) for device, *done in performed]


def violations(operations):
    """Yield a sentence for everything that no order of the operations could explain."""
    writes = sorted((o for o in operations if o.stamp), key=lambda o: o.stamp or 0)
    newest_sent = 0.0
    for write, following in zip(writes, [*writes[1:], None], strict=True):
        if following and write.stamp == following.stamp:
            yield f"stamp {write.stamp} was given twice"
        if write.received < newest_sent:
            yield f"{write} ended before one was sent that is older by its stamp"
        newest_sent = max(newest_sent, write.sent)
    others = [o for o in operations if not o.stamp and o.answer.status != BUSY]
    if len(writes) + len(others) < 0.99 * len(operations):
        yield "more than one request in a hundred was refused"
    places = _explaining_places(writes, others)
    if isinstance(places, str):
        yield places
        return
    yield from _order(others, places)


def _explaining_places(writes, others):
    """Carry the writes out in order; say after how many each answer is right, or what is wrong."""
    # The writes that ended before an operation was sent come before it; those that were sent after
    # it ended come after it.
    ended = [write.received for write in writes]
    for index in reversed(range(len(ended) - 1)):
        ended[index] = min(ended[index], ended[index + 1])
    sent = list(accumulate((write.sent for write in writes), max))
    windows = [(bisect_left(ended, o.sent), bisect_right(sent, o.received)) for o in others]
    beginning = defaultdict(list)
    for index, (first, _) in enumerate(windows):
        beginning[first].append(index)

    places = [[] for _ in others]
    account, possible = Account(), set[int]()
    for request in BEFOREHAND:
        account.answer(request)
    for place in range(len(writes) + 1):
        possible |= set(beginning[place])
        for index in tuple(possible):
            before = account.entries.copy(), account.last_stamp, account.counts
            states, stamps = account.kept.states, list(account.kept.stamps)
            if account.answer(others[index].request) == others[index].told:
                places[index].append(place)
            account.entries, account.last_stamp, account.counts = before
            account.kept.states, account.kept.stamps = states, stamps
            if place == windows[index][1]:
                possible.discard(index)
        if place < len(writes):
            write = writes[place]
            if (right := account.answer(write.request)) != write.told:
                return f"{write} should have been {right}"
    return places


def _order(others, places):
    """Give each other operation a place; of two that follow one another, neither goes back."""
    by_sending = sorted(range(len(others)), key=lambda index: others[index].sent)
    ended = []  # when, and at which place
    lowest = 0
    for index in by_sending:
        while ended and ended[0][0] < others[index].sent:
            lowest = max(lowest, heappop(ended)[1])
        possible = [place for place in places[index] if place >= lowest]
        if not possible:
            yield f"{others[index]} was never right"
            continue
        heappush(ended, (others[index].received, possible[0]))


def prove(process, histories, operations):
    for number in range(histories):
        if found := list(violations(history(process, operations, number))):
            return found
    return []


# C8.2
def test_operations_on_one_account_are_linearizable(start, each_kind, amount):
    process = start(each_kind, STAMPED)
    assert prove(process, amount(1, 500, 2), amount(25, 200, 40)) == []
    # Of lists so short, some are emptied.
    lines = process.log.read_text().splitlines()
    assert [line for line in lines if "app unsubscribed most" not in line] == []


@in_the_long_form
@pytest.mark.parametrize(
    ("store_kind", "broken"),
    [
        ("postgres, 2 workers", "no_upload_locks_the_account"),
        ("postgres, 2 workers", "reads_are_stale"),
        ("sqlite", "a_change_after_its_reply"),
        ("sqlite", "lists_are_read_then_written"),
    ],
)
def test_the_proof_notices(start, store_kind, broken):
    assert prove(start(store_kind, STAMPED, broken), 40, 25) != []
